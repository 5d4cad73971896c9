"""What fills the heap of a snapshot, by class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jvmti.heap.classes import Class
    from jvmti.heap.library import Indices, Sizes
    from jvmti.heap.snapshot import Snapshot

__all__ = ["SnapshotHistogram", "SnapshotHistogramRow"]


@dataclass(frozen=True)
class SnapshotHistogramRow:
    """One class.

    Attributes:
        name: its Java name.
        loader: its loader's class and address; ``None`` for the bootstrap loader.
        count: its objects.
        bytes: what they take in the VM by themselves.
        retained: what they retain one by one, nothing counted twice; ``None`` if not asked for.
    """

    name: str
    loader: str | None
    count: int
    bytes: int
    retained: int | None = None


class SnapshotHistogram:
    """Rows of classes that have objects, the largest first."""

    def __init__(self, rows: list[SnapshotHistogramRow]) -> None:
        self.rows = rows

    @property
    def count(self) -> int:
        """All objects."""
        return sum(row.count for row in self.rows)

    @property
    def bytes(self) -> int:
        """Bytes of all of them."""
        return sum(row.bytes for row in self.rows)

    def top(self, count: int = 20, *, by: str = "bytes") -> list[SnapshotHistogramRow]:
        """The first rows by ``"bytes"``, ``"count"`` or ``"retained"``."""
        return sorted(self.rows, key=lambda row: getattr(row, by) or 0, reverse=True)[:count]

    def by_package(self) -> SnapshotHistogram:
        """The same by package."""
        sums: dict[str, list[int]] = {}
        for row in self.rows:
            entry = sums.setdefault(_package(row.name), [0, 0])
            entry[0] += row.count
            entry[1] += row.bytes
        rows = [
            SnapshotHistogramRow(name, None, count, size) for name, (count, size) in sums.items()
        ]
        return SnapshotHistogram(sorted(rows, key=lambda row: row.bytes, reverse=True))

    @overload
    def __getitem__(self, key: int) -> SnapshotHistogramRow: ...
    @overload
    def __getitem__(self, key: str) -> list[SnapshotHistogramRow]: ...
    def __getitem__(self, key: int | str) -> SnapshotHistogramRow | list[SnapshotHistogramRow]:
        if isinstance(key, str):
            return [row for row in self.rows if row.name == key]
        return self.rows[key]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SnapshotHistogramRow]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"<SnapshotHistogram of {self.count:,} objects, {self.bytes:,} bytes>"


def histogram(
    snapshot: Snapshot,
    *,
    retained: bool = False,
    by: str = "class",
    chosen: NDArray[numpy.bool_] | None = None,
) -> SnapshotHistogram:
    """Count the objects of a snapshot, or some chosen ones, by class, package or loader."""
    counts, sizes = snapshot._dump.histogram(snapshot._kept if chosen is None else chosen)
    tree = snapshot.dominators() if retained else None
    if by == "class":
        names = [(cls.name, _loader(cls)) if count else ("", None)
                 for cls, count in zip(snapshot.classes, counts.tolist(), strict=True)]  # fmt: skip
        held = None if tree is None else tree.retained_by_class()
    elif by in ("package", "loader"):
        numbers: dict[str, int] = {}
        labels = [
            _package(cls.name) if by == "package" else _loader(cls) or "bootstrap"
            for cls in snapshot.classes
        ]
        group = numpy.array(
            [numbers.setdefault(label, len(numbers)) for label in labels], numpy.uint32
        )
        names = [(name, None) for name in numbers]
        counts, sizes = _summed(counts, group, len(names)), _summed(sizes, group, len(names))
        held = None if tree is None else tree.retained_by_group(group, len(names))
    else:
        raise ValueError(f"by is 'class', 'package' or 'loader', not {by!r}")
    used = (counts > 0) if held is None or by == "class" else (counts > 0) | (held > 0)
    rows = [
        SnapshotHistogramRow(
            *names[index],
            int(counts[index]),
            int(sizes[index]),
            None if held is None else int(held[index]),
        )
        for index in numpy.flatnonzero(used).tolist()
    ]
    rows.sort(key=lambda row: (-row.bytes, row.name))
    return SnapshotHistogram(rows)


def _summed(values: Sizes, group: Indices, count: int) -> Sizes:
    found = numpy.zeros(count, numpy.uint64)
    numpy.add.at(found, group, values.astype(numpy.uint64))
    return found


def _loader(cls: Class) -> str | None:
    loader = cls.loader
    return None if loader is None else f"{loader.cls.name}@{loader.address:x}"


def _package(class_name: str) -> str:
    return class_name.replace("[]", "").rpartition(".")[0] or "(none)"
