"""What fills the heap of a snapshot, by class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy

if TYPE_CHECKING:
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
            element = row.name.replace("[]", "")
            package = element.rpartition(".")[0] or "(none)"
            entry = sums.setdefault(package, [0, 0])
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


def histogram(snapshot: Snapshot, *, retained: bool = False) -> SnapshotHistogram:
    """Count the objects of a snapshot by class."""
    counts, sizes = snapshot._dump.histogram(snapshot._kept)
    held = snapshot.dominators().retained_by_class() if retained else None
    rows = []
    for index in numpy.flatnonzero(counts).tolist():
        cls = snapshot.classes.by_index(index)
        loader = cls.loader
        rows.append(
            SnapshotHistogramRow(
                cls.name,
                None if loader is None else f"{loader.cls.name}@{loader.address:x}",
                int(counts[index]),
                int(sizes[index]),
                None if held is None else int(held[index]),
            )
        )
    rows.sort(key=lambda row: (-row.bytes, row.name))
    return SnapshotHistogram(rows)
