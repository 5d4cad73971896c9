"""The names that a frame can use: variables, fields, those of enclosing classes, types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.expressions.imports import Imports
from jvmti.expressions.values.places import LocalPlace, ObjectField
from jvmti.expressions.values.typed import Value
from jvmti.interface.errors import ClassNotPrepared, JavaException
from jvmti.interface.modifiers import MethodModifiers
from jvmti.model.objects.layouts import layout_of
from jvmti.model.values.overloads import overloads_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvmti.expressions.running import Running
    from jvmti.expressions.values.places import Place
    from jvmti.expressions.values.types import Types
    from jvmti.model.classes.java_class import Class
    from jvmti.model.debug.variables import Variable

_ENCLOSING = re.compile(r"this\$\d+\Z")
_CAPTURED = "val$"


class Level(NamedTuple):
    """A class that the frame's code is in, from the innermost on."""

    cls: Class
    """The class."""
    object: Value | None
    """Its object; ``None`` where there is none, or nothing says which."""


class Scope:
    """The names of a frame.

    Args:
        running: the evaluation.
        types: the types that the frame's class sees.
    """

    def __init__(self, running: Running, types: Types) -> None:
        self._running = running
        self._types = types
        self._levels: list[Level] = []
        self._this: Value | None = None
        self._imports: Imports | None = None
        self.bindings: dict[str, Value] = {}
        """Variables that patterns of ``instanceof`` have introduced, and those of lambdas."""
        self._is_lambda = False

    def enter_lambda(self, this: Value | None, bindings: dict[str, Value]) -> None:
        """Use only variables with values from before: the frame may have moved on."""
        self._this = this
        self.bindings = bindings
        self._is_lambda = True

    def variables(self) -> list[Variable]:
        """The variables of the frame that can be read."""
        return [] if self._is_lambda else self._running.locals.variables

    @property
    def is_static(self) -> bool:
        """Whether the frame's method is static."""
        return bool(self._running.frame.method.modifiers & MethodModifiers.STATIC)

    @property
    def this(self) -> Value | None:
        """The object of the frame; ``None`` in a static method."""
        if self._this is None and not self.is_static:
            found = self._running.frame.this
            from jvmti.expressions.values.typed import Text

            data = Text(found) if isinstance(found, str) else found
            self._this = Value(self._types.home.signature, data)
        return self._this

    # ---- variables and fields --------------------------------------------------------------

    def variable(self, name: str) -> Place | None:
        """A variable or field by its simple name; ``None`` if there is none."""
        local = self._local(name)
        if local is not None:
            return local
        for level in self.levels():
            found = self.field_of(level.cls, name, level.object)
            if found is None and level.object is not None:
                found = self.field_of(level.cls, _CAPTURED + name, level.object)
            if found is not None:
                return found
        for owner in self.imports.static_owners(name, is_method=False):
            found = self.field_of(owner, name, None)
            if found is not None and found.field.is_static:
                return found
        return None

    def _local(self, name: str) -> LocalPlace | None:
        for variable in self.variables():
            named = variable.name if variable.name is not None else f"slot{variable.slot}"
            if named == name and name != "this":
                return LocalPlace(self._running, variable)
        return None

    def field_of(self, cls: Class, name: str, item: Value | None) -> ObjectField | None:
        """The field of a class, or of what it inherits from, that a name means."""
        try:
            place = layout_of(cls).find(name)
        except KeyError:
            return None
        return ObjectField(self._running, place, cls, item)

    # ---- classes around it -----------------------------------------------------------------

    def levels(self) -> Iterator[Level]:
        """The class of the frame and those around it, with their objects."""
        at = 0
        while True:
            if at == len(self._levels):
                found = self._next_level()
                if found is None:
                    return
                self._levels.append(found)
            yield self._levels[at]
            at += 1

    def _next_level(self) -> Level | None:
        if not self._levels:
            return Level(self._types.home, self.this)
        inner, item = self._levels[-1]
        if item is not None and item.data is not None:
            around = self._enclosing(inner, item)
            if around is not None:
                return around
        try:
            outer = inner.outer_class
        except JavaException:
            return None  # names of another language, which look like nested ones
        return None if outer is None else Level(outer, None)

    def _enclosing(self, cls: Class, item: Value) -> Level | None:
        """The object around one of an inner class, unless the compiler left it out."""
        try:
            places = layout_of(cls).places
        except ClassNotPrepared:
            return None
        for place in places:
            if place.owner == cls.name and _ENCLOSING.match(place.name) and not place.is_static:
                data: Any = self._running.jni.get_object_field(
                    self._running.handle(item), place.field
                )
                value = Value(place.signature, data)
                outer = self._types.of(place.signature, value)
                return None if outer is None else Level(outer, value)
        return None

    def around(self, cls: Class) -> Value | None:
        """The object of an enclosing class: ``Outer.this``."""
        for level in self.levels():
            if level.cls == cls:
                return level.object
        return None

    def method_level(self, name: str) -> Level | None:
        """The innermost class that has methods of a name."""
        for level in self.levels():
            if name in overloads_of(level.cls):
                return level
        for owner in self.imports.static_owners(name, is_method=True):
            if any(one.is_static for one in overloads_of(owner).get(name, ())):
                return Level(owner, None)
        return None

    # ---- types -----------------------------------------------------------------------------

    @property
    def imports(self) -> Imports:
        """The names that the source of the frame's class imports."""
        if self._imports is None:
            self._imports = Imports(self._running, self._types)
        return self._imports

    def type_named(self, name: str) -> Class | None:
        """A type by its simple name."""
        for level in self.levels():
            if _simple_name(level.cls) == name:
                return level.cls
            found = self.member_type(level.cls, name)
            if found is not None:
                return found
        return self.imports.type_named(name)

    def member_type(self, cls: Class, name: str) -> Class | None:
        """A type that is declared in a class, or in what it inherits from."""
        if cls.is_array or cls.is_primitive:
            return None
        for owner in [cls, *cls.superclasses, *cls.all_interfaces]:
            if owner.loader is None and not self.imports.may_exist(f"{owner.name}${name}"):
                continue
            found = self._types.named(f"{owner.name}${name}")
            if found is not None:
                return found
        return None


def _simple_name(cls: Class) -> str:
    return cls.name.rpartition(".")[2].rpartition("$")[2]


__all__ = ["Level", "Scope"]
