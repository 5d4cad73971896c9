"""Breakpoints in classes that change, which HotSpot alone does not survive."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.errors import Duplicate, InvalidLocation, InvalidMethodID, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from programs import JavaProgram, JavaPrograms

SECONDS = 4
SETTERS = 3


@pytest.mark.stress
def test_breakpoints_are_set_while_their_class_is_redefined(
    java_program: JavaPrograms, rounds: Callable[[int, int], int]
) -> None:
    options = jvmti.java_tool_options(jvmti.AgentOptions(reserve=()))
    program = java_program("Traced", env={"JAVA_TOOL_OPTIONS": options})
    program.expect("ready")
    program.ask("add 1")
    counts = [0] * (SETTERS + 1)
    failures: list[BaseException] = []
    with jvmti.attach(program.pid, timeout=30) as vm:
        cls = vm.find_class("Traced$Order")
        methods = [one for one in cls.methods if one.name in ("deep", "longer", "slow")]
        data = bytes(cls.class_file)
        env = vm.new_env()
        env.add_capabilities({"can_generate_breakpoint_events"})
        # The class changes six hundred times in two seconds.
        until = time.monotonic() + rounds(SECONDS // 2, SECONDS)

        def repeat(number: int, step: Callable[[], None]) -> None:
            while time.monotonic() < until and not failures:
                try:
                    step()
                    counts[number] += 1
                except (Duplicate, NotFound, InvalidMethodID):
                    continue  # a redefinition came in between, and took the breakpoint along
                except BaseException as error:
                    failures.append(error)

        def set_and_clear(number: int) -> Callable[[], None]:
            def step() -> None:
                env.set_breakpoint(methods[number], 0)
                env.clear_breakpoint(methods[number], 0)

            return step

        steps = [*map(set_and_clear, range(SETTERS)), lambda: cls.redefine(data)]
        threads = [threading.Thread(target=repeat, args=pair) for pair in enumerate(steps)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert all(counts), counts
        assert program.ask("deep 3") == "3"
    assert program.running()


@pytest.fixture
def versions(java_program: JavaPrograms) -> Iterator[tuple[JavaProgram, jvmti.VM]]:
    """A program with a method that runs, in a VM that has breakpoints."""
    options = jvmti.java_tool_options(jvmti.AgentOptions(reserve=()))
    program = java_program("Versions", env={"JAVA_TOOL_OPTIONS": options})
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        yield program, vm
    assert program.running()


def test_a_breakpoint_is_in_the_newest_version_only(
    versions: tuple[JavaProgram, jvmti.VM],
) -> None:
    program, vm = versions
    work = vm.find_class("Versions").methods["work"]
    hits = []
    program.ask("start")
    # `work` is the same in this version, and runs ...
    with vm.trace("Versions.other"):
        # ... and no method is the same in this one.
        with vm.trace("Versions.*", "Versions.<init>"):
            assert program.ask("abc") == "42"
            with work.breakpoint(do=lambda stop: hits.append(stop.line)):
                assert program.ask("abc") == "42"
                vm.env.force_garbage_collection()
                assert program.ask("abc") == "42"
            assert program.ask("abc") == "42"
    assert len(hits) == 2
    assert program.ask("end") == "ended"
    assert program.ask("abc") == "42"


def test_an_obsolete_method_is_refused_when_nobody_runs_it(
    versions: tuple[JavaProgram, jvmti.VM],
) -> None:
    """HotSpot frees it and leaves its id, through which any function crashes."""
    program, vm = versions
    program.ask("start")
    with vm.trace("Versions.*"):
        (worker,) = (one for one in vm.threads if one.name == "worker")
        (method,) = (one.method for one in worker.frames if one.method.name == "work")
        env = vm.lookup_env
        assert env.is_method_obsolete(method)
        assert env.get_line_number_table(method)
        program.ask("end")
        while worker.is_alive:
            time.sleep(0.01)
        env.force_garbage_collection()
        with pytest.raises(InvalidMethodID, match="no thread runs it"):
            env.get_line_number_table(method)
        with pytest.raises(InvalidMethodID, match="no thread runs it"):
            env.get_method_name(method)


@pytest.mark.stress
def test_breakpoints_are_set_while_their_class_gets_probes(java_program: JavaPrograms) -> None:
    """The code may change between the check of a place and the breakpoint."""
    options = jvmti.java_tool_options(jvmti.AgentOptions(reserve=()))
    program = java_program("Traced", env={"JAVA_TOOL_OPTIONS": options})
    program.expect("ready")
    counts = [0, 0]
    failures: list[BaseException] = []
    with jvmti.attach(program.pid, timeout=30) as vm:
        cls = vm.find_class("Traced$Order")
        methods = [one for one in cls.methods if one.name in ("deep", "longer", "add", "check")]
        program.ask("start 2")
        until = time.monotonic() + SECONDS
        env = vm.new_env()
        env.add_capabilities({"can_generate_breakpoint_events", "can_get_line_numbers"})
        places = [
            (method, entry.start_location)
            for method in methods
            for entry in env.get_line_number_table(method)
        ]

        def repeat(number: int, step: Callable[[], None]) -> None:
            while time.monotonic() < until and not failures:
                try:
                    step()
                    counts[number] += 1
                except (Duplicate, NotFound, InvalidLocation):
                    continue  # the class has changed in between
                except BaseException as error:
                    failures.append(error)

        def set_and_clear() -> None:
            for method, place in places:
                env.set_breakpoint(method, place)
                env.clear_breakpoint(method, place)

        def trace() -> None:
            with vm.trace("Traced$Order.*", limit=10):
                program.ask("longer 3")

        steps = [set_and_clear, trace]
        threads = [threading.Thread(target=repeat, args=pair) for pair in enumerate(steps)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert counts[1], counts
        assert program.ask("deep 3") == "3"
    assert program.running()


@pytest.mark.on("11")
def test_classes_of_the_archive_follow_a_changed_interface(java_program: JavaPrograms) -> None:
    """HotSpot 11 maps them with the default methods of before, and ends at their first call."""
    program = java_program("Witness")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        cls = vm.find_class("java.lang.Iterable")
        cls.redefine(bytes(cls.class_file))
        # Its first use of java.lang.management.
        assert "park" in program.ask("stack parked")
    assert program.running()
