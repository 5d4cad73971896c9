"""Java objects shown by their contents: boxes, enums, collections, records, exceptions, arrays.

Printing reads fields, runs no Java code, and never fails. `value_of` may call Java code if the
fields are not enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti import refs
from jvmti.model.objects.arrays import listed_numbers
from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import Contents, TruncatedText, read_elements, read_fields
from jvmti.model.session_vm import MODEL
from jvmti.model.values import calls
from jvmti.model.values.containers import Reader, contents_of
from jvmti.model.values.conversion import is_box, supertypes
from jvmti.model.values.scalars import NOTHING, may_be_scalar, scalar_of
from jvmti.model.values.shown import ITEMS as _ITEMS
from jvmti.model.values.shown import TEXT as _TEXT
from jvmti.text.printable import escaped, printable

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_WITHIN = 2.0
"""Seconds for each question that printing an object asks."""
_LINES = 200
"""Elements or fields in a full text."""

_MAP = "Ljava/util/Map;"
_COLLECTION = "Ljava/util/Collection;"
_SET = "Ljava/util/Set;"
_ENUM = "Ljava/lang/Enum;"
_RECORD = "Ljava/lang/Record;"
_ENTRY = "Ljava/util/Map$Entry;"
_BIT_SET = "Ljava/util/BitSet;"
_CONTAINERS = frozenset((_MAP, _COLLECTION, _RECORD, _BIT_SET))
_PLAIN = frozenset(("decimal", "uuid", "datetime"))
"""The modules of the classes whose values are written as Python writes them."""


class StackTraceElement(NamedTuple):
    """A place in the stack trace of an exception."""

    class_name: str
    method: str
    file: str | None
    line: int | None

    @escaped
    def __str__(self) -> str:
        where = self.file or "unknown source"
        line = f":{self.line}" if self.line is not None else ""
        return f"{self.class_name}.{self.method}({where}{line})"


def stack_trace(item: Any) -> list[StackTraceElement]:
    """The stack trace of an exception, as the class ``Throwable`` itself gives it."""
    vm: VM = item._vm
    throwable = vm.bootstrap_class("java/lang/Throwable")
    getter = vm.jni.get_method_id(throwable, "getStackTrace", "()[Ljava/lang/StackTraceElement;")
    elements: Any = vm.jni.with_timeout(calls.TIME_LIMIT).call_nonvirtual_object_method(
        item, throwable, getter
    )
    layout = layout_of(vm.bootstrap_class("java/lang/StackTraceElement"))
    fields = [
        layout.find(name).field
        for name in ("declaringClass", "methodName", "fileName", "lineNumber")
    ]
    found = []
    for element in elements:
        owner, method, file, line = read_fields(vm, element, fields)
        found.append(StackTraceElement(owner, method, file, line if line >= 0 else None))
    return found


# ---- the value -------------------------------------------------------------------------------


def value_of(item: Any) -> Any:
    """The Python value that an object represents; see ``obj.value``."""
    vm: VM = item._vm
    if isinstance(item, refs.String):
        return vm.jni.get_string_chars(item)
    if isinstance(item, refs.ObjectArray):
        return read_elements(vm, item, 0, len(item), unbox=True)  # type: ignore[arg-type]
    if isinstance(item, refs.CharArray):
        return item.numpy().tobytes().decode("utf-16-le", "surrogatepass")  # type: ignore[attr-defined]
    if isinstance(item, refs.Array):
        return item.numpy()  # type: ignore[attr-defined]
    plain = scalar_of(vm, item)
    if plain is not NOTHING:
        return plain
    kinds = supertypes(item.cls)
    if _RECORD in kinds:
        layout = layout_of(item.cls)
        return dict(
            zip(layout.names, read_fields(vm, item, layout.fields, unbox=True), strict=True)
        )
    if _ENTRY in kinds:
        return tuple(map(_inside, _entry(item)))
    if _holds(item):
        if _MAP in kinds:
            return _as_dict(item, _held_by(item))
        return _as_set(item, _held_by(item)) if _is_set(item) else _held_by(item)
    raise TypeError(
        printable(
            f"{item.cls.name} has no Python value; fields() has its parts, and "
            "to_string() is its own description"
        )
    )


# ---- what holds others -------------------------------------------------------------------------


def _holds(item: Any) -> bool:
    """Whether an object holds others: a map, a collection or the like."""
    kinds = supertypes(item.cls)
    return _MAP in kinds or _COLLECTION in kinds or _is_bit_set(item)


def _is_set(item: Any) -> bool:
    return _SET in supertypes(item.cls) or _is_bit_set(item)


def _is_bit_set(item: Any) -> bool:
    return bool(item.cls.signature == _BIT_SET)


def _checked(item: Any, what: str) -> None:
    if not _holds(item):
        raise TypeError(
            printable(f"an object of {item.cls.name} {what}: not a collection, map or array")
        )


def known_size(item: Any) -> int | None:
    """The size of a collection, where a few of its fields have it; runs no Java code."""
    found = contents_of(Reader(item._vm, most=0), item)
    return None if found is None else found.size


def size_of(item: Any) -> int:
    """How many elements or entries a collection has; see ``len(obj)``."""
    _checked(item, "has no len()")
    found = contents_of(Reader(item._vm, most=0), item)
    if found is not None and found.size is not None:
        return found.size
    if found is not None:
        return len(_held_by(item))
    size: int = item.call("size", signature="()")
    return size


def held_by(item: Any) -> list[Any]:
    """The elements of a collection, or the entries of a map as pairs; see ``iter(obj)``."""
    _checked(item, "is not iterable")
    return _held_by(item)


def _held_by(item: Any, *, unbox: bool = True) -> list[Any]:
    vm: VM = item._vm
    found = contents_of(Reader(vm, unbox=unbox), item)
    if found is not None:
        return found.items
    if _MAP not in supertypes(item.cls):
        array = item.call("toArray", signature="()")
        return read_elements(vm, array, 0, len(array), unbox=unbox)
    # A copy by Java code has keys and values that belong together.
    copy = vm.bootstrap_class("java/util/LinkedHashMap").new(item, signature="java.util.Map")
    found = contents_of(Reader(vm, unbox=unbox), copy)
    if found is not None and found.size == item.call("size", signature="()"):
        return found.items
    # Its keys are compared by identity, not by equality.
    entries = item.call("entrySet", signature="()").call("toArray", signature="()")
    pairs = [_entry(entry) for entry in entries]
    return [(_inside(key), _inside(value)) for key, value in pairs] if unbox else pairs


def _entry(item: Any) -> tuple[Any, Any]:
    return item.call("getKey", signature="()"), item.call("getValue", signature="()")


def _inside(value: Any) -> Any:
    return value.value if hasattr(value, "cls") and is_box(value.cls) else value


def _as_dict(item: Any, entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(entries)
    if len(found) < len(entries):
        keys = _disambiguated([key for key, _ in entries], lambda: _boxed_keys(item))
        found = dict(zip(keys, [value for _, value in entries], strict=True))
        if len(found) < len(entries) and item.cls.signature == _IDENTITY:
            raise ValueError(
                "this map has keys that are equal in Python, since it compares keys by "
                "identity: list(obj) gives all its entries as pairs"
            )
    return found


_IDENTITY = "Ljava/util/IdentityHashMap;"


def _boxed_keys(item: Any) -> list[Any]:
    return [key for key, _ in _held_by(item, unbox=False)]


def _as_set(item: Any, elements: list[Any]) -> set[Any]:
    found = set(elements)
    if len(found) < len(elements):
        found = set(_disambiguated(elements, lambda: _held_by(item, unbox=False)))
    return found


def _disambiguated(values: list[Any], read_boxes: Callable[[], list[Any]]) -> list[Any]:
    """Values of which Python takes some for the same, as it does 1, 1.0 and True; those are boxes.

    Where the program changes a collection at the moment, one value may be there twice.
    """
    often = {value for value, count in Counter(values).items() if count > 1}
    boxes = read_boxes()
    if len(boxes) != len(values):
        return values
    seen: dict[tuple[Any, str], Any] = {}
    found = []
    for value, box in zip(values, boxes, strict=True):
        if value in often and isinstance(box, refs.Object) and hasattr(box, "cls"):
            value = seen.setdefault((box.cls, repr(value)), box)
        found.append(value)
    return found


# ---- in print --------------------------------------------------------------------------------


def short(item: Any) -> str:
    """An object in one line: its kind, and the beginning of its contents."""
    kind = type(item).__name__
    if item._handle == 0:
        return f"<{kind}, released>"
    session = item._session
    vm = session.services.find(MODEL)
    if session.closed is not None or vm is None:
        return f"<{kind}>"
    try:
        return f"<{printable(_described(vm, item))}>"
    except Exception:  # printing must not fail: not in a debugger, nor at the end of a session
        return f"<{kind}>"


def is_opaque(item: Any) -> bool:
    """Whether `short` shows nothing of what an object of no special kind holds."""
    cls = item.cls
    return _CONTAINERS.isdisjoint(supertypes(cls)) and not may_be_scalar(cls)


def short_with(item: Any, contents: Contents) -> str:
    """The same of an array or a list whose contents are known already."""
    name = item.cls.name
    if isinstance(item, refs.Array):
        return printable(f"<{name[:-1]}{contents.size}] [{_beginning_of(contents)}]>")
    return printable(f"<{name}{_held(contents, False, False)}>")


def _beginning_of(contents: Contents) -> str:
    more = contents.size is None or contents.size > len(contents.items)
    return ", ".join([*map(_item, contents.items), *(["…"] if more else [])])


def _described(vm: VM, item: Any) -> str:
    name = item.cls.name
    if isinstance(item, refs.String):
        (text,) = _beginning(vm, item)
        return f"{name} {text}"
    if isinstance(item, refs.Array):
        count = len(item)  # type: ignore[arg-type]
        return f"{name[:-1]}{count}] [{_array(vm, item, count)}]"
    if isinstance(item, refs.Throwable):
        message = vm._agent.describe_throwable(item).message
        return name if message is None else f"{name}: {message[:500]}"
    if is_opaque(item):
        return f"{name}@{item.identity_hash:x}"
    try:
        plain = scalar_of(vm, item, _TEXT, _WITHIN)
    except ValueError:  # beyond what Python has
        return f"{name} {', '.join(_parts(vm, item, _ITEMS))}"
    kinds = supertypes(item.cls)
    if plain is not NOTHING:
        if _ENUM in kinds:
            if item.cls.superclass.name != "java.lang.Enum":
                name = item.cls.superclass.name  # a constant with a body is of its own class
            return f"{name} {plain}"
        if "Optional" in name:
            return f"{name}, empty" if plain is None else f"{name} of {_item(plain)}"
        return f"{name} {_item(plain)}"
    if _RECORD in kinds:
        return f"{name}({', '.join(_parts(vm, item, _ITEMS))})"
    if _holds(item):
        found = contents_of(Reader(vm, _ITEMS, _TEXT, _WITHIN), item)
        if found is not None:
            return f"{name}{_held(found, _MAP in kinds, _is_set(item))}"
    return f"{name}@{item.identity_hash:x}"


def _held(found: Contents, is_map: bool, is_set: bool) -> str:
    if is_map:
        items = [f"{_item(key)}: {_item(value)}" for key, value in found.items]
        what = "entry" if found.size == 1 else "entries"
    else:
        items = [_item(one) for one in found.items]
        what = "element" if found.size == 1 else "elements"
    if found.size is None or found.size > len(items):
        items.append("…")
    count = "" if found.size is None else f", {found.size:,} {what}"
    inside = ", ".join(items)
    return f"{count}: {{{inside}}}" if is_map or is_set else f"{count}: [{inside}]"


def _item(value: Any) -> str:
    """A value within another: objects by their class only, so that no circle is followed."""
    if isinstance(value, TruncatedText):
        return f"{str(value)!r}…"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if type(value).__module__ in _PLAIN:
        return str(value)
    if isinstance(value, refs.Object):
        return f"<{value.cls.name}>" if hasattr(value, "cls") else repr(value)
    return repr(value)


def _array(vm: VM, item: Any, count: int) -> str:
    if isinstance(item, refs.ObjectArray):
        found = read_elements(vm, item, 0, _ITEMS, unbox=True, text=_TEXT, timeout=_WITHIN)
    else:
        found = listed_numbers(item, 0, _ITEMS)
    return _beginning_of(Contents(count, found))


def _beginning(vm: VM, item: Any) -> list[str]:
    count = vm.jni.get_string_length(item)
    text = vm.jni.get_string_region(item, 0, min(count, _TEXT))
    return [_item(text if count <= _TEXT else TruncatedText(text))]


def _parts(vm: VM, item: Any, most: int) -> list[str]:
    """The fields of an object with their values, and whether there are more."""
    layout = layout_of(item.cls)
    values = read_fields(vm, item, layout.fields[:most], unbox=True, text=_TEXT, timeout=_WITHIN)
    parts = [f"{name}={_item(one)}" for name, one in zip(layout.names, values, strict=False)]
    return parts + (["…"] if len(layout.names) > most else [])


def full(item: Any, most: int = _LINES) -> str:
    """An object in several lines: its fields, elements or entries."""
    head = short(item)
    if item._handle == 0 or item._session.closed is not None:
        return head
    try:
        lines = _lines(item._vm, item, most)
    except Exception:
        return head
    shown = [] if lines is None else [f"  {printable(line)}" for line in lines]
    return "\n".join([head, *shown])


def in_print(item: Any) -> str:
    """An object as ``print`` shows it: what holds others in a line, its fields in lines."""
    try:
        return short(item) if _holds(item) else full(item)
    except Exception:
        return short(item)


def _lines(vm: VM, item: Any, most: int) -> list[str] | None:
    if isinstance(item, refs.Throwable):
        lines = [f"at {element}" for element in stack_trace(item)]
        cause = item.cause  # type: ignore[attr-defined]
        return lines + ([f"caused by {short(cause)}"] if cause is not None else [])
    if isinstance(item, refs.ObjectArray):
        shown = read_elements(vm, item, 0, most, unbox=True, text=500, timeout=_WITHIN)
        return _numbered(shown, len(item))  # type: ignore[arg-type]
    if isinstance(item, refs.Array):
        return str(item.numpy()).splitlines()  # type: ignore[attr-defined]
    kinds = supertypes(item.cls)
    if _holds(item):
        found = contents_of(Reader(vm, most, 500, _WITHIN), item)
        if found is not None and _MAP in kinds:
            lines = [f"{_item(key)}: {_value_text(value)}" for key, value in found.items]
            return lines + _more(found.size, len(lines))
        if found is not None:
            return _numbered(found.items, found.size)
    elif scalar_of(vm, item, _TEXT, _WITHIN) is not NOTHING:
        return None
    layout = layout_of(item.cls)
    fields = layout.fields[:most]
    values = read_fields(vm, item, fields, text=500, timeout=_WITHIN)
    lines = [
        f"{name} = {_value_text(one)}" for name, one in zip(layout.names, values, strict=False)
    ]
    return lines + _more(len(layout.names), len(lines))


def _numbered(items: list[Any], size: int | None) -> list[str]:
    lines = [f"{number}: {_value_text(one)}" for number, one in enumerate(items)]
    return lines + _more(size, len(lines))


def _more(size: int | None, shown: int) -> list[str]:
    return [f"… {size - shown:,} more"] if size is not None and size > shown else []


def _value_text(value: Any) -> str:
    return repr(value) if isinstance(value, refs.Object) else _item(value)


__all__ = [
    "StackTraceElement",
    "full",
    "held_by",
    "in_print",
    "is_opaque",
    "short",
    "short_with",
    "size_of",
    "stack_trace",
    "value_of",
]
