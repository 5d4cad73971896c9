"""The local variables of a frame, by name and by slot."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jvmti.model.suspension import Suspension
from jvmti.model.values import to_java, to_python
from jvmti.spec.errors import AbsentInformation, Error, InvalidSlot, NativeMethod
from jvmti.spec.frozen import frozen
from jvmti.spec.signatures import java_name, parameters_of, signature_of

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.model.classes import Method
    from jvmti.model.frames import Frame

_STATIC = 0x0008

_FUNCTION = dict.fromkeys("ZBCSI", "int") | {"J": "long", "F": "float", "D": "double"}
"""Which function of JVM TI reads a variable, by the first letter of its type."""


@frozen
class Variable:
    """A local variable of a method, or a slot whose type is known."""

    #: Its name; ``None`` where the class was compiled without them.
    name: str | None
    #: The signature of its type.
    signature: str
    #: The slot; a ``long`` and a ``double`` take the next one, too.
    slot: int

    @property
    def type(self) -> str:
        """Its type, as Java writes it."""
        return java_name(self.signature)

    def __str__(self) -> str:
        return f"{self.type} {self.name or f'[slot {self.slot}]'}"


def parameters(method: Method) -> list[Variable]:
    """The slots of a method's parameters, which its signature tells, with ``this``."""
    found = []
    slot = 0
    if not method.modifiers & _STATIC:
        found.append(Variable("this", method.declaring_class.signature, 0))
        slot = 1
    for name in parameters_of(method.signature):
        signature = signature_of(name)
        found.append(Variable(None, signature, slot))
        slot += 2 if signature in "JD" else 1
    return found


