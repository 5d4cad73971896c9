"""The program Stopping, on which stops are tried, and where marked lines of programs are."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

import compiler
import jvmti
from jvmti.target.agent_library import library_for_executable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from jvmti.model.classes.java_class import Class, Field, Method
    from jvmti.model.debug.stops import Stop, StopRequest
    from programs import JavaProgram, JavaPrograms

#: How long a test waits for what must come, in seconds; nothing is measured by it.
SOON = 60


def marks_of(program: str, pattern: str) -> dict[str, int]:
    """The lines of a program that match a pattern, by its first group."""
    lines = compiler.source(program).path.read_text().splitlines()
    found = ((number, re.search(pattern, line)) for number, line in enumerate(lines, 1))
    return {mark[1]: number for number, mark in found if mark}


def marks(program: str) -> dict[str, int]:
    """The lines of a program that have a mark, by its name."""
    return marks_of(program, r"// mark: (\w+)")


LINE = marks("Stopping")


def reserving(jvm: Jvm) -> list[str]:
    """Options of a JVM that has all capabilities reserved and can be attached to at once."""
    library = library_for_executable(jvm.java)
    return [f"-agentpath:{library}=reserve", "-XX:+StartAttachListener", "-Xmx64m"]


def start(programs: JavaPrograms, jvm: Jvm, *, late: bool = False) -> JavaProgram:
    """The program, with all capabilities reserved, or with nothing prepared."""
    options = ["-XX:+StartAttachListener", "-Xmx64m"] if late else reserving(jvm)
    program = programs("Stopping", jvm_args=options)
    program.expect("ready", timeout=60)
    return program


@contextmanager
def attached(program: JavaProgram) -> Iterator[jvmti.VM]:
    """A session with the program, which survives it."""
    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.timeout = SOON
        # Made at their first use, and kept.
        vm.breakpoints.env  # noqa: B018
        vm.env_with("can_access_local_variables")
        yield vm
    assert program.running()


def cls(vm: jvmti.VM) -> Class:
    """Its class."""
    return vm.find_class("Stopping")


def method(vm: jvmti.VM, name: str) -> Method:
    """A method of its class."""
    return next(one for one in cls(vm).methods if one.name == name)


def field(vm: jvmti.VM, name: str) -> Field:
    """A field of its class."""
    return next(one for one in cls(vm).fields if one.name == name)


def taken(stops: StopRequest) -> Stop:
    """The next stop, which must come."""
    stop = stops.next(SOON)
    assert stop is not None
    return stop
