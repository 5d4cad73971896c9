"""Frames of a JVM that was attached to late: of threads at an event that a probe has reported.

Their variables can be read and written, and they can return early. The frames of the probe itself
are left out of stacks, and locations are those that instructions had before their class got probes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from jvmti.emulation.declared import Emulated
from jvmti.emulation.locals import LocalsEngine
from jvmti.emulation.natively import Native
from jvmti.emulation.threads import alive, check_suspended, named
from jvmti.env.structures import FrameInfo, LineNumberEntry, LocalVariableEntry, StackInfo
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import (
    IllegalArgument,
    InvalidSlot,
    NoMoreFrames,
    OpaqueFrame,
    TypeMismatch,
)
from jvmti.interface.signatures import result_of, signature_of

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.model.debug.late.event_probes import EventProbes, HaltedFrame
    from jvmti.model.debug.late.stop_probes import ProbedFrame, ProbedVariable
    from jvmti.model.vm import VM
    from jvmti.refs import Method, Thread

_KINDS = {"object": "L", "int": "I", "long": "J", "float": "F", "double": "D"}
_BOXES = {"I": "Integer", "J": "Long", "F": "Float", "D": "Double"}
_WRITES = (
    "OPAQUE_FRAME, unless the frame is the one of an event that a probe reports, in a method that "
    "is not too large with all variables at each event, and the class file says which objects the "
    "variable takes"
)
_READERS = tuple(f"get_local_{kind}" for kind in _KINDS)
_WRITERS = tuple(f"set_local_{kind}" for kind in _KINDS)
_RETURNS = tuple(f"force_early_return_{kind}" for kind in (*_KINDS, "void"))
_STACKS = (
    "get_stack_trace",
    "get_frame_count",
    "get_frame_location",
    "get_all_stack_traces",
    "get_thread_list_stack_traces",
    "get_line_number_table",
    "get_method_location",
)
_OF_SEVERAL = ("get_all_stack_traces", "get_thread_list_stack_traces")
_RECEIVES = (
    "calls JNI, where a thread may receive the exception that a handler has thrown into it with "
    "stop_thread"
)
_LEAVES = (
    "OPAQUE_FRAME, unless the frame is the one of an event that a probe reports, before its method "
    "returns or throws; and if the method has a `synchronized` block, or is a constructor whose "
    "super(…) has not returned"
)
_RESTARTS = (
    "OPAQUE_FRAME, as for an early return, also where the method throws, and for constructors and "
    "methods with `jsr`; the same frame begins anew: a `synchronized` method keeps its monitor, a "
    "virtual call is not dispatched again, a parameter that the method assigns to has again what "
    "was passed, and values that variables were given at this event are lost; MethodExit, and a "
    "native caller or none, are no hindrance"
)


class ProbedFrameEngine:
    """Reads, writes and leaves frames of threads at events that probes report."""

    name: ClassVar[str] = "probes, in the frames that they stop"
    emulated: ClassVar[tuple[Emulated, ...]] = (
        Emulated(
            Capabilities.can_access_local_variables,
            (*_READERS, *_WRITERS, "get_local_instance", "get_local_variable_table"),
            differs=dict.fromkeys(_WRITERS, _WRITES),
        ),
        Emulated(
            Capabilities.can_force_early_return,
            _RETURNS,
            differs=dict.fromkeys(_RETURNS, _LEAVES),
        ),
        Emulated(
            Capabilities.can_pop_frame,
            ("pop_frame",),
            differs={"pop_frame": _RESTARTS},
        ),
        *(
            Emulated(one, _STACKS, differs=dict.fromkeys(_OF_SEVERAL, _RECEIVES))
            for one in Capabilities.of(
                "can_generate_breakpoint_events",
                "can_generate_method_entry_events",
                "can_generate_method_exit_events",
                "can_generate_field_access_events",
                "can_generate_field_modification_events",
                "can_generate_exception_events",
                "can_generate_frame_pop_events",
                "can_generate_single_step_events",
            )
        ),
    )

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._others = LocalsEngine(vm)

    @property
    def emulates(self) -> Capabilities:
        """All of them, once the VM is live."""
        if self._vm.held:
            return Capabilities(0)
        return Capabilities.of(*(one.capability for one in self.emulated))

    def released(self, env: Env, capabilities: Capabilities) -> None:
        """Nothing stays behind."""

    # ---- variables -------------------------------------------------------------------------

    def _halted(self, thread: Thread | None) -> HaltedFrame | None:
        return self._vm.breakpoints.halted(thread)

    def _probed(self, thread: Thread | None, depth: int) -> ProbedFrame | None:
        """The frame, if a probe has its variables."""
        halted = self._halted(thread) if depth == 0 else None
        probed = None if halted is None else halted.probed
        return None if probed is None or probed.place.is_bare else probed

    def _variable(self, probed: ProbedFrame, slot: int, kind: str) -> ProbedVariable:
        """The variable in a slot.

        Raises:
            InvalidSlot: none has a value there.
            TypeMismatch: it is of another type.
        """
        found = probed.variable(slot)
        if found is None:
            raise InvalidSlot(detail=f"no variable has a value in slot {slot}")
        if found.letter != kind:
            raise TypeMismatch(detail=f"slot {slot} holds type {found.letter}")
        return found

    def _get(self, thread: Thread | None, depth: int, slot: int, kind: str) -> Any:
        probed = self._probed(thread, depth)
        if probed is None:
            return NotImplemented
        found = self._variable(probed, slot, kind)
        value = probed.get(found.place)
        return value if kind == "L" else value.value

    def _set(
        self, env: Env, thread: Thread | None, depth: int, slot: int, value: Any, kind: str
    ) -> Any:
        probed = self._probed(thread, depth)
        if probed is None:
            return NotImplemented
        found = self._variable(probed, slot, kind)
        if kind != "L":
            probed.put(found.place, self._boxed(value, kind))
            return None
        if not found.takes:
            raise OpaqueFrame(detail="the class file does not say which objects the variable takes")
        self._check_object(value, found.signature or found.takes, env, thread)
        probed.put(found.place, value)
        return None

    def _check_object(self, value: Any, signature: str, env: Env, thread: Any) -> None:
        """Refuse an object that a variable, or a result, does not take.

        Raises:
            TypeMismatch: it is of another class, or of one of that name of another loader.
        """
        if value is None or signature == "Ljava/lang/Object;":
            return
        lookup, agent = self._vm.lookup_env, self._vm._agent
        above = self._vm.breakpoints.frames_above(thread)
        method = lookup.get_frame_location(alive(env, thread), above).method
        loader = lookup.get_class_loader(lookup.get_method_declaring_class(method))
        ancestry = agent.ancestry(self._vm.jni.get_object_class(value))
        names = ancestry.signatures.decode().split("\0")
        its = [cls for cls, name in zip(ancestry.classes, names, strict=False) if name == signature]
        if its and (signature.startswith("[") or its[0] in lookup.get_class_loader_classes(loader)):
            return
        raise TypeMismatch(detail=f"it takes {signature}, not {names[0]}")

    def _boxed(self, value: Any, kind: str) -> Any:
        jni = self._vm.jni
        box = self._vm.bootstrap_class(f"java/lang/{_BOXES[kind]}")
        signature = f"({kind})Ljava/lang/{_BOXES[kind]};"
        make = jni.get_static_method_id(box, "valueOf", signature)
        found: Any = jni.call_static_object_method(box, make, [value])
        return found

    def get_local_object(self, env: Env, thread: Thread | None, depth: int, slot: int) -> Any:
        """The object in a slot; of frames further up as `LocalsEngine` finds it."""
        with named("get_local_object"):
            return self._deeper("get_local_object", env, thread, depth, slot, kind="L")

    def _deeper(
        self,
        function: str,
        env: Env,
        thread: Thread | None,
        depth: int,
        slot: int,
        *,
        kind: str,
    ) -> Any:
        found = self._get(thread, depth, slot, kind)
        if found is not NotImplemented:
            return found
        above = self._vm.breakpoints.frames_above(thread) if depth >= 0 else 0
        return getattr(self._others, function)(env, thread, depth + above, slot)

    def get_local_instance(self, env: Env, thread: Thread | None, depth: int) -> Any:
        """The receiver of a frame's method."""
        with named("get_local_instance"):
            above = self._vm.breakpoints.frames_above(thread) if depth >= 0 else 0
            probed = self._probed(thread, depth)
            if probed is None:
                return self._others.get_local_instance(env, thread, depth + above)
            lookup = self._vm.lookup_env
            method: Any = lookup.get_frame_location(alive(env, thread), above).method
            if method.is_static:
                raise InvalidSlot(detail="a static method has no instance")
            return probed.get(self._variable(probed, 0, "L").place)

    def get_local_variable_table(self, env: Env, method: Method) -> list[LocalVariableEntry]:
        """The variables of a method, where they were before it got probes."""
        with named("get_local_variable_table"):
            found = self._others.get_local_variable_table(env, method)
            probes = self._probes
            if probes is None or not found:
                return found
            starts = probes.before(method, [one.start_location for one in found])
            ends = probes.before(method, [one.start_location + one.length for one in found])
            return [
                LocalVariableEntry(
                    start,
                    end - start,
                    one.name,
                    one.signature,
                    one.generic_signature,
                    one.slot,
                )
                for one, start, end in zip(found, starts, ends, strict=True)
            ]

    # ---- leaving ---------------------------------------------------------------------------

    def _leave(self, function: str, env: Env, thread: Thread | None, value: Any, kind: str) -> None:
        with named(function):
            found = alive(env, thread)
            halted = self._halted(thread)
            if halted is None or halted.probed is None:
                self._refuse_to_leave(function, found)
            assert halted is not None
            assert halted.probed is not None
            halted.probed.check_stays()
            result = signature_of(result_of(halted.descriptor))
            letter = "I" if result in "ZBCSI" else "L" if len(result) > 1 else result
            if letter != kind:
                raise TypeMismatch(detail=f"the method returns {result}")
            why = halted.probed.place.stays
            if why is not None:
                raise OpaqueFrame(
                    detail=f"an agent that was attached late cannot leave this method: {why}"
                )
            if kind in _BOXES:
                value = self._boxed(value, kind)
            elif kind == "L":
                self._check_object(value, result, env, thread)
            halted.probed.leave(value)

    def pop_frame(self, env: Env, thread: Thread | None) -> None:
        """Begin the method of a frame at a probe again, with what was passed."""
        with named("pop_frame"):
            found = alive(env, thread)
            halted = self._halted(thread)
            if halted is None or halted.probed is None:
                self._refuse_to_leave("pop_frame", found)
            assert halted is not None
            assert halted.probed is not None
            halted.probed.restart()

    def _refuse_to_leave(self, function: str, found: Any) -> None:
        lookup = self._vm.lookup_env
        check_suspended(lookup, found)
        if lookup.get_frame_count(found) <= (function == "pop_frame"):
            raise NoMoreFrames
        raise OpaqueFrame(
            detail="an agent that was attached late can leave only the frame of an event that a "
            "probe reports"
        )

    # ---- stacks ----------------------------------------------------------------------------

    @property
    def _probes(self) -> EventProbes | None:
        return self._vm.breakpoints.event_probes

    def _located(self, frames: list[FrameInfo]) -> list[FrameInfo]:
        probes = self._probes
        if probes is None:
            return frames
        found = list(frames)
        for method in {one.method for one in frames}:
            rows = [at for at, one in enumerate(frames) if one.method == method]
            rows = [at for at in rows if frames[at].location > 0]
            before = probes.before(method, [frames[at].location for at in rows])
            for at, location in zip(rows, before, strict=True):
                found[at] = FrameInfo(method, location)
        return found

    def get_stack_trace(
        self, env: Env, thread: Thread | None, start_depth: int, max_frame_count: int
    ) -> Any:
        """The stack without the frames of a probe."""
        above = self._vm.breakpoints.frames_above(thread)
        if not above and self._probes is None:
            return NotImplemented
        with named("get_stack_trace"):
            native = Native(env)
            if start_depth >= 0:
                start_depth += above
            elif above and -start_depth > native.get_frame_count(thread) - above:
                raise IllegalArgument(detail="the stack is not as deep")
            found = native.get_stack_trace(thread, start_depth, max_frame_count)
            return self._located(found)

    def get_frame_count(self, env: Env, thread: Thread | None = None) -> Any:
        """The number of frames without those of a probe."""
        above = self._vm.breakpoints.frames_above(thread)
        return Native(env).get_frame_count(thread) - above if above else NotImplemented

    def get_frame_location(self, env: Env, thread: Thread | None, depth: int) -> Any:
        """The place of a frame, in the code without probes."""
        if self._probes is None or depth < 0:
            return NotImplemented
        with named("get_frame_location"):
            above = self._vm.breakpoints.frames_above(thread)
            found = Native(env).get_frame_location(thread, depth + above)
            if found.location <= 0:
                return found
            [location] = self._probes.before(found.method, [found.location])
            return found._replace(location=location)

    def get_thread_list_stack_traces(self, env: Env, thread_list: Any, max_frame_count: int) -> Any:
        """The stacks without the frames of probes."""
        return self._several("get_thread_list_stack_traces", env, max_frame_count, [thread_list])

    def get_all_stack_traces(self, env: Env, max_frame_count: int) -> Any:
        """The stacks without the frames of probes."""
        return self._several("get_all_stack_traces", env, max_frame_count, [])

    def _several(self, function: str, env: Env, most: int, arguments: list[Any]) -> Any:
        if self._probes is None:
            return NotImplemented
        with named(function):
            natively = getattr(Native(env), function)
            stacks = natively(*arguments, most)
            hidden = [self._vm.breakpoints.frames_above(one.thread) for one in stacks]
            if any(hidden):
                stacks = natively(*arguments, most + max(hidden))
            found = []
            for one in stacks:
                above = self._vm.breakpoints.frames_above(one.thread)
                frames = self._located(one.frame_buffer[above:][: max(most, 0)])
                found.append(StackInfo(one.thread, one.state, frames))
            return found

    # ---- places ----------------------------------------------------------------------------

    def get_line_number_table(self, env: Env, method: Method) -> Any:
        """The lines of a method, where they were before it got probes."""
        if self._probes is None:
            return NotImplemented
        with named("get_line_number_table"):
            found = Native(env).get_line_number_table(method)
            starts = self._probes.before(method, [one.start_location for one in found])
            return [
                LineNumberEntry(start, one.line_number)
                for start, one in zip(starts, found, strict=True)
            ]

    def get_method_location(self, env: Env, method: Method) -> Any:
        """The first and last location of a method, before it got probes."""
        if self._probes is None:
            return NotImplemented
        with named("get_method_location"):
            found = Native(env).get_method_location(method)
            if found.end_location < 0:
                return found
            [behind] = self._probes.before(method, [found.end_location + 1])
            return found._replace(end_location=behind - 1)


