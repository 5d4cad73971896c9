"""The chapter "Module": what modules there are, and widening what they may do."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.finding import loaded_class
from jvmti.refs import Module


def name_of(vm: jvmti.VM, module: Module) -> str | None:
    """A module's name, by its own method."""
    jni: Any = vm.jni
    get_name = jni.get_method_id(jni.get_object_class(module), "getName", "()Ljava/lang/String;")
    name = jni.call_object_method(module, get_name)
    return None if name is None else jni.get_string_chars(name)


def named(env: jvmti.Env, package: str) -> Module:
    module = env.get_named_module(None, package)
    assert module is not None
    return module


@pytest.fixture
def base(env: jvmti.Env) -> Module:
    """java.base"""
    return named(env, "java/lang")


@pytest.fixture
def logging(env: jvmti.Env) -> Module:
    """java.logging, which does not read java.management."""
    return named(env, "java/util/logging")


@pytest.fixture
def management(env: jvmti.Env) -> Module:
    """java.management"""
    return named(env, "java/lang/management")


@pytest.fixture
def unnamed(vm: jvmti.VM, env: jvmti.Env) -> Module:
    """The unnamed module of the Witness."""
    jni: Any = vm.jni
    witness = loaded_class(env, "Witness")
    get = jni.get_method_id(jni.get_object_class(witness), "getModule", "()Ljava/lang/Module;")
    return jni.call_object_method(witness, get)  # type: ignore[no-any-return]


def test_all_modules_are_those_of_the_boot_layer_and_unnamed_ones(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_all_modules")
    names = [name_of(vm, module) for module in env.get_all_modules()]
    in_layer = set(witness.ask("modules").split())
    dynamic = {name for name in names if name and name.startswith("jdk.proxy")}
    assert set(filter(None, names)) - dynamic == in_layer
    assert None in names


def test_a_package_leads_to_its_module(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_named_module")
    for package, witnessed in (
        ("java/util", "java.util.List"),
        ("java/util/logging", "java.util.logging.Logger"),
    ):
        assert name_of(vm, named(env, package)) == witness.ask(f"module {witnessed}")
    loader = env.get_class_loader(loaded_class(env, "Witness"))
    assert env.get_named_module(loader, "java/lang") is None
    assert env.get_named_module(None, "no/such") is None


def test_a_class_loader_that_is_none(
    vm: jvmti.VM, env: jvmti.Env, base: Module, evidence: Evidence
) -> None:
    evidence.provokes("get_named_module", "ILLEGAL_ARGUMENT")
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.get_named_module(vm.jni.new_weak_global_ref(base), "java/lang")  # type: ignore[arg-type]


def test_a_module_reads_another_after_it_was_added(
    env: jvmti.Env,
    witness: programs.JavaProgram,
    logging: Module,
    management: Module,
    evidence: Evidence,
) -> None:
    evidence.proves("add_module_reads")
    assert witness.ask("reads java.logging java.management") == "false"
    env.add_module_reads(logging, management)
    assert witness.ask("reads java.logging java.management") == "true"


def test_a_package_is_exported_and_opened_to_one_module(
    env: jvmti.Env,
    witness: programs.JavaProgram,
    base: Module,
    unnamed: Module,
    management: Module,
    evidence: Evidence,
) -> None:
    evidence.proves("add_module_exports", "add_module_opens")
    package = "sun.nio.ch"
    exported, opened = f"exports java.base {package} ", f"opens java.base {package} "
    assert witness.ask(f"{exported}java.logging") == "false"
    env.add_module_exports(base, package, named(env, "java/util/logging"))
    assert witness.ask(f"{exported}java.logging") == "true"
    assert witness.ask(f"{opened}java.logging") == "false"
    env.add_module_opens(base, package, unnamed)
    assert witness.ask(f"{opened}unnamed") == "true"
    assert witness.ask(f"{opened}java.logging") == "false"


def test_a_module_uses_and_provides_a_service(
    vm: jvmti.VM,
    env: jvmti.Env,
    witness: programs.JavaProgram,
    base: Module,
    logging: Module,
    evidence: Evidence,
) -> None:
    evidence.proves("add_module_uses", "add_module_provides")
    service = vm.jni.find_class("java/lang/Runnable")
    assert witness.ask("can-use java.logging java.lang.Runnable") == "false"
    env.add_module_uses(logging, service)
    assert witness.ask("can-use java.logging java.lang.Runnable") == "true"
    assert witness.ask("providers java.lang.Runnable") == ""
    env.add_module_provides(base, service, vm.jni.find_class("java/lang/Thread"))
    assert witness.ask("providers java.lang.Runnable") == "java.lang.Thread"


@pytest.mark.parametrize("function", ["add_module_exports", "add_module_opens"])
def test_a_package_that_the_module_does_not_have(
    function: str, env: jvmti.Env, base: Module, unnamed: Module, evidence: Evidence
) -> None:
    evidence.provokes(function, "ILLEGAL_ARGUMENT")
    with pytest.raises(jvmti.errors.IllegalArgument):
        getattr(env, function)(base, "no.such.package", unnamed)


def test_every_module_is_modifiable(
    env: jvmti.Env,
    base: Module,
    unnamed: Module,
    management: Module,
    witness: programs.JavaProgram,
    evidence: Evidence,
) -> None:
    """What can be modified has just been modified, java.base included."""
    evidence.proves("is_modifiable_module")
    assert all(env.is_modifiable_module(module) for module in (base, unnamed, management))
    env.add_module_reads(base, management)
    assert witness.ask("reads java.base java.management") == "true"
