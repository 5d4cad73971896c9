"""Referrers, path to a GC root and retained size of an object of a running VM.

The agent walks over the heap to find them (`native/agent/engines/heap/heap_referrers.cpp`).  The
references behind handles in Python do not count: they are neither roots nor keep anything
reachable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.heap.errors import TooManyObjects
from jvmti.interface.constants import HeapReferenceKind
from jvmti.interface.errors import ProtocolError
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import java_name
from jvmti.layouts.heap_passes import EDGE
from jvmti.liveheap import passes
from jvmti.liveheap.field_numbers import FieldNumbers, NumberedField
from jvmti.liveheap.passes import PassOverran, Progress
from jvmti.operations.functions import Operations
from jvmti.text.printable import escaped, escaped_lines
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.liveheap.running_vm import RunningVM
_FIELDS = (HeapReferenceKind.FIELD, HeapReferenceKind.STATIC_FIELD)
_WORDS = {
    HeapReferenceKind.CLASS: "class",
    HeapReferenceKind.CLASS_LOADER: "class loader",
    HeapReferenceKind.SIGNERS: "signers",
    HeapReferenceKind.PROTECTION_DOMAIN: "protection domain",
    HeapReferenceKind.INTERFACE: "interface",
    HeapReferenceKind.SUPERCLASS: "superclass",
    HeapReferenceKind.CONSTANT_POOL: "constant pool",
    HeapReferenceKind.JNI_GLOBAL: "JNI global reference",
    HeapReferenceKind.SYSTEM_CLASS: "system class",
    HeapReferenceKind.MONITOR: "monitor",
    HeapReferenceKind.THREAD: "thread",
    HeapReferenceKind.OTHER: "the VM",
}


@frozen
class Reference:
    """A reference to an object."""

    kind: HeapReferenceKind
    """The kind of reference: a field, an element, a local variable …"""
    referrer: Any
    """The referring object; ``None`` for a GC root."""
    class_name: str | None
    """The class of the referrer; for a static field, the class itself; ``None`` for a root."""
    field: str | None
    """The name of the field, if it is one."""
    index: int
    """The array index, variable slot or constant pool index; -1 if there is none."""
    weak: bool = False
    """Whether it is a weak or phantom reference, which does not keep an object alive."""
    thread_id: int | None = None
    """The id of the thread that has the variable."""
    depth: int | None = None
    """The depth of its frame on that thread's stack; 0 is the topmost."""
    method: Any = None
    """The method of that frame."""

    @escaped
    def __str__(self) -> str:
        name = self.class_name
        match self.kind:
            case HeapReferenceKind.FIELD | HeapReferenceKind.STATIC_FIELD:
                text = f"{name}.{self.field or f'field {self.index}'}"
                if self.kind == HeapReferenceKind.STATIC_FIELD:
                    text = f"static {text}"
            case HeapReferenceKind.ARRAY_ELEMENT:
                text = f"{(name or '?').removesuffix('[]')}[{self.index}]"
            case HeapReferenceKind.STACK_LOCAL | HeapReferenceKind.JNI_LOCAL:
                where = ""
                if self.method is not None:
                    where = f" in {self.method.class_name}.{self.method.name}"
                what = (
                    f"local variable {self.index}"
                    if self.kind == HeapReferenceKind.STACK_LOCAL
                    else "JNI local reference"
                )
                text = f"{what}{where}, thread #{self.thread_id}"
            case _:
                word = _WORDS.get(self.kind, str(self.kind))
                text = word if name is None else f"{name} ({word})"
        return f"{text}, weakly" if self.weak else text


class Referrers(Sequence[Reference]):
    """The references to an object.

    Attributes:
        total: how many references there are, even if the limit cuts the list.
        pause: how long the VM was stopped, in seconds.
    """

    def __init__(self, references: list[Reference], total: int, pause: float) -> None:
        self._references = references
        self.total = total
        self.pause = pause

    def __len__(self) -> int:
        return len(self._references)

    def __getitem__(self, index: Any) -> Any:
        return self._references[index]

    @escaped_lines
    def __repr__(self) -> str:
        listed = "\n  ".join(map(str, self._references))
        return f"<{quantity(self.total, 'reference')}\n  {listed}>" if listed else "<no references>"

    _repr_html_ = display.html


class RootPath(Sequence[Reference]):
    """The path from a GC root to an object: its references, the root's first.

    It is empty for an unreachable object.  A class that is never unloaded counts as a root: the
    path then starts with a reference of the class, such as a static field.

    Attributes:
        held: whether there is a path.
        pause: how long the VM was stopped, in all passes, in seconds.
        longest_pause: the longest of the passes, in seconds.
        passes: the number of passes over the heap, one per step.
    """

    def __init__(
        self, references: list[Reference], held: bool, pause: float, longest: float, count: int
    ) -> None:
        self._references = references
        self.held = held
        self.pause = pause
        self.longest_pause = longest
        self.passes = count

    def __len__(self) -> int:
        return len(self._references)

    def __getitem__(self, index: Any) -> Any:
        return self._references[index]

    def __bool__(self) -> bool:
        return self.held

    @escaped_lines
    def __repr__(self) -> str:
        if not self.held:
            return "<held by nothing>"
        listed = "\n  ".join(map(str, self._references)) or "a class that is never unloaded"
        return f"<held by\n  {listed}>"

    _repr_html_ = display.html


