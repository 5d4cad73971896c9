"""Recorded calls as columns: what a trace has read, without an object for each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from jvmti import display
from jvmti.interface.signatures import parameters_of, signature_of
from jvmti.layouts.probes import Site as Where
from jvmti.text.names import suggestion
from jvmti.text.quantities import quantity
from jvmti.tracing.records.calls import value_text
from jvmti.tracing.records.sites import RecordedObject, Site, Slot

_WHOLE = frozenset("BSIJ")
"""Types whose text is that of the number."""


_ARROW = {
    "Z": "bool_",
    "B": "int8",
    "S": "int16",
    "I": "int32",
    "J": "int64",
    "F": "float32",
    "D": "float64",
}
"""Arrow's types for those of Java's numbers."""


def _plain_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else value_text(value)


def _exception_text(value: Any) -> str | None:
    return str(value) if isinstance(value, RecordedObject) else None


class CallTable(display.Tabular):
    """Calls in the order in which they ended, as columns.

    `to_arrow` has the columns of `Calls`, and takes a fraction of the time: it makes each distinct
    value once. pandas, polars and DuckDB accept the table itself.

    Attributes:
        time: when each call ended, in nanoseconds of ``CLOCK_MONOTONIC``; an array of int64.
        duration: the nanoseconds that it took, int64.
        thread_id: its ``Thread.threadId``, int64.
        name: for each call the position of its method in `names`, int32.
        names: the traced methods, as ``com.acme.Order.add``.
    """

    def __init__(
        self,
        rows: Any,
        heads: Any,
        sites: Sequence[Site],
        where: Sequence[Where],
        threads: dict[int, str],
        read: Callable[[Slot, memoryview], Any],
        text_size: int,
        frames: int,
    ) -> None:
        self.time = heads["time"].copy()
        self.duration = heads["time"] - heads["started"]
        self.thread_id = heads["thread"].copy()
        self._rows = rows
        self._site = heads["site"].copy()
        self._sites = sites
        self._where = where
        self._threads = threads
        self._read = read
        self._text_size = text_size
        self._frames = frames
        called = dict.fromkeys(site.called for site in sites)
        self.names = list(called)
        numbers = {name: number for number, name in enumerate(called)}
        of_site = numpy.array([numbers[site.called] for site in sites], numpy.int32)
        self.name = of_site[self._site] if len(sites) else self._site.astype(numpy.int32)

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        return (
            f"<CallTable of {quantity(len(self), 'call')} of "
            f"{quantity(len(numpy.unique(self.name)), 'method')}>"
        )

    def first(self, number: int) -> CallTable:
        """The first calls, as many as the number says."""
        return self._chosen(slice(number))

    def to_arrow(self) -> Any:
        """The calls as a ``pyarrow.Table``, with the columns that `Calls.to_arrow` has.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        import pyarrow

        sites, inverse = numpy.unique(self._site, return_inverse=True)
        order = numpy.argsort(inverse, kind="stable")
        bounds = numpy.searchsorted(inverse[order], numpy.arange(len(sites) + 1))
        found: dict[str, list[Any]] = {name: [] for name in ("arguments", "value", "exception")}
        found["stack"] = []
        for number, site in enumerate(sites.tolist()):
            rows = self._rows[order[bounds[number] : bounds[number + 1]]]
            for name, column in self._values(pyarrow, site, rows).items():
                found[name].append(column)
        back = numpy.empty(len(order), numpy.int64)
        back[order] = numpy.arange(len(order))
        about = [self._sites[site] for site in sites.tolist()]
        names = [site.called.rpartition(".") for site in about]
        unwound = [self._where[site] is Where.UNWIND for site in sites.tolist()]
        lines = [
            None if failed else site.line or None
            for site, failed in zip(about, unwound, strict=True)
        ]
        threads, of_thread = numpy.unique(self.thread_id, return_inverse=True)
        known = [self._threads.get(one, f"#{one}") for one in threads.tolist()]

        def words(values: list[str], indices: Any) -> Any:
            distinct = list(dict.fromkeys(values))
            numbers = {text: number for number, text in enumerate(distinct)}
            places = numpy.array([numbers[text] for text in values], numpy.int32)
            return pyarrow.DictionaryArray.from_arrays(
                pyarrow.array(places[indices] if len(values) else [], pyarrow.int32()),
                pyarrow.array(distinct, pyarrow.string()),
            )

        texts = pyarrow.string()
        kinds = {
            "arguments": pyarrow.list_(texts),
            "value": texts,
            "exception": texts,
            "stack": pyarrow.list_(texts),
        }
        columns = {
            name: pyarrow.concat_arrays(parts or [pyarrow.array([], kinds[name])]).take(
                pyarrow.array(back)
            )
            for name, parts in found.items()
        }
        return pyarrow.table(
            {
                "time": pyarrow.array(self.time),
                "duration": pyarrow.array(self.duration),
                "thread": words(known, of_thread),
                "thread_id": pyarrow.array(self.thread_id),
                "class": words([name[0] for name in names], inverse),
                "method": words([name[2] for name in names], inverse),
                "descriptor": words([site.called_descriptor for site in about], inverse),
                "line": pyarrow.array(lines, pyarrow.int32()).take(pyarrow.array(inverse)),
                **columns,
            }
        )

    def of_method(self, name: str, descriptor: str | None = None) -> Any:
        """The calls of one method as a ``pyarrow.Table`` whose values have types of their own.

        It has ``time``, ``duration``, ``thread`` and ``thread_id`` as `to_arrow`, a column for each
        argument, ``arg0``, ``arg1`` and so on, then ``value`` and ``exception``. Numbers are of
        Arrow's type of the same size, truth values ``bool``; a ``char`` and all objects are texts,
        of a string its own. Missing are null references, the value where an exception ended the
        call, and what had no space in the record.

        Args:
            name: the method, as in `names`.
            descriptor: which, if there are calls of several methods of that name.

        Raises:
            LookupError: there is no call of it, or of several of the name.
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        import pyarrow

        of_name = {
            number: site
            for number, site in enumerate(self._sites)
            if site.called == name and descriptor in (None, site.called_descriptor)
        }
        places = numpy.flatnonzero(numpy.isin(self._site, list(of_name)))
        there = [of_name[number] for number in numpy.unique(self._site[places]).tolist()]
        found = sorted({site.called_descriptor for site in there})
        if not found:
            others = {self.names[one] for one in numpy.unique(self.name).tolist()}
            raise LookupError(f"there is no call of {name!r}{suggestion(name, others)}")
        if len(found) > 1:
            raise LookupError(
                f"there are calls of several methods {name!r}: descriptor= chooses one of "
                f"{', '.join(found)}"
            )
        chosen = self._chosen(places)
        types = [signature_of(one) for one in parameters_of(found[0])]
        result = found[0].partition(")")[2]
        kinds = {f"arg{number}": one for number, one in enumerate(types)}
        kinds |= {"value": result} if result != "V" else {}
        parts: dict[str, list[Any]] = {one: [] for one in (*kinds, "exception")}
        order: list[Any] = []
        for number in numpy.unique(chosen._site).tolist():
            at = numpy.flatnonzero(chosen._site == number)
            order.append(at)
            rows, site = chosen._rows[at], self._sites[number]
            failed = self._where[number] is Where.UNWIND
            first, *more = site.slots
            slots: dict[str, Slot | None] = dict(
                zip(kinds, more[1:] if self._frames else more, strict=False)
            )
            slots["value"], slots["exception"] = (None, first) if failed else (first, None)
            for one, its in kinds.items():
                parts[one].append(self._typed(pyarrow, slots.get(one), rows, its))
            thrown = self._texts(pyarrow, slots["exception"], rows, _exception_text)
            parts["exception"].append(thrown)
        back = pyarrow.array(numpy.argsort(numpy.concatenate(order), kind="stable"))
        about = chosen.to_arrow().select(["time", "duration", "thread", "thread_id"])
        for one, columns in parts.items():
            about = about.append_column(one, pyarrow.concat_arrays(columns).take(back))
        return about

    def _chosen(self, places: Any) -> CallTable:
        """The calls at some positions."""
        found = object.__new__(CallTable)
        found.__dict__.update(self.__dict__)
        for column in ("time", "duration", "thread_id", "name", "_rows", "_site"):
            setattr(found, column, getattr(self, column)[places])
        return found

    def _typed(self, pyarrow: Any, slot: Slot | None, rows: Any, signature: str) -> Any:
        """The values in a slot, in the type of their own."""
        type_ = _ARROW.get(signature, "string")
        if slot is None:
            return pyarrow.nulls(len(rows), getattr(pyarrow, type_)())
        if type_ == "string":
            return self._texts(pyarrow, slot, rows, _plain_text)
        cells = numpy.ascontiguousarray(rows[:, slot.at : slot.at + 8])
        numbers = cells.view("<f8" if signature in "FD" else "<i8").ravel()
        if signature == "Z":
            numbers = numbers & 1
        return pyarrow.array(numbers).cast(getattr(pyarrow, type_)(), safe=False)

    def _values(self, pyarrow: Any, number: int, rows: Any) -> dict[str, Any]:
        """The columns of the values of one site."""
        site, where = self._sites[number], self._where[number]
        result, *more = site.slots
        texts = pyarrow.string()
        frames: Any = pyarrow.array([[]] * len(rows), pyarrow.list_(texts))
        if self._frames:
            frames = self._stacks(pyarrow, more.pop(0), rows, site, where)
        handed = [slot for slot in more if slot is not None or not site.omitted]
        columns = [self._texts(pyarrow, slot, rows, value_text) for slot in handed]
        # One call's arguments after the other.
        flat = pyarrow.array([], texts)
        if columns:
            together = pyarrow.concat_arrays(columns)
            order = numpy.arange(len(together)).reshape(len(columns), len(rows)).T.ravel()
            flat = together.take(pyarrow.array(order))
        offsets = numpy.arange(len(rows) + 1, dtype=numpy.int32) * len(columns)
        absent = pyarrow.nulls(len(rows), texts)
        value, exception = absent, absent
        if where is Where.UNWIND:
            exception = self._texts(pyarrow, result, rows, _exception_text)
        elif not site.called_descriptor.endswith(")V"):
            value = self._texts(pyarrow, result, rows, value_text)
        return {
            "arguments": pyarrow.ListArray.from_arrays(pyarrow.array(offsets), flat),
            "value": value,
            "exception": exception,
            "stack": frames,
        }

    def _distinct(self, slot: Slot, rows: Any) -> tuple[list[Any], Any]:
        """The distinct values in a slot, and the position of each row's."""
        size = slot.size(self._text_size)
        cells = numpy.ascontiguousarray(rows[:, slot.at : slot.at + size])
        distinct, inverse = numpy.unique(cells.view(f"V{size}").ravel(), return_inverse=True)
        at_start = Slot(slot.letter, 0)
        values = [self._read(at_start, memoryview(one.tobytes())) for one in distinct]
        return values, inverse

    def _texts(
        self, pyarrow: Any, slot: Slot | None, rows: Any, text: Callable[[Any], str | None]
    ) -> Any:
        """The texts of the values in a slot."""
        if slot is None:
            return pyarrow.array([text(None)] * len(rows), pyarrow.string())
        if slot.letter in _WHOLE:
            cells = numpy.ascontiguousarray(rows[:, slot.at : slot.at + 8])
            return pyarrow.array(cells.view("<i8").ravel()).cast(pyarrow.string())
        values, inverse = self._distinct(slot, rows)
        found = pyarrow.array([text(one) for one in values], pyarrow.string())
        return found.take(pyarrow.array(inverse))

    def _stacks(self, pyarrow: Any, slot: Slot | None, rows: Any, site: Site, where: Where) -> Any:
        """The callers of each call."""
        values, inverse = (
            ([()], numpy.zeros(len(rows), numpy.int64))
            if slot is None
            else (self._distinct(slot, rows))
        )
        stacks = []
        for one in values:
            frames = one[: self._frames] if isinstance(one, tuple) else ()
            if where is Where.CALLED and frames:
                frames = (f"{site.name}:{site.line}", *frames)[: self._frames]
            stacks.append(list(frames))
        return pyarrow.array(stacks, pyarrow.list_(pyarrow.string())).take(pyarrow.array(inverse))


__all__ = ["CallTable"]
