"""The declarations against the specification's facts in ``tests/specification``.

The C signature of every function is derived twice: from the facts' own vocabulary of parameter
kinds, and from the Python annotations.  The two derivations share no code.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import pytest

import jvmti.env
import jvmti.jni
from jvmti.env.callbacks import CALLBACKS, InOut, TagCell
from jvmti.env.events import EVENTS
from jvmti.env.structures import STRUCTURES, FunctionPointer, Structure
from jvmti.interface import capabilities, constants, errors
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.constants import Constant, Event, Flags
from jvmti.interface.declaration import Declaration, Table, declarations, operation
from jvmti.interface.types import (
    UTF16,
    ArrayBeforeCount,
    Blob,
    CallerBuffer,
    CapabilityBits,
    CountField,
    CountIs,
    DeclaredBy,
    Elements,
    InliningRecords,
    JValue,
    MethodArguments,
    ModifiedUTF8,
    Native,
    Primitive,
    ResultPerItem,
    SameCount,
    Stored,
    TypeCharacter,
)
from jvmti.refs import Handle

SPECIFICATION = Path(__file__).parents[1] / "specification"
FACTS = json.loads((SPECIFICATION / "jvmti.json").read_text())
JNI_FACTS = json.loads((SPECIFICATION / "jni.json").read_text())


# What was declared


def declared(package: types.ModuleType) -> dict[int, Declaration]:
    """All functions that the modules of a package declare, by slot; twice the same is an error."""
    found: dict[int, Declaration] = {}
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        for cls in vars(module).values():
            if not (isinstance(cls, type) and cls.__name__.endswith("Functions")):
                continue
            if cls.__module__ != module.__name__:
                continue
            for attribute in vars(cls).values():
                declaration = getattr(attribute, "declaration", None)
                if isinstance(declaration, Declaration):
                    assert declaration.slot not in found, f"slot {declaration.slot} twice"
                    found[declaration.slot] = declaration
    return found


FUNCTIONS = declared(jvmti.env)
JNI_FUNCTIONS = declared(jvmti.jni)


# C types from the facts


def in_c(name: str) -> str:
    return {"uchar": "unsigned char"}.get(name, name)


KINDS = {
    "outptr": "{}*",
    "outbuf": "{}*",
    "allocbuf": "{}**",
    "allocallocbuf": "{}***",
    "agentbuf": "{}**",
    "inbuf": "const {}*",
    "inptr": "const {}*",
    "vmbuf": "const {}*",
    "allocfieldbuf": "{}*",
    "enum": "{}",
    "ptrtype": "{}",
    "struct": "{}",
}
OUTPUTS = {"outptr", "outbuf", "allocbuf", "allocallocbuf", "agentbuf"}

# Pointers that go in, though their kinds are those of results.
INPUTS = {("Deallocate", "mem"), ("SetNativeMethodPrefixes", "prefixes")}

# Counts that the facts do not connect with what they count.
COUNTS = {("SetNativeMethodPrefixes", "prefix_count"), ("SetEventCallbacks", "size_of_callbacks")}


def fact_type(parameter: dict[str, Any]) -> str:
    kind = parameter["kind"]
    if kind == "jframeID":
        return "jint"
    return KINDS[kind].format(in_c(parameter["type"])) if kind in KINDS else str(kind)


def in_signature(parameter: dict[str, Any]) -> bool:
    """Whether the C function has it: a method's class is documented, but not passed."""
    return parameter["kind"] != "varargs" and not (
        parameter["kind"] == "jclass" and "method" in parameter
    )


def fact_inputs(fact: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        parameter
        for parameter in fact["params"]
        if in_signature(parameter)
        and (parameter["kind"] not in OUTPUTS or (fact["name"], parameter["name"]) in INPUTS)
    ]


def fact_outputs(fact: dict[str, Any]) -> list[dict[str, Any]]:
    inputs = fact_inputs(fact)
    return [
        parameter
        for parameter in fact["params"]
        if in_signature(parameter) and parameter not in inputs
    ]


def python_name(name: str) -> str:
    return name[: -len("_ptr")] if name.endswith("_ptr") else name


