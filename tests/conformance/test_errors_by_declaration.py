"""The errors that follow from the declarations: from phase, capabilities and kinds of parameters.

Each case calls one function with valid arguments apart from what the case is about.  All cases of a
function are one test, which goes on behind a case that fails and names all of those.
"""

from __future__ import annotations

import inspect
import itertools
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from conformance.finding import field_named, kept, loaded_class, method_named, thread_named
from conformance.pairs import errors_of, fact_of
from jvmti.env.interface import FUNCTIONS
from jvmti.env.structures import ClassDefinition
from jvmti.interface import shapes
from jvmti.interface.constants import Event
from jvmti.interface.declaration import Declaration, Phase
from jvmti.interface.errors import NotInThisVersion
from jvmti.refs import (
    Class,
    ClassLoader,
    Field,
    Memory,
    Method,
    Module,
    Object,
    RawMonitor,
    Thread,
    ThreadGroup,
)
from jvmti.wire.channel import Request
from jvmti.wire.protocol import Kind

IN_SCOPE = [declaration for declaration in FUNCTIONS.values() if not declaration.callback]
GARBAGE = (0xDEADBEEF, 1 << 56, 0x7FFF_FFFF_FFFF, (1 << 64) - 8)

Arguments = dict[str, Any]


def with_phase(*phases: Phase) -> list[str]:
    return [declaration.name for declaration in IN_SCOPE if declaration.phase in phases]


def with_error(error: str) -> list[str]:
    return [d.name for d in IN_SCOPE if error in errors_of(d.name)]


def parameters_of_kind(*kinds: str) -> list[tuple[str, str]]:
    """Functions with the Python parameters that the facts give one of these kinds."""
    return [
        (declaration.name, fact["name"])
        for declaration in IN_SCOPE
        for fact in fact_of(declaration.name)["params"]
        if fact["kind"] in kinds
        and fact["name"] in {parameter.name for parameter in declaration.parameters}
    ]


def handle_of(shape: shapes.Shape) -> shapes.Reference | None:
    """The handle that a shape is, or holds."""
    if isinstance(shape, shapes.Reference):
        return shape
    if isinstance(shape, shapes.List):
        return handle_of(shape.item)
    if isinstance(shape, shapes.Structure):
        return next(filter(None, (handle_of(field) for _, field in shape.fields)), None)
    return None


HANDLES = [
    (declaration.name, name)
    for declaration in IN_SCOPE
    for name, shape in shapes.inputs_of(declaration)
    if handle_of(shape) is not None
]

#: Numbers that may not be negative: depths, and those with a minimum.
NEGATIVE = [
    (declaration.name, name)
    for declaration in IN_SCOPE
    for name, shape in shapes.inputs_of(declaration)
    for fact in fact_of(declaration.name)["params"]
    if fact["name"] == name
    and isinstance(shape, shapes.Number)
    and ("min" in fact or fact["kind"] == "jframeID")
]


def expected(error: str) -> type[jvmti.JvmtiError]:
    """The exception class of an error."""
    return next(
        cls for cls in jvmti.errors.ERRORS.values() if cls.CONSTANT == f"JVMTI_ERROR_{error}"
    )


def valid(session: Any, shape: shapes.Shape, handle: Callable[[Any], Any]) -> Any:
    """A value that a parameter of this shape may have; ``handle`` finds those of handles."""
    match shape:
        case shapes.Reference(python, _):
            return handle(python)
        case shapes.List(item, _, _):
            return [1] if isinstance(item, shapes.Number) else [valid(session, item, handle)]
        case shapes.Structure(python, _, fields):
            return python(*[valid(session, field, handle) for _, field in fields])
        case shapes.Text(_):
            return "java/lang"
        case shapes.Bytes(_):
            return b"\xca\xfe\xba\xbe"
        case shapes.CapabilitySet(python):
            return python(0)
        case shapes.Number(_, _, python):
            return 0 if python is None else next(iter(cast("Any", python)))
    return None


