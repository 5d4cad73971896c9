"""Breakpoints of classes that are redefined; the program's answers say which version runs."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from debug import stopping
from jvmti.env.structures import ClassDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jvms import Jvm
    from jvmti.model.debug.stops import StopRequest
    from programs import JavaProgram, JavaPrograms

LINE = stopping.marks("Redefined")


@pytest.fixture(scope="module")
def program(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Redefined", jvm_args=stopping.reserving(jvm))
    program.expect("ready", timeout=60)
    return program


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with stopping.attached(program) as attached:
        attached.bootstrap_class("java/lang/Class")
        yield attached


@pytest.fixture(scope="module")
def versions(java_classes: Callable[..., Path]) -> dict[str, bytes]:
    """The class files, by what was done to the source."""
    named = {"as loaded": "Redefined", "moved": "moved.Answer", "short": "shortened.Answer"}
    return {
        what: (java_classes(name) / "Answer.class").read_bytes() for what, name in named.items()
    }


@pytest.fixture(autouse=True)
def as_loaded(vm: jvmti.VM, nothing_is_left: None, versions: dict[str, bytes]) -> Iterator[None]:
    """Each test begins with the class as it was loaded, and leaves no breakpoint."""
    vm.find_class("Answer").redefine(versions["as loaded"])
    yield
    assert len(vm.breakpoints) == 0
    assert vm.handler_errors == []


def called(program: JavaProgram, stops: StopRequest, number: int) -> tuple[int, list[int]]:
    """What the program answers, and how often that has hit the breakpoint."""
    before = stops.hits
    return int(program.ask(f"call {number}")), [stops.hits - before]


def test_a_condition_holds_for_the_variables_of_each_version(
    vm: jvmti.VM, program: JavaProgram, versions: dict[str, bytes]
) -> None:
    cls = vm.find_class("Answer")
    # Often enough for each that the agent reads them from the frame.
    point = cls.methods["answer"].breakpoint(line=LINE["more"], when="twice == 8 or twice == 128")
    for what in ("as loaded", "moved") * 3:
        cls.redefine(versions[what])
        results = [called(program, point, number) for number in (4, 5) * 10]
        if what == "moved":
            assert results == [(228, [1]), (275, [0])] * 10
        else:
            assert results == [(9, [1]), (11, [0])] * 10
    point.cancel()


def test_a_breakpoint_goes_along_with_its_line(
    vm: jvmti.VM, program: JavaProgram, versions: dict[str, bytes]
) -> None:
    cls = vm.find_class("Answer")
    seen = []
    point = cls.methods["answer"].breakpoint(
        line=LINE["more"], when="twice > 1", do=lambda stop: seen.append(stop.locals["twice"])
    )
    ((_, before),) = point.places
    assert called(program, point, 4) == (9, [1])
    cls.redefine(versions["moved"])
    ((_, after),) = point.places
    assert after > before
    assert called(program, point, 4) == (228, [1])
    assert seen == [8, 128]
    assert point.lost == []
    point.cancel()
    assert called(program, point, 4) == (228, [0])


def test_where_the_line_has_gone_it_says_so_until_it_comes_back(
    vm: jvmti.VM, program: JavaProgram, versions: dict[str, bytes]
) -> None:
    cls = vm.find_class("Answer")
    point = cls.methods["answer"].breakpoint(line=LINE["more"])
    ((_, before),) = point.places
    cls.redefine(versions["short"])
    assert point.places == []
    ((method, location, why),) = point.lost
    assert (method, location) == (cls.methods["answer"], before)
    assert re.search(rf"no code at line {LINE['more']}; the nearest .*{LINE['twice']}", why)
    assert "lost since the class was redefined" in repr(point)
    assert not point.is_pending
    assert called(program, point, 4) == (8, [0])
    cls.redefine(versions["moved"])
    assert point.lost == []
    assert called(program, point, 4) == (228, [1])
    point.cancel()


def test_one_by_name_is_placed_again_and_others_at_the_place_with_it(
    vm: jvmti.VM, program: JavaProgram, versions: dict[str, bytes]
) -> None:
    cls = vm.find_class("Answer")
    by_name = vm.breakpoint("Answe*", line=LINE["more"])
    shared = [cls.methods["answer"].breakpoint(line=LINE["more"]) for _ in range(2)]
    begins = cls.methods["answer"].breakpoint()
    cls.redefine(versions["moved"])
    assert called(program, by_name, 1) == (123, [1])
    assert [one.hits for one in [*shared, begins]] == [1, 1, 1]
    shared[0].cancel()
    assert called(program, by_name, 1) == (123, [1])
    cls.redefine(versions["short"])
    assert "lost in 1" in repr(by_name)
    cls.retransform()
    cls.redefine(versions["as loaded"])
    assert called(program, by_name, 1) == (3, [1])
    assert [one.hits for one in [*shared, begins]] == [1, 3, 3]
    for one in (by_name, *shared, begins):
        one.cancel()


def test_reading_the_class_file_leaves_a_breakpoint(vm: jvmti.VM, program: JavaProgram) -> None:
    cls = vm.find_class("Answer")
    with cls.methods["answer"].breakpoint() as point:
        assert cls.class_file
        assert cls.methods["answer"].disassemble()
        cls.retransform()
        assert point.is_active
        assert point.lost == []
    counted = cls.methods["answer"].breakpoint()
    cls.class_file  # noqa: B018
    assert called(program, counted, 1) == (3, [1])
    cls.retransform()
    assert called(program, counted, 1) == (3, [1])
    counted.cancel()


@pytest.mark.parametrize("by", ["environment", "controller"])
def test_what_others_redefine_keeps_its_breakpoints(
    vm: jvmti.VM, program: JavaProgram, versions: dict[str, bytes], by: str
) -> None:
    cls = vm.find_class("Answer")
    point = cls.methods["answer"].breakpoint(line=LINE["more"])
    ((_, before),) = point.places
    if by == "environment":
        env = vm.new_env()
        env.add_capabilities({"can_redefine_classes"})
        env.redefine_classes([ClassDefinition(cls, versions["moved"])])
        env.dispose_environment()
    else:
        with jvmti.attach(program.pid, timeout=30) as other:
            other.find_class("Answer").redefine(versions["moved"])
    until = time.monotonic() + stopping.SOON
    while [at for _, at in point.places] in ([], [before]) and time.monotonic() < until:
        pass  # it is placed again by a thread of the controller's, a moment later
    assert called(program, point, 4) == (228, [1])
    point.cancel()
