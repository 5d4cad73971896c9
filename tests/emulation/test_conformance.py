"""The tests of conformance of what is emulated, on JVMs that were attached to late.

Those of a function behind an emulated capability stand here, by their own names. What differs does
so in the way that the engine declares, and docs/emulation.md says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.class_file import Attribute, ClassFile
from conformance.classes import test_class
from conformance.classes.test_method import (
    test_a_class_without_debug_information,
    test_code_and_its_tables,
)
from conformance.threads import test_local_variable
from conformance.threads.test_local_variable import (
    test_a_running_virtual_thread_must_be_suspended_first,
    test_a_static_method_has_no_this,
    test_depths_outside_the_stack_are_refused,
    test_native_frames_have_no_variables_but_this,
    test_slots_where_no_variable_begins_are_refused,
)
from conformance.threads.test_stack_frame import (
    popping,
    test_an_unmounted_virtual_thread_cannot_be_popped,
    test_native_methods_cannot_be_popped,
    test_the_last_frame_cannot_be_popped,
)
from conformance.threads.test_thread import (
    test_a_monitor_entered_through_jni_has_no_frame,
    test_owned_monitors_are_those_that_java_reports,
    test_the_contended_monitor_is_the_one_that_java_reports,
)
from emulation.late import differing

test_variables_are_read = differing(
    test_local_variable.test_variables_are_read_as_the_program_set_them, "get_local_int"
)
test_variables_change = differing(
    test_local_variable.test_changed_variables_are_what_the_program_goes_on_with, "set_local_int"
)
test_narrow_variables = differing(
    test_local_variable.test_a_narrow_variable_takes_no_number_that_its_type_has_not,
    "set_local_int",
)
test_wrong_types = differing(
    test_local_variable.test_wrong_types_are_refused_with_and_without_a_table, "set_local_object"
)
test_impostors = differing(
    test_local_variable.test_an_object_of_a_class_of_that_name_from_another_loader_is_refused,
    "set_local_object",
)
test_the_extension_of_a_class_without_a_file = differing(
    test_class.test_the_source_debug_extension_is_the_attribute_of_the_class_file,
    "get_source_debug_extension",
    raises=jvmti.errors.AbsentInformation,
)
test_this_of_native_methods = differing(
    test_local_variable.test_this_of_a_native_method, "get_local_instance"
)


@pytest.fixture(scope="module")
def stage(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> Iterator[frames.Stage]:
    """The program Frames, attached to late."""
    yield from frames.stage(jvm, shared_java_program, emulate=True)


@pytest.fixture(scope="module")
def classes(java_classes: Any) -> Path:
    """Where the classes of the program Witness are."""
    return Path(java_classes("Witness"))


def test_objects_in_variables_are_those_that_the_program_put_there(
    stage: frames.Stage, evidence: Any
) -> None:
    evidence.proves("get_local_object", "get_local_instance")
    slots = test_local_variable.SLOTS
    actor = stage.act("variables")
    with actor.suspended():
        text: Any = stage.env.get_local_object(actor.thread, 0, slots["text"])
        assert stage.vm.jni.get_string_chars(text) == "text"
        this = stage.env.get_local_instance(actor.thread, 0)
        assert stage.env.get_local_instance(actor.thread, 1) == this
        with pytest.raises(jvmti.errors.OpaqueFrame, match="null"):
            stage.env.get_local_object(actor.thread, 0, slots["nothing"])
        with pytest.raises(jvmti.errors.OpaqueFrame, match="thread of the event"):
            stage.env.get_local_int(actor.thread, 0, slots["i"])
        with pytest.raises(jvmti.errors.TypeMismatch):
            stage.env.get_local_int(actor.thread, 0, slots["text"])
        with pytest.raises(jvmti.errors.OpaqueFrame, match="at a probe"):
            stage.env.set_local_int(actor.thread, 0, slots["i"], 1)
    assert actor.result() == f"returned {test_local_variable.BEFORE}"


def test_the_source_debug_extension_is_that_of_the_loaders_file(
    java_program: programs.JavaPrograms, java_classes: Any, tmp_path: Path, evidence: Any
) -> None:
    evidence.proves("get_source_debug_extension", "get_class_methods")
    text = "SMAP\nPage.java\nJSP\n*E é\n"
    made = ClassFile.parse(java_classes("Idle") / "Idle.class")
    made.replace_text("Idle", "Extended")
    made.attributes.append(Attribute("SourceDebugExtension", text.encode()))
    (tmp_path / "Extended.class").write_bytes(made.to_bytes())
    program = java_program("Witness", jvm_args=[f"-Xbootclasspath/a:{tmp_path}"])
    program.expect("ready", timeout=60)
    assert program.ask("load Extended") == "Extended"
    with jvmti.attach(program.pid, capabilities="all", timeout=30, emulate=True) as vm:
        cls = vm.find_class("Extended")
        vm.jni.get_static_method_id(cls, "main", "([Ljava/lang/String;)V")  # prepares it
        assert vm.env.get_source_debug_extension(cls) == text
        with vm.breakpoint("Extended", "main"):
            assert vm.env.get_source_debug_extension(cls) == text  # also while it has our probes
        names = [vm.env.get_method_name(one).name for one in vm.env.get_class_methods(cls)]
        assert names == [one.name for one in made.methods]
        for other in ("Witness", "java.lang.String", "int[]"):
            with pytest.raises(jvmti.errors.AbsentInformation):
                vm.env.get_source_debug_extension(vm.find_class(other))
        (tmp_path / "Extended.class").write_bytes(b"no class file")
        with pytest.raises(jvmti.errors.AbsentInformation):
            vm.env.get_source_debug_extension(cls)
        assert len(vm.env.get_class_methods(cls)) == len(names)


__all__ = [
    "popping",
    "test_a_class_without_debug_information",
    "test_a_monitor_entered_through_jni_has_no_frame",
    "test_a_running_virtual_thread_must_be_suspended_first",
    "test_a_static_method_has_no_this",
    "test_an_unmounted_virtual_thread_cannot_be_popped",
    "test_code_and_its_tables",
    "test_depths_outside_the_stack_are_refused",
    "test_native_methods_cannot_be_popped",
    "test_native_frames_have_no_variables_but_this",
    "test_owned_monitors_are_those_that_java_reports",
    "test_slots_where_no_variable_begins_are_refused",
    "test_the_contended_monitor_is_the_one_that_java_reports",
    "test_the_last_frame_cannot_be_popped",
]
