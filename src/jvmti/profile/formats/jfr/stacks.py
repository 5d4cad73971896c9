"""Stack traces and threads of a chunk as tables."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.class_names import class_name
from jvmti.profile.formats.jfr.constants import Constants
from jvmti.profile.formats.library import dense, distinct
from jvmti.profile.tables import FrameKind, Frames, Stacks, Threads

__all__ = ["ChunkStacks", "threads_of"]

Column = NDArray[numpy.int64]
Numbers = NDArray[numpy.int32]

_FRAMES = {
    "Interpreted": FrameKind.INTERPRETED,
    "JIT compiled": FrameKind.COMPILED,
    "C1 compiled": FrameKind.COMPILED,
    "Inlined": FrameKind.INLINED,
    "Native": FrameKind.NATIVE,
    "C++": FrameKind.VM,
    "Kernel": FrameKind.KERNEL,
}
_NATIVE = (FrameKind.NATIVE, FrameKind.VM, FrameKind.KERNEL)
_VM = "libjvm.so"


class ChunkStacks:
    """The stack traces of a chunk as tables."""

    def __init__(self, constants: Constants, *, libraries: bool) -> None:
        """Take them from the constants.

        Args:
            constants: the constants.
            libraries: whether the classes of native code are libraries, and its descriptors mean
                nothing, as async-profiler writes them.
        """
        self._constants = constants
        self._libraries = libraries
        traces = constants.traces
        ids = numpy.concatenate([one.id for one in traces]) if traces else numpy.empty(0, int)
        self._order = numpy.argsort(ids, kind="stable")
        self._ids = ids[self._order]
        self._depth = numpy.concatenate([one.depth for one in traces]) if traces else ids
        self._begin = numpy.cumsum(self._depth) - self._depth
        self._truncated = (
            numpy.concatenate([one.truncated for one in traces]) if traces else ids.astype(bool)
        )
        method, line, kind = (self._column(name) for name in ("method", "lineNumber", "type"))
        self._frame, first = distinct([method, line, kind])
        self._method, self._line, self._kind = method[first], line[first], kind[first]
        self._types: Column = numpy.empty(0, numpy.int64)

    def _column(self, name: str) -> Column:
        """A field of all frames."""
        constants = self._constants
        traces, fields = constants.traces, constants.frame_fields
        if not traces or name not in fields:
            return numpy.zeros(int(self._depth.sum()), numpy.int64)
        place = fields.index(name)
        return numpy.concatenate([one.frames[place] for one in traces])

    @property
    def frames(self) -> Frames:
        """The distinct frames, then a frame for each class of `stacks`."""
        constants = self._constants
        methods, which = numpy.unique(self._method, return_inverse=True)

        def texts(*path: str) -> list[str]:
            return constants.texts("jdk.types.Method", methods, *path)

        class_names = [class_name(name) for name in texts("type", "name")]
        # A method without a name is none of the chunk's.
        names = [name or "(unknown method)" for name in texts("name")]
        descriptors = texts("descriptor")
        rows = which.tolist()
        numbers, which = numpy.unique(self._kind, return_inverse=True)
        kinds = [
            _FRAMES.get(text, FrameKind.UNKNOWN)
            for text in constants.texts("jdk.types.FrameType", numbers, "description")
        ]
        types = [
            class_name(name) for name in constants.texts("java.lang.Class", self._types, "name")
        ]
        kind = numpy.array(kinds, numpy.uint8)[which]
        if self._libraries:
            for row in numpy.flatnonzero(numpy.isin(kind, _NATIVE)).tolist():
                code = rows[row]
                if class_names[code] not in ("", _VM):
                    kind[row] = FrameKind.NATIVE
                class_names[code] = descriptors[code] = ""
        after = [""] * len(types)
        line = self._line.astype(numpy.int32)
        return Frames(
            [class_names[row] for row in rows] + after,
            [names[row] for row in rows] + types,
            [descriptors[row] for row in rows] + after,
            numpy.append(numpy.where(line <= 0, -1, line), numpy.full(len(types), -1)),
            numpy.append(
                kind,
                numpy.full(len(types), FrameKind.TYPE, numpy.uint8),
            ),
        )

    def _rows(self, ids: Column) -> Column:
        """The row of each stack trace; -1 for none."""
        if not len(self._ids):
            return numpy.full(len(ids), -1, numpy.int64)
        place = numpy.minimum(numpy.searchsorted(self._ids, ids), len(self._ids) - 1)
        return numpy.where(self._ids[place] == ids, self._order[place], -1)

    def stacks(self, ids: Column, types: Column) -> tuple[Numbers, Stacks, NDArray[numpy.bool_]]:
        """The stack of each event, a table of these, and which of them are truncated.

        Args:
            ids: the stack trace of each event.
            types: the class of each, which becomes the innermost frame; 0 for none.
        """
        classes, kind = dense(types)
        names = self._constants.texts("java.lang.Class", classes, "name")
        has = numpy.array([bool(name) for name in names], numpy.bool_)
        self._types = classes[has]
        found, which = dense(ids)
        row, of_class = self._rows(found), numpy.where(has, numpy.cumsum(has) - 1, -1)
        different = len(classes)
        pairs, stack = dense(which.astype(numpy.int64) * different + kind)
        rows, kinds = row[pairs // different], of_class[pairs % different]
        truncated = numpy.append(self._truncated, False)[rows]
        depth = numpy.where(rows >= 0, self._depth[rows], 0) if len(self._depth) else rows * 0
        has_type = (kinds >= 0).astype(numpy.int64)
        offsets = numpy.concatenate([[0], numpy.cumsum(depth + has_type)])
        frames = numpy.empty(int(offsets[-1]), numpy.int32)
        frames[offsets[:-1][kinds >= 0]] = kinds[kinds >= 0] + len(self._method)
        inner = numpy.arange(int(depth.sum())) - numpy.repeat(numpy.cumsum(depth) - depth, depth)
        if len(inner):
            target = numpy.repeat(offsets[:-1] + has_type, depth) + inner
            frames[target] = self._frame[numpy.repeat(self._begin[rows], depth) + inner]
        return stack, Stacks(offsets, frames), truncated


def threads_of(
    constants: Constants, ids: Column, owners: list[tuple[int, Column | None]]
) -> tuple[Threads, Numbers, Numbers]:
    """The threads of these numbers, and the row of each; then those of owners, -1 for none.

    Args:
        constants: the constants.
        ids: the number of each event's thread.
        owners: for each type of events how many there are, and the numbers of their owners.
    """
    found, rows = dense(ids)
    some = [one for _, one in owners if one is not None]
    others = numpy.setdiff1d(numpy.concatenate([*some, [0]]).astype(numpy.int64), found)
    # 0 is the number of none.
    found = numpy.concatenate([found, others[others != 0]])
    order = numpy.argsort(found)
    owner = numpy.full(len(rows), -1, numpy.int32)
    begin = 0
    for count, one in owners:
        if one is not None:
            place = order[numpy.minimum(numpy.searchsorted(found[order], one), len(found) - 1)]
            owner[begin : begin + count] = numpy.where(one == 0, -1, place)
        begin += count

    def texts(*path: str) -> list[str]:
        return constants.texts("java.lang.Thread", found, *path)

    return (
        Threads(
            constants.values("java.lang.Thread", found, "javaThreadId"),
            [
                in_java or in_system or "?"
                for in_java, in_system in zip(texts("javaName"), texts("osName"), strict=True)
            ],
            texts("group", "name"),
            constants.values("java.lang.Thread", found, "virtual") != 0,
        ),
        rows,
        owner,
    )
