"""Streams: events as records in memory shared with the agent, for which the program does not wait.

`jvmti.events.streams.layout` describes the memory. The agent reads only the controller's counters,
and checks them; this side checks all that the agent writes. When there is nothing to read, the
reader sleeps, longer each time, so that neither side pays for waking it.
"""

from __future__ import annotations

import fcntl
import mmap
import numbers
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jvmti.deferred import numpy
from jvmti.env.events import EVENTS, EventDeclaration
from jvmti.events.handlers import declaration_of
from jvmti.events.streams.layout import Holds, record_fields
from jvmti.events.streams.names import Names
from jvmti.events.streams.records import Layout, Records
from jvmti.interface.constants import Event
from jvmti.interface.errors import Error, ProtocolError, SessionClosed
from jvmti.interface.signatures import in_any_package
from jvmti.layouts.streams import COUNTERS, STREAMS, Wishes, Words
from jvmti.operations.agent import AgentOperations
from jvmti.refs import Thread
from jvmti.text.printable import escaped

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.events.enabling import Enabling
    from jvmti.wire.session import Session

_LINES = 1 + STREAMS.LANES
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_SHORTEST_SLEEP = 0.0005
_LONGEST_SLEEP = 0.02
_CHECK_AFTER = 0.25
"""Seconds without an event after which the reader checks whether the target still runs."""
_MOST_RECORDS = 1 << 17
_MOST_FRAMES = 256
_LARGEST = 1 << 32
_PLACE = 4
"""Frames to record for waits: those of ``Object.wait`` are above the waiting one."""


