"""Events of exceptions: thrown where, caught where."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Code, Seen


def of_class(vm: jvmti.VM, name: str) -> Seen:
    cls = vm.jni.find_class(name)
    return Seen(lambda event: vm.jni.is_instance_of(event.exception, cls))


def test_an_exception_is_thrown_and_caught_where_java_says(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("Exception", "ExceptionCatch")
    thrown, caught = of_class(vm, "Events$Failure"), of_class(vm, "Events$Failure")
    with vm.env.on("Exception", thrown), vm.env.on("ExceptionCatch", caught):
        message, line = program.ask("fail oops").split()
    assert message == "oops"
    event = thrown.only
    assert event.thread == vm.threads["main"]
    assert event.method == code["throwing"]
    assert code.line_of("throwing", event.location) == int(line)
    assert event.catch_method == code["catching"]
    assert event.exception == caught.only.exception
    assert caught.only.method == code["catching"]
    assert caught.only.location == event.catch_location
    assert caught.only.thread == vm.threads["main"]
    # The handler begins behind the call in the try block, by the class file's own table.
    assert code.line_of("catching", event.catch_location) > code.line_of("catching", 0)


def test_an_exception_that_nobody_catches_has_no_place_where_it_is_caught(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    thrown, caught = of_class(vm, "Events$Failure"), of_class(vm, "Events$Failure")
    with vm.env.on("Exception", thrown), vm.env.on("ExceptionCatch", caught):
        assert program.ask("uncaught lonely") == "alone"
    event = thrown.only
    assert (event.method, event.catch_method, event.catch_location) == (code["throwing"], None, 0)
    assert event.thread.name == "lonely"
    assert caught == []


def test_an_exception_comes_before_the_frames_are_left_and_its_catch_after(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    order = Seen(
        lambda event: event.method in (code["throwing"], code["passing"], code["catching"]),
        lambda event: (type(event).__name__, event.method.name),
    )
    main = vm.threads["main"]
    env = vm.env
    with (
        env.on("Exception", order, thread=main),
        env.on("ExceptionCatch", order, thread=main),
        env.on("MethodExit", order, thread=main),
    ):
        program.ask("fail oops")
    # That the constructor of the exception was left is not of these methods.
    assert order == [
        ("Exception", "throwing"),
        ("MethodExit", "throwing"),
        ("MethodExit", "passing"),
        ("ExceptionCatch", "catching"),
        ("MethodExit", "catching"),
    ]


def test_the_handler_reads_the_exception_on_its_own_thread(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    jni = vm.jni
    failure = jni.find_class("Events$Failure")
    message = jni.get_method_id(failure, "getMessage", "()Ljava/lang/String;")
    said = Seen(
        lambda event: jni.is_instance_of(event.exception, failure),
        lambda event: str(jni.call_object_method(event.exception, message)),
    )
    with vm.env.on("Exception", said):
        program.ask("fail first")
        program.ask("fail second")
    assert said == ["first", "second"]


def test_exceptions_that_a_handler_s_own_calls_throw_are_not_reported_again(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    depth: list[int] = []
    failures: list[str] = []
    throwing = vm.jni.get_static_method_id(code.cls, "throwing", "(Ljava/lang/String;)V")

    def fail(event: object) -> None:
        depth.append(1)
        text = vm.jni.new_string("inner")
        try:
            vm.jni.call_static_void_method(code.cls, throwing, [text])
        except jvmti.JavaException as error:
            failures.append(str(error))

    with vm.env.on("Exception", fail, thread=vm.threads["main"]):
        program.ask("fail oops")
    assert len(depth) == 1
    assert "Events$Failure" in failures[0]
    assert "inner" in failures[0]


@pytest.mark.parametrize("form", ["handler", "stop"])
def test_a_thread_can_be_stopped_while_its_exception_is_handled(
    form: str, program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """HotSpot ends where the callback of the event returns with the exception of StopThread."""

    def stop_it(event: Any) -> None:
        thread = event.thread
        if thread.name == "lonely":
            stopping = threading.Thread(target=thread.stop, args=("java.lang.Error", "stopped"))
            stopping.start()
            stopping.join(30)
            # The exception comes to the thread in the next work that the VM does on it.
            vm.env.get_frame_count(None)

    if form == "handler":
        with vm.env.on("Exception", stop_it, timeout=60):
            answer = program.ask("uncaught lonely")
    else:
        with vm.catch("Events$Failure", do=stop_it):
            answer = program.ask("uncaught lonely")
    # Which of the two ends the thread is the VM's choice: it looks for the other one now and then,
    # also where the program takes note of the first, which then nobody learns of.
    assert answer in ("alone", "stopped", "nothing")
    assert program.ask("fail again").split()[0] == "again"
