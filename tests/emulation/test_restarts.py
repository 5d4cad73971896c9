"""Methods that begin again in a JVM that was attached to late, where the VM pops no frames."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvms
import jvmti
import programs

SOURCE = (jvms.ROOT / "tests" / "java" / "Restarted.java").read_text().splitlines()
AGAIN = {
    "all": ("ALL", "true 1 c 2 3 4 5.0 6.0 text 7, then false2d3456.07.0text!8; 3"),
    "countDown": ("DOWN", "-1; 3"),
    "loop": ("LOOP", "3; 3"),
    "times": ("TIMES", "19; 3"),
    "held": ("HELD", "7 false; 3"),
}


def line(word: str) -> int:
    """The line with a word in its comment."""
    return 1 + next(at for at, text in enumerate(SOURCE) if text.endswith(f"// {word}"))


@pytest.fixture(scope="module")
def program(shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    """The program Restarted, ready for commands; no agent is there when it starts."""
    started = shared_java_program("Restarted")
    started.expect("ready", timeout=60)
    started.ask("warm")
    return started


@pytest.fixture(scope="module")
def vm(program: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session that was attached late."""
    with jvmti.attach(program.pid, timeout=30) as attached:
        attached.timeout = 60
        yield attached
        assert program.running()


@pytest.mark.parametrize("command", AGAIN)
def test_a_method_begins_again_with_what_was_passed(
    program: programs.JavaProgram, vm: jvmti.VM, command: str
) -> None:
    """Twice, after it has assigned to its parameters and left loops; the caller sees one call."""
    word, answer = AGAIN[command]
    at = line(word)
    # The probes of both keep what was passed at the same place.
    with (
        vm.breakpoint("Restarted", line=at, hits="after 9"),
        vm.breakpoint("Restarted", line=at) as stops,
    ):
        program.send(command)
        for _ in range(2):
            stops.next(20).frame.pop()
        assert stops.next(20).line == at
    program.expect(answer)


def test_a_value_that_the_stop_gave_is_lost(program: programs.JavaProgram, vm: jvmti.VM) -> None:
    with vm.breakpoint("Restarted", line=line("TIMES")) as stops:
        program.send("times")
        stop = stops.next(20)
        stop.frame.locals["n"] = 100
        stop.frame.pop()
        assert stops.next(20).frame.locals["product"] == 14
    program.expect("19; 2")


@pytest.mark.parametrize(
    ("command", "word", "why", "answer"),
    [
        ("block", "BLOCK", "it has a `synchronized` block", "7; 1"),
        ("made", "MADE", "it is a constructor", "5; 1"),
        ("fail", "FAIL", "an exception leaves it", "failed; 1"),
    ],
)
def test_what_cannot_begin_again_says_why_and_goes_on(
    program: programs.JavaProgram, vm: jvmti.VM, command: str, word: str, why: str, answer: str
) -> None:
    with vm.breakpoint("Restarted", line=line(word)) as stops:
        program.send(command)
        stop = stops.next(20)
        if command == "fail":
            stop = stop.step(timeout=20)
        with pytest.raises(jvmti.errors.OpaqueFrame, match=f"again: {why}$"):
            stop.frame.pop()
        stops.cancel()
    program.expect(answer)


def test_a_frame_is_left_or_begun_again_but_not_both(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    with vm.breakpoint("Restarted", line=line("TIMES")) as stops:
        program.send("times")
        stop = stops.next(20)
        stop.frame.pop()
        for again in (stop.frame.pop, lambda: stop.frame.return_(1)):
            with pytest.raises(jvmti.errors.Internal, match="has not run since"):
                again()
        stops.next(20).frame.return_(1)
    program.expect("1; 2")


def test_a_step_after_it_ends_at_the_first_line(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """Also where it began there: it is the same line, reached anew."""
    first = vm.find_class("Restarted").methods["times"].lines[0].line_number
    with vm.breakpoint("Restarted", line=line("TIMES")) as stops:
        program.send("times")
        stop = stops.next(20)
        stop.frame.pop()
        with stop.thread.step("over") as steps:
            for _ in range(2):
                at = steps.next(20)
                assert (at.line, at.frame.locals["n"]) == (first, 4)
                at.frame.pop()
        assert stops.next(20).line == line("TIMES")
        stops.cancel()
    program.expect("19; 2")