class _Memory:
    """The memory shared with the agent, as counters and rings."""

    def __init__(self, layout: Layout, size: int) -> None:
        capacity = size // layout.size
        if capacity < 1:
            raise ValueError(f"a record takes {layout.size} bytes; {size} hold none")
        self.capacity = 1 << (capacity.bit_length() - 1)
        lane = (self.capacity * layout.size + 63) // 64 * 64
        whole = COUNTERS.SIZE + STREAMS.NAMES_SIZE + STREAMS.LANES * lane
        self.descriptor = os.memfd_create("jvmti", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, whole)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
            mapped = mmap.mmap(self.descriptor, whole)
        except BaseException:
            self.close_descriptor()
            raise
        # Views keep the mapping alive; the last one unmaps it.
        everything = numpy.frombuffer(mapped, numpy.uint8)
        lines = everything[: COUNTERS.SIZE].view("<u8").reshape(-1, COUNTERS.LINE // 8)
        written, read = lines[:_LINES], lines[COUNTERS.READ // COUNTERS.LINE :][:_LINES]
        self.names_head = written[0, COUNTERS.HEAD :][:1]
        self.names_tail = read[0, COUNTERS.TAIL :][:1]
        self.heads = written[1:, COUNTERS.HEAD]
        self.dropped = written[1:, COUNTERS.DROPPED]
        self.tails = read[1:, COUNTERS.TAIL]
        self.names = everything[COUNTERS.SIZE : COUNTERS.SIZE + STREAMS.NAMES_SIZE]
        start = COUNTERS.SIZE + STREAMS.NAMES_SIZE
        used = self.capacity * layout.size
        self.lanes = [
            everything[at : at + used].view("<u8").reshape(self.capacity, layout.size // 8)
            for at in range(start, start + STREAMS.LANES * lane, lane)
        ]

    def close_descriptor(self) -> None:
        """Close the descriptor, once both sides have mapped the memory."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1


class Stream:
    """An open recording of events; leaving its ``with`` block, or `close`, ends it.

    Iterating yields Arrow record batches until the stream is closed (by another thread, or by the
    end of the target) and everything has been read; `read` returns the same as NumPy columns.

    Attributes:
        env: the environment whose events are recorded.
        events: the events.
        policy: ``"drop"`` or ``"wait"``.
        columns: the names of the columns.
        emulated: the names of those events that probes report, because the VM does not.
    """

    emulated: tuple[str, ...] = ()

    def __init__(
        self,
        streams: Streams,
        env: Env,
        declarations: list[EventDeclaration],
        layout: Layout,
        memory: _Memory,
        policy: str,
    ) -> None:
        self.env = env
        self.events = tuple(declaration.constant for declaration in declarations)
        self.policy = policy
        self.columns = layout.columns
        self._streams = streams
        self._layout = layout
        self._memory = memory
        self._names = Names()
        self._lock = threading.Lock()
        self._tails = numpy.zeros(STREAMS.LANES, numpy.uint64)
        self._names_tail = 0
        self._number = 0
        self._enabled: list[tuple[EventDeclaration, Thread | None, str | None]] = []
        self._closed = False

    @property
    def dropped(self) -> int:
        """The exact number of events dropped on full rings; they are not in the records."""
        return int(self._memory.dropped.sum())

    @property
    def recorded(self) -> int:
        """How many events the stream has recorded, read or not."""
        return int(self._memory.heads.sum())

    @property
    def closed(self) -> bool:
        """Whether the recording has ended."""
        return self._closed

    def close(self) -> None:
        """Stop recording; repeating it does nothing. Recorded events can still be read."""
        self._streams.close(self)

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        """Arrow record batches, until the stream has ended."""
        while records := self.read():
            yield records.to_arrow()

    def read(self, timeout: float | None = None, most: int = _MOST_RECORDS) -> Records:
        """The events recorded since the last call.

        Args:
            timeout: seconds to wait for the first event; 0 does not wait, ``None`` waits until
                there is one or the stream is closed.
            most: how many events at most.

        Returns:
            The events as columns; none after the timeout, or if the stream is closed and everything
            has been read.

        Raises:
            ProtocolError: the agent wrote invalid data.
        """
        until = None if timeout is None else time.monotonic() + timeout
        sleep = _SHORTEST_SLEEP
        idle = 0.0
        while True:
            ended = self._ended(idle)
            with self._lock:
                data = self._take(most)
            if len(data) or ended:
                break
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                break
            time.sleep(sleep if left is None else min(sleep, left))
            idle += sleep
            sleep = min(2 * sleep, _LONGEST_SLEEP)
        return Records(self._layout, self._names, data)

    def _ended(self, idle: float) -> bool:
        session = self._streams.session
        if os.getpid() != session._process:
            raise SessionClosed("this process is a fork of the one that attached; attach anew")
        if self._closed or session.closed is not None:
            return True
        return idle >= _CHECK_AFTER and session.gone()

    def _take(self, most: int) -> numpy.ndarray[Any, Any]:
        """Copies records out of the rings, after reading the announcements before them."""
        memory = self._memory
        # In this order: the agent announces names before it writes records with them.
        ready = memory.heads - self._tails
        self._take_names()
        lanes = numpy.flatnonzero(ready)
        if not len(lanes):
            return numpy.empty((0, self._layout.size // 8), numpy.uint64)
        if int(ready.max()) > memory.capacity:
            raise ProtocolError("the agent reports more records than fit into the stream")
        counts = ready.astype(numpy.int64)[lanes].tolist()
        data = numpy.empty((min(sum(counts), most), self._layout.size // 8), numpy.uint64)
        at = 0
        for lane, count in zip(lanes.tolist(), counts, strict=True):
            count = min(count, len(data) - at)
            start = int(self._tails[lane]) & (memory.capacity - 1)
            first = min(count, memory.capacity - start)
            ring = memory.lanes[lane]
            data[at : at + first] = ring[start : start + first]
            data[at + first : at + count] = ring[: count - first]
            self._tails[lane] += numpy.uint64(count)
            memory.tails[lane] = self._tails[lane]
            at += count
        return data

    def _take_names(self) -> None:
        memory = self._memory
        head = int(memory.names_head[0])
        ready = head - self._names_tail
        if not ready:
            return
        if not 0 < ready <= STREAMS.NAMES_SIZE:
            raise ProtocolError("the agent announced more names than their buffer holds")
        start = self._names_tail % STREAMS.NAMES_SIZE
        first = min(ready, STREAMS.NAMES_SIZE - start)
        self._names.announce(memoryview(memory.names[start : start + first].tobytes()))
        self._names.announce(memoryview(memory.names[: ready - first].tobytes()))
        self._names_tail = head
        memory.names_tail[0] = head

    @escaped
    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<Stream of {', '.join(event.name for event in self.events)}{state}>"


class Streams:
    """Opens and closes the streams of a session."""

    def __init__(self, session: Session, enabling: Enabling) -> None:
        self.session = session
        self._enabling = enabling

    def open(
        self,
        env: Env,
        events: Event | str | Sequence[Event | str],
        *,
        thread: Thread | Sequence[Thread] | None,
        classes: str | Sequence[str] | None,
        methods: str | Sequence[str] | None,
        exceptions: str | Sequence[str] | None,
        subclasses: bool,
        min_duration: float | None,
        waits: bool,
        stack: int,
        timestamps: bool,
        objects: bool,
        policy: str,
        size: int,
        own: bool,
        enable: bool = True,
        max_pause: float | None = None,
    ) -> Stream:
        """Begin to record events; see `Env.stream`.

        Args:
            enable: enable the events, too; otherwise another user of them does.
        """
        declarations = _declarations(events)
        if waits:
            declarations = _with_beginnings(declarations)
        threads = _threads(thread)
        _check_numbers(stack=stack, size=size, min_duration=min_duration or 0)
        filters = {"classes": classes, "methods": methods, "exceptions": exceptions}
        for declaration in declarations:
            shortest = None if waits and declaration.waits else min_duration
            _check(declaration, filters, shortest, stack, policy)
        if policy not in ("drop", "wait"):
            raise ValueError(f'the policy is "drop" or "wait", not {policy!r}')
        if not 0 <= stack <= _MOST_FRAMES:
            raise ValueError(f"a stack has 0 to {_MOST_FRAMES} frames, not {stack}")
        if not 0 < size <= _LARGEST:
            raise ValueError(f"the size is 1 to {_LARGEST} bytes, not {size}")
        if min_duration is not None and min_duration < 0:
            raise ValueError(f"a duration is not negative: {min_duration!r}")
        words = Words.TIME if timestamps else Words(0)
        words |= Words.DURATION if waits or min_duration is not None else Words(0)
        words |= Words.STACK if waits or stack else Words(0)
        begun: list[EventDeclaration] = []
        if min_duration is not None:
            begun += beginnings(declarations)
        needed = list(dict.fromkeys([*declarations, *begun]))
        layout = Layout(declarations, words, begun, stacks=bool(stack), places=waits)
        wishes = Wishes.WAIT if policy == "wait" else Wishes(0)
        wishes |= Wishes.OWN if own else Wishes(0)
        wishes |= Wishes.OBJECTS if objects else Wishes(0)
        wishes |= Wishes.SUBCLASSES if subclasses else Wishes(0)
        wishes |= Wishes.BEGINNINGS if waits else Wishes(0)
        wishes |= Wishes.PLACES if waits and not stack else Wishes(0)
        if any(self._enabling.is_scoped(env, one) for one in needed):
            wishes |= Wishes.BEFORE_PROBES
        memory = _Memory(layout, size)
        everybody: list[Thread | None] = [*threads] or [None]
        stream = Stream(self, env, declarations, layout, memory, policy)
        arguments = (
            [declaration.number for declaration in needed],
            int(wishes),
            int(words),
            size,
            max(stack, _PLACE) if waits else stack,
            -1 if min_duration is None else int(min_duration * 1e9),
            threads,
            *(
                _lines(patterns, name, anywhere=name != "methods")
                for name, patterns in filters.items()
            ),
        )
        scope = _lines(classes, "classes", anywhere=True)
        with self._enabling.lock:
            try:
                stream._number = self._open(env, arguments, memory.descriptor)
            finally:
                memory.close_descriptor()
            try:
                with self._enabling.together(max_pause):
                    for declaration in needed if enable else ():
                        if self._enabling.is_scoped(env, declaration):
                            stream.emulated = (*stream.emulated, declaration.name)
                        for one in everybody:
                            self._enabling.enable(env, declaration, one, scope, max_pause)
                            stream._enabled.append((declaration, one, scope))
            except BaseException:
                self.close(stream)
                raise
        return stream

    def _open(self, env: Env, arguments: tuple[Any, ...], descriptor: int) -> int:
        agent = AgentOperations(self.session, env._number, descriptor=descriptor)
        return agent.open_stream(*arguments)

    def close(self, stream: Stream) -> None:
        """Stop recording in a stream."""
        with self._enabling.lock:
            if stream._closed:
                return
            self._enabling.disable_all(stream.env, stream._enabled)
            try:
                if self.session.closed is None:
                    AgentOperations(self.session, stream.env._number).close_stream(stream._number)
            except Error as error:
                if self.session.closed is None and not self.session.gone():
                    # The agent has already closed the streams of a disposed environment.
                    if getattr(error, "code", None) is None:
                        raise
            finally:
                stream._closed = True


def _declarations(events: Event | str | Sequence[Event | str]) -> list[EventDeclaration]:
    if isinstance(events, Sequence) and not isinstance(events, str):
        found = [declaration_of(event) for event in events]
    else:
        found = [declaration_of(events)]
    if not found:
        raise ValueError("a stream needs an event")
    return list(dict.fromkeys(found))


def beginnings(declarations: Iterable[EventDeclaration]) -> list[EventDeclaration]:
    """The events that begin the waits that these end."""
    return [declaration_of(one.ends) for one in declarations if one.ends is not None]


def _with_beginnings(declarations: list[EventDeclaration]) -> list[EventDeclaration]:
    ends = [one for one in declarations if one.waits and one.ends]
    if not ends:
        raise ValueError("waits= is for MonitorContendedEntered and MonitorWaited")
    return list(dict.fromkeys([*declarations, *beginnings(ends)]))


def _threads(given: Any) -> list[Thread]:
    if given is None:
        return []
    threads = list(given) if isinstance(given, Iterable) else [given]
    for one in threads:
        if not isinstance(one, Thread):
            raise TypeError(f"thread= takes threads, not {type(one).__name__}")
    return threads


def _check_numbers(**given: Any) -> None:
    for name, number in given.items():
        whole = name != "min_duration"
        if not isinstance(number, numbers.Integral if whole else numbers.Real):
            wanted = "a whole number" if whole else "seconds"
            raise TypeError(f"{name}= takes {wanted}, not {number!r}")


def _check(
    declaration: EventDeclaration,
    filters: dict[str, Any],
    min_duration: float | None,
    stack: int,
    policy: str,
) -> None:
    """Check that the options fit an event.

    Raises:
        ValueError: they do not.
    """
    name = declaration.name
    if declaration.vm_stopped and policy == "wait":
        raise ValueError(
            f"the VM sends {name} while it is stopped and cannot wait: "
            'a stream of it can only have the policy "drop"'
        )
    if declaration.vm_stopped and stack:
        raise ValueError(f"the VM sends {name} while it is stopped, when no stack is available")
    if min_duration is not None and declaration.ends is None:
        ending = ", ".join(one.__name__ for one in EVENTS.values() if one.declaration.ends)
        raise ValueError(f"{name} has no duration; these do: {ending}")
    holds = {field.holds for field in record_fields(declaration)}
    if filters["methods"] is not None and Holds.METHOD not in holds:
        raise ValueError(f"{name} has no method to filter by")
    if filters["classes"] is not None and not holds & {Holds.METHOD, Holds.CLASS, Holds.OBJECT}:
        raise ValueError(f"{name} has no class to filter by")
    if filters["exceptions"] is not None and declaration.thrown is None:
        raise ValueError(f"{name} has no exception to filter by")


def _lines(patterns: Any, name: str, *, anywhere: bool) -> str | None:
    if patterns is None:
        return None
    several = isinstance(patterns, Iterable) and not isinstance(patterns, str)
    listed = list(patterns) if several else [patterns]
    for one in listed:
        if not isinstance(one, str):
            raise TypeError(f"{name}= takes patterns as text, not {type(one).__name__}")
    if not listed or any("\n" in pattern for pattern in listed):
        raise ValueError(f"{name} needs patterns of one line each")
    if anywhere:
        listed = [meant for one in listed for meant in in_any_package(one)]
    return "\n".join(listed)


__all__ = ["Stream", "Streams", "beginnings"]
