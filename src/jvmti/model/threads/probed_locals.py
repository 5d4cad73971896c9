"""The variables of a frame that has stopped at a probe of an agent that was attached late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import InvalidSlot, NotAvailable
from jvmti.model.debug.variables import Variable, parameters
from jvmti.model.objects.reading import Shown, read_elements
from jvmti.model.threads.locals import Locals
from jvmti.model.values.conversion import BOXES, to_java, to_python
from jvmti.model.values.shown import shown_variables, shown_variables_at_event

if TYPE_CHECKING:
    from jvmti.model.debug.late.stop_probes import ProbedFrame, ProbedVariable
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM


class ProbedLocals(Locals):
    """Variables that a probe has put into an array, to read and to write."""

    def __init__(self, frame: Frame, probed: ProbedFrame) -> None:
        super().__init__(frame)
        self._probed = probed

    def _look_up(self) -> list[Variable]:
        found = self._probed.place.variables
        self._named = any(one.name for one in found)
        if self._named:
            return [one for one, _ in self._with_names()]
        # Compiled without names: the method's descriptor still has its parameters.
        known = {one.slot: one for one in parameters(self._frame.method)}
        return [self._unnamed(one, known.get(one.slot)) for one in found]

    def _with_names(self) -> list[tuple[Variable, ProbedVariable]]:
        """The variables with names, and where the array has them."""
        place = self._probed.place
        if not place.named:  # made once for all stops at the place
            place.named.extend(
                (Variable(one.name, one.signature or _signature(one), one.slot), one)
                for one in place.variables
                if one.name
            )
        return place.named

    @staticmethod
    def _unnamed(one: ProbedVariable, parameter: Variable | None) -> Variable:
        if parameter is not None and parameter.is_primitive != (one.letter == "L"):
            return parameter
        return Variable(None, one.signature or one.takes or _signature(one), one.slot)

    def variable(self, key: Any) -> Variable:
        """The variable that a key names; see `Locals.variable`."""
        if isinstance(key, int) and self.variables and self._named:
            found = self._probed.variable(key)
            if found is not None:
                return Variable(found.name or None, found.signature or _signature(found), key)
        return super().variable(key)

    def __iter__(self) -> Iterator[Any]:
        return iter([self._key(one) for one in self.variables])

    def __len__(self) -> int:
        return len(self.variables)

    def read(self) -> dict[Any, Any]:
        """All of them; see `Locals.read`."""
        variables = self.variables
        return dict(zip(map(self._key, variables), self._read(variables), strict=True))

    def shown(self) -> list[tuple[Variable, Shown | None]]:
        """All of them, with the contents of arrays and lists."""
        vm, probed = self._frame._vm, self._probed
        if probed.at_event:
            found = shown_variables_at_event(vm, self._frame.thread)
        else:
            found = shown_variables(vm, probed.values)
        shown: list[tuple[Variable, Shown | None]] = []
        for one, slot in self._with_names() or [(one, self._slot(one)) for one in self.variables]:
            its = found[slot.place]
            if slot.letter != "L":
                if one.signature in "CZ":
                    its = to_python(vm, its[0], one.signature), None
            elif _may_be_of_box(its[0]):
                its = read_elements(vm, probed.values, slot.place, 1)[0], its[1]
            shown.append((one, its))
        return shown

    def can_write(self, variable: Variable) -> bool:
        """Whether `__setitem__` takes a variable."""
        found = self._probed.variable(variable.slot)
        return found is not None and bool(found.takes)

    def _read(self, variables: Sequence[Variable], lost: Any = None) -> list[Any]:
        slots = [self._slot(one) for one in variables]
        if not slots:
            return []
        first = min(one.place for one in slots)
        count = max(one.place for one in slots) + 1 - first
        vm, values = self._frame._vm, self._probed.values
        # The array has numbers in boxes, as variables may.
        has_numbers = any(one.letter != "L" for one in slots)
        found = read_elements(vm, values, first, count, unbox=has_numbers)
        of_objects = [found[one.place - first] for one in slots if one.letter == "L"]
        objects = found
        if has_numbers and any(map(_may_be_of_box, of_objects)):
            objects = read_elements(vm, values, first, count)
        return [
            objects[slot.place - first]
            if slot.letter == "L"
            else to_python(vm, found[slot.place - first], one.signature)
            for one, slot in zip(variables, slots, strict=True)
        ]

    def _slot(self, variable: Variable) -> ProbedVariable:
        found = self._probed.variable(variable.slot)
        if found is None or (found.letter == "L") == variable.is_primitive:
            raise InvalidSlot(
                detail=f"slot {variable.slot} holds no {variable.type} at {self._frame.where}"
            )
        return found

    def _value(self, variable: Variable) -> Any:
        return to_python(self._frame._vm, self.raw(variable), variable.signature)

    def raw(self, variable: Variable) -> Any:
        """The value of a variable as JNI has it; see `Locals.raw`."""
        found = self._slot(variable)
        value = self._probed.get(found.place)
        return value if found.letter == "L" else value.value

    def __setitem__(self, key: Any, value: Any) -> None:
        """Give a variable another value; see `Locals.__setitem__`."""
        variable = self.variable(key)
        found = self._slot(variable)
        vm = self._frame._vm
        if not found.takes:
            raise NotAvailable(
                detail=f"`{variable}` cannot be written: the class file does not say what it takes"
            )
        if found.letter == "L":
            converted = to_java(vm, value, found.takes)
        else:
            converted = boxed(vm, to_java(vm, value, variable.signature), variable.signature)
        self._probed.put(found.place, converted)


def _may_be_of_box(value: Any) -> bool:
    """Whether a value may come from a box: a number, or one character."""
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) == 1)


def boxed(vm: VM, value: Any, letter: str) -> Any:
    """A number in the box that probes take: an ``Integer`` for ``int`` and smaller types."""
    plain = float(value) if letter in "FD" else int(value)
    return to_java(vm, plain, BOXES[letter if letter in "JFD" else "I"].signature)


def _signature(one: ProbedVariable) -> str:
    return "Ljava/lang/Object;" if one.letter == "L" else one.letter


__all__ = ["ProbedLocals", "boxed"]
