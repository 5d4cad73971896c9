"""Breakpoints and redefinitions of their class at once, which HotSpot alone does not survive."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.errors import Duplicate, InvalidMethodID, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from programs import JavaPrograms

SECONDS = 4
SETTERS = 3


@pytest.mark.stress
def test_breakpoints_are_set_while_their_class_is_redefined(java_program: JavaPrograms) -> None:
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
        until = time.monotonic() + SECONDS

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
