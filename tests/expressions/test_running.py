"""Expressions run on the stopped thread; what cannot run there is refused before it begins."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from debug.stopping import SOON
from expressions import judged
from jvmti.errors import CallTimeout, ExpressionError, LeavingFrame, StopOver
from jvmti.expressions import assign, condition, evaluate, evaluated

if TYPE_CHECKING:
    from jvmti.model.debug.stops import Stop
    from jvmti.model.threads.frames import Frame
    from programs import JavaProgram


def test_methods_run_on_the_stopped_thread(stop: Stop) -> None:
    assert stop.frame.evaluate("Thread.currentThread().getName()") == stop.thread.name == "main"


def test_a_caller_has_its_own_variables(stop: Stop) -> None:
    caller = stop.frames[1]
    assert caller.evaluate("args.length + 1") == 1
    with pytest.raises(ExpressionError, match="'number' is a field of an object of Judged"):
        caller.evaluate("number")


def test_what_runs_too_long_is_let_go_and_the_rest_stays_usable(
    vm: jvmti.VM, stop: Stop, frame: Frame
) -> None:
    frame.evaluate("Thread.sleep(0)")  # what has to be looked up takes none of the time below
    begun = time.monotonic()
    with pytest.raises(CallTimeout, match=r"Thread\.sleep\(\) did not return within 0\.5 s"):
        frame.evaluate("Thread.sleep(3000)", timeout=0.5)
    # The thread is busy, which is said at once.
    for ask in (
        lambda: frame.evaluate("i"),
        lambda: frame.evaluate("count()"),
        lambda: stop.frames,
    ):
        with pytest.raises(CallTimeout, match=r"has not begun: the stopped thread still runs"):
            ask()
    assert time.monotonic() - begun < 2.5
    # Others are not.
    names: list[str] = []
    other = threading.Thread(target=lambda: names.extend(one.name for one in vm.threads))
    other.start()
    other.join(SOON)
    assert "main" in names
    time.sleep(max(0, begun + 3.2 - time.monotonic()))
    assert frame.evaluate("i + count()") == 43


def test_time_runs_for_the_whole_expression(frame: Frame) -> None:
    with pytest.raises(CallTimeout):
        evaluate(frame, '"" + own(1) + sleeping(200) + sleeping(200) + sleeping(200)', timeout=0.3)
    time.sleep(0.5)
    assert frame.evaluate("i") == 42


def test_a_thread_that_leaves_its_frame_calls_nothing(vm: jvmti.VM, program: JavaProgram) -> None:
    line = judged.lines_of("Judged")["work"]
    with vm.breakpoint("Judged", "work", line=line) as stops:
        program.send("")
        stop = stops.next(SOON)
        assert stop is not None
        frame = stop.frame
        frame.pop()
        with pytest.raises(LeavingFrame):
            frame.evaluate("counter = count()")
        again = stops.next(SOON)  # the call is made again
        assert again is not None
        assert again.frame.evaluate("counter") == 0
    program.expect("done", timeout=60)


def test_a_frame_that_is_over_says_so(vm: jvmti.VM, program: JavaProgram) -> None:
    line = judged.lines_of("Judged")["work"]
    with vm.breakpoint("Judged", "work", line=line) as stops:
        program.send("")
        stop = stops.next(SOON)
        assert stop is not None
        frame = stop.frame
    program.expect("done", timeout=60)
    with pytest.raises((StopOver, jvmti.errors.FrameGone)):
        frame.evaluate("i")


def test_an_exception_of_a_method_has_its_throwable(frame: Frame) -> None:
    with pytest.raises(jvmti.JavaException, match=r"IllegalStateException: broken") as caught:
        frame.evaluate("1 + breaking.fails()")
    assert caught.value.throwable.message == "broken"
    with pytest.raises(jvmti.JavaException, match=r"ArithmeticException: / by zero") as caught:
        frame.evaluate("i / 0")
    assert caught.value.throwable.cls.name == "java.lang.ArithmeticException"
    assert frame.evaluate("i") == 42


def test_pure_expressions_run_and_change_nothing(frame: Frame) -> None:
    assert evaluated(frame, "inner.depth + ints[1]", pure=True).value == 3
    for text in ("count()", "i++", "i = 5", "new Object()", "text.length()"):
        with pytest.raises(ExpressionError, match="this would run code of the program"):
            evaluated(frame, text, pure=True)
    assert frame.evaluate("counter + i") == 42


def test_a_branch_that_is_not_taken_is_not_run(frame: Frame) -> None:
    assert frame.evaluate("yes ? 1 : count()") == 1
    assert evaluated(frame, "yes ? 1 : sum(1, 2)").type == "long"
    assert frame.evaluate("no && count() > 0") is False
    assert frame.evaluate("counter") == 0


def test_assignments_reach_the_program(frame: Frame) -> None:
    done = assign(frame, "i", "c + 1")
    assert (done.value, done.type) == (121, "int")
    assert frame.locals["i"] == 121
    assert assign(frame, "inner.depth", "9").value == 9
    assert frame.evaluate("inner.total()") == 16
    assert assign(frame, "ints[0]", "'a'").value == 97
    assert assign(frame, "text", '"new " + i').value == "new 121"
    assert assign(frame, "wide", "null").value is None
    with pytest.raises(
        ExpressionError, match="a value of type java.lang.String cannot be"
    ) as caught:
        assign(frame, "i", '"text"')
    assert caught.value.text == "i"
    with pytest.raises(ExpressionError, match="not closed"):
        assign(frame, "i", "(1")
    with pytest.raises(ExpressionError, match="this is no variable"):
        assign(frame, "i + 1", "1")


def test_python_expressions_see_the_model(frame: Frame) -> None:
    assert evaluate(frame, "=py locals['i'] * 2") == 84
    assert evaluate(frame, "=py this['number'] + len(vm.threads) > 7") is True
    assert evaluated(frame, "=py [1]").type == "list"
    assert evaluate(frame, "=py sum(i for _ in range(2))") == 84
    with pytest.raises(ExpressionError, match="NameError: name 'unheard' is not defined"):
        evaluate(frame, "=py unheard")
    with pytest.raises(ExpressionError, match="not a Python expression"):
        evaluate(frame, "=py 1 +")


def test_a_suspended_thread_is_asked_by_one_of_the_agents(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    thread = vm.threads["main"]
    with thread.suspended():
        frame = next(one for one in thread.frames if one.method.name == "main")
        assert frame.evaluate("args.length") == 0
        assert frame.evaluate("count() - count()") == -1
        assert "jvmti" in frame.evaluate("Thread.currentThread().getName()")
    assert program.running()


def test_functions_of_stops_evaluate_on_their_thread(vm: jvmti.VM, program: JavaProgram) -> None:
    line = judged.lines_of("Judged")["work"]
    found: list[object] = []

    def ask(stop: Stop) -> None:
        found.append(stop.frame.evaluate("own(i) + Thread.currentThread().getName()"))

    with vm.breakpoint("Judged", "work", line=line, do=ask):
        program.send("")
        program.expect("done", timeout=60)
    assert found == ["own 42main"] * 2
    assert vm.handler_errors == []


def test_exceptions_and_fields_take_conditions_in_java(vm: jvmti.VM, program: JavaProgram) -> None:
    thrown = condition("message.length() == 0 || this.fails() > 0")
    with vm.catch("java.lang.IllegalStateException", when=thrown) as stops:
        program.send("")
        stop = stops.next(SOON)
        assert stop is not None
        assert stop.frame.evaluate("getClass().getSimpleName()") == "Breaking"
    # The method has no such variable, so the thread stops, and the reason is kept.
    assert "'message'" in str(thrown.problem)
    program.expect("done", timeout=60)
    number = vm.find_class("Judged").fields["number"]
    with number.watch(when=condition("this.number >= 8 && counter > 0")) as stops:
        program.send("")
        stop = stops.next(SOON)
        assert stop is not None
        assert stop.frame.evaluate("number") == 8
    program.expect("done", timeout=60)


def test_several_threads_evaluate_at_once(vm: jvmti.VM, frame: Frame) -> None:
    """A frame of a thread that has stopped can be read from elsewhere, too."""
    text = "java.lang.Integer.MAX_VALUE + 1 == Integer.MIN_VALUE"
    found: list[object] = []
    others = [
        threading.Thread(target=lambda: found.append(evaluated(frame, text).value))
        for _ in range(4)
    ]
    for one in others:
        one.start()
    assert frame.evaluate("i") == 42
    for one in others:
        one.join(SOON)
    assert found == [True] * 4


def test_without_the_grammar_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['tree_sitter'] = None\n"
        "from jvmti.expressions import condition\n"
        "try: condition('n > 1')\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'jvmti[debug]'" in done.stdout
