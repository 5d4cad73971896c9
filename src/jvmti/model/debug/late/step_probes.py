"""Probes that step threads where the VM grants no single steps.

They are where lines begin, where methods throw and where they are left. The breakpoints of a
session put them into their methods at once, because a call that runs already gets no probes; steps
put them into what they may come by. While no thread is stepped they cost next to nothing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.classfile.opcodes import instructions
from jvmti.interface.constants import Event
from jvmti.interface.errors import AbsentInformation, Error
from jvmti.interface.modifiers import MethodModifiers
from jvmti.layouts.probes import Site
from jvmti.model.debug.called_methods import called_from, calls_reflection
from jvmti.model.debug.late.event_probes import EventProbes, event_probe
from jvmti.model.debug.late.stop_probes import MOST_METHODS, OWN_FRAMES, exactly
from jvmti.model.debug.stepping import How
from jvmti.tracing.call_probes import HELPER
from jvmti.tracing.records.sites import Site as RecordedSite

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.frames import Frame, Stack
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM

_NO_CODE = MethodModifiers.NATIVE | MethodModifiers.ABSTRACT
_LARGEST = 8000
"""HotSpot compiles no method with more bytes of code."""
_PER_LINE, _PER_VARIABLE = 26, 21
"""The bytes of code of a probe, and of each variable in it."""
_MOST_TARGETS = 64
"""The number of classes below that of a call, which get probes for a step into it."""
DEEPEST = 32
"""The number of frames in which a step may end."""
_MOST_CLASSES = 64
"""The classes that keep probes for steps that have ended: those stepped through last."""
_MOST_THREADS = 64
"""The threads whose classes keep their probes however many others step."""
_ANNOUNCED = 0
"""In place of the `id` of a thread: what a breakpoint has prepared."""


def _pushed(code: bytes) -> Iterator[int | None]:
    """The numbers that instructions push, also those that are computed of two."""
    recent: deque[Any] = deque(maxlen=5)
    for one in instructions(code):
        recent.append(one)
        if one.name in ("bipush", "sipush"):
            yield one.value
        if tuple(each.name for each in recent) == _COMPUTED:
            yield (recent[0].value << recent[1].value) + recent[3].value


_COMPUTED = ("sipush", "bipush", "ishl", "sipush", "iadd")

_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")
"""Names of the JDK's classes begin so."""


def _is_glue(name: str) -> bool:
    """Whether a class, by its name, is one of the JDK's or stands for a lambda."""
    return name.startswith(_JDK) or "$$Lambda" in name or "/0x" in name


def _calls_at(frame: _Place) -> bool:
    """Whether the current code of a frame's method makes a call where the frame is.

    Where the VM has no breakpoints, a method that is not changed by one redefinition of its class
    but by the next is not obsolete, though its frames run the code from before.
    """
    found = next(
        (one for one in instructions(frame.method.bytecodes) if one.location == frame.location),
        None,
    )
    if found is None or found.constant is None or not found.name.startswith("invoke"):
        return False
    constant = frame.method.declaring_class.constant_pool[found.constant]
    if constant.kind not in ("Methodref", "InterfaceMethodref"):
        return True
    return not constant.value.class_name.replace("/", ".").startswith(HELPER)


class _Place(NamedTuple):
    """Where a frame is."""

    method: Method
    """Its method."""
    location: int
    """The bytecode index in it."""
    depth: int
    """Its place in the stack, 0 for the topmost of the program's."""


class Callers(NamedTuple):
    """Where a stepped thread can arrive when its topmost method has returned."""

    lacking: Method | None
    """The program's method that called it, if this call began before it got probes."""
    has_any: bool
    """Whether any call below the topmost has probes."""
    reflects: bool = False
    """Whether the line that the thread is at calls methods by reflection."""
    code: int = -1
    """How often classes had got other code before the stack was read; -1 if it was just now."""


_Usual = tuple[Hashable, int, int, "Method", "list[Frame]"]
"""A step's owner, the `id` of its thread, the code, the method, and the frames below it."""


