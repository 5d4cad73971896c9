"""Threads: inspecting, suspending, interrupting and stopping them, alone or all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from jvmti import display, refs
from jvmti.interface.constants import JavaLangThreadState, ThreadState
from jvmti.interface.errors import (
    Error,
    ErrorCode,
    NotInThisVersion,
    ThreadNotAlive,
    error_for,
)
from jvmti.interface.frozen import frozen
from jvmti.model.debug.stepping import Steps
from jvmti.model.objects.java_object import Attributes, Object
from jvmti.model.threads.frames import Frame, Places, read_stack
from jvmti.model.threads.suspension import Suspension, SuspensionOfAll
from jvmti.model.threads.thread_containers import containers_of
from jvmti.model.threads.thread_fields import ThreadFields
from jvmti.text.names import suggestion
from jvmti.text.printable import escaped, escaped_lines
from jvmti.text.quantities import quantity
from jvmti.wire.columns import Fields, HandleColumn, packed

if TYPE_CHECKING:
    from jvmti.display import Report
    from jvmti.model.classes.java_class import Method
    from jvmti.model.debug.stops import Stop
    from jvmti.model.objects.java_object import Throwable
    from jvmti.model.threads.thread_groups import ThreadGroup
    from jvmti.model.vm import VM
    from jvmti.stacks.tree import StackTree

MOST_FRAMES = 1024
"""The default limit of frames of a stack."""


class Thread(Attributes, refs.Thread):
    """A ``java.lang.Thread``, platform or virtual; every attribute is as of now."""

    __slots__ = ("_virtual",)

    _virtual: bool

    @property
    def name(self) -> str:
        """Its name; virtual threads often have an empty one."""
        return self._vm.env.get_thread_info(self).name

    @property
    def state(self) -> ThreadState:
        """Its state as bit flags."""
        return self._vm.env.get_thread_state(self)

    @property
    def java_state(self) -> str:
        """Its ``java.lang.Thread.State``: RUNNABLE, BLOCKED, WAITING, TIMED_WAITING, …"""
        return java_state(self.state)

    @property
    def is_daemon(self) -> bool:
        """Whether the VM may end while it still runs."""
        return self._vm.env.get_thread_info(self).is_daemon

    @property
    def priority(self) -> int:
        """Its priority, 1 to 10."""
        return self._vm.env.get_thread_info(self).priority

    @property
    def group(self) -> ThreadGroup | None:
        """Its thread group; ``None`` if it has ended."""
        return self._vm.env.get_thread_info(self).thread_group  # type: ignore[return-value]

    @property
    def is_virtual(self) -> bool:
        """Whether it is a virtual thread."""
        try:
            return self._virtual
        except AttributeError:
            pass
        try:
            self._virtual = self._vm.jni.is_virtual_thread(self)
        except NotInThisVersion:
            self._virtual = False
        return self._virtual

    @property
    def is_alive(self) -> bool:
        """Whether it has been started and has not ended."""
        return bool(self.state & ThreadState.ALIVE)

    @property
    def is_interrupted(self) -> bool:
        """Whether its interrupt flag is set."""
        return bool(self.state & ThreadState.INTERRUPTED)

    @property
    def is_suspended(self) -> bool:
        """Whether it is suspended, by this session or another agent."""
        return bool(self.state & ThreadState.SUSPENDED)

    @property
    def carrier(self) -> Thread | None:
        """The platform thread that a virtual thread runs on at this moment.

        ``None`` if it is not mounted, and for a platform thread. JVM TI has no function for it, so
        the model reads the thread object.
        """
        if not self.is_virtual:
            return None
        return self._vm.threads._fields.carrier(self)

    @property
    def is_pinned(self) -> bool:
        """Whether a virtual thread keeps its carrier while it waits.

        It does if it cannot be unmounted: with a native method among its frames, while a class is
        initialised, and up to Java 23 inside ``synchronized``. For a running thread it is always
        false: the VM decides about pinning only when it tries to unmount the thread.
        """
        if not self.is_virtual:
            return False
        waits = ThreadState.WAITING | ThreadState.BLOCKED_ON_MONITOR_ENTER | ThreadState.SLEEPING
        return bool(self.state & waits) and self.carrier is not None

    @property
    def id(self) -> int:
        """Its ``Thread.threadId``."""
        return self._vm.threads.ids([self])[0]

    @property
    def cpu_time(self) -> int | None:
        """The processor time it has used, in nanoseconds; ``None`` if not available."""
        try:
            return self._vm.lookup_env.get_thread_cpu_time(self)
        except ThreadNotAlive:
            return None

    @property
    def frames(self) -> list[Frame]:
        """Its stack, the most recent frame first; empty if it has none or has ended.

        The thread stops only as long as the VM needs to capture it.

        JVM TI: GetThreadListStackTraces.
        """
        return self.get_frames()

    def get_frames(self, most: int = MOST_FRAMES) -> list[Frame]:
        """The same with another limit."""
        return display.Rows(read_stack(self, most).frames)

    def step(
        self,
        how: str = "over",
        by: str = "line",
        *,
        do: Callable[[Stop], object] | None = None,
    ) -> Steps:
        """Step the thread: it runs one line at a time.

        Args:
            how: ``"into"`` calls, ``"over"`` them, or ``"out"`` of the method.
            by: ``"line"`` or ``"instruction"``.
            do: a function that is called with each `Stop` while the thread waits.

        Returns:
            The steps; the first has begun. `StopRequest` says how to use them.

        Raises:
            ValueError: there is no such step.
            Duplicate: the thread is being stepped already.
            ThreadNotAlive: it has ended.
            NotAvailable: the agent was attached late, and the step is by instruction, or leads out
                of a method whose callers have no probes.

        JVM TI: SingleStep, NotifyFramePop, FramePop.
        """
        return Steps(self._vm, self, how, by, do)

    @property
    def owned_monitors(self) -> list[Object]:
        """The objects whose monitors it owns.

        At the first use the model takes the capability in an environment of its own; with it,
        compiled code keeps track of more monitors. If the agent was attached late, it is emulated:
        the thread is suspended for the moment, and the VM stopped for a part of it.

        Raises:
            ThreadNotAlive: it has ended.

        JVM TI: GetOwnedMonitorInfo.
        """
        env = self._vm.env_with("can_get_owned_monitor_info")
        return env.get_owned_monitor_info(self)  # type: ignore[return-value]

    @property
    def contended_monitor(self) -> Object | None:
        """The object whose monitor it waits for, to enter or to be notified.

        If the agent was attached late, it is emulated, as for `owned_monitors`.

        Raises:
            NotAvailable: the agent was attached late, and only native or compiled code refers to
                the object.
            ThreadNotAlive: it has ended.

        JVM TI: GetCurrentContendedMonitor.
        """
        env = self._vm.env_with("can_get_current_contended_monitor")
        return env.get_current_contended_monitor(self)  # type: ignore[return-value]

    # ---- actions ------------------------------------------------------------

    def suspended(self) -> Suspension:
        """Suspend it during a ``with`` block.

        Blocks nest, and threads that others have suspended stay suspended. An exception, Ctrl-C and
        the end of this process resume it, too. It keeps its locks, so Java code that you call
        meanwhile may wait for them. One session at a time can suspend threads: at the first use the
        model takes ``can_suspend`` in an environment of its own, unless ``vm.env`` has it.

        Raises:
            ThreadNotAlive: it has not started or has ended.
            NotAvailable: another controller has the capability; the message names it.

        JVM TI: SuspendThread, ResumeThread.
        """
        return Suspension(self._vm, [self])

    def suspend(self) -> None:
        """Suspend it until `resume`, or the end of the session.

        Each `suspend` needs its own `resume`. `suspended` resumes by itself.

        Raises:
            ThreadSuspended: another agent or thread has suspended it.
            ThreadNotAlive: it has not started or has ended.
            InvalidThread: it serves this package.

        JVM TI: SuspendThread.
        """
        suspension = Suspension(self._vm, [self])
        try:
            code = suspension.suspend()[0]
            if code != ErrorCode.NONE:
                raise error_for(code, "suspend_thread")
            self._vm.threads._suspensions.append(suspension)
        except BaseException:
            suspension.resume()
            raise

    def resume(self) -> None:
        """Take back one `suspend`.

        Raises:
            ThreadNotSuspended: this session's `suspend` has not suspended it.

        JVM TI: ResumeThread.
        """
        suspensions = self._vm.threads._suspensions
        for suspension in reversed(suspensions):
            if suspension.threads == [self]:
                suspension.resume()
                suspensions.remove(suspension)
                return
        raise error_for(
            ErrorCode.THREAD_NOT_SUSPENDED,
            "resume_thread",
            "suspend() of this session has not suspended it; to undo vm.env.suspend_thread(), call "
            "vm.env.resume_thread()",
        )

    def interrupt(self) -> None:
        """Interrupt it, as ``Thread.interrupt`` does.

        Raises:
            ThreadNotAlive: it has not started or has ended.

        JVM TI: InterruptThread.
        """
        self._vm.env_with("can_signal_thread", *self._needed).interrupt_thread(self)

    def stop(self, exception: Throwable | str, message: str | None = None) -> None:
        """Throw an exception in the thread, wherever it runs.

        From Java 20 on ``Thread.stop`` refuses; this works for platform threads in all releases.
        The thread may leave its work half done.  A thread that waits or is in native code wakes up,
        and throws when it is back in Java.  A virtual thread must be suspended at an event.

        Args:
            exception: a throwable, or the name of a class of them that the VM can load without a
                class loader: ``"java.lang.IllegalStateException"``.
            message: the message of a new one.

        Raises:
            ThreadNotAlive: it has not started or has ended.
            ThreadNotSuspended, OpaqueFrame: it is virtual and not at an event.
            InvalidObject: it is not a throwable.

        JVM TI: StopThread.
        """
        vm = self._vm
        if isinstance(exception, str):
            cls = vm.bootstrap_class(exception.replace(".", "/"))
            text = None if message is None else vm.jni.new_string(message)
            made = vm.jni.get_method_id(cls, "<init>", "(Ljava/lang/String;)V")
            thrown: Any = vm.jni.new_object(cls, made, [text])
        else:
            thrown = exception
        vm.env_with("can_signal_thread", *self._needed).stop_thread(self, thrown)

    @property
    def _needed(self) -> tuple[str, ...]:
        return ("can_support_virtual_threads",) if self.is_virtual else ()

    # ---- for people ------------------------------------------------------------------------

    @escaped
    def __repr__(self) -> str:
        try:
            kind = "VirtualThread" if self.is_virtual else "Thread"
            return f"<{kind} {self.name!r} #{self.id} {self.java_state}>"
        except (Error, AttributeError, RuntimeError):
            return super().__repr__()

    @escaped_lines
    def __str__(self) -> str:
        """Its whole stack, as Java writes it, with the monitors that it holds and waits for."""
        from jvmti.model.threads.locks import locks_of_stack

        try:
            info = self._vm.env.get_thread_info(self)
            state = self.state
            lines = [head(info.name, self.id, info.priority, info.is_daemon, self.is_virtual)]
            lines.append(f"   java.lang.Thread.State: {java_state(state)}{detail(state)}")
            if not state & ThreadState.ALIVE:
                return "\n".join(lines)
            frames = self.frames
            locks = locks_of_stack(self, frames)
        except (Error, AttributeError, RuntimeError) as error:
            return f"{super().__repr__()}: {error}"
        for frame in frames:
            lines.append(f"\tat {frame}")
            lines += [f"\t- {lock}" for lock in locks.get(frame.depth, ())]
        lines += [f"\t({lock})" for lock in locks.get(-1, ())]
        return "\n".join(lines)


def head(name: str, number: int, priority: int, is_daemon: bool, is_virtual: bool) -> str:
    """The first line of a thread's stack."""
    daemon = " daemon" if is_daemon else ""
    virtual = " virtual" if is_virtual else ""
    return f'"{name}" #{number} prio={priority}{daemon}{virtual}'


