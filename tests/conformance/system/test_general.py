"""The chapter "General": phases, versions, environments and their storage."""

from __future__ import annotations

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from conformance.pairs import FACTS
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.constants import JlocationFormat, VerboseFlag, VMPhase
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS

SUSPEND = Capabilities.can_suspend


def test_phase_is_live_in_a_running_program(
    env: jvmti.Env, held_vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.proves("get_phase")
    assert env.get_phase() is VMPhase.LIVE
    assert held_vm.env.get_phase() is VMPhase.ONLOAD


def test_version_number_is_the_release_of_java(
    env: jvmti.Env, jvm: jvms.Jvm, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_version_number")
    assert env.get_version_number() >> 16 & 0xFFF == jvm.feature == int(witness.ask("version"))


def test_a_disposed_environment_refuses_calls(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.proves("dispose_environment")
    evidence.provokes("get_phase", "INVALID_ENVIRONMENT")
    disposed = vm.new_env()
    disposed.dispose_environment()
    with pytest.raises(jvmti.errors.InvalidEnvironment):
        disposed.get_phase()


def test_disposing_of_an_environment_gives_its_solo_capabilities_up(
    env: jvmti.Env, vm: jvmti.VM
) -> None:
    env.relinquish_capabilities(SUSPEND)
    holder = vm.new_env()
    holder.add_capabilities(SUSPEND)
    with pytest.raises(jvmti.errors.NotAvailable):
        env.add_capabilities(SUSPEND)
    holder.dispose_environment()
    env.add_capabilities(SUSPEND)


@pytest.mark.parametrize("held", [False, True])
def test_an_environment_keeps_any_python_object(
    held: bool, vm: jvmti.VM, held_vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.proves("get_environment_local_storage", "set_environment_local_storage")
    target = held_vm if held else vm
    one, other = target.new_env(), target.new_env()
    value = {"any": ["object"]}
    assert one.get_environment_local_storage() is None
    one.set_environment_local_storage(value)
    assert one.get_environment_local_storage() is value
    assert other.get_environment_local_storage() is None
    one.set_environment_local_storage(None)
    assert one.get_environment_local_storage() is None
    for env in (one, other):
        env.dispose_environment()


def test_errors_have_the_names_of_the_specification(
    env: jvmti.Env, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    evidence.proves("get_error_name")
    for fact in FACTS["errors"]:
        if fact["name"] == "JVMTI_ERROR_UNSUPPORTED_OPERATION" and jvm.feature < 21:
            continue  # it came with virtual threads
        assert env.get_error_name(fact["code"]) == fact["name"]


@pytest.mark.parametrize("number", [1, 9, 114, 500])
def test_a_number_that_is_no_error(number: int, env: jvmti.Env, evidence: Evidence) -> None:
    evidence.provokes("get_error_name", "ILLEGAL_ARGUMENT")
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.get_error_name(number)  # type: ignore[arg-type]


def test_verbose_output_of_classes_shows_in_javas_own_setting(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("set_verbose_flag")
    assert witness.ask("verbose-class") == "false"
    env.set_verbose_flag(VerboseFlag.CLASS, True)
    try:
        witness.send("verbose-class")
        witness.expect("true")  # what the VM reports now comes in between
    finally:
        env.set_verbose_flag(VerboseFlag.CLASS, False)
    witness.send("verbose-class")
    witness.expect("false")
    for flag in (VerboseFlag.GC, VerboseFlag.JNI, VerboseFlag.OTHER):
        env.set_verbose_flag(flag, False)


def test_a_location_is_an_index_into_the_bytecodes(env: jvmti.Env, evidence: Evidence) -> None:
    """That it is one is shown by breakpoints, which go exactly where javap sees instructions."""
    evidence.proves("get_jlocation_format")
    assert env.get_jlocation_format() is JlocationFormat.JVMBCI


def test_functions_are_found_by_their_names_in_the_specification(
    vm: jvmti.VM, env: jvmti.Env
) -> None:
    assert env.function("GetJLocationFormat")() is env.get_jlocation_format()
    assert vm.jni.function("GetVersion")() == vm.jni.get_version()
    for table, functions in ((env, FUNCTIONS), (vm.jni, JNI_FUNCTIONS)):
        for name, declaration in functions.items():
            assert table.function(declaration.c_name) == getattr(table, name)
    with pytest.raises(LookupError, match=r"no function 'GetJlocationFormat'.*GetJLocationFormat"):
        env.function("GetJlocationFormat")
