"""JNI calls of native code on their way through Python, against what has arrived in Java.

The program's library calls in the variadic form, with a `va_list` and with an array; Python
functions stand in the way, go through with the calls or do not, and the program tells what it got.
"""

from __future__ import annotations

import os
import signal
import subprocess
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import jvmti
from jvmti.events.jni_buffers import JniBuffer
from prepared import attaching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import jvms
    import programs

SOURCE = Path(__file__).parents[2] / "native" / "calls.c"
VALUES = "true, -8, €, -16000, -2000000000, -9000000000000000000, 1.5, -2.25"
TOLD = [True, -8, "€", -16000, -2000000000, -9000000000000000000, 1.5, -2.25]
#: A call of the library, the JNI function that it is, and the Java method that it arrives in.
FORMS = {
    "int": ("CallIntMethod", "takesInt", "-1999999999"),
    "double": ("CallStaticDoubleMethodV", "takesDouble", "-1.25"),
    "object": ("NewObject", "<init>", ""),
    "long": ("CallNonvirtualLongMethod", "takesLong", "-8999999999999999999"),
}


@pytest.fixture(scope="module")
def calling(
    jvm: jvms.Jvm,
    shared_java_program: programs.JavaPrograms,
    jdk_headers: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> programs.JavaProgram:
    """The program with its library loaded."""
    library = tmp_path_factory.mktemp("calls") / "libcalls.so"
    include = [f"-I{directory}" for directory in jdk_headers]
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", *include, "-o", library, SOURCE], check=True)
    encoding = ["-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]
    program = shared_java_program("NativeCalls", jvm_args=["-XX:+StartAttachListener", *encoding])
    program.expect("ready", timeout=60)
    assert program.ask(f"library {library}") == "loaded"
    return program


@pytest.fixture
def vm(calling: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session on it, which leaves the table as it was."""
    with jvmti.attach(calling.pid, timeout=30) as attached:
        attached.timeout = 60
        before = attached.env.get_jni_function_table()
        yield attached
        attached.env.set_jni_function_table({})
        assert attached.env.get_jni_function_table() == before
        assert attached._callbacks.jni.errors == []
    assert calling.ask("many 3") == "6 3"


def answer_of(form: str, text: str) -> str:
    """What the program answers where nobody stands in the way."""
    arrived = f"[{form}, {VALUES}, {text}]"
    result = FORMS[form][2]
    return f"{result} {arrived}" if result else f"{arrived} NativeCalls"


@pytest.mark.parametrize("form", FORMS)
def test_a_wrapped_call_is_seen_with_its_values_and_arrives_with_them(
    form: str, calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    assert calling.ask(f"{form} before") == answer_of(form, "before")
    function, method, _ = FORMS[form]
    seen: list[tuple[str, str, list[Any]]] = []

    def wrapper(original: Any, *arguments: Any) -> Any:
        called, values = arguments[-2], arguments[-1]
        seen.append((original.name, called.name, [*values[:-1], str(values[-1])]))
        return original()

    vm.env.set_jni_function_table({function: wrapper})
    assert calling.ask(f"{form} within") == answer_of(form, "within")
    assert seen == [(function, method, [*TOLD, "within"])]


@pytest.mark.parametrize(
    ("form", "result", "answer"),
    [
        ("int", 2147483647, "2147483647 nothing"),
        ("double", 0.1, "0.1 nothing"),
        ("long", -(1 << 63), "-9223372036854775808 nothing"),
        ("object", None, "null"),
    ],
)
def test_a_replaced_call_does_not_arrive_and_has_the_answer_of_python(
    form: str, result: Any, answer: str, calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    times = calling.ask("times")
    vm.env.set_jni_function_table({FORMS[form][0]: lambda original, *given: result})
    assert calling.ask(f"{form} replaced") == answer
    assert calling.ask("times") == times


def test_an_object_of_python_s_choice_takes_the_place_of_a_new_one(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """It is made by another call of the same function, with other values."""

    def another(original: Any, cls: Any, constructor: Any, values: list[Any]) -> Any:
        text = vm.jni.new_string_utf("made by Python")
        return original(cls, constructor, [False, 1, 65, 2, 3, 4, 0.5, 0.25, text])

    vm.env.set_jni_function_table({"NewObject": another})
    reported = "[object, false, 1, A, 2, 3, 4, 0.5, 0.25, made by Python] NativeCalls"
    assert calling.ask("object ignored") == reported


def test_calls_are_counted_as_often_as_they_arrive(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    with vm.jni.count() as counting:
        assert calling.ask("many 10000") == f"{10000 * 9999} 10000"
        for form in FORMS:
            assert calling.ask(f"{form} counted") == answer_of(form, "counted")
    counts = {name: one.calls for name, one in counting.read().items()}
    assert counts["CallStaticIntMethod"] == 10_000
    assert [counts[FORMS[form][0]] for form in FORMS] == [1, 1, 1, 1]
    assert "CallStaticIntMethodA" not in counts


def test_what_gives_memory_back_is_counted_as_what_gets_it(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    pairs = {
        f"Get{what}": f"Release{what}"
        for what in ("StringChars", "StringUTFChars", "StringCritical", "PrimitiveArrayCritical")
    }
    kinds = ("Boolean", "Byte", "Char", "Short", "Int", "Long", "Float", "Double")
    pairs |= {f"Get{kind}ArrayElements": f"Release{kind}ArrayElements" for kind in kinds}
    given_back = sum(map(ord, "count me")) * 3 + sum(range(8))
    with vm.jni.count() as everything:
        assert calling.ask("borrowed count me") == str(given_back)
    with vm.jni.count("GetJavaVM", *pairs.values()) as some:
        assert calling.ask("borrowed count me") == str(given_back)
    # The JDK's own native code may borrow something meanwhile.
    assert {"GetJavaVM", *pairs, *pairs.values()} <= set(everything.read())
    assert set(some.read()) == {"GetJavaVM", *pairs.values()}
    for name in ("ReleaseStringChars", "ReleaseStringCritical", "ReleaseFloatArrayElements"):
        assert everything.read()[name].calls == some.read()[name].calls == 1
        assert some.read()[name].nanoseconds > 0


# memory that a call hands over -----------------------------------------------------------------

REGIONS = "20 30 -1 héllo él 1 0 [70, 80, 31]"
"""What the program answers where nobody stands in the way."""


def test_memory_that_a_call_hands_over_is_an_array_with_what_is_there(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    seen: dict[str, Any] = {}
    # What the JDK's own native code does for the program's first answer is not the subject.
    assert calling.ask("regions héllo") == REGIONS

    def reported(original: Any, *arguments: Any) -> None:
        before = [one.tolist() if isinstance(one, JniBuffer) else one for one in arguments]
        result = original()
        after = [one.tolist() if isinstance(one, JniBuffer) else one for one in arguments]
        given = result.tolist() if isinstance(result, JniBuffer) else result
        types = [(one.dtype.name, one.writable) for one in arguments if isinstance(one, JniBuffer)]
        if 1 << 28 in arguments[2:3]:
            seen["refused"] = len(arguments[3])
        else:
            seen[original.name] = (before, after, given, types)

    names = (
        "GetIntArrayRegion", "SetIntArrayRegion", "GetStringRegion", "GetStringUTFRegion",
        "NewString", "GetStringChars", "GetIntArrayElements",
        "ReleaseIntArrayElements", "RegisterNatives",
    )  # fmt: skip

    def passed_on(original: Any, *arguments: Any) -> Any:
        kept: list[Any] = []

        def proceed() -> Any:
            kept.append(original())
            return kept[0]

        proceed.name = original.name  # type: ignore[attr-defined]
        reported(proceed, *arguments)
        return kept[0]

    vm.env.set_jni_function_table(dict.fromkeys(names, passed_on))
    assert calling.ask("regions héllo") == REGIONS
    vm.env.set_jni_function_table({})
    assert vm._callbacks.jni.errors == []
    before, after, _, types = seen["GetIntArrayRegion"]
    assert before[1:] == [1, 2, [-1, -1]]
    assert after[1:] == [1, 2, [20, 30]]
    assert types == [("int32", True)]
    before, after, _, types = seen["SetIntArrayRegion"]
    assert before[1:] == after[1:] == [0, 2, [70, 80]]
    assert types == [("int32", False)]
    assert seen["GetStringRegion"][1][1:] == [1, 2, [ord("é"), ord("l")]]
    assert bytes(seen["GetStringUTFRegion"][1][3]) == b"h\xc3\xa9llo\0"
    assert seen["NewString"][0] == [[ord("é"), ord("l")], 2]
    _, after, given, types = seen["GetStringChars"]
    assert after[1] == [True]
    assert given == [ord(unit) for unit in "héllo"]
    assert types == [("bool", True)]
    _, after, given, _ = seen["GetIntArrayElements"]
    assert after[1] is None, "the program asks for nothing there"
    assert given == [70, 80, 30]
    assert seen["ReleaseIntArrayElements"][0][1:] == [[70, 80, 31], 0]
    assert seen["ReleaseIntArrayElements"][3] == [("int32", True)]
    [(name, signature, address)] = seen["RegisterNatives"][0][1]
    assert (name, signature, address > 0) == ("registered", "()I", True)
    assert seen["refused"] == 0, "the VM does not look at it either"


def test_memory_is_written_where_c_may_write_and_nowhere_else(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    refused: list[BaseException] = []
    kept: list[JniBuffer] = []

    def in_place_of_the_vm(original: Any, array: Any, start: int, length: int, buf: Any) -> None:
        if len(buf) == 2:
            buf[:] = [1, 2]
            buf[1] = 3
            assert buf[-1] == 3
            assert len(numpy.asarray(buf)) == 2
            for index in (2, -3):
                with pytest.raises(IndexError):
                    buf[index]
            with pytest.raises(ValueError, match="shape"):
                buf[:] = [1, 2, 3]
            kept.append(buf)
        else:
            original()

    def after_the_vm(original: Any, string: Any, start: int, length: int, buf: Any) -> None:
        original()
        buf[0] = "e"

    def only_read(original: Any, array: Any, start: int, length: int, buf: Any) -> None:
        try:
            buf[0] = 5
        except TypeError as error:
            refused.append(error)
        original()

    def altered(original: Any, array: Any, elems: Any, mode: int) -> None:
        elems[2] = 99
        original()

    vm.env.set_jni_function_table(
        {
            "GetIntArrayRegion": in_place_of_the_vm,
            "GetStringRegion": after_the_vm,
            "SetIntArrayRegion": only_read,
            "ReleaseIntArrayElements": altered,
        }
    )
    assert calling.ask("regions héllo") == "1 3 -1 héllo el 1 0 [70, 80, 99]"
    vm.env.set_jni_function_table({})
    assert vm._callbacks.jni.errors == []
    assert len(refused) == 1
    with pytest.raises(jvmti.errors.IllegalArgument, match="has gone on"):
        kept[0][0]


def test_memory_of_direct_buffers_is_an_array_of_its_bytes(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    assert calling.ask("direct") == "abcdefg 1 7 1"
    made: list[list[int]] = []
    found: list[bytes | None] = []

    def makes(original: Any, address: JniBuffer, capacity: int) -> Any:
        made.append([capacity, *address.tolist()])
        address[0] = ord("A")
        return original()

    def looks(original: Any, buf: Any) -> Any:
        result = original()
        found.append(None if result is None else bytes(result))
        if result is not None:
            result[len(result) // 4 :] = b"BCDEF\0" if len(result) == 8 else b"\x09" + bytes(11)

    functions = {"NewDirectByteBuffer": makes, "GetDirectBufferAddress": looks}
    vm.env.set_jni_function_table(functions)
    assert calling.ask("direct") == "AbBCDEF 1 9 1"
    assert made == [[8, *b"abcdefg\0"]]
    assert found == [b"Abcdefg\0", bytes([0] * 4 + [7] + [0] * 11), None]


def test_every_function_with_memory_hands_it_over_as_what_it_is(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """All types of arrays; what Python does not look at is not read."""
    found: dict[str, str] = {}

    def reported(original: Any, *arguments: Any) -> Any:
        result = original()
        for one in (*arguments, result):
            if isinstance(one, JniBuffer) and len(one) and one.dtype.name != "bool":
                found[original.name] = one.dtype.name
            assert not (isinstance(one, int) and one > 1 << 32), "a bare address"
        return None

    kinds = ("Boolean", "Byte", "Char", "Short", "Int", "Long", "Float", "Double")
    names = [f"{verb}{kind}ArrayElements" for kind in kinds for verb in ("Get", "Release")]
    vm.env.set_jni_function_table(dict.fromkeys(names, reported))
    calling.ask("borrowed count me")
    vm.env.set_jni_function_table({})
    assert vm._callbacks.jni.errors == []
    types = ("int8", "uint16", "int16", "int32", "int64", "float32", "float64")
    assert found == {
        f"{verb}{kind}ArrayElements": type_
        for kind, type_ in zip(kinds[1:], types, strict=True)
        for verb in ("Get", "Release")
    }


def everything_reported(calls: list[str], *left_out: str) -> dict[str, Callable[..., Any]]:
    """Wrappers around all functions that the library's odder ways use."""

    def wrapper(original: Any, *arguments: Any) -> Any:
        result = original()
        calls.append(original.name)
        return result

    names = {
        "PushLocalFrame", "PopLocalFrame", "ThrowNew", "FindClass", "ExceptionCheck",
        "ExceptionOccurred", "ExceptionClear", "DeleteLocalRef", "GetStringUTFChars",
        "NewStringUTF", "GetStaticMethodID", "CallStaticLongMethod",
        "CallObjectMethod", "GetMethodID", "GetObjectClass",
    }  # fmt: skip
    return dict.fromkeys(names - {*left_out}, wrapper)


def test_an_exception_that_waits_is_there_for_the_call_and_after_it(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    assert calling.ask("thrown by native code") == "by native code"
    calls: list[str] = []
    vm.env.set_jni_function_table(everything_reported(calls))
    assert calling.ask("thrown by native code") == "by native code"
    assert {"ExceptionOccurred", "DeleteLocalRef", "PopLocalFrame"} <= set(calls)
    # Once while it waits and once after the frame; the program's output may have its own.
    assert calls.count("ExceptionCheck") >= 2


@pytest.mark.parametrize("caught", [False, True], ids=["through", "caught"])
def test_what_python_throws_in_the_place_of_a_call_reaches_native_code(
    caught: bool, calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """The call is not made, unless Python makes it before or after."""
    times = int(calling.ask("times"))
    failure = vm.jni.find_class("java/lang/ArithmeticException")
    called: list[str] = []

    def throw(original: Any, *arguments: Any) -> Any:
        if not caught:
            vm.jni.throw_new(failure, "from Python")
        with pytest.raises(jvmti.JavaException, match="from Python"):
            vm.jni.throw_new(failure, "from Python")
        return original()

    def reported(original: Any, *arguments: Any) -> Any:
        called.append(original.name)
        return original()

    # What the agent throws for Python is no call of the program's.
    vm.env.set_jni_function_table({"CallIntMethod": throw, "Throw": reported})
    assert calling.ask("int thrown") == "error java.lang.ArithmeticException: from Python"
    assert called == []
    assert int(calling.ask("times")) == times + caught


def test_what_python_throws_takes_the_place_of_an_exception_that_waits(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    failure = vm.jni.find_class("java/lang/ArithmeticException")
    thrown: list[str] = []

    def throw(original: Any, *arguments: Any) -> Any:
        # The JDK's own native code asks, too: only where one waits.
        waits = original()
        if waits and not thrown:
            thrown.append(original.name)
            vm.jni.throw_new(failure, "instead")
        return waits

    vm.env.set_jni_function_table({"ExceptionCheck": throw})
    assert calling.ask("thrown first") == "error java.lang.ArithmeticException: instead"
    assert thrown == ["ExceptionCheck"]


def test_an_exception_is_cleared_that_python_threw_in_the_place_of_a_call(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    failure = vm.jni.find_class("java/lang/ArithmeticException")

    def throw(original: Any, *arguments: Any) -> Any:
        with pytest.raises(jvmti.JavaException):
            vm.jni.throw_new(failure, "taken back")
        vm.jni.exception_clear()
        return 7

    vm.env.set_jni_function_table({"CallIntMethod": throw})
    assert calling.ask("int cleared") == "7 nothing"


def test_python_may_call_the_vm_while_the_program_s_exception_waits(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """It is put aside for it, and neither seen nor lost."""
    found: list[Any] = []

    def check(original: Any) -> Any:
        found.append(vm.jni.exception_check())
        found.append(str(vm.jni.new_string_utf("while it waits")))
        return original()

    vm.env.set_jni_function_table({"ExceptionCheck": check})
    assert calling.ask("thrown still") == "still"
    assert len(found) >= 4
    assert found == [False, "while it waits"] * (len(found) // 2)


def test_an_exception_of_the_called_method_reaches_native_code(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    calls: list[str] = []
    vm.env.set_jni_function_table(everything_reported(calls))
    assert calling.ask("fails on purpose") == "on purpose"
    assert {"CallStaticLongMethod", "ExceptionOccurred", "ExceptionClear"} <= set(calls)


def test_frames_of_local_references_are_the_program_s_own(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    calls: list[str] = []
    vm.env.set_jni_function_table(everything_reported(calls))
    assert calling.ask("framed 20") == "from the innermost frame"
    assert calls.count("PushLocalFrame") == calls.count("PopLocalFrame") == 21
    # Another string for it, made in the frame that it comes out of.
    vm.env.set_jni_function_table(
        {"NewStringUTF": lambda original, text: vm.jni.new_string_utf(f"{text}, changed")}
    )
    assert calling.ask("framed 3") == "from the innermost frame, changed"


def test_a_field_found_by_its_reflection_is_of_the_class_that_has_it(
    calling: programs.JavaProgram, vm: jvmti.VM
) -> None:
    found: dict[str, Any] = {}

    def from_reflection(original: Any, reflected: Any) -> Any:
        field = found["from"] = original()
        return field

    def to_reflection(original: Any, cls: Any, field: Any, is_static: bool) -> Any:
        found["to"] = field
        return original()

    vm.env.set_jni_function_table(
        {"FromReflectedField": from_reflection, "ToReflectedField": to_reflection}
    )
    assert calling.ask("reflected") == "42 true"
    cls = vm.find_class("NativeCalls")
    assert set(found) == {"from", "to"}
    for field in found.values():
        assert vm.env.get_field_name(cls, field).name == "answer"
        assert vm.jni.get_static_int_field(cls, field) == 42


# Controllers that go ---------------------------------------------------------------------------

BLOCKING = """
import sys, threading, jvmti
vm = jvmti.attach(int(sys.argv[1]))
def stays(original, *arguments):
    print("inside", flush=True)
    threading.Event().wait()
vm.env.set_jni_function_table({"CallIntMethod": stays})
print("there", flush=True)
threading.Event().wait()
"""


def test_a_call_goes_on_when_the_controller_that_holds_it_is_killed(
    calling: programs.JavaProgram,
) -> None:
    with jvmti.attach(calling.pid, timeout=30) as observer:
        before = observer.env.get_jni_function_table()
        script = textwrap.dedent(BLOCKING)
        with attaching("-c", script, calling.pid) as controller:
            try:
                assert controller.stdout.readline() == "there\n"
                assert observer.env.get_jni_function_table() != before
                calling.send("int held")
                assert controller.stdout.readline() == "inside\n"
            finally:
                os.kill(controller.pid, signal.SIGKILL)
        # The real call is made, and the table is the VM's own again.
        assert calling.read_line() == answer_of("int", "held")
        # What another controller may have, nobody has any more; the call does not wait for that.
        for _ in range(600):
            if observer.env.get_jni_function_table() == before:
                break
            time.sleep(0.05)
        with observer.jni.count("CallIntMethod") as counting:
            assert calling.ask("int after") == answer_of("int", "after")
        assert counting.read()["CallIntMethod"].calls == 1
        assert observer.env.get_jni_function_table() == before


def test_a_call_goes_on_when_its_session_is_left_in_the_middle(
    calling: programs.JavaProgram,
) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def stays(original: Any, *arguments: Any) -> Any:
        inside.set()
        assert go_on.wait(60)
        return 5

    vm = jvmti.attach(calling.pid, timeout=30)
    before = vm.env.get_jni_function_table()
    vm.env.set_jni_function_table({"CallIntMethod": stays})
    calling.send("int left")
    assert inside.wait(30)
    vm.detach()
    assert calling.read_line() == answer_of("int", "left")
    go_on.set()
    with jvmti.attach(calling.pid, timeout=30) as observer:
        assert observer.env.get_jni_function_table() == before
    assert calling.ask("int after") == answer_of("int", "after")
