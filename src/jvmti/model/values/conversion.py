"""Values on their way between Python and Java.

Values from Java become Python values if there are such: numbers, truth values, characters, text and
null; everything else is an object of the model. Values for Java are converted to the type of the
parameter, field or variable, or refused in Java's words. docs/values.md has the whole table, and a
test for each row.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti import refs
from jvmti.deferred import is_array, is_boolean, is_scalar, is_whole, numpy
from jvmti.interface.errors import JavaException
from jvmti.interface.signatures import BOXED, DTYPES, RANGES, STRING, java_name
from jvmti.model.classes.ancestry import Ancestry
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.vm import VM

OBJECT = "Ljava/lang/Object;"

LIMITS = {letter: RANGES[letter] for letter in "BSIJ"}
"""The ranges of the integer types."""

WIDER = {
    "Z": "Z",
    "B": "BSIJFD",
    "S": "SIJFD",
    "C": "CIJFD",
    "I": "IJFD",
    "J": "JFD",
    "F": "FD",
    "D": "D",
}
"""The primitive types that take each one as it is."""


class Box(NamedTuple):
    """A class whose objects hold a primitive value."""

    signature: str
    primitive: str
    supertypes: frozenset[str]


_EVERY_BOX = frozenset((OBJECT, "Ljava/io/Serializable;", "Ljava/lang/Comparable;"))
_CONSTANT = frozenset(("Ljava/lang/constant/Constable;",))
_LOADABLE = frozenset(("Ljava/lang/constant/ConstantDesc;",))
_NUMBER = frozenset(("Ljava/lang/Number;",))


def _box(name: str, primitive: str, more: frozenset[str]) -> Box:
    signature = f"Ljava/lang/{name};"
    return Box(signature, primitive, _EVERY_BOX | _CONSTANT | more | {signature})


BOXES = {
    box.primitive: box
    for box in (
        _box("Boolean", "Z", frozenset()),
        _box("Byte", "B", _NUMBER),
        _box("Short", "S", _NUMBER),
        _box("Character", "C", frozenset()),
        _box("Integer", "I", _NUMBER | _LOADABLE),
        _box("Long", "J", _NUMBER | _LOADABLE),
        _box("Float", "F", _NUMBER | _LOADABLE),
        _box("Double", "D", _NUMBER | _LOADABLE),
    )
}
"""The classes that box, by the primitive type."""

_STRING_IS = frozenset((STRING, "Ljava/lang/CharSequence;")) | _EVERY_BOX | _CONSTANT | _LOADABLE
_EVERY_ARRAY = frozenset((OBJECT, "Ljava/io/Serializable;", "Ljava/lang/Cloneable;"))

_LETTERS = {code: letter for letter, code in DTYPES.items()}
PRIMITIVE_NAMES = {
    "Z": "boolean",
    "B": "byte",
    "C": "char",
    "S": "short",
    "I": "int",
    "J": "long",
    "F": "float",
    "D": "double",
}

BUILT_IN = {box.signature: box.supertypes for box in BOXES.values()} | {
    STRING: _STRING_IS,
    "Ljava/lang/Number;": frozenset(("Ljava/lang/Number;", OBJECT, "Ljava/io/Serializable;")),
    "[B": _EVERY_ARRAY | {"[B"},
    "Ljava/util/List;": frozenset(("Ljava/util/Collection;", "Ljava/lang/Iterable;")),
    "Ljava/util/Set;": frozenset(("Ljava/util/Collection;", "Ljava/lang/Iterable;")),
    "Ljava/util/Collection;": frozenset(("Ljava/lang/Iterable;",)),
}
"""The supertypes of the classes that Python values become."""

_COLLECTIONS: dict[str, tuple[type, ...]] = {
    "Ljava/lang/Iterable;": (list, tuple, set, frozenset),
    "Ljava/util/Collection;": (list, tuple, set, frozenset),
    "Ljava/util/SequencedCollection;": (list, tuple),
    "Ljava/util/List;": (list, tuple),
    "Ljava/util/ArrayList;": (list, tuple),
    "Ljava/util/Set;": (set, frozenset),
    "Ljava/util/Map;": (dict,),
    OBJECT: (list, tuple, set, frozenset, dict),
}
"""Which Python containers become new Java collections where one of these types is wanted."""


class Conversion(enum.IntEnum):
    """How a Python value gets to a Java type; of overloads, those with the least count."""

    DIRECT = 1
    """It is of that type in Java, of a subtype, or of a narrower primitive type."""
    BOXED = 2
    """A primitive value is put into its box, or taken out."""
    CONVERTED = 3
    """It becomes a value that Java would not make by itself, and loses nothing by it (but a
    ``float`` that is rounded): a smaller number type, a ``char``, a new array or collection."""


def to_python(vm: VM, value: Any, signature: str = "") -> Any:
    """The model's form of a value that a JNI or JVM TI function returned.

    Args:
        vm: where it came from.
        value: a number, a ``bool``, ``None`` or a handle.
        signature: of the type that it has in Java, where it is known: ``C`` makes characters of
            numbers, and ``Z`` truth values.

    Returns:
        ``bool``, ``int`` or ``float``; a ``str`` for a ``char`` or a ``java.lang.String``;
        ``None`` for null; an object of the model for everything else, boxed values among them.
    """
    if isinstance(value, refs.String):
        return vm.jni.get_string_chars(value)
    if signature == "C" and isinstance(value, int):
        return chr(value)
    if signature == "Z" and isinstance(value, int):
        return bool(value)
    return value


def to_java(vm: VM, value: Any, signature: str) -> Any:
    """The argument of a JNI or JVM TI function for a Python value of a Java type.

    New strings, boxes, arrays and collections are made in the VM where they are needed.

    Args:
        vm: where it goes.
        value: see docs/values.md for what may become what.
        signature: of the Java type: ``I``, ``Ljava/lang/String;``, ``[J``.

    Returns:
        An ``int``, ``float`` or ``bool`` (a ``char`` is its UTF-16 unit), a handle, or ``None``.

    Raises:
        TypeError: the value cannot become one; the message says what was expected.
        OverflowError: a number is out of the range of its type.
        JavaException: Java code threw, while an object was made.
    """
    if conversion_to(vm, value, signature) is None:
        raise refusal(vm, value, signature)
    return convert(vm, value, signature)


def conversion_to(vm: VM, value: Any, signature: str) -> Conversion | None:
    """How a Python value gets to a Java type; ``None`` if it cannot.

    Args:
        vm: where it is to go.
        value: the value.
        signature: of the type.
    """
    if len(signature) == 1:
        return _primitive_conversion(vm, value, signature)
    if value is None:
        return Conversion.DIRECT
    if isinstance(value, refs.Object):
        return Conversion.DIRECT if isinstance_of(vm, value, signature) else None
    natural = natural_signature(value)
    if natural is None:
        return _container_conversion(vm, value, signature)
    if len(natural) == 1:
        if signature in BOXES[natural].supertypes:
            return Conversion.BOXED
        primitive = BOXED.get(signature)
        if primitive and _primitive_conversion(vm, value, primitive) is not None:
            return Conversion.CONVERTED
        return None
    if natural == STRING:
        if signature in _STRING_IS:
            return Conversion.DIRECT
        single = signature == BOXES["C"].signature and _is_character(value)
        return Conversion.CONVERTED if single else None
    if signature == natural or signature in _EVERY_ARRAY:
        return Conversion.DIRECT
    return _container_conversion(vm, value, signature)


def natural_signature(value: Any) -> str | None:
    """The Java type that a Python value has by itself; ``None`` for handles and containers."""
    if is_boolean(value):
        return "Z"
    if is_scalar(value):
        return _LETTERS.get(value.dtype.str) if value.dtype.kind != "u" else _unsigned(int(value))
    if isinstance(value, int):
        return "I" if LIMITS["I"][0] <= value <= LIMITS["I"][1] else "J"
    if isinstance(value, float):
        return "D"
    if isinstance(value, str):
        return STRING
    if isinstance(value, bytes | bytearray | memoryview):
        return "[B"
    if is_array(value) and value.ndim == 1 and value.dtype.str in _LETTERS:
        return "[" + _LETTERS[value.dtype.str]
    return None


def _unsigned(value: int) -> str:
    return "I" if value <= LIMITS["I"][1] else "J"


def _is_character(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1 and ord(value) <= 0xFFFF


def _primitive_conversion(vm: VM, value: Any, letter: str) -> Conversion | None:
    if isinstance(value, refs.Object):
        inside = BOXED.get(value.cls.signature)  # type: ignore[attr-defined]
        return Conversion.BOXED if inside and letter in WIDER[inside] else None
    natural = natural_signature(value)
    if natural is None:
        return None
    if letter == "C":
        return Conversion.CONVERTED if _is_character(value) else None
    if len(natural) != 1:
        return None
    if natural in "IJ" and not LIMITS["J"][0] <= value <= LIMITS["J"][1]:
        return None
    if letter in WIDER[natural]:
        return Conversion.DIRECT
    if letter in LIMITS and natural in LIMITS:
        low, high = LIMITS[letter]
        return Conversion.CONVERTED if low <= value <= high else None
    return Conversion.CONVERTED if letter == "F" and natural == "D" else None


def _container_conversion(vm: VM, value: Any, signature: str) -> Conversion | None:
    if is_array(value):
        items: Any = value
        if value.ndim != 1 or value.dtype.kind not in "biuf":
            return None
    elif isinstance(value, bytes | bytearray | memoryview):
        return None
    else:
        items = value
    if signature.startswith("["):
        if not isinstance(value, list | tuple) and not is_array(value):
            return None
        element = signature[1:]
        if is_array(value) and len(element) == 1:
            return Conversion.CONVERTED if narrowed(value, element) is not None else None
        convertible = all(conversion_to(vm, item, element) is not None for item in items)
        return Conversion.CONVERTED if convertible else None
    if isinstance(value, _COLLECTIONS.get(signature, ())):
        if isinstance(value, Mapping):
            items = [*value.keys(), *value.values()]
        convertible = all(conversion_to(vm, item, OBJECT) is not None for item in items)
        return Conversion.CONVERTED if convertible else None
    return None


def narrowed(array: Any, letter: str) -> Any:
    """The numbers of an array in another type; ``None`` where they do not fit."""
    dtype = DTYPES[letter]
    if array.dtype.str == dtype:
        return array
    if letter in "ZC" or array.dtype.kind == "b":
        return None
    if letter in LIMITS:
        if array.dtype.kind not in "iu":
            return None
        low, high = LIMITS[letter]
        if array.size and not (low <= int(array.min()) and int(array.max()) <= high):
            return None
    return array.astype(dtype)


def is_box(cls: Any) -> bool:
    """Whether objects of a class hold a primitive value."""
    return cls.signature in BOXED


def isinstance_of(vm: VM, value: Any, signature: str) -> bool:
    """Whether a Java object is of a type, or of one below it, by the names of its classes."""
    return signature == OBJECT or signature in supertypes(value.cls)


def supertypes(cls: Any) -> frozenset[str]:
    """The signatures of a class, of all classes above it and of all their interfaces."""
    return lineage(cls)[cls.signature]


def lineage(cls: Any) -> dict[str, frozenset[str]]:
    """A class and everything above it, each with the signatures of itself and all above it."""
    known: dict[str, frozenset[str]] | None = getattr(cls, "_lineage", None)
    if known is not None:
        return known
    signature = cls.signature
    found: dict[str, frozenset[str]] = {OBJECT: frozenset((OBJECT,))}
    own = {signature, OBJECT} if len(signature) > 1 else {signature}
    if signature.startswith("["):
        own |= _EVERY_ARRAY
        if len(signature) > 2:
            elements = lineage(_component(cls._vm, cls))
            for name, above in elements.items():
                found["[" + name] = frozenset("[" + one for one in above) | _EVERY_ARRAY
            own |= {"[" + name for name in elements}
    elif len(signature) > 1:
        ancestry = Ancestry(cls)

        def include(place: int) -> frozenset[str]:
            name = ancestry.signatures[place]
            if name not in found:
                parents = map(include, ancestry.parents(place))
                found[name] = frozenset((name, OBJECT)).union(*parents)
            return found[name]

        include(0)
        own |= found[signature]
    found[signature] = frozenset(own)
    cls._lineage = found
    return found


def _component(vm: VM, cls: Any) -> Any:
    """The class of an array class's elements."""
    meta = vm.bootstrap_class("java/lang/Class")
    getter = vm.jni.get_method_id(meta, "getComponentType", "()Ljava/lang/Class;")
    return vm.jni.call_object_method(cls, getter)


# ---- what is made in the VM ----------------------------------------------------------------


def convert(vm: VM, value: Any, signature: str) -> Any:
    """A value that fits, as JNI takes it."""
    if value is None:
        return None
    if isinstance(value, refs.Object):
        return unboxed(vm, value) if len(signature) == 1 else value
    if len(signature) == 1:
        return _number(value, signature)
    natural = natural_signature(value)
    if natural == STRING:
        if signature == BOXES["C"].signature:
            return boxed(vm, value, "C")
        return vm.jni.new_string(value)
    if natural is not None and len(natural) == 1:
        return boxed(vm, value, BOXED.get(signature, natural))
    if natural is not None and (signature == natural or signature in _EVERY_ARRAY):
        return new_array(vm, value, natural)
    if signature.startswith("["):
        return new_array(vm, value, signature)
    return new_collection(vm, value)


def _number(value: Any, letter: str) -> Any:
    if letter == "Z":
        return bool(value)
    if letter == "C":
        return ord(value)
    if letter in "FD":
        return float(value)
    return int(value)


def boxed(vm: VM, value: Any, letter: str) -> Any:
    """A new or shared box with a primitive value, as ``Integer.valueOf`` gives it."""
    box = BOXES[letter]
    cls = vm.bootstrap_class(box.signature[1:-1])
    maker = vm.jni.get_static_method_id(cls, "valueOf", f"({letter}){box.signature}")
    return vm.jni.call_static_object_method(cls, maker, [_number(value, letter)])


def unboxed(vm: VM, value: Any) -> Any:
    """The primitive value in a box, as JNI gives it."""
    signature = value.cls.signature
    letter = BOXED[signature]
    name = PRIMITIVE_NAMES[letter]
    field = vm.jni.get_field_id(vm.bootstrap_class(signature[1:-1]), "value", letter)
    return getattr(vm.jni, f"get_{name}_field")(value, field)


def new_array(vm: VM, value: Any, signature: str) -> Any:
    """A new Java array with the items of a sequence, which fit."""
    element = signature[1:]
    if len(element) == 1:
        name = PRIMITIVE_NAMES[element]
        array = getattr(vm.jni, f"new_{name}_array")(len(value))
        if isinstance(value, bytes | bytearray | memoryview):
            items: Any = numpy.frombuffer(value, numpy.int8)
        elif is_array(value):
            items = narrowed(value, element)
        else:
            items = numpy.array([_number(one, element) for one in value], DTYPES[element])
        if len(value):
            getattr(vm.jni, f"set_{name}_array_region")(array, 0, items)
        return array
    return _new_object_array(vm, value, element)


def _new_object_array(vm: VM, value: Sequence[Any], element: str) -> Any:
    cls = _element_class(vm, element)
    array = vm.jni.new_object_array(len(value), cls)
    items = in_bulk(vm, value, element)
    at = [place for place, item in enumerate(items) if item is not None]
    if at:
        vm.map.set_object_array_element(array, at, [items[place] for place in at]).check()
    return array


def _element_class(vm: VM, signature: str) -> Any:
    try:
        return vm.jni.find_class(signature[1:-1] if signature.startswith("L") else signature)
    except JavaException:
        return vm.find_class(java_name(signature))  # that of another class loader


def in_bulk(vm: VM, values: Sequence[Any], signature: str) -> list[Any]:
    """Values that fit as handles; all text among them in one message."""
    made = [None if isinstance(value, str) else convert(vm, value, signature) for value in values]
    texts = [place for place, value in enumerate(values) if isinstance(value, str)]
    if texts and signature in _STRING_IS:
        strings = vm.map.new_string([values[place] for place in texts]).check().value
        for place, string in zip(texts, strings, strict=True):
            made[place] = string
    else:
        for place in texts:
            made[place] = convert(vm, values[place], signature)
    return made


def new_collection(vm: VM, value: Any) -> Any:
    """A new ``ArrayList``, ``LinkedHashSet`` or ``LinkedHashMap`` with what a container holds."""
    jni = vm.jni
    if isinstance(value, Mapping):
        cls = vm.bootstrap_class("java/util/LinkedHashMap")
        made = jni.new_object(cls, jni.get_method_id(cls, "<init>", "()V"))
        put = jni.get_method_id(cls, "put", f"({OBJECT}{OBJECT}){OBJECT}")
        keys = in_bulk(vm, list(value.keys()), OBJECT)
        held = in_bulk(vm, list(value.values()), OBJECT)
        for key, one in zip(keys, held, strict=True):
            jni.call_object_method(made, put, [key, one])
        return made
    name = "java/util/LinkedHashSet" if isinstance(value, Set) else "java/util/ArrayList"
    arrays = vm.bootstrap_class("java/util/Arrays")
    as_list = jni.get_static_method_id(arrays, "asList", "([Ljava/lang/Object;)Ljava/util/List;")
    items = jni.call_static_object_method(
        arrays, as_list, [_new_object_array(vm, list(value), OBJECT)]
    )
    cls = vm.bootstrap_class(name)
    return jni.new_object(
        cls, jni.get_method_id(cls, "<init>", "(Ljava/util/Collection;)V"), [items]
    )


# ---- messages for values that do not convert ------------------------------------------------


def refusal(vm: VM, value: Any, signature: str, where: str = "") -> TypeError | OverflowError:
    """The error for a value that cannot become one of a Java type.

    Args:
        vm: where it was to go.
        value: the value.
        signature: of the type.
        where: what it was to be: ``field total of Order``.
    """
    wanted = printable(java_name(signature))
    start = printable(f"{where}: ") if where else ""
    letter = signature if len(signature) == 1 else BOXED.get(signature, "")
    if letter in LIMITS and is_whole(value) and not is_boolean(value):
        low, high = LIMITS[letter]
        return OverflowError(f"{start}{value} does not fit {wanted} ({low} to {high})")
    if value is None:
        return TypeError(f"{start}expected {wanted}, which cannot be null")
    got = described(value)
    if callable(value) and not isinstance(value, refs.Object):
        return TypeError(
            f"{start}expected {wanted}, got {got}: a Python function cannot become a Java lambda, "
            "because that takes a class of its own in the program; pass a Java object that "
            "implements the interface, such as a field or a method's result that holds a lambda"
        )
    return TypeError(f"{start}expected {wanted}, got {got}")


def described(value: Any) -> str:
    """A value's type in Java's words where it has one, else in Python's."""
    if value is None:
        return "null"
    if isinstance(value, refs.Object) and hasattr(value, "cls"):
        return printable(value.cls.name)
    natural = natural_signature(value)
    return type(value).__name__ if natural is None else f"{type(value).__name__} {value!r:.40}"


__all__ = [
    "BOXES",
    "BUILT_IN",
    "DTYPES",
    "LIMITS",
    "OBJECT",
    "PRIMITIVE_NAMES",
    "WIDER",
    "Box",
    "Conversion",
    "convert",
    "described",
    "conversion_to",
    "is_box",
    "isinstance_of",
    "lineage",
    "new_array",
    "in_bulk",
    "narrowed",
    "natural_signature",
    "refusal",
    "supertypes",
    "to_java",
    "to_python",
]
