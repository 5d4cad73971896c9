"""The chapter "Method", against javap and reflection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import jvmti
import programs
from conformance import javap
from conformance.class_file import ClassFile
from conformance.evidence import Evidence
from conformance.finding import loaded_class, method_named
from jvmti.env.structures import LocalVariableEntry
from jvmti.refs import Class, Method

NAMES = ["Everything", "Shapes", "Generic", "Locals"]
NATIVE, ABSTRACT = 0x0100, 0x0400


@pytest.fixture(scope="module")
def classes(java_classes: Callable[..., Path]) -> Path:
    """The directory of the Witness's class files."""
    return java_classes("Witness")


def both(
    env: jvmti.Env, jdk: Path, classes: Path, name: str
) -> tuple[Class, list[tuple[Method, javap.Method]]]:
    """A class, and each of its methods with what javap prints of it."""
    cls = loaded_class(env, f"Witness${name}")
    printed = javap.read(jdk, classes / f"Witness${name}.class").methods
    return cls, list(zip(env.get_class_methods(cls), printed, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_names_and_modifiers(
    name: str, env: jvmti.Env, jdk: Path, classes: Path, evidence: Evidence
) -> None:
    evidence.proves(
        "get_method_name",
        "get_method_modifiers",
        "get_method_declaring_class",
        "is_method_native",
        "is_method_synthetic",
    )
    cls, methods = both(env, jdk, classes, name)
    for method, printed in methods:
        found = env.get_method_name(method)
        assert (found.name, found.signature) == (printed.name, printed.descriptor)
        assert found.generic == printed.generic
        assert env.get_method_modifiers(method) == printed.flags
        assert env.get_method_declaring_class(method) == cls
        assert env.is_method_native(method) == bool(printed.flags & NATIVE)
        assert env.is_method_synthetic(method) == bool(printed.flags & 0x1000)


def test_reflection_agrees_on_which_methods_are_synthetic(
    env: jvmti.Env, witness: programs.JavaProgram
) -> None:
    for name in NAMES:
        cls = loaded_class(env, f"Witness${name}")
        synthetic = sorted(
            env.get_method_name(method).name
            for method in env.get_class_methods(cls)
            if env.is_method_synthetic(method)
        )
        assert synthetic == witness.ask(f"synthetic {name}").split()


@pytest.mark.parametrize("name", NAMES)
def test_code_and_its_tables(
    name: str, env: jvmti.Env, jdk: Path, classes: Path, evidence: Evidence
) -> None:
    evidence.proves(
        "get_max_locals",
        "get_arguments_size",
        "get_bytecodes",
        "get_method_location",
        "get_line_number_table",
        "get_local_variable_table",
    )
    parsed = ClassFile.parse(classes / f"Witness${name}.class")
    _, methods = both(env, jdk, classes, name)
    for (method, printed), member in zip(methods, parsed.methods, strict=True):
        if printed.flags & (NATIVE | ABSTRACT):
            continue
        assert env.get_max_locals(method) == printed.locals
        assert env.get_arguments_size(method) == printed.arguments
        code = env.get_bytecodes(method)
        assert code == member.code
        assert tuple(env.get_method_location(method)) == (0, len(code) - 1)
        lines = [(one.start_location, one.line_number) for one in env.get_line_number_table(method)]
        assert lines == printed.lines
        variables = [
            (one.start_location, one.length, one.slot, one.name, one.signature)
            for one in variables_of(env, method)
        ]
        assert sorted(variables) == sorted(printed.variables)


def variables_of(env: jvmti.Env, method: Method) -> list[LocalVariableEntry]:
    """The local variable table, empty where the method has no variables."""
    try:
        return env.get_local_variable_table(method)
    except jvmti.errors.AbsentInformation:
        return []


def test_the_locations_of_instructions_are_those_of_javap(
    env: jvmti.Env, jdk: Path, classes: Path
) -> None:
    """A breakpoint can be set exactly where javap prints an instruction."""
    _, methods = both(env, jdk, classes, "Shapes")
    method, printed = next(pair for pair in methods if pair[1].name == "table")
    starts = {at for at, _ in printed.instructions}
    for location in range(len(env.get_bytecodes(method))):
        if location in starts:
            env.set_breakpoint(method, location)
            env.clear_breakpoint(method, location)
        else:
            with pytest.raises(jvmti.errors.InvalidLocation):
                env.set_breakpoint(method, location)


@pytest.mark.parametrize("function", ["get_line_number_table", "get_local_variable_table"])
def test_a_class_without_debug_information(
    function: str,
    vm: jvmti.VM,
    env: jvmti.Env,
    java_classes: Callable[..., Path],
    evidence: Evidence,
) -> None:
    evidence.provokes(function, "ABSENT_INFORMATION")
    made = ClassFile.parse(java_classes("Idle", debug=False) / "Idle.class")
    made.replace_text("Idle", function)
    vm.jni.define_class(function, None, made.to_bytes())
    method = method_named(env, vm.jni.find_class(function), "main")
    with pytest.raises(jvmti.errors.AbsentInformation):
        getattr(env, function)(method)


@pytest.mark.parametrize("function", ["set_native_method_prefix", "set_native_method_prefixes"])
def test_a_native_method_is_found_under_its_prefix(
    function: str,
    vm: jvmti.VM,
    env: jvmti.Env,
    witness: programs.JavaProgram,
    evidence: Evidence,
) -> None:
    """The name without the prefix is registered, and the method with the prefix gets it."""
    evidence.proves(function)
    several = function.endswith("es")
    assert witness.ask("initialize Prefixed") == "Witness$Prefixed"
    prefixed = loaded_class(env, "Witness$Prefixed")

    def register() -> None:
        vm.jni.register_natives(prefixed, ["answer"], ["()I"], ["getpid"])

    with pytest.raises(jvmti.JavaException, match="NoSuchMethodError"):
        register()
    if several:
        env.set_native_method_prefixes(["wrapped_", "never_"])
    else:
        env.set_native_method_prefix("wrapped_")
    try:
        register()
        assert int(witness.ask("answer")) == witness.pid
        vm.jni.unregister_natives(prefixed)
    finally:
        if several:
            env.set_native_method_prefixes([])
        else:
            env.set_native_method_prefix(None)
    with pytest.raises(jvmti.JavaException, match="NoSuchMethodError"):
        register()
