"""The kinds of layouts: enumerations, flags, constants, records and columns.

`REGISTRY` has all layouts by name; declaring a name twice fails.
Everything is little-endian and packed.
"""

from __future__ import annotations

import enum
import functools
import operator
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

_CODES = {
    "char": "c",
    "uint8_t": "B",
    "uint16_t": "H",
    "int32_t": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
    "jint": "i",
    "jlong": "q",
    "jlocation": "q",
    "jdouble": "d",
    "uint8_t[16]": "16s",
}
"""The C types of fields, and how the ``struct`` module writes them."""

Enumerated = TypeVar("Enumerated", bound=enum.IntEnum | enum.IntFlag)


class Layout(Protocol):
    """A declared layout, which can write its C++ declaration."""

    name: str

    def cpp(self) -> Iterator[str]:
        """The lines that declare it in the namespace ``jvmti::layouts``."""
        ...


REGISTRY: dict[str, Layout] = {}
"""Every layout by its name."""


def register(layout: Layout) -> None:
    """Add a layout to those that both sides share."""
    if layout.name in REGISTRY:
        raise ValueError(f"two layouts are called {layout.name}")
    REGISTRY[layout.name] = layout


def camel(name: str) -> str:
    """``SKIP_IF_FALSE`` as ``SkipIfFalse``."""
    return "".join(part.capitalize() for part in name.split("_"))


class _Enumeration:
    def __init__(self, members: type[Any], c: str, loose: bool) -> None:
        self.name = members.__name__
        self.members: Any = members
        self.c = c
        self.loose = loose

    def cpp(self) -> Iterator[str]:
        listed = ", ".join(
            f"k{camel(name)} = {int(one)}" for name, one in self.members.__members__.items()
        )
        if issubclass(self.members, enum.IntFlag):
            every = functools.reduce(operator.or_, self.members.__members__.values())
            listed += f", kAll = {int(every)}"
        if self.loose:
            yield f"struct {self.name} {{"
            yield f"  enum : {self.c} {{{listed}}};"
            yield "};"
        else:
            yield f"enum class {self.name} : {self.c} {{{listed}}};"
            yield f"constexpr int k{self.name}Count = {len(self.members)};"


def shared(c: str, *, loose: bool = False) -> Callable[[type[Enumerated]], type[Enumerated]]:
    """Share an enumeration with the agent, as an ``enum class`` of a C type.

    An ``IntFlag`` becomes a struct of constants, so that bits are combined without casts.

    Args:
        c: the C type.
        loose: an ``IntEnum`` becomes a struct of constants, too: the agent uses its numbers
            together with others.
    """

    def registered(members: type[Enumerated]) -> type[Enumerated]:
        register(_Enumeration(members, c, loose or issubclass(members, enum.IntFlag)))
        return members

    return registered


class Constants:
    """Numbers that both sides share, by their names in C++.

    Args:
        name: the namespace that they stand in.
        values: the constants; ``MOST_ROWS=5`` is ``kMostRows``.
    """

    def __init__(self, name: str, **values: int) -> None:
        self.name = name
        self.values = values
        vars(self).update(values)
        register(self)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> int: ...

    def cpp(self) -> Iterator[str]:
        """Its declaration in C++."""
        yield f"struct {self.name} {{"
        for name, value in self.values.items():
            yield f"  static constexpr uint64_t k{camel(name)} = {value:#x};"
        yield "};"


