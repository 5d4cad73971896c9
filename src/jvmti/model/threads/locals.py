"""The local variables of a frame, by name and by slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.classfile.slots import SEVERAL, types_of_slots
from jvmti.deferred import difflib
from jvmti.emulation.slots import MISSING, Slots
from jvmti.interface.errors import (
    AbsentInformation,
    Error,
    InvalidSlot,
    NativeMethod,
    NotAvailable,
    OpaqueFrame,
    TypeMismatch,
)
from jvmti.interface.signatures import signature_of
from jvmti.model.debug.variables import Variable, parameters
from jvmti.model.objects.reading import Shown
from jvmti.model.threads.suspension import Suspension
from jvmti.model.values.conversion import to_java, to_python
from jvmti.text.printable import escaped, escaped_lines

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.model.threads.frames import Frame

_FUNCTION = dict.fromkeys("ZBCSI", "int") | {"J": "long", "F": "float", "D": "double"}
"""Which function of JVM TI reads a variable, by the first letter of its type."""


class Locals(Mapping[Any, Any]):
    """The local variables of a frame: those in scope at its current location.

    The keys are names, ``this`` among them; a number names a slot.  Where the class was compiled
    without its variables (as by ``javac`` without ``-g``; build tools mostly keep them), the keys
    are ``this`` and the slots of the parameters, and a number with a type names any slot:
    ``frame.locals[3, "int"]``.  The type is checked against what the code stores there.

    Reading and writing suspend the thread for the moment, unless it is suspended or the thread of
    the event that is being handled.  Where the thread has moved on, they raise `FrameGone`; of a
    running thread only a frame that is further down is likely to stay, so look at it inside ``with
    thread.suspended():``.  `read` reads all of them at one moment, and so do ``items()`` and
    ``values()``.

    Most VMs give ``can_access_local_variables`` only while they start: to ``jvmti.launch(…,
    capabilities={"can_access_local_variables"})``, or at any time where they were started with
    ``jvmti agent-options --reserve``; then the model takes it in an environment of its own.
    Compiled code then keeps variables alive for longer.

    In a VM that was attached to later, nothing can be written but in a frame that has stopped at a
    probe, and names come from the class file.  Where an event of the thread is being handled, as at
    a breakpoint, all its frames can be read, because the thread walks its own stack; of any other
    thread only objects, for which the VM looks at all stacks, and numbers are named, without a
    value.

    There a variable may be missing for reasons that look the same: it is null or 0; compiled code
    does not keep it, because the method does not read it again; up to Java 15, compiled code has
    taken its object apart.  Reading one of these raises `NotAvailable`; `read`, iteration and what
    builds on them leave it out.

    JVM TI: GetLocalVariableTable, GetLocalObject, GetLocalInt and their siblings; FollowReferences
    where these are not available.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._table: list[Variable] | None = None
        self._elsewhere: dict[str, list[tuple[int, int]]] = {}
        """Where variables of the method have a value, by name."""
        self._named = True
        self._refused: str | None = None
        """Why this VM does not let the model read variables one by one."""
        self._stored: dict[int, str] | None = None
        self._has_numbers = False
        """Whether numbers could be read in such a VM, at the last attempt."""

    def _ipython_key_completions_(self) -> list[str]:
        return [one.name for one in self.variables if one.name]

    # ---- what there is ---------------------------------------------------------------------

    @property
    def variables(self) -> list[Variable]:
        """The variables that are in scope, in the order of their slots, whatever they hold."""
        if self._table is None:
            self._table = self._look_up()
        return self._table

    def _look_up(self) -> list[Variable]:
        frame = self._frame
        if frame.is_native:
            return []
        env = self._env()
        if env is None:
            from jvmti.model.threads.stack_roots import variables_of  # imported at its first use

            return self._in_scope(
                (one.start, one.length, Variable(one.name, one.descriptor, one.slot))
                for one in variables_of(frame.method)
            )
        self._settle(env)
        # A frame stays in one version of its method, whose table may be long.
        if frame._scope is None or frame._scope[0] is not frame.method:
            try:
                table = env.get_local_variable_table(frame.method)
            except (AbsentInformation, NativeMethod):
                table = []
            variables = self._in_scope(
                (one.start_location, one.length, Variable(one.name, one.signature, one.slot))
                for one in table
            )
            frame._scope = frame.method, variables, self._elsewhere, self._named
        _, variables, self._elsewhere, self._named = frame._scope
        return list(variables)

    def _in_scope(self, entries: Iterable[tuple[int, int, Variable]]) -> list[Variable]:
        """The variables of a table that have a value at the frame's location."""
        frame = self._frame
        found = []
        for start, length, variable in entries:
            assert variable.name is not None
            self._elsewhere.setdefault(variable.name, []).append((start, start + length))
            if start <= frame.location < start + length:
                found.append(variable)
        if not self._elsewhere:
            self._named = False  # javac -g:none leaves out an empty table, others do not
            return parameters(frame.method)
        return sorted(found, key=lambda one: one.slot)

    def _settle(self, env: Env) -> None:
        """Find the version of its method that the frame is in: its class may have changed."""
        from jvmti.model.threads.frames import FrameGone

        with Suspension(self._frame._vm, [self._frame.thread]):
            try:
                self._frame.find(env)
            except FrameGone:
                pass  # its variables still have names

    def _env(self) -> Env | None:
        """The environment that reads variables; ``None`` without the capability."""
        if self._refused is None:
            more = ("can_support_virtual_threads",) if self._frame.thread.is_virtual else ()
            try:
                return self._frame._vm.env_with("can_access_local_variables", *more, emulated=False)
            except NotAvailable as refused:
                self._refused = refused.detail
        return None

    def variable(self, key: Any) -> Variable:
        """The variable that a key names.

        Raises:
            KeyError: none is in scope; the message lists those in scope, or the lines where it is.
        """
        if isinstance(key, tuple):
            slot, name = key
            return Variable(None, signature_of(name), slot)
        for variable in self.variables:
            if key == (variable.slot if isinstance(key, int) else variable.name):
                return variable
        if self._refused is not None and not self._named and isinstance(key, int):
            # The walk tells by itself whether there is an object.
            if 0 <= key < self._frame._vm.env.get_max_locals(self._frame.method):
                return self._without_name(key)
        raise KeyError(self._missing(key))

    def _missing(self, key: Any) -> str:
        frame = self._frame
        where = f"{frame.method.class_name}.{frame.method.name}"
        if frame.is_native:
            return f"{where} is native and has no visible variables"
        if not self._named:
            known = ", ".join(str(one) for one in self.variables) or "none"
            why = "was compiled without its variables (javac -g adds them)"
            if self._refused is not None:
                why += " or was redefined while it ran"
            slot = key if isinstance(key, int) else 3
            return (
                f"{where} {why}; known are {known}; another slot needs its type: "
                f'locals[{slot}, "int"]'
            )
        if isinstance(key, int):
            slots = ", ".join(f"{one.slot} ({one})" for one in self.variables) or "none"
            return f"no variable in scope at {frame.where} begins in slot {key}; there are {slots}"
        if key in self._elsewhere:
            lines = [
                f"{self._line(start)}–{self._line(end - 1)}" for start, end in self._elsewhere[key]
            ]
            return f"{key!r} has no value at {frame.where}; it has one in lines {', '.join(lines)}"
        names = [one.name for one in self.variables if one.name]
        near = difflib.get_close_matches(str(key), names, n=3)
        there = ", ".join(map(repr, near or names)) or "none"
        return f"no variable {key!r} at {frame.where}; there are {there}"

    def _line(self, location: int) -> str:
        lines = [one for one in self._frame.method.lines if one.start_location <= location]
        return str(max(lines, key=lambda one: one.start_location).line_number) if lines else "?"

    # ---- reading ---------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """The value of a variable.

        Raises:
            KeyError: none of that name is in scope; the message lists those that are.
            FrameGone: the thread has moved on.
            NotAvailable: the agent was attached late, and the variable cannot be read, see above.
        """
        return self._read([self.variable(key)])[0]

    def __iter__(self) -> Iterator[Any]:
        if self._env() is None:
            return iter(self.read())
        return iter([self._key(one) for one in self.variables])

    def __len__(self) -> int:
        return len(self.variables) if self._env() is not None else len(self.read())

    def __contains__(self, key: object) -> bool:
        try:
            self.variable(key)
        except KeyError:
            return False
        return True

    def items(self) -> Any:
        """Names, or slots, and values, all read at one moment."""
        return self.read().items()

    def values(self) -> Any:
        """The values, all read at one moment."""
        return self.read().values()

    def read(self) -> dict[Any, Any]:
        """All readable variables at one moment, in five messages.

        In a JVM that was attached to late, in a class without names, these are also the objects in
        slots beyond the parameters, and at an event the numbers that the code reads again.
        """
        variables = self.variables
        if self._env() is None:
            return self._read_late(variables)
        values = self._read(variables, lost=_LOST)
        return {
            self._key(one): value
            for one, value in zip(variables, values, strict=True)
            if value is not _LOST
        }

    def shown(self) -> list[tuple[Variable, Shown | None]]:
        """The same, with the contents of arrays and lists where they come along; ``None`` where a
        variable cannot be read.
        """
        values = self.read()
        keys = map(self._key, self.variables)
        found: list[tuple[Variable, Shown | None]] = [
            (one, (values.pop(key), None) if key in values else None)
            for one, key in zip(self.variables, keys, strict=True)
        ]
        for key, value in values.items():  # in slots without a name
            found.append((self._without_name(key), (value, None)))
        return found

    def _without_name(self, slot: int) -> Variable:
        kind = self._types().get(slot, SEVERAL)
        return Variable(None, kind if kind in "IJFD" else _OBJECT, slot)

    def can_write(self, variable: Variable) -> bool:
        """Whether `__setitem__` takes a variable, as far as it is known once they were read.

        A virtual thread lets its topmost frame alone be changed.
        """
        return self._refused is None and not (self._frame.depth and self._frame.thread.is_virtual)

    def missing(self, variable: Variable) -> str | None:
        """In a few words, why `read` has left out a variable in a JVM that was attached to late;
        ``None`` where it knows no numbers.
        """
        if variable.name == "this":
            return "not kept"
        if variable.is_primitive and not self._has_numbers:
            return None
        return f"{_ZEROS.get(variable.signature, 'null')}, or not kept"

    @staticmethod
    def _key(variable: Variable) -> Any:
        return variable.slot if variable.name is None else variable.name

    def _read(self, variables: Sequence[Variable], lost: Any = None) -> list[Any]:
        if not variables:
            return []
        frame = self._frame
        return [
            value if value is lost else to_python(frame._vm, value, one.signature)
            for one, value in zip(variables, self._fetch(variables, lost), strict=True)
        ]

    def raw(self, variable: Variable) -> Any:
        """The value of a variable as JNI has it: a text is a handle, a ``char`` a number.

        Raises:
            FrameGone, NotAvailable: as for ``locals[name]``.
        """
        return self._fetch([variable], None)[0]

    def _fetch(self, variables: Sequence[Variable], lost: Any) -> list[Any]:
        frame = self._frame
        env = self._env()
        if env is None:
            slots = self._slots()
            return [self._find_late(slots, one) for one in variables]
        with Suspension(frame._vm, [frame.thread]):
            depth = frame.find(env)
            with env.batch() as batch:
                read = [
                    self._reader(batch, one)(frame.thread, depth, one.slot) for one in variables
                ]
        found = []
        for deferred in read:
            try:
                found.append(deferred.result())
            except InvalidSlot:
                if lost is None:
                    raise
                found.append(lost)  # the class file promises a variable that its code has not
        return found

    @staticmethod
    def _reader(env: Any, variable: Variable) -> Any:
        return getattr(env, f"get_local_{_FUNCTION.get(variable.signature, 'object')}")

    def _slots(self) -> Slots:
        """The contents of its slots in a JVM that was attached to late, at this moment."""
        from jvmti.model.threads.stack_roots import slots_of

        if self._frame.is_native:
            return Slots(None, {}, bytes, -1)
        found = slots_of(self._frame)
        self._has_numbers = found.has_numbers
        return found

    def _read_late(self, variables: list[Variable]) -> dict[Any, Any]:
        frame = self._frame
        slots = self._slots()
        if not self._named:
            known = {one.slot for one in variables}
            found = {slot: Variable(None, _OBJECT, slot) for slot in slots.objects}
            if slots.has_numbers:
                found |= {
                    slot: Variable(None, kind, slot)
                    for slot, kind in self._types().items()
                    if kind in "IJFD" and slots.is_read_again(slot)
                }
            variables = variables + [found[slot] for slot in sorted(found.keys() - known)]
        values = [(one, self._of_slot(slots, one)) for one in variables]
        return {
            self._key(one): to_python(frame._vm, value, one.signature)
            for one, value in values
            if value is not MISSING
        }

    def _of_slot(self, slots: Slots, variable: Variable) -> Any:
        """A value as JNI has it, or `MISSING`."""
        # Without a name the code has to say that it is a number of this type.
        if variable.name is None and variable.is_primitive and not self._is_always(variable):
            return MISSING
        return slots.get(variable.slot, variable.signature)

    def _is_always(self, variable: Variable) -> bool:
        """Whether the code stores nothing but values of its type in a slot."""
        wanted = variable.signature if variable.signature in "JFD" else "I"
        return self._types().get(variable.slot) == wanted

    def _types(self) -> dict[int, str]:
        """The types that the code stores in each slot."""
        if self._stored is None:
            method = self._frame.method
            self._stored = types_of_slots(
                method.bytecodes, method.signature, is_static=method.is_static
            )
        return self._stored

    def _find_late(self, slots: Slots, variable: Variable) -> Any:
        frame = self._frame
        if frame.is_native:
            raise OpaqueFrame(detail=f"{frame} is native and has no visible variables")
        found = self._of_slot(slots, variable)
        if found is not MISSING:
            return found
        if variable.name is None and variable.is_primitive and not self._is_always(variable):
            kind = self._types().get(variable.slot)
            if kind is None:
                raise InvalidSlot(detail=f"no variable of {frame} begins at slot {variable.slot}")
            holds = "several types" if kind == SEVERAL else f"type {kind}"
            raise TypeMismatch(detail=f"slot {variable.slot} of {frame} holds {holds}")
        if not variable.is_primitive:
            why = (
                "null, or compiled code does not keep its object; an agent that was attached late "
                "cannot tell which"
            )
        elif slots.has_numbers:
            why = (
                "not kept by compiled code, or it is 0: the method does not read it again, and an "
                "agent that was attached late cannot tell which"
            )
        else:
            why = (
                "primitive; an agent that was attached late can read it only where it handles an "
                "event of the thread, as at a breakpoint"
            )
        raise NotAvailable(detail=f"`{variable}` of {frame} is {why}; {self._refused}")

    # ---- writing ---------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        """Give a variable another value.

        Raises:
            KeyError: none of that name is in scope.
            TypeError: the variable cannot hold the value.
            FrameGone: the thread has moved on.
            OpaqueFrame: the VM cannot change this frame, as of a virtual thread whose frame is not
                the top one at an event.
            NotAvailable: the agent was attached late.

        JVM TI: SetLocalObject, SetLocalInt and their siblings.
        """
        variable = self.variable(key)
        frame = self._frame
        env = self._env()
        if env is None:
            raise NotAvailable(detail=f"`{variable}` cannot be written; {self._refused}")
        converted = to_java(frame._vm, value, variable.signature)
        function = _FUNCTION.get(variable.signature, "object")
        if function == "int":
            converted = int(converted)
        with Suspension(frame._vm, [frame.thread]):
            depth = frame.find(env)
            write = getattr(env, f"set_local_{function}")
            write(frame.thread, depth, variable.slot, converted)

    # ---- for people ------------------------------------------------------------------------

    _repr_html_ = display.html

    @escaped
    def __repr__(self) -> str:
        try:
            return f"<Locals {', '.join(str(self._key(one)) for one in self.variables)}>"
        except Error as error:
            return f"<Locals, not known: {error}>"

    @escaped_lines
    def __str__(self) -> str:
        try:
            values = self.read()
        except Error as error:
            return f"not known: {error}"
        known = {self._key(one): one for one in self.variables}
        if self._refused is None:
            return "\n".join(
                f"{known[key].type} {_shown(key)} = {one!r}" for key, one in values.items()
            )
        lines = [
            f"{one.type} {_shown(key)} = "
            + (repr(values[key]) if key in values else self.missing(one) or "?")
            for key, one in known.items()
        ]
        lines += [f"[slot {key}] = {one!r}" for key, one in values.items() if key not in known]
        return "\n".join(lines)


def _shown(key: str | int) -> str:
    """A variable as conditions and expressions name it."""
    return key if isinstance(key, str) else f"slot{key}"


_OBJECT = "Ljava/lang/Object;"
_ZEROS = dict.fromkeys("BCSIJFD", "0") | {"Z": "false"}
_LOST = object()

__all__ = ["Locals"]
