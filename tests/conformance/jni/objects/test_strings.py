"""JNI's chapter of strings: UTF-16 and modified UTF-8, both ways."""

from __future__ import annotations

from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import Recorder, unescaped

errors = jvmti.errors

TEXTS = {
    "empty": "",
    "ascii": "plain text",
    "latin": "é ÿ \x80",
    "zero": "a\0b\0",
    "cyrillic": "Жук",
    "last of the plane": "\uffff\ud7ff\ue000",
    "supplementary": "😀 \U0010ffff\U00010000",
    "lone surrogates": "\ud800 \udfff \udc00",
    "low before high": "\udc00\ud800",
    "everything": "a\0é€😀\udc00",
}


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def modified_utf8_length(text: str) -> int:
    """By the specification's table: one, two or three bytes for each UTF-16 unit."""
    data = text.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]
    return sum(1 if 0 < unit < 0x80 else 2 if unit < 0x800 else 3 for unit in units)


@pytest.fixture(scope="module")
def recorder(vm: jvmti.VM, witness: programs.JavaProgram) -> Recorder:
    """A Java object with a field for text."""
    return Recorder(vm, witness)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_reaches_java_and_comes_back(
    text: str, vm: jvmti.VM, recorder: Recorder, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    evidence.proves(
        "jni.new_string",
        "jni.new_string_utf",
        "jni.get_string_length",
        "jni.get_string_chars",
        "jni.get_string_utf_chars",
        "jni.get_string_utf_length",
        "jni.get_string_critical",
    )
    jni = vm.jni
    field = recorder.field("text", "Ljava/lang/String;")
    for make in (jni.new_string, jni.new_string_utf):
        string = make(text)
        jni.set_object_field(recorder.object, field, string)
        seen = unescaped(recorder.witness.ask("get recorder text"))
        units = text.encode("utf-16-le", "surrogatepass")
        assert seen.encode("utf-16-le", "surrogatepass") == units
        assert jni.get_string_length(string) == utf16_units(text)
        assert jni.get_string_chars(string) == text
        assert jni.get_string_critical(string) == text
        assert jni.get_string_utf_chars(string) == text
        assert jni.get_string_utf_length(string) == modified_utf8_length(text)
        if jvm.feature >= 24:
            evidence.proves("jni.get_string_utf_length_as_long")
            assert jni.get_string_utf_length_as_long(string) == modified_utf8_length(text)
    jni.set_object_field(recorder.object, field, None)


def test_a_part_of_a_string_is_read(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.proves("jni.get_string_region", "jni.get_string_utf_region")
    jni = vm.jni
    string = jni.new_string("ab😀\0Ж")
    for read in (jni.get_string_region, jni.get_string_utf_region):
        assert read(string, 0, 6) == "ab😀\0Ж"
        assert read(string, 1, 3) == "b😀"
        assert read(string, 2, 1) == "\ud83d"
        assert read(string, 3, 2) == "\ude00\0"
        assert read(string, 5, 1) == "Ж"
        assert read(string, 6, 0) == ""
        assert read(string, 0, 0) == ""


@pytest.mark.parametrize("range_", [(-1, 1), (0, 7), (7, 0), (3, -1), (2**31 - 1, 2**31 - 1)])
def test_a_range_outside_of_the_string_throws(
    range_: tuple[int, int], vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.provokes("jni.get_string_region", "JAVA_EXCEPTION")
    evidence.provokes("jni.get_string_utf_region", "JAVA_EXCEPTION")
    string = vm.jni.new_string("six ch")
    for read in (vm.jni.get_string_region, vm.jni.get_string_utf_region):
        with pytest.raises(jvmti.JavaException, match="StringIndexOutOfBoundsException"):
            read(string, *range_)


def test_a_long_string_comes_whole(vm: jvmti.VM) -> None:
    text = "0123456789abcdeЖ" * 250_000
    string = vm.jni.new_string(text)
    assert vm.jni.get_string_length(string) == len(text)
    assert vm.jni.get_string_chars(string) == text
    assert vm.jni.get_string_utf_chars(string) == text
    assert vm.jni.get_string_region(string, 3_999_990, 10) == text[-10:]


def test_a_string_that_no_constructor_ran_on_is_empty(vm: jvmti.VM) -> None:
    jni = vm.jni
    string: Any = jni.alloc_object(jni.find_class("java/lang/String"))
    assert jni.get_string_length(string) == 0
    assert jni.get_string_chars(string) == ""
    assert jni.get_string_utf_chars(string) == ""
    assert jni.get_string_critical(string) == ""
    assert jni.get_string_region(string, 0, 0) == ""
    assert jni.get_string_utf_region(string, 0, 0) == ""


def test_only_strings_are_strings(vm: jvmti.VM, evidence: Evidence) -> None:
    jni = vm.jni
    string: Any = jni.new_string("given up")
    weak: Any = jni.new_weak_global_ref(jni.find_class("java/lang/String"))
    jni.delete_local_ref(string)
    for name in (
        "get_string_length",
        "get_string_chars",
        "get_string_utf_length",
        "get_string_utf_chars",
        "get_string_critical",
    ):
        evidence.provokes(f"jni.{name}", "INVALID_OBJECT")
        read = getattr(jni, name)
        with pytest.raises(errors.InvalidObject):
            read(string)
        with pytest.raises(errors.InvalidObject, match="not a live String"):
            read(weak)
        with pytest.raises(errors.InvalidObject, match="string must be a String, not Class"):
            read(jni.find_class("java/lang/String"))


def test_only_text_is_made_a_string(vm: jvmti.VM) -> None:
    wrong: Any
    for wrong in (b"bytes", 1, None, ["a"]):
        for make in (vm.jni.new_string, vm.jni.new_string_utf):
            with pytest.raises(TypeError, match="must be str, not"):
                make(wrong)


def test_an_old_vm_says_that_it_lacks_the_long_length(
    vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    if jvm.feature >= 24:
        pytest.skip("this VM has it")
    evidence.provokes("jni.get_string_utf_length_as_long", "NOT_IN_THIS_VERSION")
    with pytest.raises(errors.NotInThisVersion, match="version 24"):
        vm.jni.get_string_utf_length_as_long(vm.jni.new_string("x"))
