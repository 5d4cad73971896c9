"""The roots of the heap, and the threads with their stacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy

from jvmti.heap.library import NONE
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.objects import Object, Objects
    from jvmti.heap.snapshot import Snapshot

__all__ = ["KINDS", "Frame", "Root", "Roots", "Thread", "threads"]

KINDS = {
    0x01: "JNI global",
    0x02: "JNI local",
    0x03: "local variable",
    0x04: "native stack",
    0x05: "system class",
    0x06: "thread block",
    0x07: "monitor",
    0x08: "thread",
    0xFF: "other",
    0x100: "class of a loader of the VM",
}
"""The kinds of roots. The last is this package's own: a dump lists only the bootstrap loader's
classes as roots, but the VM never unloads its other loaders either."""

_THREAD = 0x08
_LOCALS = (0x02, 0x03)


class Root(NamedTuple):
    """A root of the heap.

    Attributes:
        object: what it holds.
        kind: one of `KINDS`.
        thread: serial number of the thread, if it belongs to one.
        frame: depth in that thread's stack, if it belongs to a frame.
    """

    object: Object
    kind: str
    thread: int | None
    frame: int | None


class Roots:
    """The roots of a snapshot.

    Attributes:
        objects: the object of each.
        kinds: the code of each; `KINDS` has the names.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        from jvmti.heap.objects import Objects

        self._snapshot = snapshot
        self._table = snapshot._dump.roots
        self.objects: Objects = Objects(snapshot, numpy.ascontiguousarray(self._table["object"]))
        self.kinds = self._table["kind"]

    def of(self, obj: Object) -> list[Root]:
        """The roots that refer to an object."""
        return [self[at] for at in numpy.flatnonzero(self._table["object"] == obj.index).tolist()]

    def describe(self, obj: Object) -> str:
        """The kind of root of an object, in words."""
        found = self.of(obj)
        if not found:
            return "no root"
        names = {thread.serial: thread.name for thread in self._snapshot.threads}
        first = min(found, key=lambda root: root.kind == "other")
        if first.thread is None:
            return f"<{first.kind}>"
        return f"<{first.kind} of {names.get(first.thread) or f'thread {first.thread}'}>"

    def __getitem__(self, at: int) -> Root:
        record = self._table[at]
        obj = self._snapshot._object(int(record["object"]))
        assert obj is not None
        kind = int(record["kind"])
        thread, frame = int(record["thread"]), int(record["frame"])
        return Root(
            obj,
            KINDS.get(kind, f"0x{kind:02x}"),
            None if thread == NONE else thread,
            None if frame == NONE or kind == _THREAD else frame,
        )

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Root]:
        for at in range(len(self)):
            yield self[at]

    @escaped
    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'root')}>"


class Frame(NamedTuple):
    """A frame of a stack.

    Attributes:
        class_name: Java name of the class that declares the method.
        method: its name.
        signature: the types of its parameters and its result.
        source: the source file, if known.
        line: the line; ``None`` if unknown, -3 in a native method.
        locals: the objects in its local variables, and on its operand stack.
    """

    class_name: str
    method: str
    signature: str
    source: str | None
    line: int | None
    locals: Objects

    @escaped
    def __str__(self) -> str:
        place = self.source or "unknown source"
        if self.line is not None and self.line > 0:
            place += f":{self.line}"
        return f"{self.class_name}.{self.method}({place})"


class Thread(NamedTuple):
    """A thread of the dump.

    Attributes:
        object: its ``java.lang.Thread``.
        name: its name.
        serial: its number in the dump.
        frames: its stack, the innermost frame first.
    """

    object: Object
    name: str | None
    serial: int
    frames: list[Frame]

    @escaped
    def __repr__(self) -> str:
        return f"<Thread {self.name!r}, {quantity(len(self.frames), 'frame')}>"


def threads(snapshot: Snapshot) -> list[Thread]:
    """The threads of a snapshot."""
    from jvmti.heap.objects import Objects

    dump = snapshot._dump
    table = dump.roots
    traces = {int(trace["serial"]): trace for trace in dump.traces}
    frames = {int(identifier): at for at, identifier in enumerate(dump.frames["id"].tolist())}
    serials = {
        int(serial): index for index, serial in enumerate(dump.classes["serial"].tolist()) if serial
    }
    local = table[numpy.isin(table["kind"], _LOCALS)]
    order = numpy.argsort(local["thread"], kind="stable")
    local = local[order]
    found = []
    for root in table[table["kind"] == _THREAD]:
        obj = snapshot._object(int(root["object"]))
        assert obj is not None
        first, last = numpy.searchsorted(local["thread"], [root["thread"], root["thread"] + 1])
        own = local[first:last]
        stack = []
        trace = traces.get(int(root["frame"]))
        if trace is not None:
            begin = int(trace["first"])
            identifiers = dump.frame_ids[begin : begin + int(trace["frames"])].tolist()
            for depth, identifier in enumerate(identifiers):
                at = frames.get(identifier)
                if at is None:
                    continue
                record = dump.frames[at]
                index = serials.get(int(record["class_serial"]))
                line = int(record["line"])
                held = numpy.ascontiguousarray(own["object"][own["frame"] == depth])
                stack.append(
                    Frame(
                        "?" if index is None else snapshot.classes.names[index],
                        dump.text(int(record["method"])) or "?",
                        dump.text(int(record["signature"])) or "",
                        dump.text(int(record["source"])),
                        None if line in (0, -1, -2) else line,
                        Objects(snapshot, held),
                    )
                )
        found.append(Thread(obj, _thread_name(obj), int(root["thread"]), stack))
    return found


def _thread_name(obj: Object) -> str | None:
    try:
        name = obj["name"]
    except LookupError:
        return None
    # A damaged dump may have a number there.
    text: str | None = getattr(name, "text", None)
    return text
