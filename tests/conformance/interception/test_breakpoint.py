"""The chapter "Breakpoint": seen in the memory of the JVM, where the instruction is replaced."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.evidence import Evidence
from conformance.finding import loaded_class, method_named
from jvmti.refs import Method

BREAKPOINT = 0xCA  # the opcode that the Java Virtual Machine Specification reserves for it


@pytest.fixture(scope="module")
def stage(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> Iterator[frames.Stage]:
    # The tests read the memory of the JVM.
    yield from frames.stage(jvm, shared_java_program, jvm_args=["-Xmx32m"])


@pytest.fixture
def method(stage: frames.Stage) -> Method:
    """A method whose bytecodes lie in memory as they are in the class file."""
    assert stage.program.ask("distinct 5") == str(distinct(5))
    return method_named(stage.env, loaded_class(stage.env, "Frames"), "distinct")


def distinct(value: int) -> int:
    return ((value * 12345 + 23456) ^ 1234) - value * 3210 + (value << 7) % 4321


def places(pid: int, pattern: bytes) -> list[int]:
    """Where the bytes are in the writable memory of a process.

    It reads all of it, which takes a second: look at what becomes of a place with `read`.
    """
    found: list[int] = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if match is None or "[" in line:
                continue
            start, end = (int(part, 16) for part in match.groups())
            try:
                memory.seek(start)
                data = memory.read(end - start)
            except (OSError, OverflowError):
                continue
            found += (start + one.start() for one in re.finditer(re.escape(pattern), data))
    return found


def read(pid: int, places: list[int], length: int) -> list[bytes]:
    """What a process has at some places of its memory."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        return [os.pread(memory.fileno(), length, place) for place in places]


def test_a_breakpoint_replaces_the_instruction_until_it_is_cleared(
    stage: frames.Stage, method: Method, evidence: Evidence
) -> None:
    evidence.proves("set_breakpoint", "clear_breakpoint")
    code = bytes(stage.env.get_bytecodes(method))
    stopped = code[:1] + bytes([BREAKPOINT]) + code[2:]
    pid = stage.program.pid
    where = places(pid, code)
    assert where, "the bytecodes are not to be found in memory"
    stage.env.set_breakpoint(method, 1)
    assert read(pid, where, len(code)).count(stopped) == 1
    assert bytes(stage.env.get_bytecodes(method)) == code  # hidden from all who ask
    assert stage.program.ask("distinct 7") == str(distinct(7))
    stage.env.clear_breakpoint(method, 1)
    assert stopped not in read(pid, where, len(code))
    assert places(pid, stopped) == []
    assert stage.program.ask("distinct 9") == str(distinct(9))


def test_a_breakpoint_is_there_once(
    stage: frames.Stage, method: Method, evidence: Evidence
) -> None:
    evidence.provokes("set_breakpoint", "DUPLICATE")
    evidence.provokes("clear_breakpoint", "NOT_FOUND")
    with pytest.raises(jvmti.errors.NotFound):
        stage.env.clear_breakpoint(method, 0)
    stage.env.set_breakpoint(method, 0)
    with pytest.raises(jvmti.errors.Duplicate):
        stage.env.set_breakpoint(method, 0)
    stage.env.clear_breakpoint(method, 0)
    with pytest.raises(jvmti.errors.NotFound):
        stage.env.clear_breakpoint(method, 0)


def test_breakpoints_go_where_instructions_begin_and_nowhere_else(
    stage: frames.Stage, method: Method, evidence: Evidence
) -> None:
    evidence.provokes("set_breakpoint", "INVALID_LOCATION")
    evidence.provokes("clear_breakpoint", "INVALID_LOCATION")
    code = bytes(stage.env.get_bytecodes(method))
    assert code[1] == 0x11  # sipush, three bytes long
    for location in (2, 3, -1, len(code), 2**31, 2**63 - 1, -(2**63)):
        with pytest.raises(jvmti.errors.InvalidLocation):
            stage.env.set_breakpoint(method, location)
    for location in (-1, len(code), 2**63 - 1):
        with pytest.raises(jvmti.errors.InvalidLocation):
            stage.env.clear_breakpoint(method, location)
    with pytest.raises(jvmti.errors.NotFound):
        stage.env.clear_breakpoint(method, 2)
    assert stage.program.ask("distinct 11") == str(distinct(11))


def test_native_and_abstract_methods_take_no_breakpoints(
    stage: frames.Stage, evidence: Evidence
) -> None:
    evidence.provokes("set_breakpoint", "NATIVE_METHOD")
    evidence.provokes("clear_breakpoint", "INVALID_LOCATION")
    object_class = loaded_class(stage.env, "java.lang.Object")
    native = method_named(stage.env, object_class, "hashCode")
    with pytest.raises(jvmti.errors.NativeMethod):
        stage.env.set_breakpoint(native, 0)
    with pytest.raises(jvmti.errors.InvalidLocation):
        stage.env.clear_breakpoint(native, 0)
    abstract = method_named(stage.env, loaded_class(stage.env, "java.lang.Runnable"), "run")
    with pytest.raises(jvmti.errors.JvmtiError):
        stage.env.set_breakpoint(abstract, 0)
    with pytest.raises(jvmti.errors.JvmtiError):
        stage.env.clear_breakpoint(abstract, 0)


def test_breakpoints_go_with_the_session_that_set_them(
    stage: frames.Stage, method: Method, evidence: Evidence
) -> None:
    evidence.proves("set_breakpoint")
    code = bytes(stage.env.get_bytecodes(method))
    stopped = code[:1] + bytes([BREAKPOINT]) + code[2:]
    pid = stage.program.pid
    where = places(pid, code)
    held = stage.env.get_capabilities()
    stage.env.relinquish_capabilities(held)
    try:
        with jvmti.attach(stage.program.pid, capabilities="all") as other:
            main = loaded_class(other.env, "Frames")
            other.env.set_breakpoint(method_named(other.env, main, "distinct"), 1)
            assert read(pid, where, len(code)).count(stopped) == 1
        assert stopped not in read(pid, where, len(code))
    finally:
        stage.env.add_capabilities(held)
