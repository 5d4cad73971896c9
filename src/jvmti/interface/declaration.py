"""The decorator that turns an annotated method into the declaration of a JVM TI or JNI function.

``@function(slot=17, phase=LIVE)`` on a method with an annotated signature and an empty body gives
a method that encodes its arguments, sends them to the agent and decodes the reply.  The same
`Declaration` yields the agent's thunk (``native/agent/generate``), the reference page and the
row in the conformance table.
"""

from __future__ import annotations

import enum
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from jvmti.interface.frozen import frozen
from jvmti.text.names import suggestion

P = ParamSpec("P")
R = TypeVar("R")


class Phase(enum.Enum):
    """When a function may be called, in the specification's words."""

    ANY = "any"
    ONLOAD_ONLY = "onloadOnly"
    ONLOAD = "onload"
    START = "start"
    LIVE = "live"


ANY = Phase.ANY
ONLOAD_ONLY = Phase.ONLOAD_ONLY
ONLOAD = Phase.ONLOAD
START = Phase.START
LIVE = Phase.LIVE


class Table(enum.IntEnum):
    """The function table that a slot belongs to; frames carry its number."""

    JVMTI = 0
    JNI = 1
    AGENT = 2


class CallbackOf(enum.Enum):
    """The kind of callback that a declared function takes."""

    EVENT = "event"
    HEAP_WALK = "heap walk"
    AGENT_THREAD = "agent thread"
    JNI_FUNCTIONS = "JNI functions"
    EXTENSION_EVENT = "extension event"


@frozen
class Parameter:
    """One Python parameter of a declared function."""

    name: str
    annotation: Any
    default: Any = inspect.Parameter.empty
    empty: Any = inspect.Parameter.empty


