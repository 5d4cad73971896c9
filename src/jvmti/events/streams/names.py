"""The names behind the numbers in a stream's records, as the agent announces them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from jvmti.deferred import numpy
from jvmti.interface.errors import ProtocolError
from jvmti.interface.signatures import java_name
from jvmti.layouts.streams import (
    ANNOUNCEMENT,
    FIELD,
    FRAME,
    LINE,
    METHOD,
    STACK,
    THREAD,
    Announced,
)
from jvmti.text import modified_utf8 as text
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

Array: TypeAlias = "numpy.ndarray[Any, Any]"

_HEAD, _METHOD = ANNOUNCEMENT.struct, METHOD.struct
_U32 = struct.Struct("<I")


class NameColumn(Sequence[Any]):
    """A column of names: a number for each row, and the names of the numbers.

    Attributes:
        codes: the numbers, an array of unsigned integers; 0 is none.
        names: their names; the first is ``None``.
    """

    def __init__(self, codes: Array, names: list[Any]) -> None:
        self.codes = codes
        self.names = names

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """The name in a row, or a list of them."""
        if isinstance(index, slice):
            return [self.names[code] for code in self.codes[index].tolist()]
        return self.names[int(self.codes[index])]

    def counts(self) -> dict[Any, int]:
        """How often each name occurs, the most frequent first."""
        found: dict[Any, int] = {}
        for code, count in enumerate(numpy.bincount(self.codes).tolist()):
            if count:
                name = self.names[code]
                found[name] = found.get(name, 0) + count
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @escaped
    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'name')}>"


class Lines:
    """The line of every bytecode of every method, so that a look-up is one addition."""

    def __init__(self) -> None:
        self._lines = numpy.full(1024, -1, numpy.int32)
        self._used = 1
        self._start = numpy.zeros(64, numpy.int64)
        self._last = numpy.zeros(64, numpy.int64)
        self._methods = 1

    def add(self, starts: Array, lines: Array, end: int) -> None:
        """Add the next method: where its lines start, and its last bytecode."""
        if self._methods == len(self._start):
            self._start = numpy.concatenate([self._start, numpy.zeros_like(self._start)])
            self._last = numpy.concatenate([self._last, numpy.zeros_like(self._last)])
        if len(starts) and 0 <= end < 1 << 16:
            order = numpy.argsort(starts, kind="stable")
            starts = numpy.clip(starts[order], 0, end)
            pieces = numpy.diff(numpy.append(starts, end + 1))
            known = numpy.repeat(lines[order], pieces)
            table = numpy.full(end + 1, -1, numpy.int32)
            table[end + 1 - len(known) :] = known
            while self._used + len(table) > len(self._lines):
                self._lines = numpy.concatenate([self._lines, numpy.full_like(self._lines, -1)])
            self._lines[self._used : self._used + len(table)] = table
            self._start[self._methods] = self._used
            self._last[self._methods] = end
            self._used += len(table)
        self._methods += 1

    def of(self, methods: Array, locations: Array) -> Array:
        """The line of each location; -1 if unknown."""
        at = numpy.clip(locations, 0, self._last[methods])
        at += self._start[methods]
        found: Array = self._lines[at]
        found[locations < 0] = -1
        return found


class Names:
    """Everything that a stream has announced so far, by number.

    Attributes:
        threads: names of threads; ``#23``, the number, for one without a name.
        classes: names of classes, ``java.util.List`` or ``int[]``.
        methods: names of methods.
        method_classes: the names of their classes.
        method_signatures: their descriptors.
        method_files: the source files that they come from.
        fields: names of fields.
        field_classes: the names of the classes that have them.
        field_signatures: the signatures of their types.
        texts: texts.
        stacks: tuples of frames, the innermost first: ``com.acme.Order.total:17``.
        places: of each stack the innermost frame outside ``java.lang.Object``.
        lines: where the lines of methods are.
    """

    def __init__(self) -> None:
        self.threads: list[str | None] = [None]
        self.classes: list[str | None] = [None]
        self.methods: list[str | None] = [None]
        self.method_classes: list[str | None] = [None]
        self.method_signatures: list[str | None] = [None]
        self.method_files: list[str | None] = [None]
        self.fields: list[str | None] = [None]
        self.field_classes: list[str | None] = [None]
        self.field_signatures: list[str | None] = [None]
        self.texts: list[str | None] = [None]
        self.stacks: list[tuple[str, ...] | None] = [None]
        self.places: list[str | None] = [None]
        self.lines = Lines()
        self._take: dict[Announced, tuple[list[Any], Callable[[memoryview], None]]] = {
            Announced.THREAD: (self.threads, self._thread),
            Announced.CLASS: (self.classes, self._class),
            Announced.METHOD: (self.methods, self._method),
            Announced.FIELD: (self.fields, self._field),
            Announced.TEXT: (self.texts, self._text),
            Announced.STACK: (self.stacks, self._stack),
        }

    def announce(self, data: memoryview) -> None:
        """Read announcements from the ring.

        Raises:
            ProtocolError: they are invalid.
        """
        at = 0
        try:
            while at < len(data):
                (size,) = _U32.unpack_from(data, at)
                kind = _U32.unpack_from(data, at + 4)[0]
                if size < 8 or size % 8 or size > len(data) - at:
                    raise ProtocolError("an announcement in a stream has an invalid size")
                if kind != Announced.PADDING:
                    _, _, number, length = _HEAD.unpack_from(data, at)
                    known, take = self._take[Announced(kind)]
                    if number != len(known) or length > size - _HEAD.size:
                        raise ProtocolError("an announcement in a stream is out of order")
                    take(data[at + _HEAD.size : at + _HEAD.size + length])
                at += size
        except (struct.error, ValueError, IndexError) as error:
            raise ProtocolError(f"an announcement in a stream is invalid: {error}") from error

    def _texts(self, data: memoryview, at: int) -> list[str]:
        found = []
        while at < len(data):
            (length,) = _U32.unpack_from(data, at)
            found.append(text.decode(bytes(data[at + 4 : at + 4 + length])))
            at += 4 + length
        return found

    def _thread(self, data: memoryview) -> None:
        number, name = THREAD.struct.unpack_from(data)[0], self._texts(data, THREAD.size)[0]
        self.threads.append(name or (f"#{number}" if number else name))

    def _class(self, data: memoryview) -> None:
        self.classes.append(java_name(self._texts(data, 0)[0]))

    def _method(self, data: memoryview) -> None:
        klass, _modifiers, end, count = _METHOD.unpack_from(data)
        at = _METHOD.size
        table = numpy.frombuffer(data, LINE.columns, count, at)
        name, signature, file = self._texts(data, at + LINE.size * count)
        self.lines.add(table["location"], table["line"], end)
        self.method_classes.append(self.classes[klass])
        self.method_signatures.append(signature or None)
        self.method_files.append(file or None)
        self.methods.append(name or None)

    def _field(self, data: memoryview) -> None:
        klass, _modifiers = FIELD.struct.unpack_from(data)
        name, signature = self._texts(data, FIELD.size)
        self.field_classes.append(self.classes[klass])
        self.field_signatures.append(signature)
        self.fields.append(name)

    def _text(self, data: memoryview) -> None:
        self.texts.append(self._texts(data, 0)[0])

    def _stack(self, data: memoryview) -> None:
        (count,) = STACK.struct.unpack_from(data)
        frames = numpy.frombuffer(data, FRAME.columns, count, STACK.size)
        methods = frames["method"]
        if count and int(methods.max()) >= len(self.methods):
            raise ProtocolError("a stack in a stream names a method that was not announced")
        lines = self.lines.of(methods, frames["location"].copy()).tolist()
        stack = tuple(
            f"{self.method_classes[method]}.{self.methods[method]}"
            + (f":{line}" if line >= 0 else "")
            for method, line in zip(methods.tolist(), lines, strict=True)
        )
        self.stacks.append(stack)
        own = (frame for frame in stack if not frame.startswith("java.lang.Object."))
        self.places.append(next(own, stack[0] if stack else None))


__all__ = ["NameColumn", "Names"]
