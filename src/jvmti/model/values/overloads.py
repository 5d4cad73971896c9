"""Overload resolution.

It works in rounds, as in Java: first the methods that accept the arguments as they are, then those
that need boxing or unboxing, then those that need a Python conversion, and finally the same with a
variable number of arguments. The most specific method of a round is called; if there is none, the
call is ambiguous.  docs/values.md has the rules as a table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti import refs
from jvmti.interface.errors import ClassNotPrepared
from jvmti.interface.signatures import parameters_of
from jvmti.model.values import conversion as values
from jvmti.model.values.boxing import boxes_like
from jvmti.model.values.conversion import (
    BUILT_IN,
    OBJECT,
    WIDER,
    Conversion,
    conversion_to,
    lineage,
)
from jvmti.text.names import suggestion
from jvmti.text.printable import escaped, printable
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jvmti.model.classes.java_class import Class
    from jvmti.model.vm import VM

_TYPES = re.compile(r"\[*(?:L[^;]*;|[ZBCSIJFD])")
_STATIC = 0x0008
_BRIDGE = 0x0040
_VARARGS = 0x0080


class Overload(NamedTuple):
    """A candidate: a method or constructor."""

    method: Any
    name: str
    signature: str
    modifiers: int
    owner: str

    @property
    def parameters(self) -> list[str]:
        """The signatures of its parameter types."""
        return _TYPES.findall(self.signature[: self.signature.rindex(")")])

    @property
    def result(self) -> str:
        """The signature of its result."""
        return self.signature[self.signature.rindex(")") + 1 :]

    @property
    def is_static(self) -> bool:
        """Whether it is called on the class."""
        return bool(self.modifiers & _STATIC)

    @property
    def takes_more(self) -> bool:
        """Whether it takes a variable number of arguments."""
        return bool(self.modifiers & _VARARGS) and self.signature.rpartition(")")[0][-1:] != "("

    @escaped
    def __str__(self) -> str:
        types = parameters_of(self.signature)
        if self.takes_more:
            types[-1] = types[-1][:-2] + "..."
        name = self.owner if self.name == "<init>" else self.name
        return f"{name}({', '.join(types)})"


def overloads_of(cls: Class) -> dict[str, list[Overload]]:
    """The methods of a class by name, inherited ones included, the nearest of each signature.

    JVM TI: GetClassMethods, GetMethodModifiers.
    """
    known: dict[str, list[Overload]] | None = getattr(cls, "_overloads", None)
    if known is not None:
        return known
    vm = cls._vm
    found: dict[str, dict[str, Overload]] = {}
    for level, one in enumerate(_hierarchy(cls)):
        methods = _methods(vm, one)
        if not methods:
            continue
        flags = vm.env.map.get_method_modifiers(methods).check().listed()
        above_interface = level > 0 and one.is_interface
        for method, modifiers in zip(methods, flags, strict=True):
            name = method.name
            inherited = level == 0 or (name != "<init>" and not (above_interface and modifiers & 8))
            if not inherited or name == "<clinit>" or modifiers & _BRIDGE:
                continue
            signature = method.signature
            by_types = found.setdefault(name, {})
            types = signature[: signature.rindex(")")]
            by_types.setdefault(
                types, Overload(method, name, signature, modifiers, method.class_name)
            )
    cls._overloads = made = {name: list(each.values()) for name, each in found.items()}
    return made


def _methods(vm: VM, cls: Any) -> list[Any]:
    try:
        found: Any = vm.env.get_class_methods(cls)
    except ClassNotPrepared:
        # What is to be called will be initialised anyway; this does no more.
        if cls.is_interface:
            return []
        vm.jni.get_method_id(cls, "hashCode", "()I")
        found = vm.env.get_class_methods(cls)
    vm.methods.look_up(found)
    return list(found)


def _hierarchy(cls: Any) -> list[Any]:
    """A class, its superclasses from the nearest on, and then all their interfaces."""
    vm = cls._vm
    classes = [cls]
    while (above := classes[-1].superclass) is not None:
        classes.append(above)
    found = {one.signature: one for one in classes}
    waiting = list(classes)
    while waiting:
        for interface in waiting.pop(0).interfaces:
            if interface.signature not in found:
                found[interface.signature] = interface
                waiting.append(interface)
    if cls.signature.startswith("[") or cls.is_interface:
        found.setdefault(OBJECT, vm.bootstrap_class("java/lang/Object"))
    return list(found.values())


class Chosen(NamedTuple):
    """The method for a call, and its arguments for JNI."""

    overload: Overload
    arguments: list[Any]


def choose(
    cls: Class,
    name: str,
    arguments: Sequence[Any],
    *,
    signature: str | None = None,
    static: bool = False,
    receiver: Any = None,
) -> Chosen:
    """The method of a class for a call with these arguments.

    Args:
        cls: the class of the receiver, or the class itself.
        name: of the method; ``<init>`` for a constructor.
        arguments: Python values and objects of the model.
        signature: the parameter types, to choose one: ``"int, java.lang.String"``, or
            as the VM writes them, ``"(ILjava/lang/String;)"``.
        static: only static methods.
        receiver: what it is called on, where a collection says how numbers are boxed for it.

    Raises:
        LookupError: there is no method of that name, or with that signature.
        TypeError: none accepts the arguments, or the call is ambiguous.
        OverflowError: a number does not fit the only method that there is.
    """
    vm = cls._vm
    methods = overloads_of(cls)
    class_name = cls.name
    candidates = methods.get(name, [])
    if not candidates:
        if name == "<init>":
            raise LookupError(
                printable(
                    f"{class_name} has no constructor: it is an interface, array or primitive"
                )
            )
        hint = _of_class_object(vm, name) if static else ""
        raise LookupError(
            printable(f"{class_name} has no method {name!r}{hint or suggestion(name, methods)}")
        )
    if static and name != "<init>":
        of_class = [one for one in candidates if one.is_static]
        if not of_class:
            how = _of_class_object(vm, name) or ": call it on an object of the class"
            raise LookupError(printable(f"{class_name}.{name} is not static{how}"))
        candidates = of_class
    if signature is not None:
        candidates = [_by_signature(class_name, name, candidates, signature)]
    found = _best_matches(vm, candidates, arguments)
    if not found:
        raise _no_match(vm, class_name, name, candidates, arguments)
    overload, expanded = _most_specific(vm, class_name, name, found, arguments)
    types = _expanded(overload.parameters, len(arguments)) if expanded else overload.parameters
    types = boxes_like(receiver, name, types, arguments)
    made = [
        values.convert(vm, value, wanted) for value, wanted in zip(arguments, types, strict=True)
    ]
    if expanded:
        fixed = len(overload.parameters) - 1
        array = values.new_array(vm, _rest(made, arguments, fixed), overload.parameters[-1])
        made = [*made[:fixed], array]
    return Chosen(overload, made)


def _of_class_object(vm: VM, name: str) -> str:
    """The end of an error about a static method that every class has as an object."""
    found = overloads_of(vm.bootstrap_class("java/lang/Class")).get(name, [])
    if all(one.is_static for one in found):
        return ""
    return f"; as an object of java.lang.Class it has one: cls.class_object.call({name!r}, …)"


def _rest(made: list[Any], arguments: Sequence[Any], fixed: int) -> list[Any]:
    """The elements of the array of a variable number of arguments."""
    return [
        one if isinstance(one, refs.Object) else given
        for one, given in zip(made[fixed:], arguments[fixed:], strict=True)
    ]


def _expanded(parameters: list[str], count: int) -> list[str]:
    """The parameter types of a varargs method for this number of arguments."""
    fixed = len(parameters) - 1
    return [*parameters[:fixed], *[parameters[-1][1:]] * (count - fixed)]


def _by_signature(
    class_name: str, name: str, candidates: list[Overload], signature: str
) -> Overload:
    wanted = signature.strip()
    spelt = [part.strip() for part in wanted.strip("()").split(",") if part.strip()]
    for one in candidates:
        types = parameters_of(one.signature)
        simple = [java.rpartition(".")[2] for java in types]
        if one.signature == wanted or one.signature.startswith(wanted.partition(")")[0] + ")"):
            return one
        if spelt in (types, simple):
            return one
        if one.takes_more and spelt and spelt[-1].endswith("..."):
            if [*spelt[:-1], spelt[-1][:-3] + "[]"] in (types, simple):
                return one
    raise LookupError(
        printable(
            f"{class_name} has no {'constructor' if name == '<init>' else name} with the signature "
            f"{signature!r}; there are {_listed(candidates)}"
        )
    )


def _listed(candidates: Sequence[Overload]) -> str:
    names = [str(one) for one in candidates]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


_Found = list[tuple[Overload, bool]]


def _best_matches(vm: VM, candidates: list[Overload], arguments: Sequence[Any]) -> _Found:
    """The candidates of the first round that has any, and whether they take more arguments."""
    count = len(arguments)
    for expanded in (False, True):
        rounds: dict[Conversion, _Found] = {}
        for one in candidates:
            types = one.parameters
            if expanded:
                if not one.takes_more or count < len(types) - 1:
                    continue
                types = _expanded(types, count)
            if len(types) != count:
                continue
            worst = Conversion.DIRECT
            for value, wanted in zip(arguments, types, strict=True):
                how = conversion_to(vm, value, wanted)
                if how is None:
                    break
                worst = max(worst, how)
            else:
                rounds.setdefault(worst, []).append((one, expanded))
        if rounds:
            return rounds[min(rounds)]
    return []


def _most_specific(
    vm: VM, class_name: str, name: str, found: _Found, arguments: Sequence[Any]
) -> tuple[Overload, bool]:
    if len(found) == 1:
        return found[0]
    count = len(arguments)
    known: dict[str, frozenset[str]] = dict(BUILT_IN)
    for value in arguments:
        if isinstance(value, refs.Object):
            known |= lineage(value.cls)  # type: ignore[attr-defined]
    typed = [
        (_expanded(one.parameters, count) if expanded else one.parameters)
        for one, expanded in found
    ]
    if any(value is None for value in arguments):
        for one, _ in found:
            known |= _lineages(vm, one)

    def at_least(one: list[str], other: list[str]) -> bool:
        return all(_narrower(a, b, known) for a, b in zip(one, other, strict=True))

    pairs = list(zip(found, typed, strict=True))
    # A list is meant as such before it is the array of a variable number of arguments.
    fixed = [pair for pair in pairs if not pair[0][0].takes_more]
    for among in (pairs, fixed):
        best = [one for one, types in among if all(at_least(types, others) for _, others in among)]
        if len(best) == 1:
            return best[0]
    given = ", ".join(values.described(value) for value in arguments)
    raise TypeError(
        printable(
            f"{class_name}.{name}({given}) is ambiguous: {_listed([one for one, _ in found])}; "
            f'signature="{", ".join(parameters_of(found[0][0].signature))}" chooses the first'
        )
    )


def _narrower(one: str, other: str, known: dict[str, frozenset[str]]) -> bool:
    """Whether a type is another, or below it."""
    if one == other:
        return True
    if len(one) == 1:
        # A primitive type is nearer to a number than any class.
        return len(other) > 1 or other in WIDER[one]
    if len(other) == 1:
        return False
    return other == OBJECT or other in known.get(one, ())


def _lineages(vm: VM, one: Overload) -> dict[str, frozenset[str]]:
    """The supertypes of a method's parameter types, as its own class sees them."""
    jni = vm.jni
    owner = one.method.declaring_class
    reflected = jni.to_reflected_method(owner, one.method, one.is_static)
    executable = vm.bootstrap_class("java/lang/reflect/Executable")
    getter = jni.get_method_id(executable, "getParameterTypes", "()[Ljava/lang/Class;")
    types: Any = jni.call_object_method(reflected, getter)
    found: dict[str, frozenset[str]] = {}
    for place in range(jni.get_array_length(types)):
        found |= lineage(jni.get_object_array_element(types, place))
    return found


