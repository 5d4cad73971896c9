"""What the tests of expressions share: a program that has stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti
from expressions import judged
from model import stopping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from jvmti.debug.stops import Stop
    from jvmti.model.threads.frames import Frame
    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def program(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    """The program with the expressions of the table in it."""
    classes = judged.compiled("Judged", "table.txt")
    started = shared_java_program.start([*stopping.reserving(jvm), "-cp", str(classes), "Judged"])
    started.expect("ready", timeout=60)
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    """A session with it."""
    with jvmti.attach(program.pid, timeout=30) as attached:
        attached.timeout = stopping.SOON
        yield attached


@pytest.fixture
def stop(vm: jvmti.VM, program: JavaProgram) -> Iterator[Stop]:
    """Its thread, where the compiler has put no expressions yet; it runs on after the test."""
    line = judged.stop_line("Judged")
    with vm.breakpoint("Judged", "work", line=line) as stops:
        program.send("")
        stopped = stops.next(stopping.SOON)
        assert stopped is not None
        yield stopped
    program.expect("done", timeout=60)


@pytest.fixture
def frame(stop: Stop) -> Frame:
    """The frame that it has stopped in."""
    return stop.frame