_DETAILS = (
    (ThreadState.SLEEPING, "sleeping"),
    (ThreadState.IN_OBJECT_WAIT, "in Object.wait"),
    (ThreadState.PARKED, "parked"),
    (ThreadState.IN_NATIVE, "in native code"),
    (ThreadState.SUSPENDED, "suspended"),
    (ThreadState.INTERRUPTED, "interrupted"),
)


def described(state: ThreadState) -> str:
    """Details of a state beyond ``java.lang.Thread.State``, in words."""
    return ", ".join(text for bit, text in _DETAILS if state & bit)


def detail(state: ThreadState) -> str:
    """The same in parentheses, or nothing."""
    words = described(state)
    return f" ({words})" if words else ""


def java_state(state: int) -> str:
    """The name of ``java.lang.Thread.State`` for a thread's bits."""
    return JavaLangThreadState.of(state).name or "UNKNOWN"


@frozen
class ThreadSnapshot:
    """A thread as it was at one moment."""

    #: The thread itself, whose attributes are as of now.
    thread: Thread
    #: Its ``Thread.threadId``.
    id: int
    #: Its name, as its program wrote it.
    name: str
    #: Its state.
    state: ThreadState
    #: Whether the VM may end while it still runs.
    is_daemon: bool
    #: Its priority.
    priority: int
    #: Whether it is a virtual thread.
    is_virtual: bool
    #: The processor time it has used so far, in nanoseconds; ``None`` if not available.
    cpu_time: int | None
    #: Its stack, the most recent frame first.
    frames: list[Frame]

    _repr_html_ = display.html

    @property
    def java_state(self) -> str:
        """Its ``java.lang.Thread.State``."""
        return java_state(self.state)

    @escaped
    def __repr__(self) -> str:
        return f"<ThreadSnapshot {self.name!r} #{self.id} {self.java_state}>"

    @escaped_lines
    def __str__(self) -> str:
        lines = [head(self.name, self.id, self.priority, self.is_daemon, self.is_virtual)]
        lines.append(f"   java.lang.Thread.State: {self.java_state}{detail(self.state)}")
        return "\n".join([*lines, *(f"\tat {frame}" for frame in self.frames)])