def _no_match(
    vm: VM, class_name: str, name: str, candidates: list[Overload], arguments: Sequence[Any]
) -> Exception:
    called = class_name if name == "<init>" else f"{class_name}.{name}"
    given = ", ".join(values.described(value) for value in arguments)
    if len(candidates) == 1:
        one = candidates[0]
        types = one.parameters
        if one.takes_more and len(arguments) >= len(types) - 1 and len(types) != len(arguments):
            types = _expanded(types, len(arguments))
        if len(types) == len(arguments):
            for number, (value, wanted) in enumerate(zip(arguments, types, strict=True), 1):
                if conversion_to(vm, value, wanted) is None:
                    return values.refusal(vm, value, wanted, f"argument {number} of {one}")
        takes = quantity(len(types), "argument")
        return TypeError(printable(f"{called}: {one} takes {takes}, not {len(arguments)}"))
    functions = [
        value for value in arguments if callable(value) and not isinstance(value, refs.Object)
    ]
    if functions:
        return values.refusal(vm, functions[0], OBJECT, f"{called}({given})")
    return TypeError(printable(f"no {called} takes ({given}); there are {_listed(candidates)}"))


def name_of_result(signature: str) -> str:
    """The part of JNI function names for methods with this type of result."""
    if signature == "V":
        return "void"
    return values.PRIMITIVE_NAMES.get(signature, "object")


__all__ = ["Chosen", "Overload", "choose", "name_of_result", "overloads_of"]
