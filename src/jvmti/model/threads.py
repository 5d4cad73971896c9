"""Threads and their stacks."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from jvmti import refs
from jvmti.model.objects import Attributes, Object
from jvmti.model.stepping import Steps
from jvmti.spec.constants import JavaLangThreadState, ThreadState
from jvmti.spec.errors import JavaException, NotInThisVersion, ThreadNotAlive
from jvmti.wire.columns import HandleColumn, ListColumn

if TYPE_CHECKING:
    from jvmti.model.classes import Method
    from jvmti.model.stops import Stop
    from jvmti.model.vm import VM

MOST_FRAMES = 1024
"""How many frames of a stack are shown where nothing else is asked for."""


class Frame:
    """A frame of a stack as it was when the stack was looked at.

    Attributes:
        method: the method.
        location: the bytecode index in it; -1 in a native method.
        line: the source line; ``None`` where it is not known.
        depth: 0 for the most recent frame of the stack.
    """

    __slots__ = ("depth", "line", "location", "method")

    def __init__(self, method: Method, location: int, line: int | None, depth: int) -> None:
        self.method = method
        self.location = location
        self.line = line
        self.depth = depth

    @property
    def source_file(self) -> str | None:
        """The source file of the method's class."""
        return self.method.source_file

    @property
    def is_native(self) -> bool:
        """Whether the method is native."""
        return self.location == -1

    @property
    def where(self) -> str:
        """Source file and line as stack traces write them."""
        if self.is_native:
            return "Native Method"
        if self.source_file is None:
            return "Unknown Source"
        return self.source_file if self.line is None else f"{self.source_file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.method.class_name}.{self.method.name}({self.where})"

    def __repr__(self) -> str:
        return f"<Frame {self}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frame):
            return NotImplemented
        return (self.method, self.location, self.depth) == (
            other.method,
            other.location,
            other.depth,
        )

    def __hash__(self) -> int:
        return hash((self.method, self.location, self.depth))


class Thread(Attributes, refs.Thread):
    """A ``java.lang.Thread``, platform or virtual; every attribute is as of now."""

    __slots__ = ()

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
            return self._vm.jni.is_virtual_thread(self)
        except NotInThisVersion:
            return False

    @property
    def id(self) -> int:
        """Its ``Thread.threadId``."""
        return self._vm.threads.ids([self])[0]

    @property
    def cpu_time(self) -> int | None:
        """The processor time it has used, in nanoseconds; ``None`` where that cannot be had."""
        try:
            return self._vm.lookup_env.get_thread_cpu_time(self)
        except ThreadNotAlive:
            return None

    @property
    def frames(self) -> list[Frame]:
        """Its stack, the most recent frame first; empty where it has none.

        The thread is not suspended for longer than the VM needs to look.
        """
        return self.get_frames()

    def get_frames(self, most: int = MOST_FRAMES) -> list[Frame]:
        """The same with another limit."""
        traces = self._vm.env.map.get_thread_list_stack_traces([self], most).check()
        return _frames(self._vm, traces.value.items["frame_buffer"])[0]

    def step(
        self,
        how: str = "over",
        by: str = "line",
        *,
        do: Callable[[Stop], object] | None = None,
    ) -> Steps:
        """Step the thread: it goes on a line at a time, and stops at each.

        Args:
            how: ``"into"`` calls, ``"over"`` them, or ``"out"`` of the method.
            by: ``"line"`` or ``"instruction"``.
            do: a function that is called with each `Stop` while the thread waits.

        Returns:
            The steps, of which the first has begun; `Stops` says how to use them.

        Raises:
            ValueError: there is no such step.
            Duplicate: the thread is being stepped already.
            ThreadNotAlive: it has ended.
            NotAvailable: this JVM does not give single steps.

        JVM TI: SingleStep, NotifyFramePop, FramePop.
        """
        return Steps(self._vm, self, how, by, do)

    @property
    def owned_monitors(self) -> list[Object]:
        """The objects whose monitors it owns.

        Raises:
            MustPossessCapability: ``vm.env`` has not added ``can_get_owned_monitor_info``.
        """
        return self._vm.env.get_owned_monitor_info(self)  # type: ignore[return-value]

    @property
    def contended_monitor(self) -> Object | None:
        """The object whose monitor it waits for, to enter or to be notified.

        Raises:
            MustPossessCapability: ``vm.env`` has not added ``can_get_current_contended_monitor``.
        """
        return self._vm.env.get_current_contended_monitor(self)  # type: ignore[return-value]


