"""Events of running code in a JVM that was attached to late: probes report them.

A probe makes the call that the VM would make for the event, so handlers, callbacks and streams
of an environment receive it as usual.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from jvmti.classfile.opcodes import instructions
from jvmti.emulation.declared import Emulated
from jvmti.emulation.natively import Native
from jvmti.emulation.threads import alive, check_suspended, named
from jvmti.env.events import EVENTS
from jvmti.instrumentation.probes import Operand, Probe
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.constants import Event, EventMode
from jvmti.interface.errors import (
    Duplicate,
    IllegalArgument,
    InvalidLocation,
    NativeMethod,
    NoMoreFrames,
    NotAvailable,
    NotFound,
    OpaqueFrame,
)
from jvmti.interface.modifiers import FieldModifiers, MethodModifiers
from jvmti.interface.signatures import matcher
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site
from jvmti.model.debug.late.event_probes import EventProbes, event_probe
from jvmti.model.debug.late.stop_probes import exactly
from jvmti.operations.agent import AgentOperations
from jvmti.text.modified_utf8 import encode

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.model.vm import VM
    from jvmti.refs import Class, Field, Method, Thread

_CALLS = (
    "no events of native methods, hidden classes, methods without room for probes, boxes of "
    "numbers, Object and Number, and of what the probes themselves call; calls that run when the "
    "event is enabled are not seen"
)
_FIELDS = (
    "code that reads or writes the field is seen, reflection, VarHandle, Unsafe and JNI are not; "
    "calls that run when the watch is set are not seen"
)
_FRAMES = (
    "OPAQUE_FRAME unless the frame began after its class got probes, as those with a breakpoint "
    "have, or all while MethodExit is enabled"
)


Scope = str | None
"""Patterns for classes, one a line; ``None`` for all of them."""


class _Everywhere(NamedTuple):
    """The probes of an event that concerns all classes."""

    sites: tuple[Site, ...]
    brings: tuple[Operand, ...] = ()


_VALUE = Operand(Kind.VALUE, "L")
EVERYWHERE: Mapping[Event, _Everywhere] = {
    Event.METHOD_ENTRY: _Everywhere((Site.ENTRY,)),
    Event.METHOD_EXIT: _Everywhere((Site.RETURN, Site.UNWIND), (_VALUE,)),
    Event.EXCEPTION_CATCH: _Everywhere((Site.CATCH,), (_VALUE,)),
    Event.SINGLE_STEP: _Everywhere((Site.LINE,)),
}
"""The events that put probes into all classes, unless a stream wants those of some only."""
_THIS = Operand(Kind.THIS, "L")
_NONE: Mapping[Any, Any] = MappingProxyType({})
_THROWABLE = "java.lang.Throwable"


class ProbedEventEngine:
    """Reports events of running code."""

    name: ClassVar[str] = "probes"
    emulated: ClassVar[tuple[Emulated, ...]] = (
        Emulated(
            Capabilities.can_generate_breakpoint_events,
            ("set_breakpoint", "clear_breakpoint", "set_event_notification_mode"),
            ("Breakpoint",),
            differs={
                "set_breakpoint": "UNMODIFIABLE_CLASS for hidden classes and those that may not be "
                "changed; a call that runs already does not stop; the class is retransformed",
            },
        ),
        Emulated(
            Capabilities.can_generate_method_entry_events,
            ("set_event_notification_mode",),
            ("MethodEntry",),
            differs={"MethodEntry": _CALLS},
        ),
        Emulated(
            Capabilities.can_generate_method_exit_events,
            ("set_event_notification_mode",),
            ("MethodExit",),
            differs={"MethodExit": _CALLS},
        ),
        Emulated(
            Capabilities.can_generate_single_step_events,
            ("set_event_notification_mode",),
            ("SingleStep",),
            differs={
                "SingleStep": "sent where lines begin, not at each instruction; calls that run "
                "when the event is enabled are not seen, nor methods without line numbers or "
                "without room for probes, native methods, hidden classes, boxes of numbers, Object "
                "and Number, and what the probes themselves call"
            },
        ),
        Emulated(
            Capabilities.can_generate_field_access_events,
            (
                "set_field_access_watch",
                "clear_field_access_watch",
                "set_event_notification_mode",
            ),
            ("FieldAccess",),
            differs={"FieldAccess": f"sent after the access; {_FIELDS}"},
        ),
        Emulated(
            Capabilities.can_generate_field_modification_events,
            (
                "set_field_modification_watch",
                "clear_field_modification_watch",
                "set_event_notification_mode",
            ),
            ("FieldModification",),
            differs={"FieldModification": _FIELDS},
        ),
        Emulated(
            Capabilities.can_generate_exception_events,
            ("set_event_notification_mode",),
            ("Exception", "ExceptionCatch"),
            differs={
                "Exception": "sent where the exception object is made, so one that is thrown again "
                "is not seen, and one that is never thrown is; catch_method is None; exceptions "
                "without a stack trace, which compiled code reuses, are not seen",
                "ExceptionCatch": "calls that run when the event is enabled are not seen, nor "
                "handlers in native code and hidden classes",
            },
        ),
        Emulated(
            Capabilities.can_generate_frame_pop_events,
            ("notify_frame_pop", "clear_all_frame_pops", "set_event_notification_mode"),
            ("FramePop",),
            differs={"notify_frame_pop": _FRAMES},
        ),
    )

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._lock = threading.RLock()
        self._probes: EventProbes | None = None
        self._users: dict[Event, dict[Any, Scope]] = {}
        self._breakpoints: dict[Hashable, tuple[int, Any]] = {}
        self._watches: dict[Hashable, int] = {}

    @property
    def emulates(self) -> Capabilities:
        """All of them, once the VM is live."""
        if self._vm.held:
            return Capabilities(0)
        return Capabilities.of(*(one.capability for one in self.emulated))

    @property
    def probes(self) -> EventProbes:
        """The session's probes that report events, opened at their first use."""
        with self._lock:
            if self._probes is None:
                self._probes = self._vm.breakpoints.event_probes = EventProbes(self._vm)
                self._vm.breakpoints.enabling.apply = self._apply
            return self._probes

    def _agent(self, env: Env) -> AgentOperations:
        return AgentOperations(self._vm._session, env._number)

    # ---- the end ---------------------------------------------------------------------------

    def released(self, env: Env, capabilities: Capabilities) -> None:
        """Remove the probes that only this environment has requested."""
        if self._probes is None:
            return
        with self._lock:
            number = env._number
            for event, users in list(self._users.items()):
                if not Capabilities.of(*EVENTS[event].declaration.capabilities) & capabilities:
                    continue
                self._place(event, removes=[one for one in users if one[:2] == ("user", number)])
                for thread in {one[2] for one in users if one[:2] == ("user", number)}:
                    self._agent(env).enable_probed_event(self.probes.number, False, event, thread)
            for kind, books in (
                ("can_generate_breakpoint_events", self._breakpoints),
                ("can_generate_field_access_events", self._watches),
                ("can_generate_field_modification_events", self._watches),
            ):
                if Capabilities.of(kind) & capabilities:
                    self._forget(number, books, kind)
            if not self._vm.emulation.held(env) & ~capabilities & self.emulates:
                self._agent(env).forget_probed_events(self.probes.number)

    def _forget(self, number: int, books: dict[Any, Any], kind: str) -> None:
        for key, known in list(books.items()):
            owner = known[0] if isinstance(known, tuple) else known
            of_kind = key[0] == "breakpoint" or kind in EVENTS[key[0]].declaration.capabilities
            if owner != number or not of_kind:
                continue
            del books[key]
            if isinstance(known, tuple):
                self._take_out(key, known[1])
            else:
                field = key[1]
                self.probes.change({}, [key], self._accessing(field, self._naming(field)))

    # ---- switching events ------------------------------------------------------------------

    def set_event_notification_mode(
        self, env: Env, mode: Any, event_type: Any, event_thread: Thread | None = None
    ) -> Any:
        """Switch an event on or off; an event of all classes puts probes into all of them.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        event = _event(event_type)
        needed = Capabilities.of(*EVENTS[event].declaration.capabilities) if event else None
        if not needed or not needed & self.emulates & self._vm.emulation.held(env):
            return NotImplemented
        assert event is not None
        on = EventMode(mode if not isinstance(mode, str) else EventMode[mode]) == EventMode.ENABLE
        with named("set_event_notification_mode"):
            if event_thread is not None:
                alive(env, event_thread)
            with self._lock:
                self._switch(env, on, event, event_thread)
        return None

    def _switch(self, env: Env, on: bool, event: Event, thread: Any) -> None:
        scope = self._vm.breakpoints.enabling.scope
        user = ("user", env._number, thread, scope)
        receives = self._agent(env).enable_probed_event
        if on:
            # The first event after this call must arrive.
            receives(self.probes.number, True, event, thread)
            try:
                self._place(event, adds={user: scope})
            except BaseException:
                receives(self.probes.number, False, event, thread)
                raise
        elif self._probes is not None:
            others = {one[:3] for one in self._users.get(event, {}) if one != user}
            if user[:3] not in others:
                receives(self.probes.number, False, event, thread)
            self._place(event, removes=[user])

    def _place(
        self, event: Event, adds: Mapping[Any, Scope] = _NONE, removes: Sequence[Any] = ()
    ) -> None:
        """Put the probes of an event where its users want them, and no longer elsewhere."""
        users = self._users.setdefault(event, {})
        before = dict(users)
        users.update(adds)
        for user in removes:
            users.pop(user, None)
        changed = {*before.values()} ^ {*users.values()}
        if not changed or (event not in EVERYWHERE and event is not Event.EXCEPTION):
            return
        enabling = self._vm.breakpoints.enabling
        if enabling.changes is not None:
            enabling.changes.append((event, changed))
            return
        try:
            self._apply([(event, changed)], enabling.max_pause if adds else None)
        except BaseException:
            self._users[event] = before
            raise

    def _apply(self, changes: Sequence[tuple[Event, set[Scope]]], max_pause: float | None) -> None:
        """Change the probes of some events, in the classes of the scopes that have changed."""
        adds: dict[Hashable, Sequence[Probe]] = {}
        removes: list[Hashable] = []
        with self._lock:
            for event, _ in changes:
                more, gone = self._plan(event)
                adds |= more
                removes += gone
            self.probes.change(adds, removes, self._matching(changes), max_pause)

    def _plan(self, event: Event) -> tuple[dict[Hashable, Sequence[Probe]], list[Hashable]]:
        """The probes of an event that concerns many classes, and what goes without any."""
        scopes = {*self._users.get(event, {}).values()}
        if not scopes:
            return {}, [event]
        if event is Event.EXCEPTION:
            # Where the object is made.
            where: dict[str, Any] = {"classes": _THROWABLE, "methods": "<init>"}
            return {event: [event_probe(Site.RETURN, event, _THIS, **where)]}, []
        sites, brings = EVERYWHERE[event]
        # One probe for all, because each of two in a method would report.
        where = {
            "classes": None if None in scopes else "\n".join(sorted(one or "" for one in scopes))
        }
        return {event: [event_probe(site, event, *brings, **where) for site in sites]}, []

    def _matching(self, changes: Sequence[tuple[Event, set[Scope]]]) -> list[Any]:
        """The loaded classes of the scopes of some events."""
        patterns = {
            pattern
            for event, scopes in changes
            for scope in ([_THROWABLE] if event is Event.EXCEPTION else scopes)
            for pattern in (scope or "*").split("\n")
        }
        if patterns == {_THROWABLE}:
            return [self._vm.find_class(_THROWABLE)]
        if "*" in patterns or len(patterns) == 1:  # nothing is there twice, and a hash costs a call
            return list(self._vm.classes("*" if "*" in patterns else patterns.pop()))
        return list({cls: None for pattern in patterns for cls in self._vm.classes(pattern)})

    def _is_within(self, event: Event, class_name: str) -> bool:
        """Whether a class has the probes of an event."""
        return any(
            scope is None or any(matcher(one)(class_name) for one in scope.split("\n"))
            for scope in self._users.get(event, {}).values()
        )

    # ---- breakpoints -----------------------------------------------------------------------

    def set_breakpoint(self, env: Env, method: Method, location: int) -> None:
        """Put a probe in front of an instruction.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        with named("set_breakpoint"), self._lock:
            cls, name = self._named(env, method)
            if self._vm.lookup_env.get_method_modifiers(method) & MethodModifiers.NATIVE:
                raise NativeMethod
            if location not in self._locations(method):
                raise InvalidLocation(detail=f"no instruction begins at {location}")
            key = ("breakpoint", cls, name, location)
            if key in self._breakpoints:
                raise Duplicate
            where: dict[str, Any] = {
                "classes": exactly(name[0]),
                "methods": exactly(name[1]),
                "descriptors": exactly(name[2]),
            }
            probe = event_probe(Site.INDEX, Event.BREAKPOINT, number=location, **where)
            adds: dict[Hashable, Sequence[Probe]] = {key: [probe]}
            probes = self.probes
            since = probes.places()
            if self._pops_frames:
                self._users.setdefault(Event.METHOD_EXIT, {})["end", key] = exactly(name[0])
                adds |= self._plan(Event.METHOD_EXIT)[0]
            try:
                probes.change(adds, [], [cls])
            except BaseException:
                self._users.get(Event.METHOD_EXIT, {}).pop(("end", key), None)
                raise
            if not probes.is_placed(since, name, location):
                self._take_out(key, cls)
                raise NotAvailable(
                    detail=f"{name[0]}.{name[1]} can have no probe: it would be larger than 65,535 "
                    "bytes, or its class is one that probes need themselves"
                )
            self._breakpoints[key] = env._number, cls

    def clear_breakpoint(self, env: Env, method: Method, location: int) -> None:
        """Remove the probe of a breakpoint.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        with named("clear_breakpoint"), self._lock:
            cls, name = self._named(env, method)
            key = ("breakpoint", cls, name, location)
            if key not in self._breakpoints:
                # Between the beginnings of instructions there is none, as the VM says it.
                last = max(self._locations(method), default=-1)
                raise NotFound if 0 <= location <= last else InvalidLocation
            del self._breakpoints[key]
            self._take_out(key, cls)

    def _take_out(self, key: Hashable, cls: Any) -> None:
        """Remove the probe of a breakpoint, and those at the ends of methods that came with it."""
        adds: dict[Hashable, Sequence[Probe]] = {}
        removes = [key]
        if self._users.get(Event.METHOD_EXIT, {}).pop(("end", key), _NONE) is not _NONE:
            adds, more = self._plan(Event.METHOD_EXIT)
            removes += more
        self.probes.change(adds, removes, [cls])

    def _named(self, env: Env, method: Method) -> tuple[Any, tuple[str, str, str]]:
        native = Native(env)
        cls: Any = native.get_method_declaring_class(method)
        name, descriptor, _ = native.get_method_name(method)
        return cls, (cls.name, name, descriptor)

    def _locations(self, method: Method) -> list[int]:
        """Where the instructions of a method begin, without those of probes."""
        lookup = self._vm.lookup_env
        modifiers = lookup.get_method_modifiers(method)
        if modifiers & (MethodModifiers.NATIVE | MethodModifiers.ABSTRACT):
            raise InvalidLocation(detail="the method has no bytecodes")
        starts = [one.location for one in instructions(lookup.get_bytecodes(method))]
        return starts if self._probes is None else self._probes.before(method, starts)

    # ---- fields ----------------------------------------------------------------------------

    def set_field_access_watch(self, env: Env, klass: Class, field: Field) -> None:
        """Put probes where the field is read.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        self._watch("set_field_access_watch", env, Event.FIELD_ACCESS, klass, field)

    def set_field_modification_watch(self, env: Env, klass: Class, field: Field) -> None:
        """Put probes where the field is written.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        self._watch("set_field_modification_watch", env, Event.FIELD_MODIFICATION, klass, field)

    def clear_field_access_watch(self, env: Env, klass: Class, field: Field) -> None:
        """Remove the probes.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        self._unwatch("clear_field_access_watch", env, Event.FIELD_ACCESS, klass, field)

    def clear_field_modification_watch(self, env: Env, klass: Class, field: Field) -> None:
        """Remove the probes.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        self._unwatch("clear_field_modification_watch", env, Event.FIELD_MODIFICATION, klass, field)

    def _watch(self, function: str, env: Env, event: Event, klass: Any, field: Any) -> None:
        with named(function), self._lock:
            Native(env).get_field_modifiers(klass, field)  # refuses what is none
            key = (event, field)
            if key in self._watches:
                raise Duplicate
            number = self._vm._agent.watch_by_probes(self.probes.number, klass, field)
            loaded = self._naming(field)
            probe = event_probe(
                Site.READ if event is Event.FIELD_ACCESS else Site.WRITE,
                event,
                Operand(Kind.TARGET, "L"),
                _VALUE,
                about=int(number),
                owners="\n".join(map(exactly, self._owners(field, loaded))),
                members=exactly(field.name),
                classes=self._nest(field),
            )
            self.probes.change({key: [probe]}, [], self._accessing(field, loaded))
            self._watches[key] = env._number

    def _unwatch(self, function: str, env: Env, event: Event, klass: Any, field: Any) -> None:
        with named(function), self._lock:
            Native(env).get_field_modifiers(klass, field)
            if (event, field) not in self._watches:
                raise NotFound
            del self._watches[event, field]
            places = self._accessing(field, self._naming(field))
            self.probes.change({}, [(event, field)], places)

    def _nest(self, field: Any) -> str | None:
        """Patterns for the classes that can name a private field; ``None`` for any other."""
        if not field.modifiers & FieldModifiers.PRIVATE:
            return None
        nest = exactly(field.declaring_class.name.partition("$")[0])
        return f"{nest}\n{nest}$*"

    def _naming(self, field: Any) -> list[Any]:
        """The loaded classes that can name a field."""
        if not field.modifiers & FieldModifiers.PRIVATE:
            return list(self._vm.classes())
        outermost = field.declaring_class.name.partition("$")[0]
        nest = self._vm.classes(f"{exactly(outermost)}*")
        return [one for one in nest if one.name.partition("$")[0] == outermost]

    def _owners(self, field: Any, loaded: Sequence[Any]) -> list[str]:
        """The classes, among those that can name a field, that code may name as its owner."""
        declaring = field.declaring_class
        below = self._vm.map.is_assignable_from(loaded, declaring).check().value
        found = [
            one.name
            for one, is_below in zip(loaded, below, strict=True)
            if is_below and not one.is_array
        ]
        return list(dict.fromkeys([declaring.name, *found]))

    def _accessing(self, field: Any, loaded: Sequence[Any]) -> list[Any]:
        """Those loaded classes whose constants may name a field."""
        vm = self._vm
        classes = self.probes.modifiable(loaded)
        pools = vm.lookup_env.map.get_constant_pool(classes)
        name = encode(field.name)
        constant = b"\x01" + len(name).to_bytes(2, "big") + name
        return [
            one
            for one, status, pool in zip(
                classes, pools.status_list(), pools.constant_pool_bytes, strict=True
            )
            if not status and constant in bytes(pool)
        ]

    # ---- the ends of frames ----------------------------------------------------------------

    @property
    def _pops_frames(self) -> bool:
        emulation = self._vm.emulation
        wanted = Capabilities.can_generate_frame_pop_events
        return any(wanted in held for held in emulation.all_held)

    def notify_frame_pop(self, env: Env, thread: Thread | None, depth: int) -> None:
        """Let the probes of its method report the end of a frame."""
        with named("notify_frame_pop"), self._lock:
            lookup = self._vm.lookup_env
            found = alive(env, thread)
            if depth < 0:
                raise IllegalArgument(detail=f"the depth is {depth}, not 0 or more")
            check_suspended(lookup, found)
            above = self._vm.breakpoints.frames_above(found)
            count = lookup.get_frame_count(found)
            if depth + above >= count:
                raise NoMoreFrames
            method = lookup.get_frame_location(found, depth + above).method
            cls: Any = lookup.get_method_declaring_class(method)
            known = self._is_within(Event.METHOD_EXIT, cls.name)
            if not known or lookup.is_method_obsolete(method) or lookup.is_method_native(method):
                raise OpaqueFrame(
                    detail="the frame began before its class got probes, or its method is native"
                )
            self._agent(env).await_probed_pop(self.probes.number, found, count - above - depth)

    def clear_all_frame_pops(self, env: Env, thread: Thread | None = None) -> None:
        """Stop reporting the ends of the thread's frames."""
        with named("clear_all_frame_pops"), self._lock:
            found = alive(env, thread)
            check_suspended(self._vm.lookup_env, found)
            self._agent(env).clear_probed_pops(self.probes.number, found)


def _event(event_type: Any) -> Event | None:
    """The event that is meant; ``None`` if there is no such one."""
    if isinstance(event_type, str):
        known: dict[str, int] = {one.__name__: number for number, one in EVENTS.items()}
        known |= {one.declaration.constant.name: number for number, one in EVENTS.items()}
        event_type = known.get(event_type)
    try:
        return Event(event_type)
    except ValueError:
        return None


__all__ = ["ProbedEventEngine"]