class Given:
    """Objects of the Witness that arguments are made of, one of each kind."""

    def __init__(self, vm: jvmti.VM, witness: programs.JavaProgram) -> None:
        self.vm = vm
        self.witness = witness
        env = vm.env
        derived = loaded_class(env, "Witness$Derived")
        self.of_kind: dict[type, Any] = {
            Class: derived,
            Thread: thread_named(env, "deep"),
            ThreadGroup: env.get_thread_info(thread_named(env, "deep")).thread_group,
            ClassLoader: env.get_class_loader(derived),
            Module: env.get_named_module(None, "java/lang"),
            Method: method_named(env, derived, "name"),
            Field: field_named(env, derived, "depth"),
            RawMonitor: env.create_raw_monitor("given"),
            Memory: env.allocate(8),
            Object: kept(vm, "derived"),
        }
        env.set_tag(self.of_kind[Object], 0)
        self._numbers = itertools.count()

    def arguments(self, declaration: Declaration) -> Arguments:
        """Valid arguments for a function."""
        made = {
            name: valid(self.vm._session, shape, self.of_kind.__getitem__)
            for name, shape in shapes.inputs_of(declaration)
        }
        if "event_type" in made:
            single = "event_thread" in made
            made["event_type"] = Event.BREAKPOINT if single else Event.COMPILED_METHOD_LOAD
        if "exception" in made:
            jni = self.vm.jni
            thrown = jni.find_class("java/lang/IllegalStateException")
            made["exception"] = jni.alloc_object(thrown)
        return made

    def dead_thread(self) -> Thread:
        """A thread that has ended."""
        name = f"short-lived-{next(self._numbers)}"
        assert self.witness.ask(f"start {name}") == "ok"
        thread = thread_named(self.vm.env, name)
        assert self.witness.ask(f"end {name}") == "ok"
        return thread

    def stale(self, kind: type) -> int | None:
        """The number of a handle of that kind that is no longer good, where there is a way."""
        env, jni = self.vm.env, self.vm.jni
        if kind is RawMonitor:
            monitor = env.create_raw_monitor("gone")
            env.destroy_raw_monitor(monitor)
            return monitor._handle
        if kind is Memory:
            memory = env.allocate(8)
            env.deallocate(memory)
            return memory._handle
        if kind in (Method, Field):
            return None  # they stay as long as the session
        found: Any
        if kind is Class:
            found = jni.find_class("[[[[Ljava/lang/Runnable;")
        elif kind is Thread:
            found = thread_named(env, "Finalizer")
        elif kind is ThreadGroup:
            found = env.get_thread_info(thread_named(env, "sleeping")).thread_group
        elif kind is ClassLoader:
            found = env.get_class_loader(loaded_class(env, "Witness"))
            of_platform = jni.get_method_id(
                jni.find_class("java/lang/ClassLoader"), "getParent", "()Ljava/lang/ClassLoader;"
            )
            found = jni.call_object_method(found, of_platform)
        elif kind is Module:
            found = env.get_named_module(None, "java/util/logging")
        else:
            found = jni.new_string_utf("stale")
        number: int = found._handle
        found.release()
        env.get_phase()  # carries the release
        return number


@pytest.fixture(scope="module")
def given(vm: jvmti.VM, witness: programs.JavaProgram) -> Given:
    """What arguments are made of."""
    return Given(vm, witness)


@pytest.fixture(scope="module")
def disposed_env(vm: jvmti.VM) -> jvmti.Env:
    """An environment that has been disposed of."""
    made = vm.new_env()
    made.dispose_environment()
    return made


@pytest.fixture(scope="module")
def poor_env(vm: jvmti.VM) -> Iterator[jvmti.Env]:
    """An environment without capabilities, for all cases together."""
    made = vm.new_env()
    yield made
    made.dispose_environment()


def refuses(
    evidence: Evidence, jvm: jvms.Jvm, env: jvmti.Env, name: str, arguments: Arguments, error: str
) -> None:
    """Assert that a function gives an error, and note it.

    Where this VM has no such function, or no such capability, that is what is asserted.
    """
    declaration = FUNCTIONS[name]
    if int(declaration.since.removeprefix("1.")) > jvm.feature:
        with pytest.raises(NotInThisVersion):
            getattr(env, name)(**arguments)
        return
    if error in BEFORE_THE_CAPABILITY or has_capabilities(env, declaration):
        with pytest.raises(expected(error)):
            getattr(env, name)(**arguments)
        evidence.provokes(name, error)
        return
    with pytest.raises(jvmti.JvmtiError) as caught:
        getattr(env, name)(**arguments)
    assert caught.value.name in (error, "MUST_POSSESS_CAPABILITY")