@frozen
class Retained:
    """The retained size of an object: the bytes that a collection would free without it."""

    bytes: int
    """The size of it and of the objects that only it keeps reachable, in bytes."""
    count: int
    """The number of these objects, including itself."""
    reachable: int
    """How many objects are reachable from it, up to permanent classes."""
    pause: float
    """How long the VM was stopped, in both passes, in seconds."""
    longest_pause: float
    """The longer pass, in seconds."""

    def __int__(self) -> int:
        return self.bytes


class ReferrerQueries:
    """Queries the agent for referrers, paths to roots and retained sizes."""

    def __init__(self, vm: RunningVM) -> None:
        self._vm = vm
        self._fields = FieldNumbers(vm)

    def referrers(
        self,
        item: Any,
        limit: int,
        weak: bool,
        timeout: float | None,
        progress: Progress | None,
    ) -> Referrers:
        """See ``obj.referrers``."""
        if not 0 <= limit <= 100_000:
            raise ValueError(f"limit= takes 0 to 100,000 references, not {limit}")
        found = passes.run(
            self._vm._session,
            Operations.find_referrers,
            (item, limit, weak),
            timeout=timeout,
            progress=progress,
        )
        if not found.whole:
            raise PassOverran("referrers", timeout)
        objects = dict(zip(found.marks, found.objects, strict=True))
        references = list(self._references(found.edges, objects, item))
        return Referrers(references, found.total, found.stopped / 1e9)

    def path_to_root(
        self,
        item: Any,
        weak: bool,
        most: int,
        timeout: float | None,
        progress: Progress | None,
    ) -> RootPath:
        """See ``obj.path_to_root``."""
        found = passes.run(
            self._vm._session,
            Operations.find_path,
            (item, most, weak),
            timeout=timeout,
            progress=progress,
        )
        if found.too_many:
            raise TooManyObjects(
                f"no GC root within {most:,} objects that refer to it, directly or not; allow more "
                "by most="
            )
        if not found.whole:
            raise PassOverran("path_to_root", timeout)
        objects = dict(zip(found.marks, found.objects, strict=True))
        references = list(self._references(found.edges, objects, item))
        return RootPath(
            references, found.found, found.stopped / 1e9, found.longest / 1e9, found.passes
        )

    def retained_size(
        self, item: Any, most: int, timeout: float | None, progress: Progress | None
    ) -> Retained:
        """See ``obj.retained_size``."""
        found = passes.run(
            self._vm._session,
            Operations.measure_retained,
            (item, most),
            timeout=timeout,
            progress=progress,
        )
        if found.too_many:
            raise TooManyObjects(
                f"more than {most:,} objects are reachable from it; allow more by most=: each "
                "takes a microsecond, and 100 bytes in the target for a while"
            )
        if not found.whole:
            raise PassOverran("retained_size", timeout)
        return Retained(
            found.bytes,
            found.retained,
            found.reachable,
            found.stopped / 1e9,
            found.longest / 1e9,
        )

    def _references(
        self, edges: list[int], objects: dict[int, Any], item: Any
    ) -> Iterator[Reference]:
        """The agent's edges, with names.

        Leaves out objects, with their references, that were collected meanwhile.
        """
        try:
            rows = EDGE.rows(edges)
        except ValueError as error:
            raise ProtocolError(f"the agent's list of references: {error}") from None
        classes = self._classes({mark: one for mark, one in objects.items() if one is not None})
        names: dict[Any, str] = {}
        numbered: dict[Any, list[NumberedField]] = {}
        for mark, number, index, thread, depth, method, weak in rows:
            try:
                kind = HeapReferenceKind(number)
            except ValueError:
                raise ProtocolError(
                    f"the agent reports an unknown kind of reference, {number}"
                ) from None
            if mark == 0:
                of_thread = kind in (HeapReferenceKind.STACK_LOCAL, HeapReferenceKind.JNI_LOCAL)
                yield Reference(
                    kind,
                    None,
                    None,
                    None,
                    index,
                    False,
                    thread if of_thread else None,
                    depth if of_thread else None,
                    self._vm._session.wrap(method) if of_thread and method else None,
                )
                continue
            referrer = objects.get(mark)
            if referrer is None:
                continue
            cls = referrer if kind == HeapReferenceKind.STATIC_FIELD else classes[mark]
            if cls not in names:
                names[cls] = java_name(self._vm.env.get_class_signature(cls).signature)
            field = None
            if kind in _FIELDS:
                if cls not in numbered:
                    numbered[cls] = self._fields.of(cls)
                if 0 <= index < len(numbered[cls]):
                    field = numbered[cls][index].name
            yield Reference(kind, referrer, names[cls], field, index, bool(weak))

    def _classes(self, objects: dict[int, Any]) -> dict[int, Any]:
        """The class of each object, asked for at once."""
        found = self._vm.map.get_object_class(list(objects.values())).check()
        return dict(zip(objects, found.value, strict=True))


__all__ = ["ReferrerQueries", "Reference", "Referrers", "Retained", "RootPath"]
