"""Java objects with a single value: boxes, numbers, dates, enum constants and the like.

Their fields are read, so no Java code runs. None of them has the value `NOTHING`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti import refs
from jvmti.deferred import datetime, decimal, uuid
from jvmti.interface.signatures import BOXED
from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import TruncatedText, read_elements, read_fields
from jvmti.model.values.conversion import supertypes
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.vm import VM

NOTHING = object()
"""The result of `scalar_of` for an object without a single value."""

_ENUM = "Ljava/lang/Enum;"


class _Reader(NamedTuple):
    vm: VM
    text: int
    timeout: float | None

    def fields(self, item: Any, *names: str) -> list[Any]:
        """Fields of an object."""
        layout = layout_of(item.cls)
        places = [layout.find(name).field for name in names]
        return read_fields(self.vm, item, places, unbox=True, text=self.text, timeout=self.timeout)

    def value(self, item: Any) -> Any:
        """The value of an object in a field."""
        return _scalar(self, item) if isinstance(item, refs.Object) else item


_Shape = tuple[tuple[str, ...], Callable[..., Any]]


def _content(read: _Reader, inside: Any) -> Any:
    return inside


def _present(read: _Reader, present: bool, inside: Any) -> Any:
    return inside if present else None


def _truth(read: _Reader, number: int) -> bool:
    return bool(number)


def _sum(read: _Reader, base: int, cells: Any) -> int:
    """A counter in parts, since threads got in each other's way."""
    return base + sum(_cells(read, cells))


def _cells(read: _Reader, cells: Any) -> list[int]:
    if cells is None:
        return []
    found = read_elements(read.vm, cells, 0, len(cells), timeout=read.timeout)
    return [read.fields(one, "value")[0] for one in found if one is not None]


def _builder(read: _Reader, data: Any, coder: int, count: int) -> str:
    most = count if read.text < 0 else min(count, read.text)
    raw = data[: most << coder].tobytes()
    text: str = raw.decode("utf-16-le" if coder else "latin-1", "surrogatepass")
    return text if most == count else TruncatedText(text)


def _whole_number(read: _Reader, sign: int, magnitude: Any) -> int:
    words = magnitude[:].astype(">i4").tobytes()
    return sign * int.from_bytes(words, "big")


_INFLATED = -(1 << 63)


def _decimal(read: _Reader, whole: Any, scale: int, compact: int) -> decimal.Decimal:
    number = read.value(whole) if compact == _INFLATED else compact
    sign, digits, _ = decimal.Decimal(number).as_tuple()  # exactly, whatever the context rounds to
    return decimal.Decimal((sign, digits, -scale))


def _uuid(read: _Reader, most: int, least: int) -> uuid.UUID:
    return uuid.UUID(int=(most & _WORD) << 64 | (least & _WORD))


_WORD = (1 << 64) - 1


def _date(read: _Reader, year: int, month: int, day: int) -> datetime.date:
    return datetime.date(year, month, day)