class Locals(Mapping[Any, Any]):
    """The local variables of a frame: those that are in scope where the frame has come to.

    The keys are names, ``this`` among them; a number names a slot.  Where the class was compiled
    without its variables (as by ``javac`` without ``-g``; build tools mostly keep them), the keys
    are ``this`` and the slots of the parameters, and a number with a type names any slot:
    ``frame.locals[3, "int"]``.  The type is checked against what the code stores there.

    Reading and writing suspend the thread for the moment, unless it is suspended or the thread of
    the event that is being handled.  Where the thread has moved on, they raise `FrameGone`; of a
    running thread only a frame that is further down is likely to stay, so look at it inside ``with
    thread.suspended():``.  ``dict(frame.locals)`` reads all of them at one moment.

    Most VMs give ``can_access_local_variables`` only while they start: to ``jvmti.launch(…,
    capabilities={"can_access_local_variables"})``, or at any time where they were started with
    ``jvmti options --reserve``; then the model takes it in an environment of its own.  Compiled
    code keeps variables alive for longer by it.

    JVM TI: GetLocalVariableTable, GetLocalObject, GetLocalInt and their siblings.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._table: list[Variable] | None = None
        self._elsewhere: dict[str, list[tuple[int, int]]] = {}
        """Where variables of the method have a value, by name."""
        self._named = True

    def _ipython_key_completions_(self) -> list[str]:
        return [one.name for one in self.variables if one.name]

    # ---- what there is ---------------------------------------------------------------------

    @property
    def variables(self) -> list[Variable]:
        """The variables that are in scope, in the order of their slots.

        Raises:
            NotAvailable: this VM does not tell agents that came after its start.
        """
        if self._table is None:
            self._table = self._look_up()
        return self._table

    def _look_up(self) -> list[Variable]:
        frame = self._frame
        if frame.is_native:
            return []
        env = self._env()
        found = []
        try:
            entries = env.get_local_variable_table(frame.method)
        except (AbsentInformation, NativeMethod):
            self._named = False
            return parameters(frame.method)
        for entry in entries:
            end = entry.start_location + entry.length
            self._elsewhere.setdefault(entry.name, []).append((entry.start_location, end))
            if entry.start_location <= frame.location < end:
                found.append(Variable(entry.name, entry.signature, entry.slot))
        if not entries:
            self._named = False  # javac -g:none leaves out an empty table, others do not
            return parameters(frame.method)
        return sorted(found, key=lambda one: one.slot)

    def _env(self) -> Env:
        more = ("can_support_virtual_threads",) if self._frame.thread.is_virtual else ()
        return self._frame._vm.env_with("can_access_local_variables", *more)

    def variable(self, key: Any) -> Variable:
        """The variable that a key names.

        Raises:
            KeyError: none is in scope; the message says what is, or where it would be.
        """
        if isinstance(key, tuple):
            slot, name = key
            return Variable(None, signature_of(name), slot)
        for variable in self.variables:
            if key == (variable.slot if isinstance(key, int) else variable.name):
                return variable
        raise KeyError(self._missing(key))

    def _missing(self, key: Any) -> str:
        frame = self._frame
        where = f"{frame.method.class_name}.{frame.method.name}"
        if frame.is_native:
            return f"{where} is native and has no variables that could be seen"
        if not self._named:
            known = ", ".join(str(one) for one in self.variables) or "none"
            return (
                f"{where} was compiled without its variables (javac -g adds them); known are "
                f"{known}; another slot needs its type: locals[{key if isinstance(key, int) else 3}"
                ', "int"]'
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
        return self._read([self.variable(key)])[0]

    def __iter__(self) -> Iterator[Any]:
        return iter([self._key(one) for one in self.variables])

    def __len__(self) -> int:
        return len(self.variables)

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
        """All of them at one moment, in five messages; what cannot be read is left out."""
        variables = self.variables
        values = self._read(variables, lost=_LOST)
        return {
            self._key(one): value
            for one, value in zip(variables, values, strict=True)
            if value is not _LOST
        }

    @staticmethod
    def _key(variable: Variable) -> Any:
        return variable.slot if variable.name is None else variable.name

    def _read(self, variables: Sequence[Variable], lost: Any = None) -> list[Any]:
        if not variables:
            return []
        frame = self._frame
        env = self._env()
        with Suspension(frame._vm, [frame.thread]):
            depth = frame.find(env)
            with env.batch() as batch:
                read = [
                    self._reader(batch, one)(frame.thread, depth, one.slot) for one in variables
                ]
        found = []
        for one, deferred in zip(variables, read, strict=True):
            try:
                value = deferred.result()
            except InvalidSlot:
                if lost is None:
                    raise
                found.append(lost)  # the class file promises a variable that its code has not
                continue
            found.append(to_python(frame._vm, value, one.signature))
        return found

    @staticmethod
    def _reader(env: Any, variable: Variable) -> Any:
        return getattr(env, f"get_local_{_FUNCTION.get(variable.signature, 'object')}")

    # ---- writing ---------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        """Give a variable another value.

        Raises:
            KeyError: none of that name is in scope.
            TypeError: the value is none that the variable takes.
            FrameGone: the thread has moved on.
            OpaqueFrame: the VM cannot change this frame, as of a virtual thread whose frame is not
                the top one at an event.

        JVM TI: SetLocalObject, SetLocalInt and their siblings.
        """
        variable = self.variable(key)
        frame = self._frame
        env = self._env()
        converted = to_java(frame._vm, value, variable.signature)
        function = _FUNCTION.get(variable.signature, "object")
        if function == "int":
            converted = int(converted)
        with Suspension(frame._vm, [frame.thread]):
            depth = frame.find(env)
            write = getattr(env, f"set_local_{function}")
            write(frame.thread, depth, variable.slot, converted)

    # ---- for people ------------------------------------------------------------------------

    def __repr__(self) -> str:
        try:
            return f"<Locals {', '.join(str(self._key(one)) for one in self.variables)}>"
        except Error as error:
            return f"<Locals, not known: {error}>"

    def __str__(self) -> str:
        try:
            types = {self._key(one): one.type for one in self.variables}
            return "\n".join(f"{types[key]} {key} = {value!r}" for key, value in self.items())
        except Error as error:
            return f"not known: {error}"


_LOST = object()

__all__ = ["Locals", "Variable"]
