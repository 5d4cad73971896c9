"""Stacks of frames that come as texts, such as ``com.acme.Order.add:42``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy

from jvmti.profile.tables import FrameKind, Frames, Stacks


class NamedStacks:
    """Distinct stacks below a type, in the order in which they were added."""

    def __init__(self) -> None:
        self._frames: dict[tuple[str, str, int, FrameKind], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {(): 0}

    def add(self, type_name: str, frames: Iterable[str]) -> int:
        """The number of a stack.

        Args:
            type_name: the class that was allocated, or of the lock: the innermost frame.
            frames: class, method and, if known, line; the innermost first.
        """
        rows = [("", type_name, -1, FrameKind.TYPE)]
        for frame in frames:
            place, _, line = frame.partition(":")
            owner, _, method = place.rpartition(".")
            rows.append((owner, method, int(line) if line else -1, FrameKind.UNKNOWN))
        stack = tuple(self._frames.setdefault(row, len(self._frames)) for row in rows)
        return self._stacks.setdefault(stack, len(self._stacks))

    def tables(self) -> tuple[Stacks, Frames]:
        """The tables of what was added."""
        offsets = numpy.cumsum([0, *map(len, self._stacks)], dtype=numpy.int64)
        inside = [row for stack in self._stacks for row in stack]
        rows = list(self._frames)
        return (
            Stacks(offsets, numpy.array(inside, numpy.int32)),
            Frames(
                [one[0] for one in rows],
                [one[1] for one in rows],
                [""] * len(rows),
                numpy.array([one[2] for one in rows], numpy.int32),
                numpy.array([one[3] for one in rows], numpy.uint8),
            ),
        )


__all__ = ["NamedStacks"]