def _time(read: _Reader, hour: int, minute: int, second: int, nano: int) -> datetime.time:
    return datetime.time(hour, minute, second, nano // 1000)


def _date_time(read: _Reader, date: Any, time: Any) -> datetime.datetime:
    return datetime.datetime.combine(read.value(date), read.value(time))


def _zoned(read: _Reader, moment: Any, offset: Any) -> datetime.datetime:
    (seconds,) = read.fields(offset, "totalSeconds")
    zone = datetime.timezone(datetime.timedelta(seconds=seconds))
    found: datetime.datetime = read.value(moment)
    return found.replace(tzinfo=zone)


def _instant(read: _Reader, seconds: int, nanos: int) -> datetime.datetime:
    return _epoch() + _duration(read, seconds, nanos)


def _epoch() -> datetime.datetime:
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _duration(read: _Reader, seconds: int, nanos: int) -> datetime.timedelta:
    return datetime.timedelta(seconds=seconds, microseconds=nanos // 1000)


def _old_date(read: _Reader, milliseconds: int) -> datetime.datetime:
    return _epoch() + datetime.timedelta(milliseconds=milliseconds)


def _whole_array(read: _Reader, array: Any) -> Any:
    return array.value


_ATOMIC = "Ljava/util/concurrent/atomic/Atomic"
_ADDER = "Ljava/util/concurrent/atomic/LongAdder;"
_BUILDER: _Shape = (("value", "coder", "count"), _builder)
_ARRAY: _Shape = (("array",), _whole_array)

_SHAPES: dict[str, _Shape] = {
    **dict.fromkeys(BOXED, (("value",), _content)),
    **{
        f"Ljava/util/Optional{kind};": (("isPresent", "value"), _present)
        for kind in ("Int", "Long", "Double")
    },
    **{f"{_ATOMIC}{kind};": (("value",), _content) for kind in ("Integer", "Long", "Reference")},
    **{f"{_ATOMIC}{kind}Array;": _ARRAY for kind in ("Integer", "Long", "Reference")},
    _ATOMIC + "Boolean;": (("value",), _truth),
    _ADDER: (("base", "cells"), _sum),
    "Ljava/util/Optional;": (("value",), _content),
    "Ljava/lang/StringBuilder;": _BUILDER,
    "Ljava/lang/StringBuffer;": _BUILDER,
    "Ljava/math/BigInteger;": (("signum", "mag"), _whole_number),
    "Ljava/math/BigDecimal;": (("intVal", "scale", "intCompact"), _decimal),
    "Ljava/util/UUID;": (("mostSigBits", "leastSigBits"), _uuid),
    "Ljava/util/Date;": (("fastTime",), _old_date),
    "Ljava/time/LocalDate;": (("year", "month", "day"), _date),
    "Ljava/time/LocalTime;": (("hour", "minute", "second", "nano"), _time),
    "Ljava/time/LocalDateTime;": (("date", "time"), _date_time),
    "Ljava/time/OffsetDateTime;": (("dateTime", "offset"), _zoned),
    "Ljava/time/ZonedDateTime;": (("dateTime", "offset"), _zoned),
    "Ljava/time/Instant;": (("seconds", "nanos"), _instant),
    "Ljava/time/Duration;": (("seconds", "nanos"), _duration),
}
"""The fields of a class of the JDK, and what is made of them."""


def scalar_of(vm: VM, item: Any, text: int = -1, timeout: float | None = None) -> Any:
    """The value that an object represents; `NOTHING` if it is not a single value.

    Args:
        vm: where it is.
        item: the object.
        text: UTF-16 units of each text at most; -1 for all.
        timeout: seconds for each question; ``None`` is the session's limit.

    Raises:
        ValueError: it is a date or time that Python has no value for.
    """
    return _scalar(_Reader(vm, text, timeout), item)


def may_be_scalar(cls: Any) -> bool:
    """Whether objects of a class may represent a single value."""
    return cls.signature in _SHAPES or _ENUM in supertypes(cls)


def _scalar(read: _Reader, item: Any) -> Any:
    cls = item.cls
    shape = _SHAPES.get(cls.signature)
    # A class of that name from another loader is another class.
    if shape is not None and read.vm.bootstrap_class(cls.signature[1:-1]) == cls:
        names, make = shape
        try:
            fields = read.fields(item, *names)
        except KeyError:  # a JDK whose class has other fields
            return NOTHING
        try:
            return make(read, *fields)
        except (OverflowError, ValueError) as error:
            raise ValueError(
                printable(
                    f"Python has no value for this {cls.name} ({error}); to_string() describes it"
                )
            ) from None
    if _ENUM in supertypes(cls):
        return read.fields(item, "java.lang.Enum.name")[0]
    return NOTHING


__all__ = ["NOTHING", "may_be_scalar", "scalar_of"]
