"""Scans: all objects, or those of some classes, as columns from one pass over the heap.

A row is an object at the time of the pass. Queries of rows work on NumPy arrays; `Scan.live` finds
the objects of the VM again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy

from jvmti import display
from jvmti.heap.names import Patterns, matching
from jvmti.interface.errors import ProtocolError
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import DTYPES
from jvmti.layouts.heap_passes import FIELD, SCAN, UNITS
from jvmti.liveheap.field_numbers import FieldNumbers, NumberedField
from jvmti.liveheap.loaders import LoadedClasses
from jvmti.liveheap.passes import PassMemory, Progress
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.liveheap.live_heap import LiveHeap
    from jvmti.operations.functions import HeapScanned

Array = numpy.ndarray[Any, Any]

_ELEMENTS = {
    "boolean[]": "Z",
    "byte[]": "B",
    "char[]": "C",
    "short[]": "S",
    "int[]": "I",
    "long[]": "J",
    "float[]": "F",
    "double[]": "D",
}
_NAME_OF_NONE = "?"


@frozen
class LiveRows:
    """Rows of a scan or a snapshot, with the objects of the VM that were found again.

    Attributes:
        rows: the rows, in the order of the request.
        objects: the object of each, ``None`` if not found.
        coverage: the share of the rows that have one.
        pause: how long all passes stopped the VM, in seconds; 0 if none was needed.
        collections: the number of garbage collections since then; they may have moved objects, so
            that rows of one class and size have changed places. ``None`` if unknown.
        changed: the rows, each once, for which only an object with other contents was found; empty
            without `content`.
    """

    rows: Array
    objects: list[Any]
    coverage: float
    pause: float
    collections: int | None
    changed: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.objects)

    def __iter__(self) -> Iterator[Any]:
        """The objects that were found."""
        return (one for one in self.objects if one is not None)


class Scan(display.Tabular):
    """Objects as columns.

    It keeps its classes loaded, until it is closed or collected.

    Attributes:
        names: the names of classes by their numbers; that of number 0, for objects of classes that
            were loaded during the scan, is ``?``.
        class_number: for each row the number of its class, ``uint32``.
        length: for each row the length of the array, -1 for other objects, ``int32``.
        pause: how long the VM was stopped, in seconds.
        missed: the number of objects without a row: the program allocated them between the count
            and the scan.
    """

    def __init__(
        self,
        heap: LiveHeap,
        loaded: LoadedClasses,
        capacity: dict[str, int],
        memory: PassMemory,
        scanned: HeapScanned,
        *,
        collections: int | None,
        wishes: frozenset[str],
    ) -> None:
        used = {one: getattr(scanned, one) for one in capacity}
        if any(not 0 <= used[one] <= capacity[one] for one in capacity):
            raise ProtocolError("the agent reports more rows than fit into the memory of the scan")
        self._heap = heap
        self._loaded: LoadedClasses | None = loaded
        self._collections = collections
        self._wishes = wishes
        self.names: list[str] = [_NAME_OF_NONE, *(name or _NAME_OF_NONE for name in loaded.names)]
        self.pause = scanned.stopped / 1e9
        self.missed = scanned.missed
        self.missed_text = scanned.missed_text
        columns = SCAN.views(memory.bytes, capacity, used)
        self.class_number: Array = columns["class_number"]
        self._units: Array = columns["size"]
        self.length: Array = columns["length"]
        self._string_words = columns["string"]
        self._text = columns["text"]
        self._values = columns["value"]
        self._elements = columns["element"]
        self._fields = FieldNumbers(heap._vm)
        if len(self.class_number) and int(self.class_number.max()) >= len(self.names):
            raise ProtocolError("the agent reports a class that was not requested")
        self._layouts = _layouts(scanned.fields, len(self.names))

    # ---- rows ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.class_number)

    @property
    def size(self) -> Array:
        """For each row the bytes that the object takes, ``int64``."""
        return self._units.astype(numpy.int64) * UNITS.SIZE

    def numbers(self, classes: Patterns) -> list[int]:
        """The numbers of the classes whose names match a pattern, or one of several.

        Raises:
            NoSuchClass: a pattern matches none of the scan's classes.
        """
        chosen = matching([None, *self.names[1:]], classes, "in the scan")
        return [number for number, one in enumerate(chosen) if one]

    def __getitem__(self, classes: Patterns) -> Instances:
        """The objects of the classes whose names match a pattern, or one of several."""
        wanted = numpy.zeros(len(self.names), bool)
        wanted[self.numbers(classes)] = True
        return Instances(self, numpy.flatnonzero(wanted[self.class_number]))

    def rows(self, which: Any) -> Instances:
        """The objects of some rows.

        Args:
            which: the numbers of the rows, or a mask with an item for each row.

        Raises:
            IndexError: there is no such row.
        """
        found = numpy.asarray(which)
        if found.dtype == bool:
            if found.shape != (len(self),):
                rows = quantity(len(self), "row")
                raise IndexError(f"the mask has the shape {found.shape}, the scan {rows}")
            return Instances(self, numpy.flatnonzero(found))
        # With the counts it sorts; without, newer releases hash, which takes 40 times as long.
        found, _ = numpy.unique(found.astype(numpy.int64).reshape(-1), return_counts=True)
        if len(found) and not 0 <= found[0] <= found[-1] < len(self):
            raise IndexError(f"the scan has {quantity(len(self), 'row')}")
        return Instances(self, found)

    def by_class(self) -> dict[str, tuple[int, int]]:
        """The number of objects of each class, and their bytes."""
        counts = numpy.bincount(self.class_number, minlength=len(self.names)).tolist()
        sizes = numpy.bincount(self.class_number, self._units, len(self.names)) * UNITS.SIZE
        found: dict[str, tuple[int, int]] = {}
        for name, count, size in zip(self.names, counts, sizes.tolist(), strict=True):
            if count:
                before = found.get(name, (0, 0))
                found[name] = (before[0] + count, before[1] + int(size))
        return found

    # ---- contents --------------------------------------------------------------------------

    @cached_property
    def strings(self) -> Strings:
        """The strings among the objects.

        Raises:
            ValueError: the scan was made without ``strings=True``.
        """
        self._wished("strings")
        number = self.names.index("java.lang.String") if "java.lang.String" in self.names else -1
        rows = numpy.flatnonzero(self.class_number == number)[: len(self._string_words)]
        return Strings(rows, self._string_words, self._text)

    @cached_property
    def arrays(self) -> Arrays:
        """The primitive arrays among the objects.

        Raises:
            ValueError: the scan was made without ``arrays=True``.
        """
        self._wished("arrays")
        dtypes = {
            number: numpy.dtype(DTYPES[_ELEMENTS[name]])
            for number, name in enumerate(self.names)
            if name in _ELEMENTS
        }
        return Arrays(self, dtypes, self._elements)

    def _wished(self, what: str) -> None:
        if what not in self._wishes:
            raise ValueError(f"the scan was made without {what}=True")

    @cached_property
    def _value_offsets(self) -> Array:
        """Where the values of each row begin, and where the last ones end."""
        strides = numpy.array([layout[0].itemsize for layout in self._layouts], numpy.int64)
        found = numpy.zeros(len(self) + 1, numpy.int64)
        numpy.cumsum(strides[self.class_number], out=found[1:])
        return found

    def _fields_of(self, number: int) -> dict[str, str]:
        """The primitive fields of a class by name; those of a superclass also with its name."""
        _, indices = self._layouts[number]
        if not indices or self._loaded is None:
            return {}
        numbered = self._fields.of(self._loaded.handles[number - 1])
        return _named(numbered, indices)

    def _records(self, number: int, rows: Array) -> tuple[Array, Array]:
        """The values of rows of one class, and which rows have values."""
        dtype, _ = self._layouts[number]
        starts = self._value_offsets[rows]
        there = starts + dtype.itemsize <= len(self._values)
        if dtype.itemsize == 0 or not there.any():
            return numpy.zeros(0, dtype), numpy.zeros(len(rows), bool)
        # A record may begin at any byte: view the bytes as overlapping records and pick the right
        # ones.
        count = len(self._values) - dtype.itemsize + 1
        overlapping = numpy.ndarray(count, dtype, self._values.data, strides=(1,))
        return overlapping[starts[there]], there

    # ---- live objects ----------------------------------------------------------------------

    def live(
        self, which: Any, *, timeout: float | None = 60.0, progress: Progress | None = None
    ) -> LiveRows:
        """The live objects of rows.

        A second pass counts the objects of each class in the same order and takes those of the
        rows, if they have the same size and length.  New objects, and collections in between, can
        change the order; so do this soon after the scan. Each 20,000 rows take a pass; the program
        runs between the passes.

        Args:
            which: numbers of rows, a mask, or `Instances`.
            timeout: seconds after which the passes end.
            progress: called after each pass with the number of rows done.

        Raises:
            IndexError: there is no such row.
            CallTimeout: it overran the timeout.
            ValueError: the scan is closed.
        """
        rows = which.row if isinstance(which, Instances) else self.rows(which).row
        return self._heap._find(self, rows, timeout, progress)

    def close(self) -> None:
        """Let the classes be unloaded.  The columns stay; names of fields cannot be looked up."""
        if self._loaded is not None:
            self._loaded.release()
        self._loaded = None

    _repr_html_ = display.html

    def to_arrow(self) -> Any:
        """The columns as an Arrow table: class, size, length (null if not an array).

        Raises:
            ImportError: pyarrow is not installed; ``pip install jvmti[arrow]`` does.
        """
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("Arrow tables need pyarrow: pip install 'jvmti[arrow]'") from error
        classes = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(self.class_number.astype(numpy.int32)),
            pyarrow.array(self.names, pyarrow.string()),
        )
        lengths = pyarrow.array(self.length, mask=self.length < 0)
        return pyarrow.table({"class": classes, "size": self.size, "length": lengths})

    @escaped
    def __repr__(self) -> str:
        return (
            f"<Scan of {quantity(len(self), 'object')} of {quantity(len(self.names) - 1, 'class')}>"
        )


class Instances:
    """Some rows of a scan.

    ``instances["total"]`` is a primitive field as a column, of a scan with ``fields=True``.

    Attributes:
        scan: the scan.
        row: the numbers of the rows, ``int64``, ascending.
    """

    def __init__(self, scan: Scan, row: Array) -> None:
        self.scan = scan
        self.row = row

    def __len__(self) -> int:
        return len(self.row)

    @property
    def size(self) -> Array:
        """The bytes that each takes, ``int64``."""
        return self.scan._units[self.row].astype(numpy.int64) * UNITS.SIZE

    @property
    def length(self) -> Array:
        """The length of each array, -1 for other objects, ``int32``."""
        return self.scan.length[self.row]

    @property
    def class_number(self) -> Array:
        """The number of the class of each, ``uint32``."""
        return self.scan.class_number[self.row]

    @property
    def class_names(self) -> list[str]:
        """The name of the class of each."""
        names = self.scan.names
        return [names[number] for number in self.class_number.tolist()]

    @property
    def fields(self) -> list[str]:
        """The primitive fields that all of them have."""
        common: dict[str, None] | None = None
        for number in numpy.unique(self.class_number).tolist():
            found = self.scan._fields_of(number)
            common = dict.fromkeys(
                found if common is None else (name for name in common if name in found)
            )
        return list(common or ())

    def __getitem__(self, field: str) -> Array:
        """The values of a primitive field.

        A hidden field of a superclass has the superclass's name in front:
        ``"com.acme.Base.number"``. If classes differ in its type, all values have the wider one.

        Raises:
            KeyError: a class among them has no such field.
            ValueError: the scan was made without ``fields=True``, or its memory was too small for
                all values.
        """
        self.scan._wished("fields")
        numbers = self.class_number
        pieces = []
        for number in numpy.unique(numbers).tolist():
            names = self.scan._fields_of(number)
            if field not in names:
                raise KeyError(
                    f"{self.scan.names[number]} has no primitive field {field!r}; it has "
                    f"{', '.join(names) or 'none'}"
                )
            at = numpy.flatnonzero(numbers == number)
            records, there = self.scan._records(number, self.row[at])
            if not there.all():
                raise ValueError(
                    f"the scan's memory was too small for the fields of "
                    f"{quantity(len(there) - len(records), 'object')}"
                )
            pieces.append((at, records[names[field]]))
        if not pieces:
            return numpy.zeros(0, numpy.int64)
        column = numpy.zeros(len(self), numpy.result_type(*(values for _, values in pieces)))
        for at, values in pieces:
            column[at] = values
        return column

    @property
    def text(self) -> list[str | None]:
        """The texts of strings, ``None`` for other objects; of a scan with ``strings=True``."""
        strings = self.scan.strings
        at = numpy.searchsorted(strings.row, self.row)
        at = numpy.minimum(at, max(len(strings) - 1, 0))
        is_string = strings.row[at] == self.row if len(strings) else numpy.zeros(len(at), bool)
        return [
            strings[place] if there else None
            for place, there in zip(at.tolist(), is_string.tolist(), strict=True)
        ]

    def where(self, mask: Any) -> Instances:
        """Those that a mask, with an item for each of them, selects."""
        return Instances(self.scan, self.row[numpy.asarray(mask, bool)])

    def largest(self, most: int) -> Instances:
        """Those that take most bytes, in the order of their rows."""
        order = numpy.argsort(-self.size, kind="stable")[: max(most, 0)]
        return Instances(self.scan, numpy.sort(self.row[order]))

    def live(self, *, timeout: float | None = 60.0, progress: Progress | None = None) -> LiveRows:
        """Their live objects; see `Scan.live`."""
        return self.scan.live(self, timeout=timeout, progress=progress)

    @escaped
    def __repr__(self) -> str:
        return f"<{len(self):,} of {self.scan!r}>"


class Strings(Sequence[Any]):
    """The texts of strings: ``None`` if a string has none yet, or the memory was too small.

    Attributes:
        row: the row of each, ``int64``.
        characters: how many UTF-16 characters each has, -1 for ``None``, ``int64``.
    """

    def __init__(self, row: Array, words: Array, text: Array) -> None:
        self.row = row
        there = words != UNITS.NO_TEXT
        counts = (words >> 1).astype(numpy.int64)
        self._wide = (words & 1).astype(bool) & there
        self.characters = numpy.where(there, counts, -1)
        sizes = numpy.where(there, counts << self._wide, 0)
        self._offsets = numpy.zeros(len(words) + 1, numpy.int64)
        numpy.cumsum(sizes, out=self._offsets[1:])
        if int(self._offsets[-1]) > len(text):
            raise ProtocolError("the agent reports strings that are longer than their bytes")
        self._text = text

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        if self.characters[index] < 0:
            return None
        piece = self._text[self._offsets[index] : self._offsets[index + 1]].tobytes()
        if self._wide[index]:
            return piece.decode("utf-16-le", "surrogatepass")
        return piece.decode("latin-1")

    def containing(self, text: str) -> Array:
        """For each string whether a text occurs in it, as a mask.

        Raises:
            ValueError: the text is empty.
        """
        if not text:
            raise ValueError("the text to look for is empty")
        found = numpy.zeros(len(self), bool)
        # Strings have one byte for each character if that is enough, else two.
        encodings = [("utf-16-le", True)]
        if all(ord(character) < 256 for character in text):
            encodings.append(("latin-1", False))
        for encoding, wide in encodings:
            wanted = text.encode(encoding, "surrogatepass" if wide else "strict")
            pattern = re.compile(b"(?=" + re.escape(wanted) + b")", re.DOTALL)
            at = numpy.array(
                [one.start() for one in pattern.finditer(self._text.data)], numpy.int64
            )
            owner = numpy.searchsorted(self._offsets, at, "right") - 1
            inside = at + len(wanted) <= self._offsets[owner + 1] if len(at) else at < 0
            fits = inside & (self._wide[owner] == wide)
            if wide:
                fits &= (at - self._offsets[owner]) % 2 == 0
            found[owner[fits]] = True
        return found


class Arrays(Sequence[Any]):
    """The elements of primitive arrays, each as a NumPy array that is a view of the scan.

    Attributes:
        row: the row of each, ``int64``.
        length: how many elements each has, ``int32``.
    """

    def __init__(self, scan: Scan, dtypes: dict[int, numpy.dtype[Any]], elements: Array) -> None:
        widths = numpy.zeros(len(scan.names), numpy.int64)
        for number, dtype in dtypes.items():
            widths[number] = dtype.itemsize
        self.row = numpy.flatnonzero(widths[scan.class_number] > 0)
        self._numbers = scan.class_number[self.row]
        self.length = scan.length[self.row]
        self._offsets = numpy.zeros(len(self.row) + 1, numpy.int64)
        numpy.cumsum(self.length * widths[self._numbers], out=self._offsets[1:])
        self._dtypes = dtypes
        self._elements = elements

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, index: Any) -> Any:
        """The elements; ``None`` if the memory was too small."""
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        start, end = int(self._offsets[index]), int(self._offsets[index + 1])
        if end > len(self._elements):
            return None
        dtype = self._dtypes[int(self._numbers[index])]
        return numpy.frombuffer(self._elements[start:end].data, dtype)


Where = Callable[[Instances], Any]
"""A predicate over instances: returns a mask with an item for each."""


def _layouts(triples: list[int], classes: int) -> list[tuple[numpy.dtype[Any], dict[int, str]]]:
    """For each class the layout of its values in a record, and the names of field indices.

    Raises:
        ProtocolError: the agent's description is invalid.
    """
    fields: list[list[tuple[str, numpy.dtype[Any]]]] = [[] for _ in range(classes)]
    indices: list[dict[int, str]] = [{} for _ in range(classes)]
    for number, index, letter in FIELD.rows(triples):
        code = chr(letter) if 0 <= letter < 128 else ""
        if not 0 <= number < classes or code not in DTYPES or index in indices[number]:
            raise ProtocolError("the agent's description of a class's fields is invalid")
        indices[number][index] = str(index)
        fields[number].append((str(index), numpy.dtype(DTYPES[code])))
    return [(numpy.dtype(own), names) for own, names in zip(fields, indices, strict=True)]


def _named(numbered: list[NumberedField], indices: dict[int, str]) -> dict[str, str]:
    """Names of fields, and their names in a record; the lowest in the hierarchy wins."""
    found: dict[str, str] = {}
    for index, place in sorted(indices.items()):
        if index >= len(numbered):
            continue
        field = numbered[index]
        if field.name in found:
            hidden = next(
                one
                for at, one in enumerate(numbered)
                if one.name == field.name and indices.get(at) == found[field.name]
            )
            found[f"{hidden.declared_by}.{hidden.name}"] = found[field.name]
        found[field.name] = place
    return found


__all__ = ["Arrays", "Instances", "LiveRows", "Scan", "Strings", "Where"]
