"""Who holds an object of a running VM, and what would be freed with it.

The agent walks over the heap for it (`native/agent/heap_holders.cpp`).  What this package holds for
handles in Python is left out: it neither shows as a root nor keeps anything reachable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.heap import passes
from jvmti.heap.errors import TooManyObjects
from jvmti.heap.field_numbers import FieldNumbers
from jvmti.heap.passes import PassOverran, Progress
from jvmti.layouts.heap_passes import EDGE
from jvmti.spec.constants import HeapReferenceKind
from jvmti.spec.errors import ProtocolError
from jvmti.spec.frozen import frozen
from jvmti.spec.signatures import java_name
from jvmti.spec.text import harmless, harmless_lines

if TYPE_CHECKING:
    from jvmti.env.operations import PathFound, ReferrersFound, RetainedMeasured
    from jvmti.model.vm import VM

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
    """How it refers: a field, an element, a thread's variable …"""
    referrer: Any
    """The object that refers; ``None`` is a root of the heap."""
    class_name: str | None
    """The class of the referrer; of a static field, the class itself; ``None`` for a root."""
    field: str | None
    """The name of the field, where it is one."""
    index: int
    """The index of the array's element, the slot of the variable, the number in the constant pool;
    -1 where there is none."""
    weak: bool = False
    """Whether it is that of a weak or phantom reference, which does not keep an object alive."""
    thread_id: int | None = None
    """The id of the thread whose variable it is."""
    depth: int | None = None
    """Its frame on that thread's stack, 0 being the innermost."""
    method: Any = None
    """The method of that frame."""

    @harmless
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
    """What refers to an object.

    Attributes:
        total: how many references there are; more than are listed where a limit was reached.
        pause: for how many seconds the VM was stopped.
    """

    def __init__(self, references: list[Reference], total: int, pause: float) -> None:
        self._references = references
        self.total = total
        self.pause = pause

    def __len__(self) -> int:
        return len(self._references)

    def __getitem__(self, index: Any) -> Any:
        return self._references[index]

    @harmless_lines
    def __repr__(self) -> str:
        listed = "\n  ".join(map(str, self._references))
        return f"<{self.total} references\n  {listed}>" if listed else "<no references>"

    _repr_html_ = display.html


class RootPath(Sequence[Reference]):
    """The references from a root of the heap to an object, the root's first.

    It is empty where nothing holds the object.  A class that is never unloaded counts as a root:
    then the first reference is that of the class, to the value of a static field for instance.

    Attributes:
        held: whether there is a path.
        pause: for how many seconds the VM was stopped, all passes together.
        longest_pause: the longest of them, in seconds.
        passes: how many passes over the heap there were, one for each step.
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

    @harmless_lines
    def __repr__(self) -> str:
        if not self.held:
            return "<held by nothing>"
        listed = "\n  ".join(map(str, self._references)) or "a class that is never unloaded"
        return f"<held by\n  {listed}>"

    _repr_html_ = display.html


@frozen
class Retained:
    """What would be freed if an object were not there."""

    bytes: int
    """What it and the objects that only it holds take, in bytes."""
    count: int
    """How many objects these are, itself included."""
    reachable: int
    """How many objects can be reached from it, held otherwise or not, up to permanent classes."""
    pause: float
    """For how many seconds the VM was stopped, both passes together."""
    longest_pause: float
    """The longer of the passes, in seconds."""

    def __int__(self) -> int:
        return self.bytes


class Holders:
    """Asks the agent who holds what."""

    def __init__(self, vm: VM) -> None:
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
            raise ValueError(f"between 0 and 100,000 references can be listed, not {limit}")
        found: ReferrersFound = passes.run(
            self._vm._session,
            "find_referrers",
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
        found: PathFound = passes.run(
            self._vm._session, "find_path", (item, most, weak), timeout=timeout, progress=progress
        )
        if found.too_many:
            raise TooManyObjects(
                f"more than {most:,} objects hold it, directly or not, before a root comes in sight"
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
        found: RetainedMeasured = passes.run(
            self._vm._session,
            "measure_retained",
            (item, most),
            timeout=timeout,
            progress=progress,
        )
        if found.too_many:
            raise TooManyObjects(
                f"more than {most:,} objects can be reached from it; allow more by most=, each "
                "takes a microsecond and 100 bytes in the target for a while"
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
        """Edges as the agent notes them, with names.

        An object that was collected before it could be taken is left out with its references.
        """
        try:
            rows = EDGE.rows(edges)
        except ValueError as error:
            raise ProtocolError(f"the agent's list of references: {error}") from None
        names: dict[int, str] = {}
        numbered: dict[Any, list[Any]] = {}
        for mark, number, index, thread, depth, method, weak in rows:
            try:
                kind = HeapReferenceKind(number)
            except ValueError:
                raise ProtocolError(f"the agent names a kind of reference {number}") from None
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
            cls = referrer
            if kind != HeapReferenceKind.STATIC_FIELD:
                cls = self._vm.jni.get_object_class(referrer)
            if mark not in names:
                names[mark] = java_name(self._vm.env.get_class_signature(cls).signature)
            name, field = names[mark], None
            if kind in _FIELDS:
                key = (name, cls._handle)
                if key not in numbered:
                    numbered[key] = self._fields.of(cls)
                if 0 <= index < len(numbered[key]):
                    field = numbered[key][index].name
            yield Reference(kind, referrer, name, field, index, bool(weak))


__all__ = ["Holders", "Reference", "Referrers", "Retained", "RootPath"]
