"""The breakpoints of a session: dispatches their hits, and keeps the capabilities they need."""

from __future__ import annotations

import logging
import struct
import threading
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import ONLOAD_ONLY, SOLO, Capabilities
from jvmti.interface.constants import Event
from jvmti.interface.errors import Error, NotAvailable
from jvmti.layouts.conversations import OPENING, VALUE
from jvmti.layouts.stops import CLASS, EXCEPTION, FIELD, HEAD, PLACE, PROBE
from jvmti.model.debug.foreseen_calls import ForeseenCalls
from jvmti.model.debug.late.event_probes import EventProbes, HaltedFrame
from jvmti.model.debug.late.step_probes import StepProbes
from jvmti.model.debug.late.stop_probes import OWN_FRAMES, ProbedFrame
from jvmti.model.debug.redefinitions import Redefinitions
from jvmti.model.debug.stepping import Steps
from jvmti.model.debug.stop_records import StopRecords
from jvmti.model.debug.stops import Stop, StopRequest
from jvmti.model.debug.variables import object_or_text
from jvmti.operations.functions import ProbedFramePlace
from jvmti.tracing.call_probes import HELPER
from jvmti.wire.codecs import F64, I64, U64
from jvmti.wire.session import BorrowedConversation

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.env.events import EventDeclaration
    from jvmti.events.enabling import Enabling
    from jvmti.events.handlers import Handlers
    from jvmti.model.classes.java_class import Method
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

_AT_STOPS = Capabilities.of(
    "can_access_local_variables",
    "can_force_early_return",
    "can_generate_frame_pop_events",
    "can_generate_single_step_events",
    "can_pop_frame",
)
"""Capabilities that users are likely to need at a stop."""

_BY_EVENT_PROBES = Capabilities.of(
    "can_force_early_return",
    "can_generate_breakpoint_events",
    "can_generate_exception_events",
    "can_generate_field_access_events",
    "can_generate_field_modification_events",
    "can_generate_frame_pop_events",
    "can_generate_single_step_events",
    "can_pop_frame",
)
"""The emulated capabilities of an environment, where the model has other means or none."""

_AT_END = -2
"""Less its location, a step has come to the end of a method."""

_HEAD, _PLACE, _VALUE = HEAD.struct, PLACE.struct, VALUE.struct
_EXCEPTION, _FIELD, _CLASS = EXCEPTION.struct, FIELD.struct, CLASS.struct
_PROBE = PROBE.struct