class Record:
    """Fields of fixed width, one after the other.

    Args:
        name: its name in C++.
        fields: the C type of each field by its name.

    Attributes:
        struct: packs and unpacks it.
        size: its bytes.
    """

    def __init__(self, name: str, /, **fields: str) -> None:
        self.name = name
        self.fields = fields
        self.struct = struct.Struct("<" + "".join(_CODES[c] for c in fields.values()))
        self.size = self.struct.size
        register(self)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The fields as ``numpy.dtype`` takes them."""
        return [(name, f"<{_CODES[c]}") for name, c in self.fields.items()]

    @property
    def offsets(self) -> dict[str, int]:
        """Where each field begins."""
        at = 0
        found = {}
        for name, c in self.fields.items():
            found[name] = at
            at += struct.calcsize("<" + _CODES[c])
        return found

    def cpp(self) -> Iterator[str]:
        """Its declaration in C++."""
        yield f"struct [[gnu::packed]] {self.name} {{"
        for name, c in self.fields.items():
            item, bracket, length = c.partition("[")
            yield f"  {item} {name}{bracket}{length};"
        yield "};"
        yield f"static_assert(sizeof({self.name}) == {self.size});"
        for name, at in self.offsets.items():
            yield f"static_assert(offsetof({self.name}, {name}) == {at});"


class Row(Record):
    """A record whose fields are all 64-bit: a row in a list of numbers."""

    def __init__(self, name: str, *fields: str) -> None:
        super().__init__(name, **dict.fromkeys(fields, "jlong"))
        self.length = len(fields)

    def rows(self, numbers: list[int]) -> Iterator[tuple[int, ...]]:
        """The rows of a list.

        Raises:
            ValueError: the list is not whole rows.
        """
        if len(numbers) % self.length:
            raise ValueError(f"{len(numbers)} numbers are not rows of {self.length} ({self.name})")
        taken = iter(numbers)
        return zip(*[taken] * self.length, strict=True)

    def cpp(self) -> Iterator[str]:
        """Its declaration in C++."""
        yield from super().cpp()
        yield f"constexpr jint k{self.name}Words = {self.length};"


class Columns:
    """Columns in shared memory, one after the other, each at a multiple of `ALIGNMENT`.

    Args:
        name: its name in C++.
        start: bytes before the first column.
        counts: the names of the counts that columns have as lengths, in order.
        columns: for each column, by its name, the count that is its length, and its C type.
    """

    ALIGNMENT: ClassVar[int] = 64

    def __init__(
        self, name: str, *, start: int, counts: tuple[str, ...], columns: dict[str, tuple[str, str]]
    ) -> None:
        self.name = name
        self.start = start
        self.counts = counts
        self.columns = columns
        register(self)

    def offsets(self, counts: dict[str, int]) -> dict[str, int]:
        """Where each column begins, and as ``end`` where the last one ends."""
        at = self.start
        found = {}
        for name, (of, c) in self.columns.items():
            found[name] = at
            at += self._aligned(counts[of] * struct.calcsize("<" + _CODES[c]))
        found["end"] = at
        return found

    def views(self, memory: Any, capacity: dict[str, int], used: dict[str, int]) -> dict[str, Any]:
        """The columns in a memory of this capacity, as arrays of the rows in use.

        Args:
            memory: a NumPy array of bytes.
            capacity: what it was made for.
            used: how many there are of each.
        """
        found = {}
        for name, at in self.offsets(capacity).items():
            if name in self.columns:
                of, c = self.columns[name]
                size = struct.calcsize("<" + _CODES[c])
                found[name] = memory[at : at + size * used[of]].view(f"<{_CODES[c]}")
        return found

    def _aligned(self, size: int) -> int:
        return (size + self.ALIGNMENT - 1) // self.ALIGNMENT * self.ALIGNMENT

    def cpp(self) -> Iterator[str]:
        """Its declaration in C++, with where each column begins."""
        end = f"~uint64_t{{{self.ALIGNMENT - 1}}}"
        yield f"struct {self.name} {{"
        yield f"  uint64_t {', '.join(self.counts)};"
        before = str(self.start)
        for name, (of, c) in [*self.columns.items(), ("end", ("", ""))]:
            yield f"  uint64_t {name}_offset() const {{ return {before}; }}"
            size = f"{of} * sizeof({c}) + {self.ALIGNMENT - 1}"
            before = f"{name}_offset() + (({size}) & {end})"
        for name, (_, c) in self.columns.items():
            yield f"  {c}* {name}_column(uint8_t* memory) const {{"
            yield f"    return reinterpret_cast<{c}*>(memory + {name}_offset());"
            yield "  }"
        yield "};"


def cpp(names: set[str]) -> str:
    """Some of them in the order of a header: by name, not by order of import."""
    return "\n".join(line for name in sorted(names) for line in REGISTRY[name].cpp())


__all__ = [
    "REGISTRY",
    "Columns",
    "Constants",
    "Layout",
    "Record",
    "Row",
    "cpp",
    "register",
    "shared",
]
