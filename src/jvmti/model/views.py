"""Java objects shown as what they are: boxes, enums, collections, records, exceptions, arrays.

What is printed is read from fields; no Java code runs for it, and whatever goes wrong, there is
something to print.  `value_of` may call Java code, where the fields do not say enough.
"""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti import refs
from jvmti.model import calls
from jvmti.model.containers import Contents, Reader, contents_of
from jvmti.model.layouts import layout_of
from jvmti.model.reading import Cut, read_elements, read_fields
from jvmti.model.values import BOXED, supertypes

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_WITHIN = 2.0
"""Seconds for each question that printing an object asks."""
_ITEMS = 6
"""Elements in a short text."""
_TEXT = 60
"""Characters of each text in a short text."""
_LINES = 200
"""Elements or fields in a full text."""

_MAP = "Ljava/util/Map;"
_COLLECTION = "Ljava/util/Collection;"
_SET = "Ljava/util/Set;"
_ENUM = "Ljava/lang/Enum;"
_RECORD = "Ljava/lang/Record;"
_HOLDERS = {
    "Ljava/util/Optional;": "value",
    "Ljava/util/concurrent/atomic/AtomicReference;": "value",
    "Ljava/util/concurrent/atomic/AtomicInteger;": "value",
    "Ljava/util/concurrent/atomic/AtomicLong;": "value",
}
"""Classes of objects that stand for one value, and where they have it."""
_PERHAPS = {f"Ljava/util/Optional{kind};" for kind in ("Int", "Long", "Double")}
_NUMBERS = {"Ljava/math/BigInteger;": int, "Ljava/math/BigDecimal;": decimal.Decimal}


class StackTraceElement(NamedTuple):
    """A place in the stack trace of an exception."""

    class_name: str
    method: str
    file: str | None
    line: int | None

    def __str__(self) -> str:
        where = self.file or "unknown source"
        line = f":{self.line}" if self.line is not None else ""
        return f"{self.class_name}.{self.method}({where}{line})"


def stack_trace(item: Any) -> list[StackTraceElement]:
    """The stack trace of an exception, as the class ``Throwable`` itself gives it."""
    vm: VM = item._vm
    throwable = vm.well_known("java/lang/Throwable")
    getter = vm.jni.get_method_id(throwable, "getStackTrace", "()[Ljava/lang/StackTraceElement;")
    elements: Any = vm.jni.with_timeout(calls.TIME_LIMIT).call_nonvirtual_object_method(
        item, throwable, getter
    )
    layout = layout_of(vm.well_known("java/lang/StackTraceElement"))
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
    """What an object stands for, as a Python value; see ``obj.value``."""
    vm: VM = item._vm
    if isinstance(item, refs.String):
        return vm.jni.get_string_chars(item)
    if isinstance(item, refs.ObjectArray):
        return read_elements(vm, item, 0, len(item), unbox=True)  # type: ignore[arg-type]
    if isinstance(item, refs.CharArray):
        return item.numpy().tobytes().decode("utf-16-le", "surrogatepass")  # type: ignore[attr-defined]
    if isinstance(item, refs.Array):
        return item.numpy()  # type: ignore[attr-defined]
    signature = item.cls.signature
    number = _NUMBERS.get(signature)
    if number is not None:
        return number(item.call("toString"))
    plain = _plain(vm, item, signature, -1, None)
    if plain is not _NOTHING:
        return plain
    kinds = supertypes(item.cls)
    if _RECORD in kinds:
        layout = layout_of(item.cls)
        return dict(
            zip(layout.names, read_fields(vm, item, layout.fields, unbox=True), strict=True)
        )
    if _MAP in kinds:
        return dict(_entries(vm, item))
    if _COLLECTION in kinds:
        elements = _elements(vm, item)
        return set(elements) if _SET in kinds else elements
    raise TypeError(
        f"{item.cls.name} stands for no Python value; fields() has what it consists of, and "
        "to_string() is its own description"
    )


_NOTHING = object()


def _plain(vm: VM, item: Any, signature: str, text: int, timeout: float | None) -> Any:
    """What is in a box, an enum constant or an ``Optional``."""

    def field(name: str) -> Any:
        place = layout_of(item.cls).find(name)
        return read_fields(vm, item, [place.field], unbox=True, text=text, timeout=timeout)[0]

    if signature in BOXED:
        return field("value")
    if signature in _HOLDERS:
        return field(_HOLDERS[signature])
    if signature in _PERHAPS:
        return field("value") if field("isPresent") else None
    if _ENUM in supertypes(item.cls):
        return field("java.lang.Enum.name")
    return _NOTHING


def _entries(vm: VM, item: Any) -> list[Any]:
    read = Reader(vm, None, -1, None)
    found = contents_of(read, item)
    if found is None:
        # A copy by Java code has keys and values that belong together.
        copy = vm.well_known("java/util/LinkedHashMap").new(item, signature="java.util.Map")
        found = contents_of(read, copy)
    assert found is not None
    return found.items


def _elements(vm: VM, item: Any) -> list[Any]:
    found = contents_of(Reader(vm, None, -1, None), item)
    if found is not None:
        return found.items
    array = item.call("toArray", signature="()")
    return read_elements(vm, array, 0, len(array), unbox=True)


# ---- in print --------------------------------------------------------------------------------