# C types from the annotations


def without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [item for item in get_args(annotation) if item is not type(None)]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def nullable(annotation: Any) -> bool:
    return annotation is not without_none(annotation)


def taken_apart(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Find the bare type and all its markers, be they inside ``X | None`` or around it."""
    markers: tuple[Any, ...] = ()
    while True:
        if get_origin(annotation) is Annotated:
            markers = (*markers, *annotation.__metadata__)
            annotation = get_args(annotation)[0]
        elif any(isinstance(marker, CapabilityBits) for marker in markers):
            return Capabilities, markers  # flags, or names instead of them
        elif nullable(annotation):
            annotation = without_none(annotation)
        elif (named := constant_or_its_name(annotation)) is not None:
            annotation = named
        else:
            return annotation, markers


def constant_or_its_name(annotation: Any) -> Any:
    """The enumeration of which a parameter takes a constant or the name of one."""
    options = [option for option in get_args(annotation) if option is not str]
    if len(options) != 1 or str not in get_args(annotation) or not isinstance(options[0], type):
        return None
    return options[0] if issubclass(options[0], Constant | Flags) else None


def marked(annotation: Any, kind: type) -> Any:
    return next((item for item in taken_apart(annotation)[1] if isinstance(item, kind)), None)


def is_structure(bare: Any) -> bool:
    return isinstance(bare, type) and issubclass(bare, Structure)


def value_type(annotation: Any) -> str:
    """Name the C type of one value, as it stands in an array or behind a pointer."""
    bare, markers = taken_apart(annotation)
    for marker in markers:
        if isinstance(marker, Primitive | FunctionPointer):
            return marker.c
        if isinstance(marker, ModifiedUTF8):
            return "char*"
        if isinstance(marker, Stored | Native):
            return "void*"
        if isinstance(marker, JValue):
            return "jvalue"
        if isinstance(marker, TypeCharacter):
            return "char"
    if is_structure(bare):
        return str(bare.__c_struct__)
    if issubclass(bare, Constant | Flags | Capabilities):
        return str(bare.__c_type__)
    if issubclass(bare, Handle):
        assert bare.C_TYPE, f"{bare} stands for no C type"
        return str(bare.C_TYPE)
    raise AssertionError(f"no C type for {annotation}")


def input_types(annotation: Any) -> list[str]:
    """List the C parameters that an input becomes."""
    bare, markers = taken_apart(annotation)
    origin = get_origin(bare)
    if origin is collections.abc.Sequence and not any(
        isinstance(marker, MethodArguments) for marker in markers
    ):
        (item,) = get_args(bare)
        c = value_type(item)
        return ["jint", f"{c}*" if c == "char*" else f"const {c}*"]
    if origin is collections.abc.Callable:
        return ["callback"]
    if bare is Capabilities or is_structure(bare):
        return [f"const {value_type(annotation)}*"]
    c = value_type(annotation)
    return [f"const {c}" if c in ("char*", "void*") else c]


def output_types(annotation: Any) -> list[str]:
    """List the C parameters that a result becomes."""
    bare, markers = taken_apart(annotation)
    if bare is type(None):
        return []
    if isinstance(bare, type) and issubclass(bare, tuple):
        hints = typing.get_type_hints(bare, include_extras=True)
        return [c for name in bare._fields for c in output_types(hints[name])]  # type: ignore[attr-defined]
    if any(isinstance(marker, Blob) for marker in markers):
        return ["jint*", "unsigned char**"]
    if get_origin(bare) is list:
        item = value_type(get_args(bare)[0])
        layouts = {
            CallerBuffer: [f"{item}*", "jint*"],
            ArrayBeforeCount: [f"{item}**", "jint*"],
            CountIs: [f"{item}**"],
            ResultPerItem: [f"{item}*"],
            SameCount: [f"{item}**"],
            DeclaredBy: ["jint*", f"{item}**"],
        }
        for marker in markers:
            if type(marker) in layouts:
                return layouts[type(marker)]
        return ["jint*", f"{item}**"]
    return [f"{value_type(annotation)}*"]


# Constants, errors and capabilities


def constant_classes() -> dict[str, Any]:
    return {
        str(cls.__group__): cls
        for cls in vars(constants).values()
        if isinstance(cls, type)
        and issubclass(cls, Constant | Flags)
        and getattr(cls, "__group__", None)
    }


def evaluated(text: str) -> int:
    values = {
        item["name"]: item["value"]
        for group in FACTS["constants"].values()
        for item in group["constants"]
    }
    total = 0
    for part in str(text).split("|"):
        part = part.strip()
        total |= evaluated(values[part]) if part in values else int(part, 0)
    return total


def test_every_group_of_constants_is_declared() -> None:
    assert set(constant_classes()) == set(FACTS["constants"])


@pytest.mark.parametrize("group", FACTS["constants"])
def test_constants(group: str) -> None:
    cls = constant_classes()[group]
    fact = FACTS["constants"][group]
    assert {cls.__prefix__ + name: int(item) for name, item in cls.__members__.items()} == {
        item["name"]: evaluated(item["value"]) for item in fact["constants"]
    }
    assert cls.__c_type__ == (group if fact["kind"] == "enum" else "jint")
    if group == "jvmtiVersionShifts":  # distances, not bits
        assert issubclass(cls, Constant)
    else:
        assert issubclass(cls, Flags if fact["kind"] == "bits" else Constant)


def test_event_numbers() -> None:
    assert {Event.__prefix__ + name: int(item) for name, item in Event.__members__.items()} == {
        fact["constant"]: fact["number"] for fact in FACTS["events"]
    }
    assert Event.__c_type__ == "jvmtiEvent"


def test_java_thread_states_follow_from_the_bits() -> None:
    alive = constants.ThreadState.ALIVE
    state = constants.JavaLangThreadState
    assert state.of(alive | constants.ThreadState.RUNNABLE) is state.RUNNABLE
    assert state.of(0) is state.NEW
    sleeping = 0x40 | alive | constants.ThreadState.WAITING
    assert state.of(sleeping | constants.ThreadState.WAITING_WITH_TIMEOUT) is state.TIMED_WAITING


def test_error_codes() -> None:
    expected = {fact["name"]: fact["code"] for fact in FACTS["errors"]}
    code = errors.ErrorCode
    assert {code.__prefix__ + name: int(item) for name, item in code.__members__.items()} == (
        expected
    )
    assert code.__c_type__ == "jvmtiError"
    assert {cls.CONSTANT: cls.CODE for cls in errors.ERRORS.values()} == {
        name: number for name, number in expected.items() if number
    }


@pytest.mark.parametrize("code", sorted(errors.ERRORS))
def test_every_error_has_its_class_and_helps(code: int) -> None:
    error = errors.error_for(code, "get_thread_state")
    cls = type(error)
    assert cls is errors.ERRORS[code]
    assert cls.__name__.upper() == cls.CONSTANT[len("JVMTI_ERROR_") :].replace("_", "")
    assert cls.__name__ in errors.__all__
    assert (error.code, error.function) == (code, "get_thread_state")
    assert str(error).startswith("get_thread_state: ")
    assert len(error.detail) > 20
    assert cls.__doc__


def test_an_unknown_error_code_is_an_error_all_the_same() -> None:
    error = errors.error_for(4711)
    assert type(error) is errors.JvmtiError
    assert error.code == 4711
    assert "4711" in str(error)


def test_capabilities() -> None:
    assert {name: int(item) for name, item in Capabilities.__members__.items()} == {
        fact["name"]: 1 << fact["bit"] for fact in FACTS["capabilities"]
    }
    assert len(capabilities.ONLOAD_ONLY) == 18
    assert "can_suspend" in capabilities.SOLO


def test_capabilities_from_names() -> None:
    wanted = Capabilities.of({"can_suspend"}, "can_tag_objects", Capabilities.can_pop_frame)
    assert wanted.names() == {"can_suspend", "can_tag_objects", "can_pop_frame"}
    assert list(wanted) == [
        Capabilities.can_tag_objects,
        Capabilities.can_pop_frame,
        Capabilities.can_suspend,
    ]
    with pytest.raises(ValueError, match="'can_suspnd'; did you mean 'can_suspend'"):
        Capabilities.of("can_suspnd")
    with pytest.raises(TypeError):
        Capabilities.of(7)  # type: ignore[arg-type]


# Structures, events and callbacks


def test_every_structure_is_declared() -> None:
    # The structure of jvmticmlr.h is not among the facts.
    assert set(STRUCTURES) - {"PCStackInfo"} == set(FACTS["structs"])


@pytest.mark.parametrize("name", FACTS["structs"])
def test_structure(name: str) -> None:
    cls: Any = STRUCTURES[name]
    fact = FACTS["structs"][name]
    assert cls.__name__ == name[len("jvmti") :]
    assert cls.__union__ == fact["union"]
    hints = typing.get_type_hints(cls, include_extras=True)
    members = {member["name"]: member for member in fact["fields"]}
    counts = {count.member for hint in hints.values() if (count := marked(hint, CountField))}
    assert all(members[count]["kind"] == "jint" for count in counts)
    declared_fields = [field.name for field in dataclasses.fields(cls)]
    assert declared_fields == [member for member in members if member not in counts]
    for field in declared_fields:
        bare, markers = taken_apart(hints[field])
        if members[field]["kind"] == "struct":
            suffix = "Reserved" if field == "other" else field.title().replace("_", "")
            assert bare.__c_struct__ == name + suffix
        else:
            expected = fact_type(members[field]).replace("const ", "")
            if any(isinstance(marker, Blob) for marker in markers):
                assert expected == "unsigned char*"
            elif get_origin(bare) is list:
                assert expected == value_type(get_args(bare)[0]) + "*"
            elif members[field]["kind"] == "jint":
                assert value_type(hints[field]) == "jint"
            else:
                assert expected == value_type(hints[field])
        counted = members[field].get("outcount")
        if counted:
            assert marked(hints[field], CountField).member == counted


def test_every_event_is_declared() -> None:
    assert list(EVENTS) == sorted(fact["number"] for fact in FACTS["events"])


@pytest.mark.parametrize("fact", FACTS["events"], ids=lambda fact: fact["name"])
def test_event(fact: dict[str, Any]) -> None:
    event = EVENTS[fact["number"]].declaration
    assert event.name == fact["name"]
    assert event.constant.__prefix__ + event.constant.name == fact["constant"]
    assert event.phase.value == fact["phase"]
    assert event.since == fact["since"]
    assert event.thread_filtered == fact["thread_filtered"]
    assert list(event.capabilities) == fact["capabilities"]
    assert list(event.related_capabilities) == fact["related_capabilities"]
    parameters = [parameter for parameter in fact["params"] if in_signature(parameter)]
    assert event.jni_env == any(parameter["name"] == "jni_env" for parameter in parameters)

    got: list[tuple[str, str]] = []
    for parameter in event.parameters:
        bare, markers = taken_apart(parameter.annotation)
        count = marked(parameter.annotation, CountField)
        if any(isinstance(marker, Blob) for marker in markers):
            c = "unsigned char*"
        elif any(isinstance(marker, InliningRecords) for marker in markers):
            c = "void*"
        elif get_origin(bare) is list:
            c = value_type(get_args(bare)[0]) + "*"
        else:
            c = value_type(parameter.annotation)
        pointer = "*" if parameter.name in event.answers else ""
        if count:
            got.append((count.member, "jint" + pointer))
        got.append((parameter.name, c + pointer))
    assert got == [
        (python_name(parameter["name"]), fact_type(parameter).replace("const ", ""))
        for parameter in parameters
        if parameter["name"] != "jni_env"
    ]


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: str(event.__name__))
def test_only_the_handlers_answers_have_defaults(event: Any) -> None:
    for field in dataclasses.fields(event):
        assert (field.default is None) == (field.name in event.declaration.answers)


@pytest.mark.parametrize("name", FACTS["callbacks"])
def test_callback(name: str) -> None:
    fact = FACTS["callbacks"][name]
    cls = CALLBACKS[name]
    assert cls.__name__ == name[len("jvmti") :]
    assert cls.__since__ == fact["since"]
    call: Any = cls.__call__
    hints = typing.get_type_hints(call, include_extras=True)
    got: list[tuple[str, str]] = []
    for parameter in list(inspect.signature(call).parameters.values())[1:]:
        annotation = hints[parameter.name]
        bare, markers = taken_apart(annotation)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            got.append(("...", "varargs"))
        elif any(isinstance(marker, UTF16) for marker in markers):
            got += [(parameter.name, "jchar*"), (f"{parameter.name}_length", "jint")]
        elif elements := marked(annotation, Elements):
            assert elements.length == "element_count"
            got.append((parameter.name, elements.c + "*"))
        elif cell := marked(annotation, InOut):
            assert bare is TagCell
            got.append((parameter.name, cell.c + "*"))
        else:
            pointer = "*" if is_structure(bare) else ""
            got.append((parameter.name, value_type(annotation) + pointer))
    assert got == [
        (
            python_name(parameter["name"]),
            parameter["kind"]
            if parameter["kind"] == "varargs"
            else fact_type(parameter).replace("const ", ""),
        )
        for parameter in fact["params"]
        if parameter["name"] not in ("jvmti_env", "jni_env", "user_data")
    ]
    result = hints["return"]
    if fact["returns"] == "void":
        assert result is type(None)
    elif fact["returns"] == "jint":
        assert result.__c_type__ == "jint"
    else:
        assert result.__c_type__ in ("jvmtiIterationControl", "jvmtiError")


def test_every_callback_is_declared() -> None:
    assert set(CALLBACKS) == set(FACTS["callbacks"])


# The functions of JVM TI

# These exchange whole function tables, which Python sees in its own way.
TABLES = {"SetEventCallbacks", "SetJNIFunctionTable", "GetJNIFunctionTable"}


def test_every_function_is_declared() -> None:
    assert sorted(FUNCTIONS) == sorted(fact["slot"] for fact in FACTS["functions"])


@pytest.mark.parametrize("fact", FACTS["functions"], ids=lambda fact: fact["name"])
def test_function(fact: dict[str, Any]) -> None:
    declaration = FUNCTIONS[fact["slot"]]
    assert declaration.table is Table.JVMTI
    assert declaration.c_name == fact["name"]
    assert declaration.name.replace("_", "") == fact["name"].lower()
    assert declaration.since == fact["since"]
    assert declaration.phase.value == fact["phase"]
    assert declaration.callback_safe == fact["callback_safe"]
    assert list(declaration.capabilities) == fact["capabilities"]
    assert set(declaration.errors) == {error[len("JVMTI_ERROR_") :] for error in fact["errors"]}
    assert f"JVM TI: {fact['name']}." in (declaration.method.__doc__ or "")


@pytest.mark.parametrize("fact", FACTS["functions"], ids=lambda fact: fact["name"])
def test_function_parameters(fact: dict[str, Any]) -> None:
    declaration = FUNCTIONS[fact["slot"]]
    inputs = fact_inputs(fact)
    counts = {parameter.get("incount") for parameter in inputs}
    counts |= {name for function, name in COUNTS if function == fact["name"]}
    names = [
        python_name(parameter["name"]) for parameter in inputs if parameter["name"] not in counts
    ]
    assert [parameter.name for parameter in declaration.parameters] == names
    if fact["name"] in TABLES:
        return
    got = [c for parameter in declaration.parameters for c in input_types(parameter.annotation)]
    got += output_types(declaration.result)
    expected = []
    for parameter in inputs + fact_outputs(fact):
        pointer_to_function = parameter.get("type") in FACTS["callbacks"]
        expected.append("callback" if pointer_to_function else fact_type(parameter))
    assert got == expected


@pytest.mark.parametrize("fact", FACTS["functions"], ids=lambda fact: fact["name"])
def test_what_may_be_null_may_be_none(fact: dict[str, Any]) -> None:
    facts = {python_name(parameter["name"]): parameter for parameter in fact_inputs(fact)}
    for parameter in FUNCTIONS[fact["slot"]].parameters:
        bare, _ = taken_apart(parameter.annotation)
        may_be_null = facts[parameter.name].get("null_ok") or facts[parameter.name].get("null")
        if bare is Any or get_origin(bare) is collections.abc.Sequence:
            continue  # any object; an empty sequence
        if may_be_null:
            assert nullable(parameter.annotation), parameter.name


# The functions of JNI

# Buffers become whole values, and names of native functions stand for their addresses: there, the
# agent has its own implementation, and the shape in Python differs from that in C.
SHAPED = re.compile(
    r"(Get|Release)\w+ArrayElements|[GS]et\w+ArrayRegion|GetString(UTF)?(Chars|Region)|"
    r"(Get|Release)(String|PrimitiveArray)Critical|RegisterNatives|NewDirectByteBuffer"
)


def jni_type(text: str, *, parameter: bool) -> str:
    if parameter:
        text = re.sub(r"\w+$", "", text)
    text = re.sub(r"\s*\*", "*", text.strip())
    return {"jsize": "jint"}.get(text, text)


def jni_input_types(annotation: Any) -> list[str]:
    _, markers = taken_apart(annotation)
    for marker in markers:
        if isinstance(marker, MethodArguments):
            return ["const jvalue*"]
        if isinstance(marker, UTF16):
            return ["const jchar*", "jint"]
        if isinstance(marker, Blob):
            assert marker.buffer_first
            return ["const jbyte*", "jint"]
    return input_types(annotation)


def covered() -> dict[int, str]:
    """How each slot of the JNI table is covered."""
    excluded = importlib.import_module("jvmti.jni.interface").EXCLUDED
    slots = {fact["name"]: fact["slot"] for fact in JNI_FACTS["functions"]}
    assert {name: one.slot for name, one in excluded.items()}.items() <= slots.items()
    how = [(slot, "method") for slot in JNI_FUNCTIONS]
    how += [(slot, "folded") for item in JNI_FUNCTIONS.values() for slot in item.folds]
    how += [(slots[name], "excluded") for name in excluded]
    assert len(dict(how)) == len(how), "a slot is covered twice"
    return dict(how)


def test_every_jni_slot_is_covered() -> None:
    assert sorted(covered()) == [fact["slot"] for fact in JNI_FACTS["functions"]]


def test_few_jni_functions_are_excluded_and_with_reasons() -> None:
    excluded = importlib.import_module("jvmti.jni.interface").EXCLUDED
    assert len(excluded) < 10
    assert all(one.reason.endswith(".") for one in excluded.values())


@pytest.mark.parametrize("fact", JNI_FACTS["functions"], ids=lambda fact: fact["name"])
def test_jni_function(fact: dict[str, Any]) -> None:
    how = covered()[fact["slot"]]
    if how == "folded":
        (declaration,) = [item for item in JNI_FUNCTIONS.values() if fact["slot"] in item.folds]
        assert fact["name"] in (declaration.c_name[:-1], declaration.c_name[:-1] + "V")
        assert fact["params"][-1] in ("...", "va_list args")
        return
    if how == "excluded":
        return
    declaration = JNI_FUNCTIONS[fact["slot"]]
    assert declaration.table is Table.JNI
    assert declaration.c_name == fact["name"]
    twinned = "A" if declaration.folds else ""
    assert declaration.name.replace("_", "") + twinned.lower() == fact["name"].lower()
    assert f"JNI: {fact['name']}." in (declaration.method.__doc__ or "")
    if SHAPED.fullmatch(fact["name"]):
        assert declaration.overridden
        return
    got = [c for item in declaration.parameters for c in jni_input_types(item.annotation)]
    assert got == [jni_type(item, parameter=True) for item in fact["params"][1:]]
    result = declaration.result
    c = "void" if result is type(None) else value_type(result)
    assert c == jni_type(fact["returns"], parameter=False)


def test_two_operations_with_one_number_are_refused() -> None:
    class Operations:
        @operation(7)
        def first(self) -> None: ...

        @operation(7)
        def second(self) -> None: ...

    with pytest.raises(ValueError, match="first and second have the same number, 7"):
        declarations(Operations)
