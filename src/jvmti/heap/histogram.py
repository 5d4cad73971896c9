"""Histograms: the number of objects of each class, and their sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.heap.errors import NoSuchClass
from jvmti.heap.names import Patterns, matching
from jvmti.interface.errors import ProtocolError
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import java_name
from jvmti.text.names import package_of, place_in_words, similar_names
from jvmti.text.printable import escaped, escaped_lines
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.classes import Classes
    from jvmti.heap.snapshot import Snapshot

Array = numpy.ndarray[Any, Any]

_SHOWN = 20
"""Rows in the text of a histogram."""
_ROW = re.compile(r"^ *\d+: +(\d+) +(\d+) +(\S.*?)(?: \(([^()]*)\))?$", re.MULTILINE)


@frozen
class HistogramRow:
    """The objects of one class."""

    name: str
    """The class as Java writes it: ``java.lang.String``, ``int[]``."""
    loader: str | None
    """Its class loader, as in `jvmti.text.names.loader_name`; ``None`` if several loaders have a
    class of that name, and the VM does not say which one this is."""
    module: str | None
    """Its module, ``java.base@17.0.9``, if it is a named one."""
    count: int
    """The number of objects."""
    bytes: int
    """Their shallow size in bytes."""
    retained: int | None = None
    """The bytes that would be freed with them, none counted twice; ``None`` if not requested."""
    age: str = ""
    """Which of the classes of that name it is, in the order of loading: ``oldest of 2``; empty
    if there is only one, or the order is unknown."""

    @property
    def loader_and_age(self) -> str:
        """The class loader as tables show it: ``com.acme.Loader @1b2c3d (oldest of 2)``."""
        return f"{self.loader or '-'}{f' ({self.age})' if self.age else ''}"

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        """The identity of the class: name, loader and module."""
        return self.name, self.loader, self.module


class Histogram(display.Tabular):
    """A histogram as columns, most bytes first.

    It is a sequence of `HistogramRow`; ``histogram["java.lang.String"]`` gives that of a class.

    Attributes:
        names: the classes as Java writes them.
        loaders: their class loaders; see `HistogramRow`.
        modules: their modules.
        count: how many objects, ``int64``.
        bytes: their shallow size, ``int64``.
        retained: bytes that would be freed with them, ``int64``; ``None`` if not requested.
        pause: the longest time that the VM was stopped, in seconds; 0 if calculated.
        ages: by name and loader, the age of a class if several loaders have one of that name.
        source: its origin: ``"attach"`` is the VM's own inspection, ``"walk"`` the agent's walk
            over the heap, ``"snapshot"`` a dump, ``"diff"`` the difference of two.
    """

    def __init__(
        self,
        names: Sequence[str],
        loaders: Sequence[str | None],
        modules: Sequence[str | None],
        count: Array,
        bytes: Array,
        *,
        retained: Array | None = None,
        pause: float = 0.0,
        source: str = "",
        ages: Mapping[tuple[str, str | None], str] | None = None,
    ) -> None:
        self.names = list(names)
        self.loaders = list(loaders)
        self.modules = list(modules)
        self.count = count
        self.bytes = bytes
        self.retained = retained
        self.pause = pause
        self.source = source
        self.ages = dict(ages or {})

    @property
    def total_count(self) -> int:
        """The number of objects of all classes."""
        return int(self.count.sum())

    @property
    def total_bytes(self) -> int:
        """Their shallow size, in bytes."""
        return int(self.bytes.sum())

    def __len__(self) -> int:
        return len(self.names)

    def row(self, at: int) -> HistogramRow:
        """The row at an index."""
        return HistogramRow(
            self.names[at],
            self.loaders[at],
            self.modules[at],
            int(self.count[at]),
            int(self.bytes[at]),
            None if self.retained is None else int(self.retained[at]),
            self.ages.get((self.names[at], self.loaders[at]), ""),
        )

    def __iter__(self) -> Iterator[HistogramRow]:
        return map(self.row, range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self.taken(numpy.arange(len(self))[key])
        if not isinstance(key, str):
            return self.row(range(len(self))[key])
        found = [at for at, name in enumerate(self.names) if name == key]
        if not found:
            raise NoSuchClass(key, similar_names(key, self.names), "in the histogram")
        if len(found) == 1:
            return self.row(found[0])
        rows = numpy.array(found)
        modules = {self.modules[at] for at in found}
        module = modules.pop() if len(modules) == 1 else None
        counted = int(self.count[rows].sum()), int(self.bytes[rows].sum())
        return HistogramRow(key, None, module, *counted)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def taken(self, rows: Array) -> Histogram:
        """Some of the rows, in the order given."""
        at = rows.tolist()
        return Histogram(
            [self.names[row] for row in at],
            [self.loaders[row] for row in at],
            [self.modules[row] for row in at],
            self.count[rows],
            self.bytes[rows],
            retained=None if self.retained is None else self.retained[rows],
            pause=self.pause,
            source=self.source,
            ages=self.ages,
        )

    def top(self, most: int = 20, by: str = "bytes") -> Histogram:
        """The rows that have most.

        Args:
            most: how many rows.
            by: ``"bytes"``, ``"count"`` or, where it was asked for, ``"retained"``.

        Raises:
            ValueError: `by` is something else.
        """
        columns = {"bytes": self.bytes, "count": self.count}
        if self.retained is not None:
            columns["retained"] = self.retained
        if by not in columns:
            known = " or ".join(f'"{one}"' for one in columns)
            raise ValueError(f"this histogram is ordered by {known}, not by {by!r}")
        other = self.count if by == "bytes" else self.bytes
        order = numpy.lexsort((-other, -columns[by]))
        return self.taken(order[: max(most, 0)])

    def by_package(self) -> Histogram:
        """Objects and bytes by package, of all loaders; arrays count with their elements' class."""
        names, group = _groups(map(package_of, self.names))
        nothing = [None] * len(names)
        made = Histogram(
            names,
            nothing,
            nothing,
            _summed(self.count, group, len(names)),
            _summed(self.bytes, group, len(names)),
            pause=self.pause,
            source=self.source,
        )
        return made.top(len(made))

    def matching(self, patterns: Patterns) -> Histogram:
        """The classes whose names match a shell pattern, or one of several.

        Raises:
            NoSuchClass: a pattern matches no class; the message suggests similar names.
        """
        chosen = matching(self.names, patterns, "that has objects")
        return self.taken(numpy.flatnonzero(chosen))

    def diff(self, older: Histogram) -> Histogram:
        """The changes since another histogram, most growth first.

        Counts and bytes are differences, negative where there is less now.  Unchanged classes are
        left out.
        """
        before = older._by_class()
        now = self._by_class()
        keys, changes = [], []
        for key in {**now, **before}:
            new, old = now.get(key, (0, 0)), before.get(key, (0, 0))
            if new != old:
                keys.append(key)
                changes.append((new[0] - old[0], new[1] - old[1]))
        columns = numpy.array(changes, numpy.int64).reshape(-1, 2)
        changed = Histogram(
            [key[0] for key in keys],
            [key[1] for key in keys],
            [key[2] for key in keys],
            columns[:, 0],
            columns[:, 1],
            source="diff",
            ages={**older.ages, **self.ages},
        )
        return changed.top(len(changed))

    def _by_class(self) -> dict[tuple[str, str | None, str | None], tuple[int, int]]:
        found: dict[tuple[str, str | None, str | None], tuple[int, int]] = {}
        for row in self:
            count, size = found.get(row.key, (0, 0))
            found[row.key] = (count + row.count, size + row.bytes)
        return found

    def to_arrow(self) -> Any:
        """The columns as an Arrow table: name, loader, module, count, bytes, retained if known.

        Raises:
            ImportError: pyarrow is not installed; ``pip install jvmti[arrow]`` does.
        """
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("Arrow tables need pyarrow: pip install 'jvmti[arrow]'") from error
        texts = pyarrow.string()
        columns = {
            "name": pyarrow.array(self.names, texts),
            "loader": pyarrow.array(self.loaders, texts),
            "module": pyarrow.array(self.modules, texts),
            "count": pyarrow.array(self.count),
            "bytes": pyarrow.array(self.bytes),
        }
        if self.retained is not None:
            columns["retained"] = pyarrow.array(self.retained)
        return pyarrow.table(columns)

    @escaped
    def __repr__(self) -> str:
        return (
            f"<Histogram of {quantity(len(self), 'class')}, "
            f"{quantity(self.total_count, 'object')}, "
            f"{quantity(self.total_bytes, 'byte')}>"
        )

    @escaped_lines
    def __str__(self) -> str:
        rows = [f"{row.count:>13,} {row.bytes:>16,}  {row.name}" for row in islice(self, _SHOWN)]
        more = [f"{'':31} … {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return "\n".join([repr(self), f"{'objects':>13} {'bytes':>16}  class", *rows, *more])

    _repr_html_ = display.html


def counted(
    snapshot: Snapshot,
    *,
    retained: bool = False,
    by: str = "class",
    chosen: NDArray[numpy.bool_] | None = None,
) -> Histogram:
    """Count the objects of a snapshot, or some chosen ones; see `Snapshot.histogram`."""
    counts, sizes = snapshot._dump.histogram(snapshot._selected if chosen is None else chosen)
    count, size = counts.astype(numpy.int64), sizes.astype(numpy.int64)
    classes = snapshot.classes
    tree = snapshot.dominators() if retained else None
    loaders: list[str | None]
    if by == "class":
        names, loaders = classes.names, [cls.loader_name for cls in classes]
        held = None if tree is None else tree.retained_by_class()
    elif by in ("package", "loader"):
        names, group = _groups(
            package_of(cls.name) if by == "package" else cls.loader_name for cls in classes
        )
        loaders = [None] * len(names)
        count, size = _summed(count, group, len(names)), _summed(size, group, len(names))
        held = None if tree is None else tree.retained_by_group(group, len(names))
    else:
        raise ValueError(f"by is 'class', 'package' or 'loader', not {by!r}")
    made = Histogram(
        names,
        loaders,
        [None] * len(names),
        count,
        size,
        retained=None if held is None else held.astype(numpy.int64),
        pause=snapshot.pause,
        source="snapshot",
        ages=_ages(classes) if by == "class" else None,
    )
    used = count > 0
    if made.retained is not None and by != "class":
        used |= made.retained > 0
    made = made.taken(numpy.flatnonzero(used))
    return made.top(len(made))


def _ages(classes: Classes) -> dict[tuple[str, str | None], str]:
    """For classes whose name several loaders have, their age by the order of loading.

    The VM numbers the classes of the newest loader first.
    """
    found: dict[tuple[str, str | None], str] = {}
    for name, twins in classes.twins().items():
        ordered = sorted(twins, key=lambda cls: -int(cls._record["serial"]))
        for place, cls in enumerate(ordered, 1):
            found[name, cls.loader_name] = place_in_words(place, len(ordered))
    return found


def _groups(labels: Iterable[str]) -> tuple[list[str], NDArray[numpy.uint32]]:
    """Each label once, and for each of them the number of its own."""
    numbers: dict[str, int] = {}
    group = [numbers.setdefault(label, len(numbers)) for label in labels]
    return list(numbers), numpy.array(group, numpy.uint32)


def _summed(values: Array, group: Array, groups: int) -> Array:
    found = numpy.zeros(groups, numpy.int64)
    numpy.add.at(found, group, values)
    return found


@frozen
class Inspected:
    """The VM's own inspection of the heap, parsed from text."""

    names: list[str]
    modules: list[str | None]
    count: Array
    bytes: Array


def inspected(text: str) -> Inspected:
    """Parse the output of the attach command ``inspectheap``.

    Raises:
        ProtocolError: it is something else.
    """
    names: list[str] = []
    modules: list[str | None] = []
    numbers: list[tuple[int, int]] = []
    for found in _ROW.finditer(text):
        count, size, name, module = found.groups()
        names.append(_java_name(name))
        modules.append(module)
        numbers.append((int(count), int(size)))
    total = re.search(r"^Total +(\d+) +(\d+)\s*$", text, re.MULTILINE)
    columns = numpy.array(numbers, numpy.int64).reshape(-1, 2)
    if total is None or int(total[1]) != int(columns[:, 0].sum()):
        raise ProtocolError("the VM's inspection of its heap has an unknown format")
    return Inspected(names, modules, columns[:, 0], columns[:, 1])


def _java_name(name: str) -> str:
    """The VM writes ``[Ljava.lang.String;`` here, and other classes as Java does."""
    element = name.lstrip("[")
    dimensions = len(name) - len(element)
    if not dimensions:
        return name
    if element.startswith("L"):
        return element[1:].rstrip(";") + "[]" * dimensions
    return java_name(element) + "[]" * dimensions


__all__ = ["Histogram", "HistogramRow", "Inspected", "counted", "inspected"]