def short(item: Any) -> str:
    """An object in a line: what it is, and the beginning of what it holds."""
    kind = type(item).__name__
    if item._handle == 0:
        return f"<{kind}, released>"
    number = item._handle & 0xFFFFFFFF
    session = item._session
    if session.closed is not None or session.model is None:
        return f"<{kind} {number}>"
    try:
        return f"<{_described(session.model, item)}>"
    except Exception:  # what prints must not fail: not in a debugger, nor at the end of a session
        return f"<{kind} {number}>"


def _described(vm: VM, item: Any) -> str:
    name = item.cls.name
    if isinstance(item, refs.String):
        (text,) = _beginning(vm, item)
        return f"{name} {text}"
    if isinstance(item, refs.Array):
        count = len(item)  # type: ignore[arg-type]
        return f"{name[:-1]}{count}] [{_array(vm, item, count)}]"
    if isinstance(item, refs.Throwable):
        said = vm._agent.describe_throwable(item).message
        return name if said is None else f"{name}: {said[:500]}"
    signature = item.cls.signature
    plain = _plain(vm, item, signature, _TEXT, _WITHIN)
    if plain is not _NOTHING:
        if _ENUM in supertypes(item.cls) and item.cls.superclass.name != "java.lang.Enum":
            name = item.cls.superclass.name  # a constant with a body is of a class of its own
        if "Optional" in name:
            return f"{name}, empty" if plain is None else f"{name} of {_item(plain)}"
        return f"{name} {plain if isinstance(plain, str) else _item(plain)}"
    kinds = supertypes(item.cls)
    if _RECORD in kinds:
        return f"{name}({', '.join(_parts(vm, item, _ITEMS))})"
    if _MAP in kinds or _COLLECTION in kinds:
        found = contents_of(Reader(vm, _ITEMS, _TEXT, _WITHIN), item)
        if found is not None:
            return f"{name}{_held(found, _MAP in kinds, _SET in kinds)}"
    return f"{name} {item._handle & 0xFFFFFFFF}"


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
    if isinstance(value, Cut):
        return f"{str(value)!r}…"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, refs.Object):
        return f"<{value.cls.name}>" if hasattr(value, "cls") else repr(value)
    return repr(value)


def _array(vm: VM, item: Any, count: int) -> str:
    if isinstance(item, refs.ObjectArray):
        found = read_elements(vm, item, 0, _ITEMS, unbox=True, text=_TEXT, timeout=_WITHIN)
    else:
        found = list(item[:_ITEMS].tolist())
        if isinstance(item, refs.CharArray):
            found = [chr(one) for one in found]
    return ", ".join([*map(_item, found), *(["…"] if count > _ITEMS else [])])


def _beginning(vm: VM, item: Any) -> list[str]:
    count = vm.jni.get_string_length(item)
    text = vm.jni.get_string_region(item, 0, min(count, _TEXT))
    return [_item(text if count <= _TEXT else Cut(text))]


def _parts(vm: VM, item: Any, most: int) -> list[str]:
    """The fields of an object with their values, and a sign that there are more."""
    layout = layout_of(item.cls)
    values = read_fields(vm, item, layout.fields[:most], unbox=True, text=_TEXT, timeout=_WITHIN)
    parts = [f"{name}={_item(one)}" for name, one in zip(layout.names, values, strict=False)]
    return parts + (["…"] if len(layout.names) > most else [])


def full(item: Any) -> str:
    """An object in several lines: its fields, elements or entries."""
    head = short(item)
    if item._handle == 0 or item._session.closed is not None:
        return head
    try:
        lines = _lines(item._vm, item)
    except Exception:
        return head
    return head if lines is None else "\n".join([head, *(f"  {line}" for line in lines)])


def _lines(vm: VM, item: Any) -> list[str] | None:
    if isinstance(item, refs.Throwable):
        lines = [f"at {element}" for element in stack_trace(item)]
        cause = item.cause  # type: ignore[attr-defined]
        return lines + ([f"caused by {short(cause)}"] if cause is not None else [])
    if isinstance(item, refs.ObjectArray):
        shown = read_elements(vm, item, 0, _LINES, unbox=True, text=500, timeout=_WITHIN)
        return _numbered(shown, len(item))  # type: ignore[arg-type]
    if isinstance(item, refs.Array):
        return str(item.numpy()).splitlines()  # type: ignore[attr-defined]
    if _plain(vm, item, item.cls.signature, _TEXT, _WITHIN) is not _NOTHING:
        return None
    kinds = supertypes(item.cls)
    if _MAP in kinds or _COLLECTION in kinds:
        found = contents_of(Reader(vm, _LINES, 500, _WITHIN), item)
        if found is not None and _MAP in kinds:
            lines = [f"{_item(key)}: {_shown(value)}" for key, value in found.items]
            return lines + _more(found.size, len(lines))
        if found is not None:
            return _numbered(found.items, found.size)
    layout = layout_of(item.cls)
    fields = layout.fields[:_LINES]
    values = read_fields(vm, item, fields, text=500, timeout=_WITHIN)
    lines = [f"{name} = {_shown(one)}" for name, one in zip(layout.names, values, strict=False)]
    return lines + _more(len(layout.names), len(lines))


def _numbered(items: list[Any], size: int | None) -> list[str]:
    lines = [f"{number}: {_shown(one)}" for number, one in enumerate(items)]
    return lines + _more(size, len(lines))


def _more(size: int | None, shown: int) -> list[str]:
    return [f"… {size - shown:,} more"] if size is not None and size > shown else []


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, refs.Object) else _item(value)


__all__ = ["StackTraceElement", "full", "short", "stack_trace", "value_of"]
