"""Heap walks: the Python side of `native/agent/engines/heap/heap_walk.h`.

The agent sends a block of records, one for each requested call, and waits; this side makes the
calls in order, and answers with the result of the last one.  After an ABORT, or an exception, no
further call is made.
"""

from __future__ import annotations

import enum
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from jvmti.deferred import is_whole, numpy
from jvmti.env.callbacks import TagCell
from jvmti.env.structures import (
    MEMBER_OF,
    HeapCallbacks,
    HeapReferenceInfo,
    HeapReferenceInfoArray,
    HeapReferenceInfoConstantPool,
    HeapReferenceInfoField,
    HeapReferenceInfoJniLocal,
    HeapReferenceInfoStackLocal,
)
from jvmti.events.tag_use import ReadTag, SpentTag, only_reads_tag
from jvmti.interface.constants import (
    HeapReferenceKind,
    HeapRootKind,
    HeapVisitControl,
    IterationControl,
    ObjectReferenceKind,
    PrimitiveType,
)
from jvmti.interface.errors import CallTimeout, HandlerOverran, TargetLost
from jvmti.interface.signatures import DTYPES
from jvmti.layouts import heap_walks
from jvmti.layouts.conversations import CallbackMode
from jvmti.layouts.heap_walks import About, Visit, WrittenTags
from jvmti.text.quantities import duration
from jvmti.wire.channel import HEADER, Request
from jvmti.wire.codecs import codec_of, presenter_of
from jvmti.wire.protocol import Flag, Kind, Status
from jvmti.wire.session import Conversation, Session

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.declaration import Declaration
    from jvmti.wire.channel import Channel, Frame

Function = Callable[..., Any]

_BLOCK = heap_walks.KIND.struct
_ANSWER = heap_walks.ANSWER.struct
_ALONE = 1 + _BLOCK.size
"""The offset of the record in a block of one kind."""
_TAG, _REFERRER_TAG = int(WrittenTags.TAG), int(WrittenTags.REFERRER_TAG)
_HAS_REFERRER, _SAME_OBJECT = int(About.HAS_REFERRER), int(About.SAME_OBJECT)
_LARGEST = (1 << 63) - 1
_REMEMBERED = 1024


class Controls:
    """The possible answers of a callback: an enumeration, and those members that end the walk."""

    def __init__(self, kind: type[enum.IntEnum] | type[enum.IntFlag], ends: Sequence[int]) -> None:
        self.kind = kind
        self.valid = {int(one): one for one in kind}
        if issubclass(kind, enum.IntFlag):
            bits = [int(one) for one in kind]
            self.valid = {
                number: kind(number)
                for number in {0, *bits, *(one | other for one in bits for other in bits)}
            }
        self.ends = frozenset(ends)
        self.abort = ends[0]

    def checked(self, control: Any, function: Function) -> int:
        """The number of an answer.

        Raises:
            TypeError: it is not an answer.
        """
        if isinstance(control, int) and not isinstance(control, bool) and control in self.valid:
            return int(control)
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"the callback {name} must return {self.kind.__name__}, not {control!r}")


VISIT = Controls(
    HeapVisitControl, (int(HeapVisitControl.ABORT), int(HeapVisitControl.ABORT) | 0x100)
)
ITERATION = Controls(IterationControl, (int(IterationControl.ABORT),))

_MEMBERS: dict[str, Callable[[int], Any]] = {
    "field": HeapReferenceInfoField,
    "array": HeapReferenceInfoArray,
    "constant_pool": HeapReferenceInfoConstantPool,
}
_heap_reference_kind = presenter_of(HeapReferenceKind)
_object_reference_kind = presenter_of(ObjectReferenceKind)
_root_kind = presenter_of(HeapRootKind)
_primitive_type = presenter_of(PrimitiveType)
_F64 = struct.Struct("<d")
_CALLS_BETWEEN_CHECKS = 32
"""How many calls of a block to make between two checks of the time limit."""
_I64 = struct.Struct("<q")
_U64 = struct.Struct("<Q")
DEFAULT_LIMIT = 60.0
"""Seconds that a walk may take if neither its environment nor the session has a limit."""
_FOR_EVER = 1e6
"""The longest limit in seconds."""


