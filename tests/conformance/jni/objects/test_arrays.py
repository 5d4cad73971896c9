"""JNI's chapter of arrays: eight primitive types and references, as NumPy arrays both ways."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import TYPES, Recorder
from jvmti.interface.constants import ReleaseMode

errors = jvmti.errors

DTYPES = {
    "boolean": "?",
    "byte": "i1",
    "char": "u2",
    "short": "i2",
    "int": "i4",
    "long": "i8",
    "float": "f4",
    "double": "f8",
}
MADE_BY_JAVA: dict[str, list[Any]] = {
    "boolean": [True, False, True],
    "byte": [1, -2, 127, -128],
    "char": [97, 0x20AC, 0xFFFF],
    "short": [1, -2, -32768],
    "int": [1, -2, -(2**31)],
    "long": [1, -2, -(2**63)],
    "float": [1.5, -0.0, math.nan, 3.4028234663852886e38],
    "double": [1.5, -0.0, -math.inf, math.ldexp(1, -1074)],
}
WRITTEN: dict[str, tuple[list[Any], str]] = {
    "boolean": ([False, True, True, False], "[false, true, true, false]"),
    "byte": ([-128, 0, 127, 5], "[-128, 0, 127, 5]"),
    "char": ([0, 0xFFFF, 0x416, 65], "[0, 65535, 1046, 65]"),
    "short": ([-32768, 0, 32767, 5], "[-32768, 0, 32767, 5]"),
    "int": ([-(2**31), 0, 2**31 - 1, 5], "[-2147483648, 0, 2147483647, 5]"),
    "long": (
        [-(2**63), 0, 2**63 - 1, 5],
        "[-9223372036854775808, 0, 9223372036854775807, 5]",
    ),
    "float": ([0.5, -0.0, math.inf, math.nan], "[0.5, -0.0, Infinity, NaN]"),
    "double": ([1e300, -0.0, -math.inf, math.nan], "[1.0E300, -0.0, -Infinity, NaN]"),
}


@pytest.fixture(scope="module")
def recorder(vm: jvmti.VM, witness: programs.JavaProgram) -> Recorder:
    """A Java object with an array of every type."""
    return Recorder(vm, witness)


@pytest.mark.parametrize("name", TYPES)
def test_elements_that_java_wrote_are_read(
    name: str, vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves(
        f"jni.get_{name}_array_elements",
        f"jni.get_{name}_array_region",
        "jni.get_array_length",
        "jni.get_primitive_array_critical",
    )
    jni = vm.jni
    wanted = numpy.array(MADE_BY_JAVA[name], DTYPES[name])
    array = recorder.element(f"{name}s", f"[{TYPES[name]}")
    assert jni.get_array_length(array) == len(wanted)
    elements = getattr(jni, f"get_{name}_array_elements")(array)
    assert elements.dtype == wanted.dtype
    assert elements.tobytes() == wanted.tobytes()
    assert elements.flags.writeable
    region = getattr(jni, f"get_{name}_array_region")(array, 1, 2)
    assert region.tobytes() == wanted[1:3].tobytes()
    assert getattr(jni, f"get_{name}_array_region")(array, len(wanted), 0).size == 0
    assert jni.get_primitive_array_critical(array) == wanted.tobytes()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("way", ["set", "release", "critical"])
def test_elements_that_python_wrote_are_in_java(
    name: str, way: str, vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    jni = vm.jni
    written, printed = WRITTEN[name]
    array = getattr(jni, f"new_{name}_array")(len(written))
    field = recorder.field(f"{name}s", f"[{TYPES[name]}")
    before = jni.get_object_field(recorder.object, field)
    jni.set_object_field(recorder.object, field, array)
    values = numpy.array(written, DTYPES[name])
    zeros = numpy.zeros(len(written), DTYPES[name])
    assert jni.get_primitive_array_critical(array) == zeros.tobytes()
    try:
        if way == "set":
            evidence.proves(f"jni.new_{name}_array", f"jni.set_{name}_array_region")
            set_region = getattr(jni, f"set_{name}_array_region")
            set_region(array, 0, written[:2])
            set_region(array, 2, values[2:])
            set_region(array, 4, [])
        elif way == "release":
            evidence.proves(f"jni.release_{name}_array_elements")
            release = getattr(jni, f"release_{name}_array_elements")
            release(array, values, ReleaseMode.ABORT)
            assert jni.get_primitive_array_critical(array) == zeros.tobytes()
            release(array, values)
            release(array, values, ReleaseMode.COMMIT)
        else:
            evidence.proves("jni.release_primitive_array_critical")
            jni.release_primitive_array_critical(array, values.tobytes(), ReleaseMode.ABORT)
            assert jni.get_primitive_array_critical(array) == zeros.tobytes()
            jni.release_primitive_array_critical(array, values.tobytes())
        assert printed in recorder.answer("arrays")
    finally:
        jni.set_object_field(recorder.object, field, before)


def test_an_array_of_references_is_made_read_and_written(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves(
        "jni.new_object_array", "jni.get_object_array_element", "jni.set_object_array_element"
    )
    jni = vm.jni
    string = jni.find_class("java/lang/String")
    first, other = jni.new_string("first"), jni.new_string("other")
    array = jni.new_object_array(3, string, first)
    jni.set_object_array_element(array, 1, other)
    jni.set_object_array_element(array, 2, None)
    assert jni.get_object_array_element(array, 0) is first
    assert jni.get_object_array_element(array, 1) is other
    assert jni.get_object_array_element(array, 2) is None
    field = recorder.field("strings", "[Ljava/lang/String;")
    jni.set_object_field(recorder.object, field, array)
    printed = recorder.witness.ask("get recorder strings")
    assert printed == r"[first,\u0020other,\u0020null]"
    made_by_java = recorder.element("objects", "[Ljava/lang/Object;")
    text: Any = jni.get_object_array_element(made_by_java, 0)
    assert jni.get_string_chars(text) == "first"
    assert jni.get_object_array_element(made_by_java, 1) is None
    assert jni.get_array_length(jni.new_object_array(0, string)) == 0


@pytest.mark.oldest_and_newest  # how requests are split; the VM copies arrays of any length
def test_twenty_million_numbers_come_in_one_go(vm: jvmti.VM, recorder: Recorder) -> None:
    jni = vm.jni
    count = 20_000_000
    field = recorder.field("ints", "[I")
    before = jni.get_object_field(recorder.object, field)
    array = jni.new_int_array(count)
    jni.set_object_field(recorder.object, field, array)
    numbers = numpy.arange(count, dtype="i4") - 7
    try:
        with pytest.raises(ValueError, match="a request takes at most .* in parts"):
            jni.set_int_array_region(array, 0, numbers)
        for start in range(0, count, count // 2):
            jni.set_int_array_region(array, start, numbers[start : start + count // 2])
        expected = int(numbers.sum(dtype="i8"))
        assert recorder.answer("sumOfInts", timeout=100) == f"{count}:{expected}"
        assert numpy.array_equal(jni.get_int_array_elements(array), numbers)
    finally:
        jni.set_object_field(recorder.object, field, before)


# ---- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize("name", TYPES)
def test_a_range_outside_of_the_array_throws(name: str, vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.provokes(f"jni.get_{name}_array_region", "JAVA_EXCEPTION")
    evidence.provokes(f"jni.set_{name}_array_region", "JAVA_EXCEPTION")
    array = getattr(vm.jni, f"new_{name}_array")(4)
    read = getattr(vm.jni, f"get_{name}_array_region")
    write = getattr(vm.jni, f"set_{name}_array_region")
    values = numpy.ones(5, DTYPES[name])
    outside = "ArrayIndexOutOfBoundsException"
    for start, length in ((-1, 1), (0, 5), (5, 0), (2, -1), (2**31 - 1, 2**31 - 1)):
        with pytest.raises(jvmti.JavaException, match=outside):
            read(array, start, length)
    for start, length in ((-1, 1), (0, 5), (5, 0), (2**31 - 1, 5)):
        with pytest.raises(jvmti.JavaException, match=outside):
            write(array, start, values[:length])
    assert not getattr(vm.jni, f"get_{name}_array_elements")(array).any()


@pytest.mark.parametrize("name", TYPES)
def test_an_array_of_another_kind_is_refused(name: str, vm: jvmti.VM, evidence: Evidence) -> None:
    jni = vm.jni
    other = jni.new_long_array(1) if name != "long" else jni.new_int_array(1)
    strings = jni.new_object_array(1, jni.find_class("java/lang/String"))
    weak: Any = jni.new_weak_global_ref(other)
    gone = getattr(jni, f"new_{name}_array")(1)
    jni.delete_local_ref(gone)
    values = numpy.zeros(1, DTYPES[name])
    calls: dict[str, tuple[Any, ...]] = {
        f"get_{name}_array_elements": (),
        f"release_{name}_array_elements": (values,),
        f"get_{name}_array_region": (0, 1),
        f"set_{name}_array_region": (0, values),
    }
    kind = f"a {name.capitalize()}Array" if name != "int" else "an IntArray"
    for function, arguments in calls.items():
        evidence.provokes(f"jni.{function}", "INVALID_OBJECT")
        call = getattr(jni, function)
        for wrong in (other, strings, jni.new_string("no array"), None):
            error = TypeError if wrong is None else errors.InvalidObject
            with pytest.raises(error, match=f"array must be {kind}"):
                call(wrong, *arguments)
        with pytest.raises(errors.InvalidObject):
            call(weak, *arguments)
        with pytest.raises(errors.InvalidObject):
            call(gone, *arguments)


@pytest.mark.parametrize("name", TYPES)
def test_elements_of_another_kind_or_number_are_refused(
    name: str, vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.provokes(f"jni.release_{name}_array_elements", "ILLEGAL_ARGUMENT")
    array = getattr(vm.jni, f"new_{name}_array")(2)
    write = getattr(vm.jni, f"set_{name}_array_region")
    release = getattr(vm.jni, f"release_{name}_array_elements")
    for length in (0, 1, 3):
        with pytest.raises(errors.IllegalArgument, match="not those of the array"):
            release(array, numpy.zeros(length, DTYPES[name]))
    with pytest.raises(errors.IllegalArgument, match="no release mode 7"):
        release(array, numpy.zeros(2, DTYPES[name]), 7)
    with pytest.raises(ValueError, match="one dimension"):
        write(array, 0, numpy.zeros((2, 1), DTYPES[name]))
    for wrong in (["a", "b"], [None, None], numpy.zeros(2, "c16"), numpy.zeros(2, "M8[s]")):
        with pytest.raises(TypeError, match="must hold"):
            write(array, 0, wrong)
    if name not in ("float", "double"):
        with pytest.raises(TypeError, match="must hold"):
            write(array, 0, [0.5, 1.0])
    if name not in ("boolean", "float", "double"):
        info = numpy.iinfo(DTYPES[name])
        for number in (int(info.max) + 1, int(info.min) - 1, 2**80):
            with pytest.raises(OverflowError, match="does not fit"):
                write(array, 0, [0, number])
    assert not getattr(vm.jni, f"get_{name}_array_elements")(array).any()


@pytest.mark.parametrize("name", TYPES)
def test_an_impossible_length_throws(name: str, vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.provokes(f"jni.new_{name}_array", "JAVA_EXCEPTION")
    make = getattr(vm.jni, f"new_{name}_array")
    with pytest.raises(jvmti.JavaException, match="NegativeArraySizeException"):
        make(-1)
    with pytest.raises(jvmti.JavaException, match="OutOfMemoryError"):
        make(2**31 - 1)


def test_what_an_array_of_references_cannot_hold_is_refused(
    vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.provokes("jni.new_object_array", "INVALID_CLASS", "TYPE_MISMATCH", "JAVA_EXCEPTION")
    evidence.provokes("jni.set_object_array_element", "JAVA_EXCEPTION")
    evidence.provokes("jni.get_object_array_element", "JAVA_EXCEPTION")
    jni = vm.jni
    string = jni.find_class("java/lang/String")
    array = jni.new_object_array(2, string)
    with pytest.raises(jvmti.JavaException, match="ArrayStoreException"):
        jni.set_object_array_element(array, 0, string)
    for index in (-1, 2, 2**31 - 1):
        with pytest.raises(jvmti.JavaException, match="ArrayIndexOutOfBoundsException"):
            jni.get_object_array_element(array, index)
        with pytest.raises(jvmti.JavaException, match="ArrayIndexOutOfBoundsException"):
            jni.set_object_array_element(array, index, None)
    with pytest.raises(errors.TypeMismatch):
        jni.new_object_array(1, string, string)
    with pytest.raises(jvmti.JavaException, match="NegativeArraySizeException"):
        jni.new_object_array(-1, string)
    primitive: Any = jni.get_static_object_field(
        jni.find_class("java/lang/Integer"),
        jni.get_static_field_id(jni.find_class("java/lang/Integer"), "TYPE", "Ljava/lang/Class;"),
    )
    with pytest.raises(errors.InvalidClass, match="primitive"):
        jni.new_object_array(1, primitive)


def test_only_arrays_have_a_length_and_only_primitive_ones_a_content(
    vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.provokes("jni.get_array_length", "INVALID_OBJECT")
    evidence.provokes("jni.get_primitive_array_critical", "INVALID_OBJECT")
    evidence.provokes("jni.release_primitive_array_critical", "INVALID_OBJECT", "ILLEGAL_ARGUMENT")
    jni = vm.jni
    strings = jni.new_object_array(1, jni.find_class("java/lang/String"))
    weak: Any = jni.new_weak_global_ref(jni.find_class("java/lang/String"))
    with pytest.raises(errors.InvalidObject, match="must be an Array"):
        jni.get_array_length(jni.new_string("x"))  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidObject):
        jni.get_array_length(weak)
    with pytest.raises(errors.InvalidObject, match="not an array of a primitive type"):
        jni.get_primitive_array_critical(strings)
    with pytest.raises(errors.InvalidObject, match="not an array of a primitive type"):
        jni.release_primitive_array_critical(strings, b"12345678")
    with pytest.raises(errors.IllegalArgument, match="not those of the array"):
        jni.release_primitive_array_critical(jni.new_int_array(2), b"1234567")