class BreakpointTable:
    """The breakpoints, watchpoints, catchpoints and steps of a session.

    Iterating yields the active ones.

    Attributes:
        by_number: the requests by their numbers in the agent.
        enabling: counts the users of enabled events.
        redefinitions: classes with breakpoints that are being redefined.
    """

    def __init__(self, vm: VM, handlers: Handlers, enabling: Enabling) -> None:
        self._vm = vm
        self._handlers = handlers
        self.enabling = enabling
        self.by_number: dict[int, StopRequest] = {}
        self.redefinitions = Redefinitions(vm)
        self._env: Env | None = None
        self._held = Capabilities(0)
        self._lock = threading.RLock()
        self._stepping: dict[Steps, Thread] = {}
        self._emulated: set[Event] = set()
        """Events that probes stand in for, from the first request on."""
        vm._session.openings.register(range(OPENING.STOP, OPENING.STOP + 1), self.opened)
        vm._session.openings.register(
            range(OPENING.PROBE_STOP, OPENING.PROBE_STOP + 1), self.opened
        )
        self._probed: dict[int, tuple[Any, HaltedFrame]] = {}
        """Threads that have stopped at a probe, and where."""
        self.thrown_in: dict[int, tuple[int | None, int]] = {}
        """Of threads that leave a frame by an exception, by their `id`: its line and location."""
        enabling.is_scoped = self._is_by_probes
        self.event_probes: EventProbes | None = None
        """Probes that report events to the environments of the session."""
        self._step_probes: StepProbes | None = None
        self.records: StopRecords | None = None
        """The recorded hits of breakpoints, from the first that records."""

    def __iter__(self) -> Iterator[StopRequest]:
        return iter(dict.fromkeys(self.by_number.values()))

    def __len__(self) -> int:
        return len(list(iter(self)))

    # ---- environments ----------------------------------------------------------------------

    @property
    def env(self) -> Env:
        """The model's own environment for breakpoints, created at first use.

        Handlers in ``vm.env`` do not receive its events.  In a VM that is still held it also
        reserves the capabilities for local variables, steps and popping frames.
        """
        with self._lock:
            if self._env is None:
                env = self._vm.own_env()
                potential = env.get_potential_capabilities()
                env.add_capabilities(potential & Capabilities.can_support_virtual_threads)
                if self._vm.held:
                    # Only available now; relinquished, they stay available.
                    env.add_capabilities(potential & _AT_STOPS)
                    env.relinquish_capabilities(potential & _AT_STOPS)
                self._env = env
            return self._env

    def environment(self, *names: str) -> Env:
        """An environment with these capabilities: the model's own, or another that has them.

        Adds them if possible, until the session ends; `jvmti.interface.capabilities` says what
        each costs.

        Raises:
            NotAvailable: not available; the message says which environment holds them and what to
                do.
        """
        wanted = Capabilities.of(*names)
        with self._lock:
            missing = wanted & ~self._held
            if not missing:
                return self.env
            # Stops of the model's have probes of their own.
            potential = self._vm._capability_pool.potential(self.env)
            by_events = missing & ~potential & self._vm.emulation.emulates & _BY_EVENT_PROBES
            try:
                if by_events and potential & ONLOAD_ONLY & ~SOLO:
                    # The VM gives them, but another environment has them now; the agent says which.
                    ask = FUNCTIONS["add_capabilities"]
                    self._vm._session.call(ask, self.env._number, (missing,))
                elif by_events:
                    raise NotAvailable(detail=f"{by_events} is emulated for environments only")
                else:
                    self.env.add_capabilities(missing)
            except NotAvailable as error:
                env = self._vm._capability_pool.environment_with(wanted)
                if env is not None:
                    return env
                potential = self._vm._capability_pool.potential(self.env)
                how = _how_to_have(missing, error, self._vm, potential)
                raise NotAvailable(error.code, error.function, how) from None
            self._held |= missing
            return self.env

    def is_emulated(self, event: Event) -> bool:
        """Whether probes stand in for an event, because the VM grants it only while it starts."""
        if event in self._emulated:
            return True
        wanted = Capabilities.of(*EVENTS[event].declaration.capabilities)
        if not wanted & ONLOAD_ONLY or not self._vm._session.live:
            return False
        with self._lock:
            missing = wanted & ~self._held
            potential = self._vm._capability_pool.potential(self.env)
        if potential & ONLOAD_ONLY & ~SOLO or not missing & ~potential:
            return False
        holder = self._vm._capability_pool.environment_with(wanted)
        is_emulated = holder is None or bool(wanted & self._vm.emulation.held(holder))
        if is_emulated:
            self._emulated.add(event)
        return is_emulated

    def _is_by_probes(self, env: Env, declaration: EventDeclaration) -> bool:
        """Whether probes report an event to an environment."""
        return bool(Capabilities.of(*declaration.capabilities) & self._vm.emulation.held(env))

    def probed(self, thread: Thread) -> ProbedFrame | None:
        """The frame of a thread that has stopped at a probe; ``None`` if it has not."""
        halted = self.halted(thread)
        return None if halted is None else halted.probed

    def leaves_early(self, thread: Thread) -> bool:
        """Whether a thread at a stop is to return early from a frame that a probe has stopped."""
        found = self._probed.get(id(thread))
        return found is not None and found[1].leaves

    def above_in(self, methods: Sequence[Method], thread: Any) -> int:
        """The number of frames on top of a stack that belong to the probe, without asking the agent
        in most cases.

        Args:
            methods: the topmost methods of the stack, their names known; three are enough.
            thread: whose stack it is.
        """
        if not methods or not methods[0].class_name.startswith(HELPER):
            return 0
        if len(methods) > OWN_FRAMES and methods[OWN_FRAMES].name != "<init>":
            return OWN_FRAMES if methods[1].class_name.startswith(HELPER) else 0
        # The constructors of an exception may be above the place where it is made.
        return self.frames_above(thread)

    def open_records(self) -> StopRecords:
        """The memory that breakpoints record in, made at first use."""
        with self._lock:
            if self.records is None:
                self.records = StopRecords(self._vm._session)
            return self.records

    @property
    def may_halt(self) -> bool:
        """Whether threads may be at probes at all."""
        sets = (self.event_probes, self._step_probes)
        return bool(self._probed) or any(one is not None for one in sets)

    def frames_above(self, thread: Any) -> int:
        """The number of frames on top of a thread's stack that belong to the probe."""
        halted = self.halted(thread)
        return 0 if halted is None else halted.above

    def halted(self, thread: Any) -> HaltedFrame | None:
        """The frame in which a thread is at a probe; ``None`` if it is at none.

        Args:
            thread: the thread; ``None`` for the current one.
        """
        if self._probed:
            its: Any = self._vm.lookup_env.get_current_thread() if thread is None else thread
            found = self._probed.get(id(its))
            if found is not None:
                return found[1]
            # A wrapper of its own; the comparison may ask the agent.
            for one, halted in list(self._probed.values()):
                if one == its:
                    return halted
        sets = [one for one in (self.event_probes, self._step_probes) if one is not None]
        if not sets:
            return None
        at = self._vm._agent.find_probed_frame(thread)
        if at.values is None:
            return None
        return next((one.halted(at) for one in sets if one.number == at.probes), None)

    @property
    def step_probes(self) -> StepProbes:
        """The probes that step threads where the VM grants no single steps."""
        with self._lock:
            if self._step_probes is None:
                self._step_probes = StepProbes(self._vm)
            return self._step_probes

    def forget_steps(self, request: StopRequest, woven: Collection[str] = ()) -> None:
        """Remove the probes that stepped a thread from stops of a request.

        Args:
            request: the request.
            woven: names of classes that are about to be woven for another reason.
        """
        if self._step_probes is not None:
            self._step_probes.forget(request, woven)

    @property
    def could_give(self) -> Capabilities:
        """Capabilities that only one environment can hold and no request needs now."""
        return Capabilities(0) if self.by_number else self._held & SOLO

    def give_back(self, wanted: Capabilities) -> bool:
        """Relinquish capabilities that another environment asks for, unless a request needs
        them."""
        with self._lock:
            gives = wanted & self.could_give
            if gives:
                self.env.relinquish_capabilities(gives)
                self._held &= ~gives
            return bool(gives)

    def open(self) -> None:
        """Make sure that threads receive the stops."""
        with self.enabling.lock:
            self._handlers.stops = True
            self._handlers.open_pool()

    def went_live(self) -> None:
        """The VM is live: pending requests look for their classes."""
        for request in self:
            request._went_live()

    # ---- stops -----------------------------------------------------------------------------

    def opened(self, number: int, environment: int, data: bytes) -> bytes:
        """A thread has stopped, and waits until this returns."""
        self._stopped(data, number == OPENING.PROBE_STOP)
        return b""

    def _stopped(self, data: bytes, at_probe: bool) -> None:
        session = self._vm._session
        event, count = _HEAD.unpack_from(data)
        at = _HEAD.size + 4 * count
        numbers = struct.unpack_from(f"<{count}I", data, _HEAD.size)
        thread_handle, method_handle, location = _PLACE.unpack_from(data, at)
        at += _PLACE.size
        # Take each handle once, so that it is released as often as it was received.
        thread: Any = session.wrap(thread_handle) if thread_handle else None
        owners = [self.by_number.get(number) for number in numbers]
        if event in (Event.CLASS_PREPARE, Event.CLASS_FILE_LOAD_HOOK):
            cls = session.wrap(_CLASS.unpack_from(data, at)[0])
            for owner in owners:
                if owner is not None:
                    prepared = event == Event.CLASS_PREPARE
                    notify = owner._class_prepared if prepared else owner._class_redefining
                    self._guarded(event, notify, cls)
            return
        if at_probe:
            self._stopped_at_probe(owners[0], thread, method_handle, location, data[at:])
            return
        about = self._about(event, data, at)
        if location <= _AT_END:
            location, about["is_at_end"] = _AT_END - location, True
        method = session.wrap(method_handle)
        if event == Event.SINGLE_STEP:
            self._stepped(owners, thread, method, location, about, data[at:])
        else:
            self._meet(event, owners, thread, method, location, about)

    def _stepped(
        self,
        owners: list[StopRequest | None],
        thread: Thread,
        method: Any,
        location: int,
        about: dict[str, Any],
        data: bytes,
    ) -> None:
        session = self._vm._session
        values, _, number, site, depth = _PROBE.unpack_from(data)
        foreseen = None
        if len(data) > _PROBE.size and isinstance(owners[0], Steps):
            foreseen = ForeseenCalls(session, owners[0].foreseen, data[_PROBE.size :])
            about["foreseen"] = foreseen
        probes = self._step_probes
        halted: HaltedFrame | None = None
        if values:
            found = ProbedFramePlace(session.wrap(values), number, site, depth)
            if probes is not None and probes.number == number:
                halted = probes.halted(found)
        if about.get("is_at_end") and probes is not None and probes.number == number:
            about["is_thrown"] = self._is_thrown(owners[0], thread, method, probes, site)
        try:
            self._meet_at(halted, Event.SINGLE_STEP, owners, thread, method, location, about)
        finally:
            self.thrown_in.pop(id(thread), None)
            if foreseen is not None:
                foreseen.forget()

    def _is_thrown(
        self,
        owner: StopRequest | None,
        thread: Thread,
        method: Method,
        probes: StepProbes,
        site: int,
    ) -> bool:
        """Whether a step ends where an exception leaves a method; notes where in it that was made.

        The probe there is behind all code, and stands at no line. A step ends at each line of its
        method, so the exception comes from the one that it began at.
        """
        if probes.site(site).line:
            return False
        began = owner.began if isinstance(owner, Steps) else None
        its = (method.class_name, method.name, method.signature)
        if began is not None:
            where = began.method
            if (where.class_name, where.name, where.signature) == its:
                (place,) = probes.before(where, [began.location])
                self.thrown_in[id(thread)] = began.line, place
        return True

    def _meet_at(
        self,
        halted: HaltedFrame | None,
        event: int,
        owners: list[StopRequest | None],
        thread: Thread,
        method: Any,
        location: int,
        about: dict[str, Any],
    ) -> None:
        """The same as `_meet` for a thread that is at a probe meanwhile."""
        # By address: the hash of a thread would take a round trip at each stop.
        key = id(thread)
        around = self._probed.get(key)  # a call from its stop has brought it here
        if halted is not None:
            self._probed[key] = thread, halted
        try:
            self._meet(event, owners, thread, method, location, about)
        finally:
            if around is None:
                self._probed.pop(key, None)
            else:
                self._probed[key] = around

    def _stopped_at_probe(
        self, owner: StopRequest | None, thread: Thread, method: int, location: int, data: bytes
    ) -> None:
        wrap = self._vm._session.wrap
        values_handle, waiting, number, site, depth = _PROBE.unpack_from(data)
        found: Any = wrap(method)
        probes = None if owner is None else owner._probes
        if owner is None or probes is None or probes.number != number:
            return  # it has been cancelled meanwhile
        if not owner._is_place(found):
            return
        values: Any = wrap(values_handle) if values_handle else waiting
        probed = ProbedFrame(self._vm, probes.place(site), values)
        about = owner._about_probe(probed)
        # Above the place where an exception is made are its constructors, the last with the probe.
        about["probed"] = frame = probed if depth == OWN_FRAMES else None
        halted = HaltedFrame(lambda: frame, depth, lambda: found.signature)
        self._meet_at(halted, owner._event, [owner], thread, found, location, about)

    def _meet(
        self,
        event: int,
        owners: list[StopRequest | None],
        thread: Thread,
        method: Any,
        location: int,
        about: dict[str, Any],
    ) -> None:
        """Let those of the requests have the thread that want it."""
        lender = self._vm._session.conversation
        assert lender is not None
        lock = threading.RLock()
        made: list[tuple[StopRequest, Stop]] = []
        for owner in owners:
            if owner is not None and not owner._cancelled:
                stop = Stop(owner, thread, method, location, BorrowedConversation(lender, lock))
                stop.__dict__.update(about, field=getattr(owner, "field", None))
                if stop.at_place is not None:
                    stop.at_place.stop = stop
                made.append((owner, stop))
        taken: set[Steps] = set()
        try:
            if len(made) == 1:
                owner, stop = made[0]
                stop.is_alone = True
                hit = made if self._guarded(event, owner._matches, stop) else []
            else:
                hit = [one for one in made if self._guarded(event, one[0]._matches, one[1])]
                # A loop uses this conversation as soon as it has the stop, so loops come last: no
                # condition and no function uses it any more.
                hit.sort(key=lambda one: one[0]._do is None)
            waiting = []
            for owner, stop in hit:
                if self._guarded(event, self._dispatch, owner, stop, taken):
                    waiting.append(stop)
            for stop in waiting:
                stop._await_release()
        finally:
            # After an interrupt of the thread whose call stopped, no thread may use it any more.
            for _, stop in made:
                stop._release()

    def _dispatch(self, owner: StopRequest, stop: Stop, taken: set[Steps]) -> bool:
        if owner._do is None:
            with self._lock:
                steps = next(
                    (one for one, its in self._stepping.items() if its == stop.thread), None
                )
            if steps is not None:
                # The caller of step() receives the first stop of its thread, whatever caused it.
                if owner is not steps:
                    owner._pass()
                if steps in taken:
                    return False
                taken.add(steps)
                return steps._hit(stop)
        return owner._hit(stop)

    def _guarded(self, event: int, function: Any, *arguments: Any) -> Any:
        """Call a function; report its exception, so that the thread resumes."""
        try:
            return function(*arguments)
        except KeyboardInterrupt:
            raise  # for the thread whose call hit it
        except BaseException as error:
            self._handlers.report(event, error)
            return None

    def _about(self, event: int, data: bytes, at: int) -> dict[str, Any]:
        """The further values of an event."""
        wrap = self._vm._session.wrap
        if event == Event.EXCEPTION:
            exception, caught, method, _ = _EXCEPTION.unpack_from(data, at)
            about = {"exception": wrap(exception)}
            if caught:
                about["catch_method"] = wrap(method)
            return about
        if event in (Event.FIELD_ACCESS, Event.FIELD_MODIFICATION):
            (handle,) = _FIELD.unpack_from(data, at)
            about = {"object": wrap(handle) if handle else None}
            if event == Event.FIELD_MODIFICATION:
                about["is_write"] = True
                about["new_value"] = self._value(data, at + _FIELD.size)
            return about
        return {}

    def _value(self, data: bytes, at: int) -> Any:
        letter, bits = _VALUE.unpack_from(data, at)
        match letter:
            case b"L":
                item = self._vm._session.wrap(bits) if bits else None
                return object_or_text(self._vm, item)
            case b"Z":
                return bool(bits)
            case b"C":
                return chr(bits)
            case b"F" | b"D":
                return F64.unpack(U64.pack(bits))[0]
        return I64.unpack(U64.pack(bits))[0]

    def held_by_caller(self, thread: Thread) -> Stop | None:
        """The stop of a thread that the calling Python thread has received, or ``None``."""
        me = threading.get_ident()
        for request in self:
            stop = request._current
            if stop is not None and stop.is_waiting and stop._borrower == me:
                if stop.thread == thread:
                    return stop
        return None

    # ---- steps from a stop -----------------------------------------------------------------

    def step_from(
        self, stop: Stop, how: str, by: str, timeout: float | None, skips: str | None
    ) -> Stop | None:
        """Let a stopped thread make one step; see `Stop.step`."""
        within = stop._within
        if within is None:
            raise RuntimeError(
                "the thread resumes when the do= function that received this stop returns; use "
                'stop.thread.step("over", do=function) in it'
            )
        with stop._conversing():
            steps = Steps(self._vm, stop.thread, how, by, single=True, at=stop, skips=skips)
        try:
            steps._block = threading.get_ident()
            with self._lock:
                self._stepping[steps] = stop.thread
            stop._release()
            found = steps._take(timeout)
            if found is not None:
                within._current = found  # the step itself ends here
                found._within = within
                steps._current = None
            return found
        finally:
            with self._lock:
                self._stepping.pop(steps, None)
            steps.cancel()


def _how_to_have(missing: Capabilities, error: Error, vm: VM, potential: Capabilities) -> str:
    lacking = missing & ~potential or missing
    names = ", ".join(sorted(lacking.names()))
    detail = str(error)
    if "held by" in detail:
        holder = detail[detail.index("held by") :].rstrip("]")
        return f"{names}: {holder}; only one environment of a JVM can have it at a time"
    why, how = vm.capabilities.reason(next(iter(lacking)), potential)
    if vm.popen is not None and "jvmti.launch" in how:
        how = "`jvmti.launch` takes capabilities=, or hold=True to place the first stop in time"
    return f"{names}: {why}; {how}" if how else f"{names}: {why}"


__all__ = ["BreakpointTable"]