class Visits:
    """The calls of one callback: reads its records and builds its arguments.

    Attributes:
        kind: which callback it is.
        record: the layout of its records.
        tag: the index of the argument with the object's tag.
        waits: the VM always waits for the answer, which directs the walk.
    """

    kind: Visit
    record: struct.Struct
    tag = 2
    waits: ClassVar[bool] = False
    controls = VISIT

    def __init__(self, walk: HeapWalk, function: Function, user_data: Any) -> None:
        self.walk = walk
        self.function = function
        self.further = () if user_data is None else (user_data,)
        self.waited_for = self.waits or not only_reads_tag(function, self.tag)
        self.mode = CallbackMode.AT_ONCE if self.waited_for else CallbackMode.IN_BLOCKS
        self.cell: Callable[[int], Any] = TagCell if self.waited_for else ReadTag
        self.kind_of_control = self.controls.kind

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a record."""
        raise NotImplementedError

    def call(self, row: tuple[Any, ...]) -> int:
        """Make one call, and note which tags it wrote."""
        arguments = self.arguments(row)
        control = self.function(*arguments, *self.further)
        if control.__class__ is not self.kind_of_control:
            control = self.controls.checked(control, self.function)
        if self.waited_for:
            self.walk.tags_written = self.tags_written(arguments)
            for one in arguments:
                if one.__class__ is TagCell:
                    one.__class__ = SpentTag
        return int(control)

    def alone(self, row: tuple[Any, ...]) -> bytes:
        """Make the only call of a block; returns its answer."""
        control = self.call(row)
        return _ANSWER.pack(control, *self.walk.tags_written)

    def tags_written(self, arguments: tuple[Any, ...]) -> tuple[int, int, int]:
        """The tags that a call may have written, and their values."""
        return (_TAG, _checked_tag(arguments[self.tag]), 0)

    def all(self, rows: bytes) -> int:
        """Make the calls of records of this kind; returns the last answer."""
        control = 0
        for row in self.record.iter_unpack(rows):
            control = self.call(row)
            if control in self.controls.ends:
                break
        return control


def _checked_tag(cell: TagCell) -> int:
    tag: Any = cell.value
    if tag.__class__ is int and -_LARGEST <= tag <= _LARGEST:
        return int(tag)
    if not is_whole(tag) or isinstance(tag, bool):
        raise TypeError(f"a tag must be int, not {type(tag).__name__}")
    if not -_LARGEST - 1 <= tag <= _LARGEST:
        raise OverflowError(f"the tag {tag} does not fit jlong")
    return int(tag)


class Objects(Visits):
    """`HeapIterationCallback`."""

    kind = Visit.OBJECT
    record = heap_walks.OBJECT.struct

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        class_tag, size, tag, length = row
        return class_tag, size, self.cell(tag), length

    def alone(self, row: tuple[Any, ...]) -> bytes:
        # Runs for every object of a walk that writes tags.
        class_tag, size, tag, length = row
        cell = self.cell(tag)
        control = self.function(class_tag, size, cell, length, *self.further)
        if control.__class__ is not HeapVisitControl:
            control = VISIT.checked(control, self.function)
        if not self.waited_for:
            return _ANSWER.pack(control, 0, 0, 0)
        tag = _checked_tag(cell)
        cell.__class__ = SpentTag
        return _ANSWER.pack(control, _TAG, tag, 0)

    def all(self, rows: bytes) -> int:
        if self.waited_for or self.further:
            return super().all(rows)
        # The loop over a million objects.
        function, cell, nothing = self.function, ReadTag, HeapVisitControl(0)
        control: Any = 0
        for class_tag, size, tag, length in self.record.iter_unpack(rows):
            control = function(class_tag, size, cell(tag), length)
            if control is nothing:
                continue
            control = VISIT.checked(control, function)
            if control in VISIT.ends:
                break
        return int(control)


class References(Visits):
    """`HeapReferenceCallback`."""

    kind = Visit.REFERENCE
    record = heap_walks.REFERENCE.struct
    tag = 5
    waits = True

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        kind, class_tag, referrer_class_tag, size, tag, referrer_tag, about, length = row[:8]
        cell = TagCell(tag)
        referrer = None
        if about & _HAS_REFERRER:
            referrer = cell if about & _SAME_OBJECT else TagCell(referrer_tag)
        return (
            _heap_reference_kind(kind),
            self.walk.reference_info(kind, row[8:]),
            class_tag,
            referrer_class_tag,
            size,
            cell,
            referrer,
            length,
        )

    def tags_written(self, arguments: tuple[Any, ...]) -> tuple[int, int, int]:
        cell, referrer = arguments[5], arguments[6]
        tag = _checked_tag(cell)
        if referrer is None or referrer is cell:
            return (_TAG, tag, 0)
        return (_TAG | _REFERRER_TAG, tag, _checked_tag(referrer))


class PrimitiveFields(Visits):
    """`PrimitiveFieldCallback`."""

    kind = Visit.PRIMITIVE_FIELD
    record = heap_walks.PRIMITIVE_FIELD.struct
    tag = 3

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        kind, index, class_tag, tag, letter, bits = row
        value: Any
        if letter in b"DF":
            value = _F64.unpack(_U64.pack(bits))[0]
        else:
            value = _I64.unpack(_U64.pack(bits))[0]
            if letter == PrimitiveType.BOOLEAN:
                value = bool(value)
        return (
            _heap_reference_kind(kind),
            self.walk.indexed("field", index),
            class_tag,
            self.cell(tag),
            value,
            _primitive_type(letter),
        )


class Arrays(Visits):
    """`ArrayPrimitiveValueCallback`."""

    kind = Visit.ARRAY
    record = heap_walks.ARRAY.struct

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        class_tag, size, tag, count, letter = row
        dtype = numpy.dtype(DTYPES[chr(letter)])
        data = bytearray(self.walk.take(count * dtype.itemsize))
        elements = numpy.frombuffer(data, dtype)
        return class_tag, size, self.cell(tag), count, _primitive_type(letter), elements


class Strings(Visits):
    """`StringPrimitiveValueCallback`."""

    kind = Visit.STRING
    record = heap_walks.STRING.struct

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        class_tag, size, tag, length = row
        value = self.walk.take(length * 2).decode("utf-16-le", "surrogatepass")
        return class_tag, size, self.cell(tag), value


class Objects10(Visits):
    """`HeapObjectCallback`."""

    kind = Visit.OBJECT_10
    record = heap_walks.OBJECT_10.struct
    controls = ITERATION

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        class_tag, size, tag = row
        return class_tag, size, self.cell(tag)


class Roots10(Visits):
    """`HeapRootCallback`."""

    kind = Visit.ROOT_10
    record = heap_walks.ROOT_10.struct
    tag = 3
    waits = True
    controls = ITERATION

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        kind, class_tag, size, tag = row
        return _root_kind(kind), class_tag, size, TagCell(tag)


class StackReferences10(Visits):
    """`StackReferenceCallback`."""

    kind = Visit.STACK_REFERENCE_10
    record = heap_walks.STACK_REFERENCE_10.struct
    tag = 3
    waits = True
    controls = ITERATION

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        kind, class_tag, size, tag, thread_tag, depth, method, slot = row
        return (
            _root_kind(kind),
            class_tag,
            size,
            TagCell(tag),
            thread_tag,
            depth,
            self.walk.method(method),
            slot,
        )


class References10(Visits):
    """`ObjectReferenceCallback`."""

    kind = Visit.REFERENCE_10
    record = heap_walks.REFERENCE_10.struct
    tag = 3
    waits = True
    controls = ITERATION

    def arguments(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        kind, class_tag, size, tag, referrer_tag, index = row
        return _object_reference_kind(kind), class_tag, size, TagCell(tag), referrer_tag, index


KINDS: dict[str, type[Visits]] = {
    "heap_iteration_callback": Objects,
    "heap_reference_callback": References,
    "primitive_field_callback": PrimitiveFields,
    "array_primitive_value_callback": Arrays,
    "string_primitive_value_callback": Strings,
    "heap_object_callback": Objects10,
    "heap_root_callback": Roots10,
    "stack_ref_callback": StackReferences10,
    "object_ref_callback": References10,
    "object_reference_callback": References10,
}
"""The reader of a callback's records, by the callback's name."""

_CALLED_BY = {
    "follow_references": frozenset({"heap_iteration_callback"}),
    "iterate_through_heap": frozenset({"heap_reference_callback"}),
}
"""The callbacks that a walk never calls."""


class HeapWalk:
    """One walk: its callbacks and its outcome.

    Attributes:
        written: which tags the last call wrote.
        error: what a callback raised.
        took: seconds in callbacks.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.visits: dict[int, Visits] = {}
        self.tags_written = (0, 0, 0)
        self.error: BaseException | None = None
        self.took = 0.0
        self._abort = VISIT.abort
        self._deadline: float | None = None
        self._payload = b""
        self._at = 0
        self._infos: dict[tuple[str, int], HeapReferenceInfo] = {}
        self._methods: dict[int, Any] = {}

    # ---- what is called --------------------------------------------------------------------

    def prepared(self, declaration: Declaration, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Encode the arguments: for each callback, how the agent calls it.

        Raises:
            TypeError: a callback is not callable.
        """
        named = dict(zip([one.name for one in declaration.parameters], arguments, strict=True))
        user_data = named["user_data"]
        named["user_data"] = None  # stays here
        for name, value in named.items():
            where = f"{declaration.name}() argument {name}"
            if name in KINDS:
                named[name] = self._mode_of(name, value, user_data, where)
            elif name == "callbacks":
                if not isinstance(value, HeapCallbacks):
                    raise TypeError(f"{where} must be HeapCallbacks, not {type(value).__name__}")
                unused = _CALLED_BY[declaration.name]
                modes = {
                    field.name: self._mode_of(
                        field.name, getattr(value, field.name), user_data, f"{where}.{field.name}"
                    )
                    for field in fields(value)
                    if field.name in KINDS and field.name not in unused
                }
                named[name] = HeapCallbacks(**modes)  # type: ignore[arg-type]
        return tuple(named.values())

    def _mode_of(self, name: str, function: Any, user_data: Any, where: str) -> CallbackMode | None:
        if function is None:
            return None
        if not callable(function):
            raise TypeError(f"{where} must be callable, not {type(function).__name__}")
        cls = KINDS[name]
        visits = self.visits[cls.kind] = cls(self, function, user_data)
        self._abort = visits.controls.abort
        return visits.mode

    # ---- the conversation ------------------------------------------------------------------

    def carry_on(self, channel: Channel, frame: Frame, deadline: float | None) -> tuple[int, Frame]:
        """Answer blocks until another frame comes, and return that."""
        local = self.session._local
        outer = local.conversation
        inner = Conversation(channel, frame.conversation, stopped=True)
        head = HEADER.pack(_ANSWER.size, Kind.ANSWER, 0, 0, 0, 0, frame.conversation)
        block, next_block, payload = self.block, channel.next_block, frame.payload
        self._deadline = deadline
        try:
            local.conversation = inner  # here, because Ctrl-C can come at every call
            while True:
                got = next_block(head + block(payload), deadline)
                if not isinstance(got, bytes):
                    return got
                payload = got
        finally:
            local.conversation = outer

    def block(self, payload: bytes) -> bytes:
        """Make the calls of a block; returns the answer."""
        self.tags_written = (0, 0, 0)
        began = time.monotonic()
        try:
            if self.error is not None:
                return _ANSWER.pack(self._abort, 0, 0, 0)
            if payload[0] == 1:
                kind, size = _BLOCK.unpack_from(payload, 1)
                visits = self.visits[kind]
                if size == visits.record.size:
                    self._payload, self._at = payload, _ALONE + size
                    return visits.alone(visits.record.unpack_from(payload, _ALONE))
            return _ANSWER.pack(self._calls(payload), *self.tags_written)
        except BaseException as error:
            self.error = error  # raised where the walk was begun, once the VM goes on
            return _ANSWER.pack(self._abort, 0, 0, 0)
        finally:
            self.took += time.monotonic() - began

    def _calls(self, payload: bytes) -> int:
        count = payload[0]
        self._payload = payload
        at = 1 + count * _BLOCK.size
        if count == 1:
            kind, size = _BLOCK.unpack_from(payload, 1)
            self._at = at + size
            visits = self.visits[kind]
            # All at once, or in parts if there is a time limit.
            step = size if self._deadline is None else _CALLS_BETWEEN_CHECKS * visits.record.size
            control = 0
            for start in range(at, at + size, step):
                control = visits.all(payload[start : min(start + step, at + size)])
                if control in visits.controls.ends:
                    break
                if self._is_late():
                    return self._abort
            return control
        rows: dict[int, Iterator[tuple[Any, ...]]] = {}
        records = 0
        for i in range(count):
            kind, size = _BLOCK.unpack_from(payload, 1 + i * _BLOCK.size)
            record = self.visits[kind].record
            rows[kind] = record.iter_unpack(payload[at : at + size])
            records += size // record.size
            at += size
        self._at = at + records
        control = 0
        for kind in payload[at : at + records]:
            visits = self.visits[kind]
            control = visits.call(next(rows[kind]))
            if control in visits.controls.ends:
                break
            if self._is_late():
                return self._abort
        return control

    def _is_late(self) -> bool:
        """Whether the walk's time is over: then nothing waits for the frame after this answer."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    # ---- what records refer to -------------------------------------------------------------

    def take(self, size: int) -> bytes:
        """The next bytes of arrays and strings."""
        start = self._at
        self._at = start + size
        return self._payload[start : self._at]

    def method(self, handle: int) -> Any:
        """The method of a frame."""
        if not handle:
            return None
        known = self._methods.get(handle)
        if known is None:
            known = self._methods[handle] = self.session.wrap(handle)
        return known

    def indexed(self, member: str, index: int) -> HeapReferenceInfo:
        """The details of a reference that has an index only."""
        known = self._infos.get((member, index))
        if known is None:
            known = HeapReferenceInfo(**{member: _MEMBERS[member](index)})
            if index < _REMEMBERED:
                self._infos[member, index] = known
        return known

    def reference_info(self, kind: int, row: tuple[Any, ...]) -> HeapReferenceInfo | None:
        """The details of a reference; ``None`` for kinds that have none."""
        member = MEMBER_OF.get(_heap_reference_kind(kind))
        if member is None:
            return None
        thread_tag, thread_id, depth, method, location, index = row
        if member == "stack_local":
            return HeapReferenceInfo(
                stack_local=HeapReferenceInfoStackLocal(
                    thread_tag, thread_id, depth, self.method(method), location, index
                )
            )
        if member == "jni_local":
            return HeapReferenceInfo(
                jni_local=HeapReferenceInfoJniLocal(
                    thread_tag, thread_id, depth, self.method(method)
                )
            )
        return self.indexed(member, index)


_ENDED = "has been ended"
_AT_LIMIT = "its time limit had passed"
"""The agent's reason when it has ended a walk at its limit, and not earlier."""


def _ended(declaration: Declaration, timeout: float, made: HeapWalk, why: str) -> CallTimeout:
    """The exception when the agent or the channel has ended the walk."""
    name = f"{declaration.name}()"
    if why != _AT_LIMIT:
        return CallTimeout(name, timeout, f"{why}, while the JVM waited", _ENDED, is_early=True)
    took = f"its callbacks took {duration(made.took)}"
    # A callback that is a little late was not stopped.
    if made.took > 2 * timeout + 1:
        took += ", with the time that this process may have been stopped in them"
    return CallTimeout(name, timeout, took, _ENDED)


def walk(
    env: Env, declaration: Declaration, arguments: tuple[Any, ...], timeout: float | None
) -> None:
    """Call one of the heap walks, and its callbacks while it lasts.

    Raises:
        CallTimeout: it overran its limit, or this process was stopped in the middle of it.
        BaseException: what a callback raised, which ended the walk.
    """
    session = env._session
    made = HeapWalk(session)
    payload = codec_of(declaration).encode(session, made.prepared(declaration, arguments))
    if timeout is None:
        timeout = DEFAULT_LIMIT if session.timeout is None else session.timeout
    timeout = min(timeout, _FOR_EVER)
    # The agent knows the limit, too: it resumes the VM even if this process cannot.
    payload = _I64.pack(max(round(timeout * 1000), 0)) + payload
    began = time.monotonic()
    try:
        reply = session.request(
            Request(
                Kind.CALL,
                declaration.number,
                env._number,
                payload,
                declaration.name,
                timeout,
                Flag.LIMITED,
                walk=made.carry_on,
            )
        )
    except HandlerOverran:
        raise
    except TargetLost:
        if session.closed is not None:
            raise
        # If part of a block had been sent, the agent has closed the channel.
        passed = time.monotonic() - began
        why = _AT_LIMIT if passed >= timeout else "this process was stopped in the middle of it"
        raise _ended(declaration, timeout, made, why) from None
    except CallTimeout:
        raise _ended(declaration, timeout, made, _AT_LIMIT) from None
    if reply.status == Status.WALK_ENDED:
        raise _ended(declaration, timeout, made, bytes(reply.payload).decode()) from None
    if made.error is not None:
        raise made.error
    if reply.status:
        raise session.error(declaration, reply)


__all__ = ["HeapWalk", "walk"]