@dataclass(eq=False)
class Declaration:
    """The declaration of one function of an interface."""

    table: Table
    slot: int
    method: Callable[..., Any]
    phase: Phase = Phase.LIVE
    since: str = "1.0"
    callback_safe: bool = False
    capabilities: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    guard: str | None = None
    record: str | None = None
    overridden: bool = False
    callback: CallbackOf | None = None
    runs_java: bool = False
    while_pending: bool = False
    early: bool = False
    c_name: str = ""
    folds: tuple[int, ...] = ()
    codec: Any = field(default=None, repr=False)
    name: str = field(init=False, repr=False)
    """The PEP 8 name, which is the Python method's."""
    number: int = field(init=False, repr=False)
    """The number that names this function in a frame."""

    def __post_init__(self) -> None:
        # Every call reads these two, so they are no properties.
        self.name = self.method.__name__
        self.number = int(self.table) << 12 | self.slot

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters without ``self``, annotations resolved."""
        hints = self._hints
        signature = inspect.signature(self.method)
        return tuple(
            Parameter(name, hints[name], parameter.default)
            for name, parameter in signature.parameters.items()
            if name != "self"
        )

    @cached_property
    def result(self) -> Any:
        """The return annotation, resolved."""
        return self._hints["return"]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        method = inspect.unwrap(self.method)
        return {
            name: _resolved(text, method.__module__)
            for name, text in method.__annotations__.items()
        }


@cache
def _resolved(annotation: str, module: str) -> Any:
    """An annotation that a module has, resolved: declarations share most of them.

    As `typing.get_type_hints` does, which takes twice as long.
    """
    found = eval(annotation, sys.modules[module].__dict__)
    return type(None) if found is None else found


def declarations(interface: type) -> dict[str, Declaration]:
    """All functions declared by ``interface`` and its bases, by name, in slot order.

    Raises:
        ValueError: two of them have the same number, so one would run in place of the other.
    """
    found: dict[str, Declaration] = {}
    names: dict[int, str] = {}
    for name in dir(interface):
        declaration = getattr(getattr(interface, name), "declaration", None)
        if isinstance(declaration, Declaration):
            found[name] = declaration
            if names.setdefault(declaration.slot, name) != name:
                both = f"{names[declaration.slot]} and {name}"
                raise ValueError(f"{both} have the same number, {declaration.slot}")
    return dict(sorted(found.items(), key=lambda item: item[1].slot))


def declared(method: Callable[..., Any]) -> Declaration:
    """The declaration of a declared method."""
    declaration: Declaration = method.declaration  # type: ignore[attr-defined]
    return declaration


def name_of(c_name: str, functions: Mapping[str, Declaration]) -> str:
    """The PEP 8 name of a function, from its name in the specification.

    Raises:
        LookupError: no function has that name; the message suggests similar names.
    """
    for name, declaration in functions.items():
        if declaration.c_name == c_name:
            return name
    near = suggestion(c_name, [declaration.c_name for declaration in functions.values()])
    raise LookupError(f"no function {c_name!r}{near}")


def method_of(declaration: Declaration) -> Callable[..., Any]:
    """The method that callers see: the declared signature, one call to ``self._call``."""
    method = declaration.method
    # `inspect.signature` would know as much, and take a tenth of the time of importing all this.
    code = method.__code__
    names = code.co_varnames[: code.co_argcount]
    made = _calling(len(names) - 1)(declaration)
    made.__code__ = made.__code__.replace(co_name=method.__name__, co_varnames=names)
    made.__name__ = method.__name__
    made.__doc__ = method.__doc__
    made.__qualname__ = method.__qualname__
    made.__module__ = method.__module__
    made.__annotations__ = method.__annotations__
    made.__defaults__ = method.__defaults__
    made.declaration = declaration  # type: ignore[attr-defined]
    return made


@cache
def _calling(count: int) -> Callable[[Declaration], FunctionType]:
    """A factory of methods with this many parameters, compiled once for each count.

    A real signature, and no packing of arguments on the hot path.
    """
    names = "".join(f"_{number}, " for number in range(count))
    scope: dict[str, Any] = {"__name__": __name__}
    exec(
        "def making(declaration):\n"
        f"    def method(self, {names}):\n"
        f"        return self._call(declaration, ({names}))\n"
        "    return method\n",
        scope,
    )
    making: Callable[[Declaration], FunctionType] = scope["making"]
    return making


def c_name_of(name: str) -> str:
    """The specification's spelling of a PEP 8 name where no acronym is involved."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def function(
    slot: int,
    *,
    phase: Phase,
    table: Table = Table.JVMTI,
    since: str = "1.0",
    callback_safe: bool = False,
    capabilities: tuple[str, ...] = (),
    errors: tuple[str, ...] = (),
    guard: str | None = None,
    record: str | None = None,
    overridden: bool = False,
    callback: CallbackOf | None = None,
    runs_java: bool = False,
    c_name: str | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare one function.

    Args:
        slot: its index in the function table.
        phase: when it may be called.
        table: which function table.
        since: the version that introduced it.
        callback_safe: may be called from heap and GC callbacks.
        capabilities: required ones.
        errors: the errors that the specification lists, without ``JVMTI_ERROR_``; leave out those
            that parameter types, phase and capabilities imply.
        guard: a check that the agent runs before the call.
        record: what the agent notes after the call, to undo it when the session ends.
        overridden: an override in the agent replaces the VM's entry.
        callback: the kind of callback that it takes.
        runs_java: it (or the agent on its behalf) may run Java code, load a class or throw on the
            calling thread; the agent refuses it on a thread that still has to leave a popped frame.
        c_name: the specification's spelling, if the name does not imply it.
    """

    def declare(method: Callable[P, R]) -> Callable[P, R]:
        declaration = Declaration(
            table=table,
            slot=slot,
            method=method,
            phase=phase,
            since=since,
            callback_safe=callback_safe,
            capabilities=capabilities,
            errors=errors,
            guard=guard,
            record=record,
            overridden=overridden,
            callback=callback,
            runs_java=runs_java,
            c_name=c_name or c_name_of(method.__name__),
        )
        return typing.cast("Callable[P, R]", method_of(declaration))

    return declare


def jni_function(
    slot: int,
    *,
    since: str = "1.1",
    guard: str | None = None,
    overridden: bool = False,
    runs_java: bool = True,
    while_pending: bool = False,
    early: bool = False,
    folds: tuple[int, ...] = (),
    c_name: str | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare one function of the JNI table.

    Most functions may throw, and making an exception runs Java code; so ``runs_java`` is true
    unless declared otherwise.

    Args:
        slot: its index in the function table.
        since: the version that introduced it.
        guard: as in `function`, like ``overridden``, ``runs_java`` and ``c_name``.
        overridden: an override in the agent replaces the VM's entry.
        runs_java: it may run Java code on the calling thread.
        while_pending: it may be called while an exception is pending; before any other function the
            agent clears the exception that the controller's last call threw.
        early: it may be called before the VM can throw exceptions: it neither throws, runs Java
            code nor loads a class, or its guard makes sure of that.
        folds: the slots of its variadic and ``va_list`` twins, which need no method of their own.
        c_name: the specification's spelling, if the name does not imply it.
    """
    declare = function(
        slot,
        phase=Phase.START,
        table=Table.JNI,
        since=since,
        guard=guard,
        overridden=overridden,
        runs_java=runs_java,
        c_name=c_name,
    )

    def with_jni_rules(method: Callable[P, R]) -> Callable[P, R]:
        made = declare(method)
        declaration = declared(made)
        declaration.while_pending = while_pending
        declaration.early = early
        declaration.folds = folds
        return made

    return with_jni_rules


def operation(number: int, **kind: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare an operation of the agent itself, beside JVM TI and JNI."""
    return function(number, phase=Phase.ANY, table=Table.AGENT, overridden=True, **kind)