class StepProbes(EventProbes):
    """The probes of a session that report where stepped threads are."""

    def __init__(self, vm: VM) -> None:
        self._names: dict[Hashable, dict[str, set[str]]] = {}
        """The methods of each class, by what needs them."""
        self._last: tuple[_Usual, Callers] | None = None
        """The last usual step, and the callers that it found. Forgotten with any change of the
        plan."""
        self._arrivals: dict[Hashable, dict[int, set[str]]] = {}
        """By owner and by `id` of the thread, the classes that its last step may arrive in."""
        self._changing = threading.RLock()
        self._model = vm
        super().__init__(vm)

    def _first_variable(self, values: Any, site: RecordedSite) -> int:
        return 1  # a step brings nothing

    def _send(self) -> None:
        methods: dict[str, set[str]] = {}
        for of_owner in self._names.values():
            for name, chosen in of_owner.items():
                methods.setdefault(name, set()).update(chosen)
        # One probe for all, because each of two at a place would report.
        self.wanted = {
            name: [
                event_probe(
                    site,
                    Event.SINGLE_STEP,
                    classes=exactly(name),
                    methods="\n".join(exactly(one) for one in sorted(chosen)),
                )
                for site in (Site.LINE, Site.THROW, Site.RETURN, Site.UNWIND)
            ]
            for name, chosen in methods.items()
        }
        super()._send()

    def _add(self, owner: Hashable, methods: Iterable[Method]) -> list[Class]:
        """Plan probes in methods; return the classes that lack some of them."""
        lacking: dict[Class, None] = {}
        its = self._names.setdefault(owner, {})
        for one in methods:
            if not self.covers(one):
                lacking[one.declaring_class] = None
            names = its.setdefault(one.class_name, set())
            if one.name not in names:
                names.add(one.name)
                self._last = None
        return list(lacking)

    def _note_arrivals(self, owner: Hashable, thread: Thread, methods: Iterable[Method]) -> None:
        """Keep the probes of the classes that a thread may arrive in, until its next step."""
        its = self._arrivals.setdefault(owner, {})
        its.pop(id(thread), None)
        its[id(thread)] = names = {one.class_name for one in methods}
        if len(its) > _MOST_THREADS:
            del its[next(one for one in its if one != _ANNOUNCED)]
        planned = self._names.get(owner, {})
        for name in names & planned.keys():
            planned[name] = planned.pop(name)  # the last of them

    def _given_back(self, owner: Hashable) -> list[Class]:
        """Plan no more probes in what an owner stepped through long ago; return its classes.

        A long session of a debugger would have them in all that it has ever come by.
        """
        planned = self._names[owner]
        needed = set().union(*self._arrivals.get(owner, {}).values())
        old = [name for name in planned if name not in needed]
        surplus = old[: max(0, len(planned) - _MOST_CLASSES)]
        for name in surplus:
            del planned[name]
        self._last = None
        return [cls for name in surplus for cls in self._vm.classes(exactly(name))]

    def covers(self, method: Method) -> bool:
        """Whether new calls of a method have probes."""
        name, class_name = method.name, method.class_name
        of_all = list(self._names.values())  # another thread may step meanwhile
        return any(name in of_owner.get(class_name, ()) for of_owner in of_all)

    def announce(self, owner: Hashable, methods: Collection[Method]) -> None:
        """Plan probes in methods whose classes another request is about to weave.

        Args:
            owner: what they are for.
            methods: the methods. Those that would grow too large for the VM's compilers get none.
        """
        if len(methods) > MOST_METHODS:
            return
        with self._changing:
            names = self._arrivals.setdefault(owner, {}).setdefault(_ANNOUNCED, set())
            names.update(one.class_name for one in methods)
            if self._add(owner, [one for one in methods if self._stays_small(one)]):
                self._send()

    def cover(self, owner: Hashable, methods: Collection[Method]) -> None:
        """Put probes into methods where others stop threads, so that steps have somewhere to end.

        Args:
            owner: what they are for.
            methods: the methods. If there are many, none gets probes, nor one that would grow too
                large for the VM's compilers.
        """
        if len(methods) > MOST_METHODS:
            return
        with self._changing:
            names = self._arrivals.setdefault(owner, {}).setdefault(_ANNOUNCED, set())
            names.update(one.class_name for one in methods)
            self.add(owner, [one for one in methods if self._stays_small(one)])

    def _stays_small(self, method: Method) -> bool:
        try:
            lines = len(method.lines)
            code = len(method.bytecodes)
            variables = int(self._vm.lookup_env.get_max_locals(method))
        except (Error, AbsentInformation):
            return False
        return code + lines * (_PER_LINE + _PER_VARIABLE * variables) <= _LARGEST

    def prepare(
        self,
        owner: Hashable,
        thread: Thread,
        how: How,
        skips: Callable[[str], object] | None = None,
        stack: Stack | None = None,
    ) -> Callers:
        """Put probes where a thread may arrive in its next step.

        Args:
            owner: what they are for.
            thread: the thread.
            how: how it is stepped.
            skips: says of the name of a class that its methods need none.
            stack: the stack of the thread, where it is known.

        Returns:
            Where it can arrive when the topmost method has returned.
        """
        with self._changing:
            if how is How.OVER:
                if stack is not None and stack.code >= 0:
                    found = self._usual(owner, thread, stack)
                    if found is not None:
                        return found
                places = self._places_of(thread)
                # The usual step, which needs no more probes.
                if places and self.covers(places[0].method):
                    self._add(owner, [places[0].method])
                    self._note_arrivals(owner, thread, [one.method for one in places])
                    return self._callers(places)
            frames = thread.get_frames(DEEPEST)
            has_lines = [one for one in frames if one.line is not None]
            # A class that is woven anew makes calls of its methods that run now slow.
            wanted = [one.method for one in has_lines[:1]]
            callers = [one.method for one in has_lines[1:] if how is How.OUT]
            wanted += [one for one in callers if skips is None or not skips(one.class_name)][:1]
            reflects = False
            if how is How.INTO and has_lines and has_lines[0] is frames[0]:
                called = called_from(self._model, frames[0])
                reflects = calls_reflection(frames[0])
                wanted += [one for one in called if skips is None or not skips(one.class_name)]
            classes = self._add(owner, wanted)
            self._note_arrivals(owner, thread, [*(one.method for one in frames), *wanted])
            if classes:
                classes += self._given_back(owner)
                self._send()
                self._place(self.modifiable(classes))
                # Methods of frames that were seen before are the new versions by now.
                frames = thread.get_frames(DEEPEST)
            places = [_Place(one.method, one.location, one.depth) for one in frames]
            return self._callers(places)._replace(reflects=reflects)

    def _usual(self, owner: Hashable, thread: Thread, stack: Stack) -> Callers | None:
        """Where a thread can arrive whose topmost method has probes; ``None`` if it has none.

        There is nothing to do where its last step began in the same call.
        """
        frames = stack.frames[:DEEPEST]
        if not len(frames) == min(stack.depth, DEEPEST) > 0:
            return None
        # The frames below are the same objects where they are where they were, see `read_stack`.
        step: _Usual = owner, id(thread), stack.code, frames[0].method, frames[1:]
        if self._last is not None and self._last[0] == step:
            return self._last[1]
        if not self.covers(frames[0].method):
            return None
        self._add(owner, [frames[0].method])
        self._note_arrivals(owner, thread, [one.method for one in frames])
        places = [_Place(one.method, one.location, one.depth) for one in frames]
        callers = self._callers(places)._replace(code=stack.code)
        self._last = step, callers
        return callers

    def add(self, owner: Hashable, methods: Iterable[Method]) -> None:
        """Put probes into more methods that a stepped thread is about to call.

        Args:
            owner: what they are for.
            methods: the methods.
        """
        with self._changing:
            classes = self._add(owner, methods)
            if classes:
                self._send()
                self._place(self.modifiable(classes))

    def _places_of(self, thread: Thread) -> list[_Place]:
        """The stack of a thread without lines, which is quicker."""
        vm = self._model
        stack = vm.lookup_env.get_stack_trace(thread, 0, DEEPEST + OWN_FRAMES)
        methods: list[Any] = [one.method for one in stack]
        vm.methods.look_up(methods)
        above = vm.breakpoints.above_in(methods, thread)
        places = zip(methods[above:], (one.location for one in stack[above:]), strict=True)
        return [_Place(*one, depth) for depth, one in enumerate(places)]

    def _callers(self, frames: Sequence[_Place]) -> Callers:
        # A step that leaves the program for the JDK ends where the program goes on.
        own = [one for one in frames[1:] if not _is_glue(one.method.class_name)]
        covered = [one for one in own if self.covers(one.method)]
        probed = {one.depth for one in self._having_probes(covered)}
        first = own[0] if own else None
        lacking = None if first is None or first.depth in probed else first.method
        return Callers(lacking, bool(probed))

    def _having_probes(self, callers: list[_Place]) -> list[_Place]:
        """Those of some frames that run code with probes, where new calls of all have some."""
        if not callers:
            return []
        methods = [one.method for one in callers]
        answers = self._vm.lookup_env.map.is_method_obsolete(methods).check().listed()
        return [
            one
            for one, is_obsolete in zip(callers, answers, strict=True)
            if (self._is_probed(one.method) if is_obsolete else _calls_at(one))
        ]

    def has_probes(self, frame: Frame) -> bool:
        """Whether the topmost frame of a thread runs code with these probes."""
        method = frame.method
        if not self.covers(method):
            return False
        return not self._vm.lookup_env.is_method_obsolete(method) or self._is_probed(method)

    def _is_probed(self, method: Method) -> bool:
        """Whether a version from before its class got other probes has those of this set."""
        return self.number in _pushed(method.bytecodes)

    def forget(self, owner: Hashable, woven: Collection[str] = ()) -> None:
        """Drop an owner's probes from the plan, and remove them.

        Args:
            owner: what they were for.
            woven: names of classes that are about to be woven for another reason.
        """
        with self._changing:
            its, self._last = self._names.pop(owner, None), None
            self._arrivals.pop(owner, None)
            if its is None or self._model.closed:
                return
            self._send()
            names = [name for name in its if name not in woven]
            classes = [cls for name in names for cls in self._vm.classes(exactly(name))]
            self._place(self.modifiable(classes))


__all__ = ["DEEPEST", "StepProbes"]