def _reading(kind: str) -> Callable[..., Any]:
    function = f"get_local_{kind}"

    def method(
        self: ProbedFrameEngine, env: Env, thread: Thread | None, depth: int, slot: int
    ) -> Any:
        with named(function):
            return self._deeper(function, env, thread, depth, slot, kind=_KINDS[kind])

    method.__doc__ = f"The {kind} in a slot of a frame at a probe."
    return method


def _writing(kind: str) -> Callable[..., Any]:
    function = f"set_local_{kind}"

    def method(
        self: ProbedFrameEngine, env: Env, thread: Thread | None, depth: int, slot: int, value: Any
    ) -> Any:
        with named(function):
            found = self._set(env, thread, depth, slot, value, _KINDS[kind])
            if found is not NotImplemented:
                return found
            above = self._vm.breakpoints.frames_above(thread) if depth >= 0 else 0
            return getattr(self._others, function)(env, thread, depth + above, slot, value)

    method.__doc__ = f"Give a slot of a frame at a probe another {kind}."
    return method


def _leaving(kind: str) -> Callable[..., Any]:
    function = f"force_early_return_{kind}"

    def method(self: ProbedFrameEngine, env: Env, thread: Thread | None, value: Any = None) -> None:
        self._leave(function, env, thread, value, _KINDS.get(kind, "V"))

    method.__doc__ = "Let the method of a frame at a probe return."
    return method


for _kind in _KINDS:
    if _kind != "object":
        setattr(ProbedFrameEngine, f"get_local_{_kind}", _reading(_kind))
    setattr(ProbedFrameEngine, f"set_local_{_kind}", _writing(_kind))
for _kind in (*_KINDS, "void"):
    setattr(ProbedFrameEngine, f"force_early_return_{_kind}", _leaving(_kind))


__all__ = ["ProbedFrameEngine"]
