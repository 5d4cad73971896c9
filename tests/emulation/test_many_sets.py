"""Sets of probes whose numbers no single instruction pushes, after some hundred of them."""

from __future__ import annotations

import jvmti
import programs
from jvmti.instrumentation.plans import plan_of

SETS = 520
"""Numbers grow by 64, and 32,767 is the largest that ``sipush`` has."""


def test_a_step_finds_its_probes_in_a_caller_of_an_older_version(
    java_program: programs.JavaPrograms,
) -> None:
    """The caller's class gets other probes while its call runs; that has those of steps still."""
    program = java_program("Debugged")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.timeout = 60
        for _ in range(SETS):
            vm._agent.close_probes(vm._agent.open_event_probes(plan_of([])))
        methods = vm.find_class("Debugged").methods
        with methods["work"].breakpoint() as stops:
            first = stops.next(20)
            assert first is not None
            assert vm.breakpoints.step_probes.number > 0x7FFF
            line = first.line
            assert line is not None
            with methods["price"].breakpoint(thread=first.thread) as inner:
                stops.cancel()
                stop = inner.next(20)
                assert stop is not None
                with stop.thread.step("out") as steps:
                    at = steps.next(20)
                    assert at is not None
                    assert not at.is_at_end
                    assert (at.method.name, at.line) == ("work", line + 1)