class ThreadSnapshots(display.Tabular, display.Rows[ThreadSnapshot]):
    """Threads at one moment: a list, and a table as `Threads.to_arrow` has it."""

    __slots__ = ()

    def to_arrow(self) -> Any:
        """The table, a row for each thread; see `Threads.to_arrow`.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        names = (
            "id",
            "name",
            "state",
            "daemon",
            "priority",
            "virtual",
            "cpu_time",
            "frames",
            "top",
        )
        rows: list[tuple[Any, ...]] = [
            (
                thread.id,
                thread.name,
                thread.java_state,
                thread.is_daemon,
                thread.priority,
                thread.is_virtual,
                thread.cpu_time,
                len(thread.frames),
                str(thread.frames[0]) if thread.frames else None,
            )
            for thread in self
        ]
        return _table(names, rows, {"state", "top"})


class Stacks(display.Tabular):
    """The stacks of all threads at one moment, as a table: a row for each frame.

    Its columns are ``thread`` (the id), ``name``, ``depth``, ``class``, ``method`` and ``line``.
    """

    COLUMNS = ("thread", "name", "depth", "class", "method", "line")

    def __init__(self, threads: list[ThreadSnapshot]) -> None:
        self.threads = threads

    def __len__(self) -> int:
        return sum(len(thread.frames) for thread in self.threads)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for thread in self.threads:
            for frame in thread.frames:
                method = frame.method
                yield (
                    thread.id,
                    thread.name,
                    frame.depth,
                    method.class_name,
                    method.name,
                    frame.line,
                )

    def to_arrow(self) -> Any:
        """The table, as a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        return _table(self.COLUMNS, list(self), {"name", "class", "method"})

    @escaped
    def __repr__(self) -> str:
        return (
            f"<Stacks of {quantity(len(self.threads), 'thread')}, {quantity(len(self), 'frame')}>"
        )

    @escaped_lines
    def __str__(self) -> str:
        return "\n\n".join(str(thread) for thread in self.threads)