class ThreadGroup(Attributes, refs.ThreadGroup):
    """A ``java.lang.ThreadGroup``."""

    __slots__ = ()

    @property
    def name(self) -> str | None:
        """Its name."""
        return self._vm.env.get_thread_group_info(self).name

    @property
    def parent(self) -> ThreadGroup | None:
        """The group around it; ``None`` for the topmost."""
        return self._vm.env.get_thread_group_info(self).parent  # type: ignore[return-value]

    @property
    def is_daemon(self) -> bool:
        """Whether it was made a daemon group, which means nothing from Java 19 on."""
        return self._vm.env.get_thread_group_info(self).is_daemon

    @property
    def max_priority(self) -> int:
        """The highest priority that its threads can be given."""
        return self._vm.env.get_thread_group_info(self).max_priority

    @property
    def threads(self) -> list[Thread]:
        """The live threads in it, not those of groups within."""
        return self._vm.env.get_thread_group_children(self).threads  # type: ignore[return-value]

    @property
    def groups(self) -> list[ThreadGroup]:
        """The groups in it."""
        return self._vm.env.get_thread_group_children(self).groups  # type: ignore[return-value]


def java_state(state: int) -> str:
    """The name of ``java.lang.Thread.State`` for a thread's bits."""
    return JavaLangThreadState.of(state).name or "UNKNOWN"


@dataclass(frozen=True)
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
    #: The processor time it has used so far, in nanoseconds; ``None`` where that cannot be had.
    cpu_time: int | None
    #: Its stack, the most recent frame first.
    frames: list[Frame]

    @property
    def java_state(self) -> str:
        """Its ``java.lang.Thread.State``."""
        return java_state(self.state)


