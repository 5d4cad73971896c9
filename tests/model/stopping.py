"""The program Stopping, on which stops are tried, and where its marked lines are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import compiler
from jvmti.target.agent_library import library_for_executable

if TYPE_CHECKING:
    import jvmti
    from jvms import Jvm
    from jvmti.model.classes import Class, Field, Method
    from programs import JavaProgram, JavaPrograms

_SOURCE = compiler.SOURCES / "Stopping.java"


def marks() -> dict[str, int]:
    """The lines that have a mark, by its name."""
    lines = _SOURCE.read_text().splitlines()
    found = ((number, re.search(r"// mark: (\w+)", line)) for number, line in enumerate(lines, 1))
    return {mark[1]: number for number, mark in found if mark}


LINE = marks()


def reserving(jvm: Jvm) -> list[str]:
    """Options of a JVM that has all capabilities reserved and can be attached to at once."""
    library = library_for_executable(jvm.java)
    return [f"-agentpath:{library}=reserve", "-XX:+StartAttachListener", "-Xmx64m"]


def start(programs: JavaPrograms, jvm: Jvm) -> JavaProgram:
    """The program, with all capabilities reserved."""
    program = programs("Stopping", jvm_args=reserving(jvm))
    program.expect("ready", timeout=60)
    return program


def cls(vm: jvmti.VM) -> Class:
    """Its class."""
    return vm.find_class("Stopping")


def method(vm: jvmti.VM, name: str) -> Method:
    """A method of its class."""
    return next(one for one in cls(vm).methods if one.name == name)


def field(vm: jvmti.VM, name: str) -> Field:
    """A field of its class."""
    return next(one for one in cls(vm).fields if one.name == name)
