"""Agents that change the code of others: instrument, run, restore."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

import compiler
import jvms
import jvmti
import programs
from conformance.class_file import ClassFile
from conformance.evidence import Evidence
from events.seen import Code
from jvmti.target.agent_library import library_for_executable


def call_first(made: ClassFile, method: str, klass: str, name: str) -> None:
    """Have a method without branches call another one before anything else."""
    made.pool.append((12, struct.pack(">HH", made.index(name), made.index("()V"))))
    name_and_type = len(made.pool)
    made.pool.append((10, struct.pack(">HH", made.class_index(klass), name_and_type)))
    target = next(
        at + 1
        for at, entry in enumerate(made.pool)
        if entry == (10, struct.pack(">HH", made.class_index(klass), name_and_type))
    )
    attribute = next(one for one in made.method(method).attributes if one.name == "Code")
    stack, slots, length = struct.unpack_from(">HHI", attribute.data)
    code = b"\xb8" + struct.pack(">H", target) + attribute.data[8 : 8 + length]
    # Without lines and variables, whose places have moved.
    attribute.data = struct.pack(">HHI", stack, slots, len(code)) + code + b"\0\0\0\0"


@pytest.fixture
def own_program(java_program: programs.JavaPrograms, jvm: jvms.Jvm) -> programs.JavaProgram:
    """A program of the test's own, because what is done to it stays."""
    library = library_for_executable(jvm.java)
    program = java_program(
        "Events", jvm_args=[f"-agentpath:{library}=reserve", "-XX:+StartAttachListener"]
    )
    program.expect("ready", timeout=60)
    return program


@pytest.fixture
def helper_jar(tmp_path: Path) -> Path:
    """The class Helper in a jar."""
    jar = tmp_path / "helper.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.write(compiler.classes("Helper") / "Helper.class", "Helper.class")
    return jar


def test_a_class_is_instrumented_runs_and_is_restored(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    env = vm.env
    changing = vm.jni.find_class("Events$Changing")

    def instrument(event: Any) -> bytes | None:
        if event.class_being_redefined != changing:
            return None
        made = ClassFile.parse(event.class_data)
        call_first(made, "version", "Events", "hit")
        return made.to_bytes()

    program.ask("counted")
    with env.on("ClassFileLoadHook", instrument):
        env.retransform_classes([changing])
        for _ in range(7):
            assert program.ask("version") == "version one"
        assert program.ask("counted") == "7"
    # Without the hook, retransforming brings the class back as it was.
    env.retransform_classes([changing])
    assert program.ask("version") == "version one"
    assert program.ask("counted") == "0"
    assert vm.handler_errors == []


def test_a_class_of_the_platform_calls_a_helper_of_the_boot_loader(
    own_program: programs.JavaProgram, helper_jar: Path, evidence: Evidence
) -> None:
    evidence.proves("add_to_bootstrap_class_loader_search", "retransform_classes")
    with jvmti.attach(own_program.pid, capabilities="all", timeout=30) as vm:
        env = vm.env
        assert own_program.ask("find Helper") == "error java.lang.ClassNotFoundException: Helper"
        env.add_to_bootstrap_class_loader_search(str(helper_jar))
        assert own_program.ask("find Helper") == "Helper boot"
        assert own_program.ask("summary 1") == "0"
        statistics = vm.jni.find_class("java/util/IntSummaryStatistics")

        def instrument(event: Any) -> bytes | None:
            # What the VM loads besides while it redefines is not what is being redefined.
            if event.class_being_redefined is None:
                return None
            assert event.class_being_redefined == statistics
            assert event.name == "java/util/IntSummaryStatistics"
            made = ClassFile.parse(event.class_data)
            call_first(made, "getCount", "Helper", "hit")
            return made.to_bytes()

        with env.on("ClassFileLoadHook", instrument):
            env.retransform_classes([statistics])
        assert own_program.ask("summary 9") == "0"
        helper = vm.jni.find_class("Helper")
        hits = vm.jni.get_static_field_id(helper, "hits", "I")
        assert vm.jni.get_static_int_field(helper, hits) == 9
        assert vm.handler_errors == []


def test_a_class_is_added_to_the_path_of_the_program(
    own_program: programs.JavaProgram, helper_jar: Path, evidence: Evidence
) -> None:
    evidence.proves("add_to_system_class_loader_search")
    with jvmti.attach(own_program.pid, capabilities="all", timeout=30) as vm:
        loaded: list[str] = []
        with vm.env.on("ClassLoad", lambda event: loaded.append(event.klass.name)):
            vm.env.add_to_system_class_loader_search(str(helper_jar))
            assert own_program.ask("find Helper") == "Helper app"
        assert "Helper" in loaded


def test_a_module_is_opened_to_the_instrumented_program(
    own_program: programs.JavaProgram, evidence: Evidence
) -> None:
    """By the handler of an event, before the program asks for it; Java is the witness."""
    evidence.proves(
        "add_module_reads", "add_module_exports", "add_module_opens", "add_module_uses",
        "add_module_provides", "get_named_module",
    )  # fmt: skip
    with jvmti.attach(own_program.pid, capabilities="all", timeout=30) as vm:
        env = vm.env
        code = Code(vm, "Events")
        base = env.get_named_module(None, "java/lang")
        package = "jdk.internal.misc"
        assert own_program.ask(f"access java.base {package}") == "false false"
        assert own_program.ask("reads java.base java.logging") == "false"
        assert own_program.ask("uses java.logging java.lang.Runnable") == "false"

        def widen(event: Any) -> None:
            mine = vm.jni.get_module(code.cls)
            env.add_module_exports(base, package, mine)
            if own_program.lines[-1].startswith("true"):
                env.add_module_opens(base, package, mine)

        env.set_breakpoint(code["access"], 0)
        with env.on("Breakpoint", widen):
            assert own_program.ask(f"access java.base {package}") == "true false"
            assert own_program.ask(f"access java.base {package}") == "true true"
        logging = env.get_named_module(None, "java/util/logging")
        env.add_module_reads(base, logging)
        assert own_program.ask("reads java.base java.logging") == "true"
        runnable = vm.jni.find_class("java/lang/Runnable")
        env.add_module_uses(logging, runnable)
        assert own_program.ask("uses java.logging java.lang.Runnable") == "true"
        env.add_module_provides(base, runnable, vm.jni.find_class("java/lang/Thread"))
        assert vm.handler_errors == []


def test_the_file_of_every_class_survives_being_taken_apart_on_its_way(
    own_program: programs.JavaProgram, evidence: Evidence
) -> None:
    """An agent that takes every class apart and puts it together again changes nothing."""
    with jvmti.attach(own_program.pid, capabilities="all", timeout=30) as vm:
        names: list[str | None] = []

        def copy(event: Any) -> bytes:
            names.append(event.name)
            return ClassFile.parse(event.class_data).to_bytes()

        with vm.env.on("ClassFileLoadHook", copy):
            assert own_program.ask("load") == "loaded first"
            assert own_program.ask("variables").endswith("text,-31")
            assert own_program.ask("contend holder wanting") == "held entered"
        assert "Events$Loaded" in names
        assert vm.handler_errors == []