def _table(names: tuple[str, ...], rows: list[tuple[Any, ...]], repeated: set[str]) -> Any:
    """An Arrow table of rows; columns with repeated texts are dictionary-encoded."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Arrow tables need pyarrow: pip install 'jvmti[arrow]'") from error
    types = {name: _ARROW_TYPES.get(name, "string") for name in names}
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    arrays = []
    for name, column in zip(names, columns, strict=True):
        array = pyarrow.array(column, type=getattr(pyarrow, types[name])())
        arrays.append(array.dictionary_encode() if name in repeated else array)
    return pyarrow.Table.from_arrays(arrays, names=list(names))


_ARROW_TYPES = {
    "thread": "int64",
    "id": "int64",
    "depth": "int32",
    "line": "int32",
    "priority": "int32",
    "frames": "int32",
    "cpu_time": "int64",
    "daemon": "bool_",
    "virtual": "bool_",
}


class Threads(display.Tabular):
    """The live platform threads of a VM, without those of this package's agent.

    Iterating yields each `Thread`; ``vm.threads["main"]`` is the thread of that name,
    ``vm.threads[21]`` that of the number that stacks show.
    """

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._fields = ThreadFields(vm)
        self._suspensions: list[Suspension] = []
        """Those of `Thread.suspend`, the latest last."""

    _repr_html_ = display.html

    def __iter__(self) -> Iterator[Thread]:
        return iter(self._all())

    def __len__(self) -> int:
        return self._service_rows(self._column()).count(False)

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return bool(self.named(item))
        return any(item == thread for thread in self._all())

    def __getitem__(self, name: str | int) -> Thread:
        threads = self._all()
        if isinstance(name, int):
            ids = self.ids(threads)
            if name in ids:
                return threads[ids.index(name)]
            known = ", ".join(map(str, sorted(ids)))
            raise KeyError(f"no live thread has the number {name}; there are {known}")
        if not isinstance(name, str):
            raise TypeError(f"index threads by name or number, not by {name!r}")
        names = self.names(threads)
        found = [thread for thread, its in zip(threads, names, strict=True) if its == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise KeyError(f"{len(found)} threads are named {name!r}; vm.threads.named() has them")
        raise KeyError(f"no live thread is named {name!r}{suggestion(name, names)}")

    def _ipython_key_completions_(self) -> list[str]:
        return [name for name in self.names(self._all()) if name]

    def named(self, name: str) -> list[Thread]:
        """The live threads of that name; names need not be unique in Java."""
        threads = self._all()
        names = self.names(threads)
        return [thread for thread, its in zip(threads, names, strict=True) if its == name]

    def ids(self, threads: list[Thread] | HandleColumn) -> list[int]:
        """The ``Thread.threadId`` of each thread."""
        return self._fields.ids(threads)

    def names(self, threads: list[Thread] | HandleColumn) -> list[str]:
        """The name of each thread; empty if it has none."""
        return self._fields.names(threads)

    def snapshot(self, most_frames: int = MOST_FRAMES, *, virtual: bool = False) -> ThreadSnapshots:
        """All threads at one moment: names, states, processor times and stacks.

        It takes about ten messages, however many threads and frames there are.

        Args:
            most_frames: how many frames of each stack at most, the most recent first.
            virtual: virtual threads as well, whose stacks are taken right after; see
                `virtual`.

        JVM TI: GetAllStackTraces, GetThreadInfo.
        """
        vm = self._vm
        # Not in an environment of the program, where this may be emulated.
        traces = vm.lookup_env.map.get_all_stack_traces(most_frames).check().value.items
        ours = self._service_rows(traces["thread"])
        found = self._snapshots(traces, [not one for one in ours], False, most_frames)
        if virtual:
            others = self.virtual
            if others:
                traces = (
                    vm.lookup_env.map.get_thread_list_stack_traces(others, most_frames)
                    .check()
                    .value.items
                )
                alive = [bool(one & int(ThreadState.ALIVE)) for one in traces.listed("state")]
                found += self._snapshots(traces, alive, True, most_frames)
        return found

    def suspended(
        self,
        threads: Iterable[Thread] | None = None,
        *,
        leave: Iterable[Thread] = (),
        virtual: bool = True,
    ) -> Suspension:
        """Suspend threads during a ``with`` block: by default all of them.

        That means all of the program's threads, platform and virtual, including those that start
        meanwhile; the agent's threads run on, and so do those of the VM that other tools need. As
        with `Thread.suspended`, blocks nest, threads that others have suspended stay suspended, and
        every thread is resumed in the end. Suspended threads keep their locks. Java code that runs
        inside the block (calls and `virtual` do, new strings do not) waits for ever if it needs one
        of them: set ``vm.timeout``.

        Args:
            threads: these only.
            leave: these not.
            virtual: whether all means virtual threads, too; listing them runs Java code.

        Raises:
            NotAvailable: another controller has the capability; the message names it.

        JVM TI: SuspendThread, SuspendAllVirtualThreads.
        """
        if threads is None:
            return SuspensionOfAll(self._vm, list(leave), virtual)
        spared = set(self.ids(list(leave)))
        wanted = list(threads)
        numbers = self.ids(wanted)
        return Suspension(
            self._vm,
            [one for one, number in zip(wanted, numbers, strict=True) if number not in spared],
        )

    def stacks(self, most_frames: int = MOST_FRAMES, *, virtual: bool = False) -> Stacks:
        """The stacks of all threads at one moment, as a table; see `snapshot`."""
        return Stacks(self.snapshot(most_frames, virtual=virtual))

    def to_arrow(self, *, virtual: bool = False) -> Any:
        """All threads at one moment, as a ``pyarrow.Table``.

        Its columns are ``id``, ``name``, ``state``, ``daemon``, ``priority``, ``virtual``,
        ``cpu_time`` in nanoseconds, the number of ``frames`` (`MOST_FRAMES` at most), and ``top``,
        the most recent one.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        return self.snapshot(virtual=virtual).to_arrow()

    def running_methods(self) -> Counter[Method]:
        """How many threads are in a call of each method that has Java code.

        JVM TI: GetAllStackTraces.
        """
        traces = self._vm.lookup_env.map.get_all_stack_traces(MOST_FRAMES).check().value.items
        places = Places(self._vm, traces["frame_buffer"], lines=False)
        found: Counter[Method] = Counter()
        ours = self._service_rows(traces["thread"])
        for own, (start, end) in zip(ours, pairwise(places.ends), strict=True):
            if not own:
                frames = zip(places.rows[start:end], places.locations[start:end], strict=True)
                found.update({places.methods[row] for row, location in frames if location >= 0})
        return found

    @property
    def virtual(self) -> list[Thread]:
        """The virtual threads that the VM keeps track of.

        JVM TI has no function for this, so it asks the JDK's registry of thread containers, which
        runs a few lines of Java code in the target. Empty before Java 21.
        """
        return self.some_virtual(None)

    @property
    def virtual_count(self) -> int:
        """About how many virtual threads there are; lists none of them. 0 before Java 21.

        JNI: CallLongMethod, on the JDK's registry of thread containers.
        """
        containers = containers_of(self._vm)
        if containers is None:
            return 0
        return max(sum(map(containers.count, containers)) - len(self), 0)

    def some_virtual(self, most: int | None) -> list[Thread]:
        """The same, but no more threads than that of each container, and in all.

        Where there are a hundred thousand, a few of them cost no more than elsewhere.

        Args:
            most: how many; ``None`` for all.
        """
        containers = containers_of(self._vm)
        if containers is None:
            return []
        threads: list[Thread] = []
        for one in containers:
            its = containers.threads(one, most)
            if its:
                flags = self._vm.map.is_virtual_thread(its).listed()
                threads += [thread for thread, flag in zip(its, flags, strict=True) if flag]
            if most is not None and len(threads) >= most:
                break
        return threads[:most]

    def stack_tree(
        self, *, state: str | None = None, lines: bool = False, by_thread: bool = False
    ) -> StackTree:
        """All stacks of this moment, merged to a tree: where the threads are.

        Args:
            state: only threads in this ``java.lang.Thread.State``: ``"RUNNABLE"``.
            lines: distinguish source lines, too.
            by_thread: a branch for each thread's name.

        JVM TI: GetAllStackTraces.
        """
        from jvmti.model.threads.sampling import at_once

        return at_once(self.snapshot(), state=state, lines=lines, by_thread=by_thread)

    def sample(
        self,
        seconds: float = 10.0,
        hz: float = 20.0,
        *,
        state: str | None = None,
        names: str = "*",
        by_thread: bool = False,
        share: float = 0.1,
        most_frames: int = MOST_FRAMES,
        progress: Report | None = None,
    ) -> StackTree:
        """Sample all stacks and merge them: where the time goes.

        The VM stops for each sample, some microseconds per thread and frame. Samples become rarer
        if they would take more than a share of the time. The VM captures stacks at safepoints, so a
        loop without calls appears at its end. Virtual threads appear only as their carriers.

        Args:
            seconds: for how long.
            hz: the most samples a second.
            state: only threads in this ``java.lang.Thread.State``; ``"RUNNABLE"`` are those that
                use the processor, or wait in native code.
            names: only threads whose names match this shell pattern.
            by_thread: a branch for each thread's name.
            share: the part of the time that samples may take.
            most_frames: how many frames of each stack at most, the most recent first.
            progress: called with the seconds that have passed, and the total; by default a terminal
                or a notebook shows a bar.

        Raises:
            ValueError: `state` is none, or a number is out of range.

        JVM TI: GetAllStackTraces.
        """
        from jvmti.model.threads.sampling import sampled

        return sampled(
            self._vm,
            seconds,
            hz,
            state=state,
            names=names,
            by_thread=by_thread,
            share=share,
            most_frames=most_frames,
            progress=progress,
        )

    @escaped_lines
    def __str__(self) -> str:
        return "\n\n".join(str(thread) for thread in self.snapshot())

    @escaped
    def __repr__(self) -> str:
        try:
            return f"<Threads: {len(self)}>"
        except Error as error:
            return f"<Threads: {error}>"

    # ---- the insides -----------------------------------------------------------------------

    def _all(self) -> list[Thread]:
        column = self._column()
        ours = self._service_rows(column)
        return [column[at] for at, own in enumerate(ours) if not own]

    def _column(self) -> HandleColumn:
        column: HandleColumn = self._vm.env.map.get_all_threads().check().value.items
        return column

    def _service_rows(self, column: HandleColumn) -> list[bool]:
        """Which rows of a column of threads are threads of the agent, for any controller."""
        service = self._vm.service_threads()
        count = len(service)
        if not count or not len(column):
            return [False] * len(column)
        same = self._vm.map.is_same_object(
            packed(handle for handle in column.numbers() for _ in range(count)),
            packed([thread._handle for thread in service] * len(column)),
        ).listed()
        return [any(same[at : at + count]) for at in range(0, len(same), count)]

    def _snapshots(
        self, traces: Fields, chosen: Sequence[bool], virtual: bool, most: int
    ) -> ThreadSnapshots:
        vm = self._vm
        column = traces["thread"]
        threads = list(column)
        for thread in threads:
            thread._virtual = virtual
        spent = vm.lookup_env.map.get_thread_cpu_time(column)
        ids = self.ids(column)
        stacks = Places(vm, traces["frame_buffer"]).frames(threads, most)
        about = list(self._fields.described(column))
        states = traces.listed("state")
        times = [
            None if status else time
            for status, time in zip(spent.status_list(), spent.listed(), strict=True)
        ]
        return ThreadSnapshots(
            ThreadSnapshot(
                threads[at],
                ids[at],
                about[at][0],
                ThreadState(states[at]),
                about[at][2],
                about[at][1],
                virtual,
                times[at],
                stacks[at],
            )
            for at, is_chosen in enumerate(chosen)
            if is_chosen
        )


__all__ = [
    "MOST_FRAMES",
    "Stacks",
    "Thread",
    "ThreadSnapshot",
    "ThreadSnapshots",
    "Threads",
    "described",
    "java_state",
]
