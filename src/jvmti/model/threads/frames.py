"""Frames of stacks: locations, variables, and leaving them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti import display
from jvmti.deferred import is_array
from jvmti.interface.errors import (
    Error,
    InvalidSlot,
    NoMoreFrames,
    NotAvailable,
    OpaqueFrame,
    ThreadNotAlive,
)
from jvmti.interface.modifiers import MethodModifiers
from jvmti.interface.signatures import result_of, signature_of
from jvmti.model.debug.late.stop_probes import OWN_FRAMES
from jvmti.model.objects.reading import ReadyCall
from jvmti.model.threads.suspension import Suspension
from jvmti.model.values.conversion import to_java, to_python
from jvmti.operations.functions import Operations
from jvmti.text.printable import escaped, printable
from jvmti.wire.columns import ListColumn

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.model.classes.java_class import Method
    from jvmti.model.debug.late.stop_probes import ProbedFrame
    from jvmti.model.debug.variables import Variable
    from jvmti.model.objects.java_object import Object
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.threads.locals import Locals
    from jvmti.model.vm import VM
    from jvmti.sources.source import Source


_TOP = 3
"""Frames that show whether a probe has stopped their thread."""


class FrameGone(Error, LookupError):
    """The thread has moved on since the frame was captured: there is no such frame any more."""


class Frame:
    """A frame of a stack as it was when the stack was captured.

    Variables and `this` are looked up later in the thread as it is then. A frame remembers its
    method, its location and its distance from the bottom of the stack, and raises `FrameGone` if
    another frame is there; it cannot recognise a new call of the method at the same location.
    ``with thread.suspended():`` keeps the frame.

    Attributes:
        method: the method.
        location: the bytecode index in it; -1 in a native method.
        line: the source line; ``None`` if unknown.
        depth: 0 for the most recent frame of the stack.
    """

    __slots__ = ("_scope", "_stack", "before_probes", "depth", "line", "location", "method")

    before_probes: int | None
    """Its bytecode index in the code without our probes, where that was asked for."""
    _scope: tuple[Method, list[Variable], dict[str, list[tuple[int, int]]], bool] | None
    """A version of its method, with what `Locals` has found of its variables there."""

    def __init__(
        self,
        method: Method,
        location: int,
        line: int | None,
        depth: int,
        stack: tuple[Thread, int | None, int],
    ) -> None:
        self.method = method
        self.location = location
        self.line = line
        self.depth = depth
        # The thread; how many frames it had, None where only a part was seen; and how many of these
        # are above the topmost that is shown.
        self._stack = stack

    def __getattr__(self, name: str) -> Any:
        # Thousands of frames are made at once, and few of them fill these.
        if name in ("before_probes", "_scope"):
            return None
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
        )

    @property
    def thread(self) -> Thread:
        """The thread of the stack."""
        return self._stack[0]

    @property
    def _vm(self) -> VM:
        return self.thread._vm

    @property
    def _above(self) -> int:
        """How many frames are above the topmost of the stack that is shown."""
        return self._stack[2]

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

    @property
    def source(self) -> Source:
        """The lines of its method's source, with its current line marked, from ``vm.source_path``.

        Raises:
            SourceNotFound: there is no source, or the class file has no line numbers for it.
        """
        return replace(self.method.source, marked=self.line)

    @property
    def locals(self) -> Locals:
        """Its local variables, by name and slot, to read and to write; see `Locals`."""
        from jvmti.model.threads.locals import Locals

        probed = self._probed
        if probed is not None:
            from jvmti.model.threads.probed_locals import ProbedLocals

            return ProbedLocals(self, probed)
        return Locals(self)

    @property
    def _probed(self) -> ProbedFrame | None:
        """Its variables, where its thread has stopped in it at a probe."""
        return self._vm.breakpoints.probed(self.thread) if self.depth == 0 else None

    @property
    def this(self) -> Any:
        """The object whose method it is; ``None`` in a static method.

        If the agent was attached late, the object is found as in `Locals`.

        Raises:
            FrameGone: the thread has moved on.
            NotAvailable: the agent was attached late, and the method is native, or its compiled
                code does not keep the object.

        JVM TI: GetLocalInstance.
        """
        env, refused = None, ""
        try:
            env = self._vm.env_with("can_access_local_variables", *self._virtual, emulated=False)
        except NotAvailable as error:
            refused = error.detail
        if env is None:
            return self._this_late(refused)
        with Suspension(self._vm, [self.thread]):
            depth = self.find(env)
            try:
                found = env.get_local_instance(self.thread, depth)
            except InvalidSlot:
                return None
        return to_python(self._vm, found)

    def _this_late(self, refused: str) -> Any:
        from jvmti.model.threads.stack_roots import slots_of

        if self.method.modifiers & MethodModifiers.STATIC:
            return None
        if self.is_native:
            raise NotAvailable(detail=f"{self} is native; {refused}")
        found = slots_of(self).objects.get(0)
        if found is None:
            why = f"compiled code of {self} does not keep `this`"
            raise NotAvailable(detail=f"{why}; {refused}")
        return to_python(self._vm, found)

    @property
    def monitors(self) -> list[Object]:
        """The objects whose monitors were entered in this frame, the latest first.

        The model takes the capability in an environment of its own; with it, compiled code keeps
        track of more monitors. If the agent was attached late, it is emulated, see
        `Thread.owned_monitors`.

        Raises:
            FrameGone: the thread has moved on.

        JVM TI: GetOwnedMonitorStackDepthInfo.
        """
        env = self._vm.env_with("can_get_owned_monitor_stack_depth_info", *self._virtual)
        with Suspension(self._vm, [self.thread]):
            depth = self.find(env)
            owned = env.get_owned_monitor_stack_depth_info(self.thread)
        return [one.monitor for one in owned if one.stack_depth == depth]  # type: ignore[misc]

    def evaluate(self, text: str, *, timeout: float | None = 5.0) -> Any:
        """The value of a Java expression with the names of this frame: ``order.total() > 3``.

        Args:
            text: the expression.
            timeout: seconds for all of it; ``None`` waits for ever.

        Raises:
            ExpressionError, JavaException, CallTimeout and others: see
                `jvmti.expressions.evaluate`, which has the details.
        """
        from jvmti.expressions import evaluate

        return evaluate(self, text, timeout=timeout)

    def pop(self) -> None:
        """Discard the frame: when the thread resumes, the caller makes the call again.

        It must be the top frame of a thread that is suspended or at an event.  ``finally`` blocks
        do not run, monitors that the method has entered are released, and arguments keep their
        current values. Only one frame can be popped before the thread resumes.

        If the agent was attached late, the method of a frame that has stopped begins again in the
        same frame; [emulation](../../emulation.md#can_pop_frame) says what differs.

        Raises:
            ThreadNotSuspended: the thread runs; ``with thread.suspended():``.
            ValueError: it is not the top frame.
            FrameGone: the thread has moved on.
            OpaqueFrame: it or its caller is native, or its thread is a virtual one that waits
                without a carrier (at an event, or while it runs, it has one). Late: its method is
                a constructor, has a ``synchronized`` block or ``jsr``, or throws.
            Internal: the thread has a request to leave a frame already, and has not run since.
            NotAvailable: the agent was attached late, and the frame is not that of a stop.

        JVM TI: PopFrame.
        """
        probed = self._probed
        if probed is not None:
            probed.restart()
            return
        env = self._to_leave("can_pop_frame", "popped")
        with self._explained("popped"):
            env.pop_frame(self.thread)

    def return_(self, value: Any = None) -> None:
        """Let the method return now, when the thread resumes.

        It must be the top frame of a thread that is suspended or at an event.  ``finally`` blocks
        do not run, and monitors that the method has entered are released.

        Args:
            value: the result, of the method's result type; nothing for ``void``.

        Raises:
            TypeError: the value does not have the method's result type.
            ThreadNotSuspended, ValueError, FrameGone, OpaqueFrame, Internal, NotAvailable: as for
                `pop`.

        JVM TI: ForceEarlyReturnObject and its siblings.
        """
        result = signature_of(result_of(self.method.signature))
        if result == "V" and value is not None:
            raise TypeError(
                printable(f"{self.method.class_name}.{self.method.name} returns no value")
            )
        probed = self._probed
        if probed is not None:
            self._leave_probe(probed, value, result)
            return
        if result == "V":
            env = self._to_leave("can_force_early_return", "left")
            with self._explained("left"):
                env.force_early_return_void(self.thread)
            return
        converted = to_java(self._vm, value, result)
        env = self._to_leave("can_force_early_return", "left")
        with self._explained("left"):
            if result in "ZBCSI":
                env.force_early_return_int(self.thread, int(converted))
            else:
                named = {"J": "long", "F": "float", "D": "double"}.get(result, "object")
                getattr(env, f"force_early_return_{named}")(self.thread, converted)

    def _leave_probe(self, probed: ProbedFrame, value: Any, result: str) -> None:
        why = probed.place.stays
        if why is not None:
            raise OpaqueFrame(
                detail=f"{self} cannot be left by an agent that was attached late: {why}"
            )
        if result == "V":
            probed.leave(None)
        elif len(result) > 1:
            probed.leave(to_java(self._vm, value, result))
        else:
            from jvmti.model.threads.probed_locals import boxed

            probed.leave(boxed(self._vm, to_java(self._vm, value, result), result))

    def find(self, env: Env) -> int:
        """Its current depth in the stack; the thread must not be running.

        Raises:
            FrameGone: there is another frame in its place.
        """
        thread = self.thread
        try:
            with env.batch() as batch:
                counted = batch.get_frame_count(thread)
                seen = batch.get_frame_location(thread, self.depth + self._stack[2])
            depth = own_depth = self.depth + self._stack[2]
            if self._stack[1] is not None:
                # As far from the bottom as it was.
                depth += counted.result() - self._stack[1]
            if depth == own_depth:
                place = seen.result()
            elif depth < 0:
                raise self._gone()
            else:
                place = env.get_frame_location(thread, depth)
        except (NoMoreFrames, ThreadNotAlive):
            raise self._gone() from None
        if place.location != self.location or not self._is_of(place.method, env):
            raise self._gone()
        return depth

    def _is_of(self, method: Any, env: Env) -> bool:
        """Whether it is a call of a method, perhaps of a version from before its class changed."""
        if method == self.method:
            return True
        its = (self.method.name, self.method.signature, self.method.declaring_class)
        if (method.name, method.signature, method.declaring_class) != its:
            return False
        if not env.is_method_obsolete(method):
            return False
        self.method = method  # whose variables are where they were
        return True

    def _gone(self) -> FrameGone:
        return FrameGone(
            f"the thread has moved on, {self} is gone; read its frames inside "
            "`with thread.suspended():`"
        )

    @property
    def _virtual(self) -> tuple[str, ...]:
        return ("can_support_virtual_threads",) if self.thread.is_virtual else ()

    def _to_leave(self, capability: str, how: str) -> Env:
        env = self._vm.env_with(capability, *self._virtual)
        # The VM refuses a running thread, so the result stays valid.
        if self.find(env) != 0:
            raise ValueError(
                f"only the top frame can be {how}; leave the frames above {self} first, one at "
                "a time"
            )
        return env

    @contextmanager
    def _explained(self, how: str) -> Iterator[None]:
        """Say why the VM cannot leave a frame."""
        try:
            yield
        except OpaqueFrame as error:
            thread = self.thread
            if self.is_native:
                why = f"{self} is native"
            elif thread.is_virtual and thread.carrier is None:
                why = (
                    f"the virtual thread {thread.name!r} is not mounted on a carrier, as it waits; "
                    "its frames can be left at a breakpoint, or where it is suspended while it runs"
                )
            elif error.detail:
                why = error.detail
            else:
                why = f"the frame that called {self} is native"
            raise OpaqueFrame(error.code, error.function, f"{why}: it cannot be {how}") from None

    @escaped
    def __str__(self) -> str:
        return f"{self.method.class_name}.{self.method.name}({self.where})"

    @escaped
    def __repr__(self) -> str:
        return f"<Frame {self}>"

    def __deepcopy__(self, memo: object) -> Frame:
        return self  # it changes no more

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

    _repr_html_ = display.html


class Stack(NamedTuple):
    """The stack of a thread, or its most recent frames."""

    frames: list[Frame]
    """The frames, without those of what has stopped the thread."""
    depth: int
    """How many there are, those included that were left out."""
    code: int
    """How often classes had got other code before: a step may go by the stack until it is more."""
    below: tuple[list[Any], ...] = ()
    """The columns of the agent for the frames below the topmost."""


def read_stack(
    thread: Thread, most: int, *, before: bool = False, last: Stack | None = None
) -> Stack:
    """The stack of one thread, in one message where its methods are known.

    Args:
        thread: the thread.
        most: frames at most.
        before: look up the places in the code without our probes, too.
        last: what this has returned before: frames below the topmost that are the same again, as
            after most steps, need not be made anew.

    JVM TI: GetStackTrace, GetFrameCount, GetLineNumberTable.
    """
    vm = thread._vm
    asked = most + OWN_FRAMES if vm.breakpoints.may_halt else most
    while True:
        try:
            found = _locating(vm, asked, before).of(thread)
        except ThreadNotAlive:
            return Stack([], 0, -1)
        methods: list[Any] = found.methods
        vm.methods.look_up(methods[:_TOP])
        hidden = min(vm.breakpoints.above_in(methods[:_TOP], thread), len(methods))
        if asked >= most + hidden:
            break
        asked = most + hidden
    stack = thread, found.depth if found.depth < asked else None, hidden
    columns = [one[hidden:] for one in (methods, found.locations, found.lines, found.before)]
    below = tuple(one[1:] for one in columns)
    again: list[Frame] = []
    is_again = last is not None and last.below == below and last.frames[0]._stack == stack
    if last is not None and is_again and len(last.frames) == 1 + len(below[0]):
        again = last.frames[1:]
        columns = [one[:1] for one in columns]
    else:
        vm.methods.look_up(methods)
    rows = zip(*columns[:3], strict=True)
    frames = [
        Frame(method, location, line if line >= 0 else None, depth, stack)
        for depth, (method, location, line) in enumerate(rows)
    ]
    for frame, place in zip(frames, columns[3], strict=False):
        frame.before_probes = place
    thrown = vm.breakpoints.thrown_in.get(id(thread))
    if thrown is not None and frames:
        frames[0].line, place = thrown
        frames[0].before_probes = place if before else None
    return Stack((frames + again)[:most], found.depth - hidden, found.code, below)


def _locating(vm: VM, most: int, before: bool) -> ReadyCall:
    known = vm._locates_stacks.get((most, before))
    if known is None:
        # Virtual threads have to be known to the environment; the model's own knows them.
        further, number = (most, before), vm.lookup_env._number
        known = ReadyCall(vm, Operations.locate_stack, *further, environment=number)
        vm._locates_stacks[most, before] = known
    return known


class Places:
    """Builds the frames of many stacks; looks up each method and each line once.

    Args:
        vm: the VM.
        stacks: methods and locations.
        lines: look up lines, which `frames` needs.
    """

    def __init__(self, vm: VM, stacks: ListColumn, *, lines: bool = True) -> None:
        self._vm = vm
        self.ends = stacks.ends
        self.rows: list[int] = []
        self.locations: list[int] = stacks.items.listed("location")
        self.methods: list[Method] = []
        self.lines: list[int | None] = []
        if self.locations:
            distinct, rows = stacks.items["method"].distinct()
            many = is_array(rows)
            self.rows = rows.tolist() if many else rows
            self.methods = vm.methods.of(distinct)
            if lines:
                locations = stacks.items["location"] if many else self.locations
                self.lines = vm.methods.lines(distinct, rows, locations)

    def above(self, stack: int, thread: Thread) -> int:
        """The number of frames on top of a stack that belong to what has stopped its thread.

        Args:
            stack: the position of the stack.
            thread: whose stack it is.
        """
        start, end = self.ends[stack : stack + 2]
        top = [self.methods[row] for row in self.rows[start : min(end, start + _TOP)]]
        return min(self._vm.breakpoints.above_in(top, thread), int(end - start))

    def frames(
        self, threads: list[Thread], most: int, above: Sequence[int] | None = None
    ) -> list[list[Frame]]:
        """The frames of all stacks, each a list.

        Args:
            threads: whose stacks they are.
            most: the limit of frames of each stack.
            above: of each stack the result of `above`, where that is known.
        """
        if above is None and self._vm.breakpoints.may_halt:
            above = [self.above(number, thread) for number, thread in enumerate(threads)]
        of_frames = list(map(self.methods.__getitem__, self.rows))
        places = self.locations
        lines = self.lines
        found: list[list[Frame]] = []
        places_of = itertools.pairwise(self.ends)
        hidden_of = itertools.repeat(0, len(threads)) if above is None else above
        for thread, (start, end), hidden in zip(threads, places_of, hidden_of, strict=True):
            count = end - start
            # Thousands of frames: the constructor is called without a loop in between.
            # What has stopped the thread, where it stopped at a probe, is nothing of the program's.
            start += hidden
            stack = map(
                Frame,
                of_frames[start:end],
                places[start:end],
                lines[start:end],
                range(count - hidden),
                itertools.repeat((thread, count if count < most else None, hidden)),
            )
            found.append(display.Rows(stack))
        return found


__all__ = ["Frame", "FrameGone", "Places", "Stack", "read_stack"]
