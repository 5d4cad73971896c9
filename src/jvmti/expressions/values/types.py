"""Types as the frame's class sees them: classes by their names, and what is assignable to what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.expressions.running import Running
from jvmti.expressions.values.operators import fits
from jvmti.expressions.values.typed import LAMBDA, NULL, OBJECT, STRING, Value, is_array
from jvmti.interface.constants import ClassStatus
from jvmti.interface.errors import JavaException
from jvmti.interface.signatures import BOXED, java_name, signature_of
from jvmti.model.classes.ancestry import Ancestry
from jvmti.model.values.conversion import BOXES, WIDER, supertypes

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class

_OF_ARRAYS = ("Ljava/lang/Cloneable;", "Ljava/io/Serializable;", OBJECT)
_NARROWER = {"B": "C", "S": "BC", "C": "BS", "I": "BSC"}
"""The types that a constant of each one may become, if it fits."""


class Types:
    """The classes that the class of a frame can name.

    Args:
        running: the evaluation.
    """

    def __init__(self, running: Running) -> None:
        self._running = running
        self._vm = running.vm
        self._known: dict[str, Class | None] = {}
        self._home: Class | None = None
        self._loader: Any = None

    @property
    def home(self) -> Class:
        """The class of the frame's method."""
        if self._home is None:
            self._home = self._running.frame.method.declaring_class
            self.learn(self._home)
            self._loader = self._home.loader
        return self._home

    def learn(self, cls: Class) -> None:
        """Remember a class and everything above it."""
        if cls.signature in self._known:
            return
        if cls.is_array or cls.is_primitive:
            self._known[cls.signature] = cls
            return
        ancestry = Ancestry(cls)
        for one, signature in zip(ancestry.classes, ancestry.signatures, strict=True):
            self._known.setdefault(signature, one)

    def of(self, signature: str, value: Value | None = None) -> Class | None:
        """The class of a type; ``None`` where the frame's class loader finds none.

        Loads it if need be, without initialising it.

        Args:
            signature: the type.
            value: a value of it, whose own class may say which class is meant.
        """
        found = self._known.get(signature)
        if found is not None:
            return found
        if value is not None and value.is_known:
            own = self._running.class_of(value)
            if own is not None:
                self.learn(own)
        if signature not in self._known:
            self._known[signature] = self._load(signature)
        return self._known[signature]

    def _load(self, signature: str) -> Class | None:
        if len(signature) == 1 or signature == NULL:
            return None
        self.home  # noqa: B018 - whose loader it is
        return self._named(signature[1:-1] if signature.startswith("L") else signature)

    def named(self, name: str) -> Class | None:
        """A class by its name: ``java.util.Map$Entry``; ``None`` if there is none."""
        return self.of(signature_of(name))

    def _named(self, name: str) -> Class | None:
        """A class by the name that ``Class.forName`` takes, with slashes or dots."""
        if self._running.pure:
            return self._loaded(name)
        jni = self._running.jni
        meta = self._vm.bootstrap_class("java/lang/Class")
        finder = jni.get_static_method_id(
            meta, "forName", f"({STRING}ZLjava/lang/ClassLoader;)Ljava/lang/Class;"
        )
        text = jni.new_string(name.replace("/", "."))
        try:
            found: Any = jni.call_static_object_method(meta, finder, [text, False, self._loader])
        except JavaException:
            return None  # no such class, or one that cannot be linked
        self._link(found)
        self.learn(found)
        return found  # type: ignore[no-any-return]

    def _link(self, cls: Class) -> None:
        """Link a class that was only loaded, without initialising it: then it has members."""
        if cls.is_array or cls.status & ClassStatus.PREPARED:
            return
        jni = self._running.jni
        meta = self._vm.bootstrap_class("java/lang/Class")
        reader = jni.get_method_id(meta, "getDeclaredFields", "()[Ljava/lang/reflect/Field;")
        try:
            jni.call_object_method(cls, reader)
        except JavaException:
            pass  # a field's type is missing, which is found out only after linking

    def _loaded(self, name: str) -> Class | None:
        """The same without running any code: a class that is loaded already."""
        found = self._vm.classes.named(java_name(name) if name.startswith("[") else name)
        same = [one for one in found if one.loader == self._loader] or list(found)
        if len(same) != 1:
            return None
        self.learn(same[0])
        return same[0]

    # ---- subtypes and conversions ----------------------------------------------------------

    def is_subtype(self, one: str, other: str, value: Value | None = None) -> bool:
        """Whether a type is another, or below it; both primitive or both not."""
        if one == other:
            return True
        if len(one) == 1 or len(other) == 1:
            return len(one) == len(other) == 1 and other in WIDER.get(one, "")
        if one == NULL or other == OBJECT:
            return True
        if is_array(one):
            if is_array(other):
                return len(one) > 2 and len(other) > 2 and self.is_subtype(one[1:], other[1:])
            return other in _OF_ARRAYS
        cls = self.of(one, value)
        return cls is not None and other in supertypes(cls)

    def accepts(self, target: str, value: Value, *, boxing: bool) -> bool:
        """Whether a value can be passed where a type is wanted.

        Args:
            target: the type.
            value: the value.
            boxing: whether it may be put into its box, or taken out.
        """
        kind = value.type
        if kind == "V":
            return False
        if kind == LAMBDA:
            return bool(value.data.accepts(target))
        if value.is_open and not value.is_known:
            return True
        if value.is_primitive == (len(target) == 1):
            return self.is_subtype(kind, target, value)
        if not boxing:
            return False
        if value.is_primitive:
            return target in BOXES[kind].supertypes
        inside = BOXED.get(kind)
        return inside is not None and target in WIDER[inside]

    def assigns(self, target: str, value: Value) -> bool:
        """Whether a value can be assigned to a variable of a type."""
        if self.accepts(target, value, boxing=True):
            return True
        letter = BOXED.get(target, target)
        constant = value.is_constant and value.type in _NARROWER and len(letter) == 1
        return constant and letter in _NARROWER[value.type] and fits(value.data, letter)

    def common(self, one: str, other: str) -> str:
        """The type of what is of one type or of another, both references."""
        if self.is_subtype(one, other):
            return other
        if self.is_subtype(other, one):
            return one
        cls = None if is_array(one) else self.of(one)
        if cls is None or is_array(other):
            return OBJECT
        for above in [] if cls.is_interface else cls.superclasses:
            if above.signature != OBJECT and self.is_subtype(other, above.signature):
                return above.signature
        shared = [one.signature for one in cls.all_interfaces]
        found = next((one for one in shared if self.is_subtype(other, one)), None)
        return found or OBJECT

    @staticmethod
    def name(signature: str) -> str:
        """The name of a type as Java writes it."""
        return "null" if signature == NULL else java_name(signature)


__all__ = ["Types"]