#: What is checked before the capability, or is about it.
BEFORE_THE_CAPABILITY = ("INVALID_ENVIRONMENT", "WRONG_PHASE", "MUST_POSSESS_CAPABILITY")


def has_capabilities(env: jvmti.Env, declaration: Declaration) -> bool:
    """Whether the environment has what a function needs; Zero does not offer all of it."""
    needed = jvmti.Capabilities.of(declaration.capabilities)
    return env.get_capabilities() & needed == needed


def test_a_capability_that_the_vm_does_not_offer_cannot_be_added(
    env: jvmti.Env, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    held = env.get_capabilities()
    for declaration in IN_SCOPE:
        missing = jvmti.Capabilities.of(declaration.capabilities) & ~held
        if int(declaration.since.removeprefix("1.")) > jvm.feature or not missing:
            continue
        with pytest.raises(jvmti.errors.NotAvailable):
            env.add_capabilities(missing)
        evidence.lacks(declaration.name, *(one.name or "" for one in missing))
    if jvm.name != "zero":
        assert not evidence.claims, "HotSpot offers all of them, once reserved"


Check = Callable[..., None]
CASES: list[tuple[Check, Sequence[tuple[str, ...]]]] = []
"""Each thing that can be wrong about a call, with the functions and parameters it is tried on."""


def case(of: Sequence[str | tuple[str, ...]]) -> Callable[[Check], Check]:
    """Let the test of each of these functions do this too."""

    def add(check: Check) -> Check:
        CASES.append((check, [(one,) if isinstance(one, str) else one for one in of]))
        return check

    return add


@case([declaration.name for declaration in IN_SCOPE])
def a_disposed_environment_refuses(
    name: str, given: Given, disposed_env: jvmti.Env, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    arguments = given.arguments(FUNCTIONS[name])
    refuses_disposed = "INVALID_ENVIRONMENT"
    with pytest.raises(expected(refuses_disposed)):
        getattr(disposed_env, name)(**arguments)
    if int(FUNCTIONS[name].since.removeprefix("1.")) <= jvm.feature:
        evidence.provokes(name, refuses_disposed)


@case(with_phase(Phase.LIVE, Phase.START))
def the_onload_phase_is_too_early(
    name: str, held_vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    def nothing_yet(kind: Any) -> Any:
        return kind(held_vm._session, kind.KIND << 56 | 1 << 32)

    arguments = {
        parameter: valid(held_vm._session, shape, nothing_yet)
        for parameter, shape in shapes.inputs_of(FUNCTIONS[name])
    }
    refuses(evidence, jvm, held_vm.env, name, arguments, "WRONG_PHASE")


@case(with_phase(Phase.LIVE, Phase.START))
def the_onload_phase_is_too_early_for_the_current_thread_too(
    name: str, held_vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    inputs = shapes.inputs_of(FUNCTIONS[name])
    if any(isinstance(shape, shapes.Reference) and not shape.nullable for _, shape in inputs):
        return  # cannot be called without a handle

    def nothing(kind: Any) -> Any:
        return None

    arguments = {
        parameter: [] if isinstance(shape, shapes.List) else valid(held_vm._session, shape, nothing)
        for parameter, shape in inputs
    }
    refuses(evidence, jvm, held_vm.env, name, arguments, "WRONG_PHASE")


@case(with_phase(Phase.ONLOAD_ONLY))
def the_live_phase_is_too_late(
    name: str, env: jvmti.Env, given: Given, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    refuses(evidence, jvm, env, name, given.arguments(FUNCTIONS[name]), "WRONG_PHASE")


@case(with_error("MUST_POSSESS_CAPABILITY"))
def without_the_capability(
    name: str, given: Given, poor_env: jvmti.Env, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    arguments = given.arguments(FUNCTIONS[name])
    refuses(evidence, jvm, poor_env, name, arguments, "MUST_POSSESS_CAPABILITY")


@case(HANDLES)
def a_wrong_handle(
    name: str,
    parameter: str,
    env: jvmti.Env,
    vm: jvmti.VM,
    given: Given,
    jvm: jvms.Jvm,
    evidence: Evidence,
) -> None:
    declaration = FUNCTIONS[name]
    shape = dict(shapes.inputs_of(declaration))[parameter]
    reference = handle_of(shape)
    assert reference is not None
    kind = reference.python
    other = given.of_kind[Thread if kind is not Thread else Class]
    numbers = [*GARBAGE, kind.KIND << 56 | 0xFFFF_FFFF]
    if kind is not Object:
        numbers.append(other._handle)
    old = given.stale(kind)
    if old is not None:
        numbers.append(old)
    wrong: list[Any] = [kind(vm._session, number) for number in numbers]
    if issubclass(kind, Object) and kind is not Object:
        wrong.append(vm.jni.new_weak_global_ref(other))
    for handle in wrong:
        arguments = given.arguments(declaration)
        if isinstance(arguments[parameter], list):
            held = arguments[parameter][0]
            one = ClassDefinition(handle, b"") if isinstance(held, ClassDefinition) else handle
            arguments[parameter] = [one]
        else:
            arguments[parameter] = handle
        if reference.answered:
            results = getattr(env, name)(**arguments)
            assert results == [expected(kind.ERROR).CODE]
            evidence.provokes(name, kind.ERROR)
        else:
            refuses(evidence, jvm, env, name, arguments, kind.ERROR)


@case(parameters_of_kind("jfieldID"))
def a_field_of_another_class(
    name: str,
    parameter: str,
    env: jvmti.Env,
    given: Given,
    jvm: jvms.Jvm,
    evidence: Evidence,
) -> None:
    arguments = given.arguments(FUNCTIONS[name])
    everything = loaded_class(env, "Witness$Everything")
    arguments[parameter] = field_named(env, everything, "staticInt")
    refuses(evidence, jvm, env, name, arguments, "INVALID_FIELDID")


@case(with_error("THREAD_NOT_ALIVE"))
def a_thread_that_has_ended(
    name: str, env: jvmti.Env, given: Given, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    arguments = given.arguments(FUNCTIONS[name])
    parameter = "event_thread" if "event_thread" in arguments else "thread"
    arguments[parameter] = given.dead_thread()
    refuses(evidence, jvm, env, name, arguments, "THREAD_NOT_ALIVE")


@case(NEGATIVE)
def a_negative_number(
    name: str, parameter: str, env: jvmti.Env, given: Given, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    arguments = {**given.arguments(FUNCTIONS[name]), parameter: -1}
    # Some frames can be asked for of suspended threads only.
    suspended = arguments["thread"] if parameter == "depth" else None
    if suspended is not None:
        env.suspend_thread(suspended)
    try:
        refuses(evidence, jvm, env, name, arguments, "ILLEGAL_ARGUMENT")
    finally:
        if suspended is not None:
            env.resume_thread(suspended)


@case(parameters_of_kind("jframeID"))
def a_depth_beyond_the_stack(
    name: str, parameter: str, env: jvmti.Env, given: Given, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    arguments = {**given.arguments(FUNCTIONS[name]), parameter: 1000}
    env.suspend_thread(arguments["thread"])
    try:
        refuses(evidence, jvm, env, name, arguments, "NO_MORE_FRAMES")
    finally:
        env.resume_thread(arguments["thread"])


@case(with_error("NATIVE_METHOD"))
def a_native_method(
    name: str, env: jvmti.Env, given: Given, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    arguments = given.arguments(FUNCTIONS[name])
    arguments["method"] = method_named(env, loaded_class(env, "Witness$Everything"), "missing")
    refuses(evidence, jvm, env, name, arguments, "NATIVE_METHOD")


@case(with_error("CLASS_NOT_PREPARED"))
def a_class_that_is_loaded_only(
    name: str,
    env: jvmti.Env,
    witness: programs.JavaProgram,
    jvm: jvms.Jvm,
    evidence: Evidence,
) -> None:
    assert witness.ask("load Untouched") == "Witness$Untouched"
    klass = loaded_class(env, "Witness$Untouched")
    refuses(evidence, jvm, env, name, {"klass": klass}, "CLASS_NOT_PREPARED")


#: Each parameter that holds an enumeration, and the error of a number that is none of it.
ENUMERATIONS = [
    ("set_event_notification_mode", "mode", "ILLEGAL_ARGUMENT"),
    ("set_event_notification_mode", "event_type", "INVALID_EVENT_TYPE"),
    ("generate_events", "event_type", "ILLEGAL_ARGUMENT"),
    ("get_error_name", "error", "ILLEGAL_ARGUMENT"),
    ("set_verbose_flag", "flag", "ILLEGAL_ARGUMENT"),
]


@case(ENUMERATIONS)
def a_number_that_the_enumeration_does_not_have(
    name: str,
    parameter: str,
    error: str,
    env: jvmti.Env,
    given: Given,
    jvm: jvms.Jvm,
    evidence: Evidence,
) -> None:
    for number in (-1, 33, 199, 2**31 - 1):
        arguments = {**given.arguments(FUNCTIONS[name]), parameter: number}
        refuses(evidence, jvm, env, name, arguments, error)


def test_the_number_of_no_event_is_named(env: jvmti.Env) -> None:
    with pytest.raises(jvmti.errors.InvalidEventType, match="72 is the number of no event"):
        env.set_event_notification_mode("ENABLE", 72)  # type: ignore[arg-type]


TEXTS = [
    declaration.name
    for declaration in IN_SCOPE
    for _, shape in shapes.inputs_of(declaration)
    if shape in (shapes.Text(False), shapes.List(shapes.Text(False)))
]


@case(TEXTS)
def text_that_is_null(
    name: str, vm: jvmti.VM, held_vm: jvmti.VM, given: Given, evidence: Evidence
) -> None:
    """Python refuses None itself, so the null is put into the request."""
    declaration = FUNCTIONS[name]
    target = held_vm if declaration.phase is Phase.ONLOAD_ONLY else vm
    session = target._session
    arguments = given.arguments(declaration)
    with pytest.raises(TypeError):
        getattr(target.env, name)(**{**arguments, **dict.fromkeys(arguments)})
    marked = {
        key: "<null>" if value == "java/lang" else ["<null>"] if value == ["java/lang"] else value
        for key, value in arguments.items()
    }
    codec = jvmti.wire.codecs.codec_of(declaration)
    payload = codec.encode(session, tuple(marked.values()))
    null = b"\xff\xff\xff\xff"
    payload = payload.replace((6).to_bytes(4, "little") + b"<null>\0", null)
    assert null in payload
    reply = session.request(Request(Kind.CALL, declaration.number, 1, payload, name))
    assert reply.status == jvmti.errors.ErrorCode.NULL_POINTER
    evidence.provokes(name, "NULL_POINTER")


@pytest.mark.parametrize("name", [declaration.name for declaration in IN_SCOPE])
def test_a_function_refuses_all_that_is_wrong(
    name: str,
    env: jvmti.Env,
    vm: jvmti.VM,
    held_vm: jvmti.VM,
    poor_env: jvmti.Env,
    disposed_env: jvmti.Env,
    given: Given,
    witness: programs.JavaProgram,
    jvm: jvms.Jvm,
    evidence: Evidence,
) -> None:
    at_hand = locals()
    failed = []
    for check, all_parameters in CASES:
        takes = list(inspect.signature(check).parameters)
        for parameters in all_parameters:
            if parameters[0] != name:
                continue
            given_by_name = dict(zip(takes, parameters, strict=False))
            further = {one: at_hand[one] for one in takes[len(parameters) :]}
            try:
                check(**given_by_name, **further)
            except (Exception, pytest.fail.Exception) as error:
                if str(error).startswith("Timeout"):
                    raise
                failed.append(f"{check.__name__}{parameters}:\n{traceback.format_exc(-3)}")
    assert not failed, "\n".join([f"{len(failed)} cases of {name} failed", *failed])