class Threads:
    """The live platform threads of a VM, without those of this package's agent.

    Iterating gives each `Thread`; ``vm.threads["main"]`` the one of that name.
    """

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._id_field: Any = None

    def __iter__(self) -> Iterator[Thread]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return bool(self.named(item))
        return any(item == thread for thread in self._all())

    def __getitem__(self, name: str) -> Thread:
        threads = self._all()
        names = self._names(threads)
        found = [thread for thread, its in zip(threads, names, strict=True) if its == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise KeyError(f"{len(found)} threads are named {name!r}; vm.threads.named() has them")
        near = difflib.get_close_matches(name, [its for its in names if its], n=3)
        hint = f"; there are {', '.join(map(repr, near))}" if near else ""
        raise KeyError(f"no live thread is named {name!r}{hint}")

    def named(self, name: str) -> list[Thread]:
        """The live threads of that name; Java does not keep names from being given twice."""
        threads = self._all()
        names = self._names(threads)
        return [thread for thread, its in zip(threads, names, strict=True) if its == name]

    def ids(self, threads: list[Thread] | HandleColumn) -> list[int]:
        """The ``Thread.threadId`` of each thread."""
        if not len(threads):
            return []
        if self._id_field is None:
            jni = self._vm.jni
            # Package-private since Java 1.0, and the same in every release.
            self._id_field = jni.get_field_id(jni.find_class("java/lang/Thread"), "tid", "J")
        columns = self._vm.map.get_long_field(threads, self._id_field)
        return [int(number) for number in columns.value.tolist()]

    def snapshot(
        self, most_frames: int = MOST_FRAMES, *, virtual: bool = False
    ) -> list[ThreadSnapshot]:
        """All threads at one moment: names, states, processor times and stacks.

        It takes about ten messages, however many threads and frames there are.

        Args:
            most_frames: how many frames of each stack at most, the most recent first.
            virtual: virtual threads as well, whose stacks are taken right after; see
                `virtual`.
        """
        vm = self._vm
        traces = vm.env.map.get_all_stack_traces(most_frames).check().value.items
        ours = self._service_rows(traces["thread"])
        found = self._snapshots(traces, ~ours, False)
        if virtual:
            others = self.virtual()
            if others:
                traces = (
                    vm.lookup_env.map.get_thread_list_stack_traces(others, most_frames)
                    .check()
                    .value.items
                )
                alive = traces["state"] & int(ThreadState.ALIVE) != 0
                found += self._snapshots(traces, alive, True)
        return found

    def virtual(self) -> list[Thread]:
        """The virtual threads that the VM keeps track of.

        JVM TI has no function for them, so the JDK's own registry of thread containers is asked,
        which runs a few lines of Java code in the target.  Empty where the release has none.
        """
        vm = self._vm
        jni = vm.jni
        try:
            containers = jni.find_class("jdk/internal/vm/ThreadContainers")
            container = jni.find_class("jdk/internal/vm/ThreadContainer")
            stream = jni.find_class("java/util/stream/Stream")
            root = jni.get_static_method_id(
                containers, "root", "()Ljdk/internal/vm/ThreadContainer;"
            )
            of_threads = jni.get_method_id(container, "threads", "()Ljava/util/stream/Stream;")
            of_children = jni.get_method_id(container, "children", "()Ljava/util/stream/Stream;")
            to_array = jni.get_method_id(stream, "toArray", "()[Ljava/lang/Object;")
        except JavaException:
            return []  # virtual threads came with Java 21

        def items(of: Any, method: Any) -> list[Any]:
            stream_of: Any = jni.call_object_method(of, method)
            array: Any = jni.call_object_method(stream_of, to_array)
            length = jni.get_array_length(array)
            if not length:
                return []
            return list(vm.map.get_object_array_element(array, numpy.arange(length)).value)

        threads: list[Thread] = []
        waiting = [jni.call_static_object_method(containers, root)]
        while waiting:
            one = waiting.pop()
            its = [thread for thread in items(one, of_threads) if thread is not None]
            if its:
                flags = vm.map.is_virtual_thread(its).value.tolist()
                threads += [thread for thread, flag in zip(its, flags, strict=True) if flag]
            waiting += items(one, of_children)
        return threads

    # ---- the insides -----------------------------------------------------------------------

    def _all(self) -> list[Thread]:
        column = self._vm.env.map.get_all_threads().check().value.items
        ours = self._service_rows(column)
        return [column[at] for at in numpy.flatnonzero(~ours).tolist()]

    def _names(self, threads: list[Thread]) -> list[str | None]:
        return list(self._vm.env.map.get_thread_info(threads).name) if threads else []

    def _service_rows(self, column: HandleColumn) -> numpy.ndarray[Any, Any]:
        """Which rows of a column of threads are threads of the agent, of any controller."""
        service = self._vm.service_threads()
        handles = numpy.array([thread._handle for thread in service], "<u8")
        if not len(handles) or not len(column):
            return numpy.zeros(len(column), bool)
        same = self._vm.map.is_same_object(
            numpy.repeat(column.array, len(handles)), numpy.tile(handles, len(column))
        )
        rows: numpy.ndarray[Any, Any] = (
            same.value.astype(bool).reshape(len(column), len(handles)).any(axis=1)
        )
        return rows

    def _snapshots(
        self, traces: dict[str, Any], chosen: numpy.ndarray[Any, Any], virtual: bool
    ) -> list[ThreadSnapshot]:
        vm = self._vm
        threads = traces["thread"]
        about = vm.env.map.get_thread_info(threads)
        spent = vm.lookup_env.map.get_thread_cpu_time(threads)
        ids = self.ids(threads)
        stacks = _frames(vm, traces["frame_buffer"])
        names = list(about.name)
        daemons = about.is_daemon.tolist()
        priorities = about.priority.tolist()
        states = traces["state"].tolist()
        times = [
            None if status else time
            for status, time in zip(spent.status.tolist(), spent.value.tolist(), strict=True)
        ]
        return [
            ThreadSnapshot(
                threads[at],
                ids[at],
                names[at] or "",
                ThreadState(states[at]),
                bool(daemons[at]),
                priorities[at],
                virtual,
                times[at],
                stacks[at],
            )
            for at in numpy.flatnonzero(chosen).tolist()
        ]


def _frames(vm: VM, stacks: ListColumn) -> list[list[Frame]]:
    """Frames for all stacks of a reply: each method and line is looked up once."""
    handles = stacks.items["method"].array
    locations = stacks.items["location"]
    if not len(handles):
        return [[] for _ in range(len(stacks))]
    distinct, rows = numpy.unique(handles, return_inverse=True)
    rows = rows.reshape(-1)
    methods = numpy.empty(len(distinct), object)
    methods[:] = vm.methods.of(distinct.tolist())
    lines = vm.methods.lines(distinct, rows, locations)
    of_frames = methods[rows].tolist()
    places = locations.tolist()
    found = []
    ends = stacks.offsets.tolist()
    for start, end in itertools.pairwise(ends):
        # Thousands of frames: the constructor is called without a loop in between.
        stack = map(
            Frame, of_frames[start:end], places[start:end], lines[start:end], range(end - start)
        )
        found.append(list(stack))
    return found


__all__ = ["Frame", "Thread", "ThreadGroup", "ThreadSnapshot", "Threads", "java_state"]
