"""Chooses the method or constructor that a call means, by the static types of its arguments.

The rules are the language's: first without boxing, then with it, then with a variable number of
arguments, and of those that apply the most specific one.  Where none applies, the types that the
arguments have at run time are tried: a debugger sees objects, not casts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.expressions.running import Running, found_value
from jvmti.expressions.values.conversions import as_argument, narrowed
from jvmti.expressions.values.typed import (
    LAMBDA,
    NULL,
    OBJECT,
    UNKNOWN,
    VOID,
    Value,
    is_array,
    is_variable,
)
from jvmti.expressions.values.types import Types
from jvmti.interface.errors import ClassNotPrepared
from jvmti.model.values.conversion import DTYPES, PRIMITIVE_NAMES
from jvmti.model.values.overloads import Overload, overloads_of
from jvmti.text.names import suggestion

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class

_ABSTRACT = 0x0400


class NoSuchCall(Exception):
    """No method accepts the arguments, or several do and none is the most specific."""


class Applicable(NamedTuple):
    """A method that accepts the arguments."""

    overload: Overload
    types: list[str]
    """The types of its parameters, one for each argument."""
    is_expanded: bool
    """Whether the last arguments become an array."""


class Methods:
    """Calls of methods and constructors.

    Args:
        running: the evaluation.
        types: the types that the frame's class sees.
    """

    def __init__(self, running: Running, types: Types) -> None:
        self._running = running
        self._types = types

    # ---- resolution ------------------------------------------------------------------------

    def choose(
        self, cls: Class, name: str, arguments: Sequence[Value], *, static: bool = False
    ) -> Applicable:
        """The method of a class that a call means.

        Args:
            cls: the class whose members are searched.
            name: of the method; ``<init>`` for a constructor.
            arguments: the arguments.
            static: only static methods.

        Raises:
            NoSuchCall: none applies, or the call is ambiguous; the message says what there is.
        """
        try:
            every = overloads_of(cls)
        except ClassNotPrepared:
            raise NoSuchCall(f"{cls.name} is loaded, and not linked yet") from None
        candidates = every.get(name, [])
        if not candidates:
            if name == "<init>":
                raise NoSuchCall(f"{cls.name} has no constructor")
            raise NoSuchCall(f"{cls.name} has no method {name!r}{suggestion(name, every)}")
        if static:
            candidates = [one for one in candidates if one.is_static]
            if not candidates:
                raise NoSuchCall(f"{cls.name}.{name} is not static: it needs an object")
        found = self._applicable(candidates, arguments)
        if not found:
            # What the objects are may help where their declared types do not.
            arguments = [
                value._replace(type=NULL)
                if value.is_known and value.data is None and not value.is_primitive
                else narrowed(self._running, value)
                for value in arguments
            ]
            found = self._applicable(candidates, arguments)
        if not found:
            given = ", ".join(value.type_name for value in arguments)
            what = cls.name if name == "<init>" else f"{cls.name}.{name}"
            there = ", ".join(map(str, candidates[:6]))
            raise NoSuchCall(f"no {what} takes ({given}); there {_is_or_are(candidates)} {there}")
        return self._most_specific(found, arguments)

    def _applicable(
        self, candidates: Sequence[Overload], arguments: Sequence[Value]
    ) -> list[Applicable]:
        count = len(arguments)
        parameters = [(one, one.parameters) for one in candidates]
        for boxing in (False, True):
            found = [
                Applicable(one, types, False)
                for one, types in parameters
                if len(types) == count and self._accept(types, arguments, boxing)
            ]
            if found:
                return found
        found = []
        for one, types in parameters:
            fixed = len(types) - 1
            if one.takes_more and count >= fixed:
                expanded = [*types[:fixed], *[types[-1][1:]] * (count - fixed)]
                if self._accept(expanded, arguments, True):
                    found.append(Applicable(one, expanded, True))
        return found

    def _accept(self, types: list[str], arguments: Sequence[Value], boxing: bool) -> bool:
        return all(
            self._types.accepts(wanted, value, boxing=boxing)
            for wanted, value in zip(types, arguments, strict=True)
        )

    def _most_specific(self, found: list[Applicable], arguments: Sequence[Value]) -> Applicable:
        if len(found) == 1:
            return found[0]
        best = [one for one in found if all(self._is_at_least(one, other) for other in found)]
        if len(best) > 1:  # of the same types: that of a class before that of an interface
            best = [one for one in best if not one.overload.modifiers & _ABSTRACT] or best
            best = best[:1]
        if best:
            return best[0]
        if any(value.is_open and not value.is_known for value in arguments):
            return found[0]
        if any(value.type == LAMBDA for value in arguments):
            with_result = [one for one in found if self._takes_results(one, arguments)]
            if len(with_result) == 1:
                return with_result[0]
        given = ", ".join(value.type_name for value in arguments)
        there = ", ".join(str(one.overload) for one in found[:6])
        raise NoSuchCall(f"the call with ({given}) is ambiguous: {there}; a cast decides")

    @staticmethod
    def _takes_results(one: Applicable, arguments: Sequence[Value]) -> bool:
        """Whether all lambdas are taken for functions with a result."""
        return all(
            value.data.has_result(wanted)
            for wanted, value in zip(one.types, arguments, strict=True)
            if value.type == LAMBDA
        )

    def _is_at_least(self, one: Applicable, other: Applicable) -> bool:
        its, others = one.types, other.types
        if one.is_expanded:
            # Without arguments for the array, its element type decides.
            its, others = [*its, _rest(one)], [*others, _rest(other)]
        return len(its) == len(others) and all(map(self._types.is_subtype, its, others))

    # ---- calls -----------------------------------------------------------------------------

    def call(
        self,
        chosen: Applicable,
        receiver: Value | None,
        arguments: Sequence[Value],
        *,
        of: Class | None = None,
        owner: Class | None = None,
    ) -> Value:
        """Call the chosen method.

        Args:
            chosen: the method.
            receiver: the object; ``None`` for a static method.
            arguments: the arguments.
            of: the class whose version is called, for ``super``.
            owner: the class that a static method is called on.

        Raises:
            JavaException: it threw, or the receiver is null.
            CallTimeout: it did not return in time.
        """
        overload = chosen.overload
        result = overload.result
        running = self._running
        if running.is_dry:
            return self._dry_result(overload, receiver)
        if not overload.is_static and receiver is not None and receiver.data is None:
            running.prepare_to_call()
            running.throw(
                "NullPointerException", f'Cannot invoke "{overload}" because the object is null'
            )
        made = self._arguments(chosen, arguments)
        if overload.is_static:
            on: Any = overload.method.declaring_class if owner is None else owner
        else:
            assert receiver is not None
            on = running.handle(receiver)
        data = running.call(
            on,
            overload.method,
            result,
            made,
            static=overload.is_static,
            of=of,
            called=f"{overload.owner}.{overload.name}()",
        )
        if result == "V":
            return VOID
        if receiver is not None and _is_clone_of_array(overload, receiver):
            return Value(receiver.type, data)
        return self.typed(result, data, overload.method.generic_signature)

    def _dry_result(self, overload: Overload, receiver: Value | None) -> Value:
        result = overload.result
        if result == "V":
            return VOID
        if receiver is not None and _is_clone_of_array(overload, receiver):
            return Value(receiver.type, UNKNOWN)
        generic = overload.method.generic_signature
        return Value(result, UNKNOWN, is_open=is_variable(generic))

    def typed(self, signature: str, data: Any, generic: str | None) -> Value:
        """A result of JNI as a value of its declared type.

        Where that is a type variable, the object itself says what it is, as a cast by the compiler
        would.
        """
        value = found_value(signature, data)
        if not is_variable(generic):
            return value
        return narrowed(self._running, value._replace(is_open=True))

    def new(self, cls: Class, chosen: Applicable, arguments: Sequence[Value]) -> Value:
        """Make an object by the chosen constructor.

        Raises:
            JavaException: it threw.
            CallTimeout: it did not return in time.
        """
        if self._running.is_dry:
            return Value(cls.signature, UNKNOWN)
        made = self._arguments(chosen, arguments)
        return Value(cls.signature, self._running.new(cls, chosen.overload.method, made))

    def _arguments(self, chosen: Applicable, arguments: Sequence[Value]) -> list[Any]:
        made = [
            as_argument(self._running, value, wanted)
            for value, wanted in zip(arguments, chosen.types, strict=True)
        ]
        if not chosen.is_expanded:
            return made
        parameters = chosen.overload.parameters
        fixed = len(parameters) - 1
        array = self.array_of(parameters[-1], made[fixed:], chosen.overload.method)
        return [*made[:fixed], array]

    def array_of(self, signature: str, elements: list[Any], method: Any = None) -> Any:
        """A new array.

        Args:
            signature: of its type.
            elements: its elements, as JNI takes them.
            method: the method that it is passed to, whose class sees the element type.

        Raises:
            NoSuchCall: there is no class of that name.
        """
        array = self.new_array(signature, len(elements), method)
        self.fill(array, signature, elements)
        return array

    def new_array(self, signature: str, length: int, method: Any = None) -> Any:
        """A new array with zeros or nulls.

        Raises:
            NoSuchCall: there is no class of the elements' name.
            JavaException: the length is negative, or too large.
        """
        self._running.prepare_to_call()
        jni = self._running.jni
        if length < 0:
            self._running.throw("NegativeArraySizeException", str(length))
        element = signature[1:]
        if len(element) == 1:
            return getattr(jni, f"new_{PRIMITIVE_NAMES[element]}_array")(length)
        if method is not None:
            self._types.learn(method.declaring_class)
        cls = self._types.of(element)
        if cls is None:
            raise NoSuchCall(f"there is no class {self._types.name(element)}")
        return jni.new_object_array(length, cls)

    def fill(self, array: Any, signature: str, elements: list[Any]) -> None:
        """Put elements, as JNI takes them, into a new array."""
        import numpy

        element = signature[1:]
        if len(element) == 1:
            if elements:
                numbers = numpy.array(elements, DTYPES[element])
                write = getattr(self._running.jni, f"set_{PRIMITIVE_NAMES[element]}_array_region")
                write(array, 0, numbers)
            return
        for place, one in enumerate(elements):
            if one is not None:
                self._running.jni.set_object_array_element(array, place, one)


def _rest(one: Applicable) -> str:
    return one.overload.parameters[-1][1:]


def _is_or_are(candidates: Sequence[Any]) -> str:
    return "is" if len(candidates) == 1 else "are"


def _is_clone_of_array(overload: Overload, receiver: Value) -> bool:
    return overload.name == "clone" and overload.result == OBJECT and is_array(receiver.type)


__all__ = ["Applicable", "Methods", "NoSuchCall"]
