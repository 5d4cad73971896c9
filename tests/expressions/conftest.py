"""What the tests of expressions share: a program that has stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti
from debug import stopping
from expressions import judged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from jvmti.model.debug.stops import Stop
    from jvmti.model.threads.frames import Frame
    from programs import JavaProgram, JavaPrograms


def started(programs: JavaPrograms, jvm: Jvm, name: str, *, late: bool = False) -> JavaProgram:
    """A program with the expressions of its table in it."""
    options = ["-XX:+StartAttachListener", "-Xmx64m"] if late else stopping.reserving(jvm)
    program = programs.start([*options, "-cp", str(judged.compiled(name)), name])
    program.expect("ready", timeout=60)
    return program


@pytest.fixture(scope="module")
def program(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    """The program Judged."""
    return started(shared_java_program, jvm, "Judged")


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    """A session with it."""
    with jvmti.attach(program.pid, timeout=30) as attached:
        attached.timeout = stopping.SOON
        yield attached


@pytest.fixture
def stop(vm: jvmti.VM, program: JavaProgram) -> Iterator[Stop]:
    """Its thread, before the expressions that the compiler has; it runs on after the test."""
    with vm.breakpoint("Judged", "work", line=judged.lines_of("Judged")["work"]) as stops:
        program.send("")
        stopped = stops.next(stopping.SOON)
        assert stopped is not None
        yield stopped
    program.expect("done", timeout=60)


@pytest.fixture
def frame(stop: Stop) -> Frame:
    """The frame that it has stopped in."""
    return stop.frame
