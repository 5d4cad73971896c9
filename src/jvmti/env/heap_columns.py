"""How the columns of a heap scan lie in the memory that the controller shares with the agent.

A page of 64-bit words comes first: whether the pass is to end (written by the controller), and how
far it is (written by the agent).  Then the columns, each at a multiple of 64 bytes, in the order of
`Columns`; `native/agent/heap_scan.cpp` calculates the same.
"""

from __future__ import annotations

from jvmti.spec.frozen import frozen

PASS_CONTROL_SIZE = 4096
CANCELLED = 0
"""The word that the controller sets to end a pass."""
VISITED = 1
"""The word that tells how much a pass has visited."""

SIZE_UNIT = 8
"""What sizes of objects are counted in."""
NO_TEXT = 0xFFFFFFFF
"""The length of a string whose text is not there."""


def _aligned(size: int) -> int:
    return (size + 63) // 64 * 64


@frozen
class Columns:
    """How many there may be of each, and where they begin."""

    rows: int
    """Objects: a class number, a size in units and an array length, of four bytes each."""
    strings: int = 0
    """Strings: twice the number of characters, plus 1 where these have two bytes each."""
    text: int = 0
    """Bytes for the characters of strings, one after the other."""
    values: int = 0
    """Bytes for primitive fields: of each object, in the order of its class."""
    elements: int = 0
    """Bytes for the elements of primitive arrays."""

    @property
    def room(self) -> list[int]:
        """As the agent is told it."""
        return [self.rows, self.strings, self.text, self.values, self.elements]

    @property
    def offsets(self) -> list[int]:
        """Where class numbers, sizes, lengths, strings, text, values and elements begin."""
        sizes = [4 * self.rows] * 3 + [4 * self.strings, self.text, self.values]
        found = [PASS_CONTROL_SIZE]
        for size in sizes:
            found.append(found[-1] + _aligned(size))
        return found

    @property
    def size(self) -> int:
        """Bytes of the whole memory."""
        return self.offsets[-1] + _aligned(self.elements) + 64


__all__ = ["CANCELLED", "NO_TEXT", "PASS_CONTROL_SIZE", "SIZE_UNIT", "VISITED", "Columns"]
