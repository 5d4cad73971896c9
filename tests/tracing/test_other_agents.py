"""Probes beside other agents that change classes: each keeps what it put in."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from tracing.java_agents import Other, replacing_jar
from tracing.test_trace import calls_of

if TYPE_CHECKING:
    from pathlib import Path

    from jvmti.model.debug.stops import Stop
    from jvmti.tracing.trace import Trace
    from programs import JavaProgram, JavaPrograms

ORDER = "Traced$Order"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    """Java agent that replaces text."""
    return replacing_jar(tmp_path)


EARLY = ("add", ORDER, "too", "far")


def started(java_program: JavaPrograms, *jvm_args: str) -> JavaProgram:
    program = java_program("Traced", jvm_args=["-Xmx128m", *jvm_args])
    program.expect("ready")
    program.ask("add 1")
    return program


def messages(trace: Trace, most: int) -> list[str]:
    """Messages of the exceptions that calls ended with."""
    return [one.exception.text for one in calls_of(trace, most) if one.exception is not None]


@pytest.mark.parametrize("kind", ["add", "once"])
def test_an_agent_that_was_there_before(java_program: JavaPrograms, jar: Path, kind: str) -> None:
    options = ",".join((kind, *EARLY[1:]))
    program = started(java_program, f"-javaagent:{jar}={options}")
    other = Other(jar, program.pid)
    assert program.ask("complain") == "far long: abcd"
    with jvmti.attach(program.pid, timeout=30) as vm:
        before = bytes(vm.find_class(ORDER).class_file)
        assert b"far long" in before
        with vm.trace(f"{ORDER}.check") as trace:
            assert program.ask("complain") == "far long: abcd"
            assert messages(trace, 1) == ["far long: abcd"]
            other.does("retransform", ORDER)
            assert program.ask("complain") == "far long: abcd"
            assert messages(trace, 1) == ["far long: abcd"]
        assert program.ask("complain") == "far long: abcd"
        assert bytes(vm.find_class(ORDER).class_file) == before
    other.does("remove")
    other.does("retransform", ORDER)
    # What was put in as the class loaded belongs to the class.
    assert program.ask("complain") == ("too long: abcd" if kind == "add" else "far long: abcd")


def test_an_agent_that_comes_while_probes_are_there(java_program: JavaPrograms, jar: Path) -> None:
    program = started(java_program)
    other = Other(jar, program.pid)
    with jvmti.attach(program.pid, timeout=30) as vm:
        before = bytes(vm.find_class(ORDER).class_file)
        with vm.trace(f"{ORDER}.check") as trace:
            other.does(*EARLY)
            other.does("retransform", ORDER)
            assert program.ask("complain") == "far long: abcd"
            assert messages(trace, 1) == ["far long: abcd"]
        assert program.ask("complain") == "far long: abcd"
        assert bytes(vm.find_class(ORDER).class_file) == before.replace(b"too long", b"far long")
        with vm.trace(f"{ORDER}.check") as trace:
            other.does("remove")
            assert program.ask("complain") == "far long: abcd"
            other.does("retransform", ORDER)
            assert program.ask("complain") == "too long: abcd"
            assert messages(trace, 2) == ["far long: abcd", "too long: abcd"]
        assert program.ask("complain") == "too long: abcd"
        assert bytes(vm.find_class(ORDER).class_file) == before


class Session:
    """A controller with one kind of probe in `Order.longer`."""

    def __init__(self, pid: int, kind: str) -> None:
        self.kind = kind
        self.vm = jvmti.attach(pid, timeout=30)
        self.stopped: list[int] = []
        self.armed: Any
        if kind == "trace":
            self.armed = self.vm.trace(f"{ORDER}.longer")
        elif kind == "logpoint":
            self.armed = self.vm.logpoint(f"{ORDER}.longer", "{number}")
        elif kind == "change":
            self.armed = self.vm.change(f"{ORDER}.longer", returns=99)
        else:
            self.armed = self.vm.breakpoint(ORDER, "longer", do=self._stop)

    def _stop(self, stop: Stop) -> None:
        self.stopped.append(stop.locals["number"])

    def seen(self) -> list[object]:
        """The arguments of the calls since the last look."""
        if self.kind == "trace":
            return [one.arguments[0] for one in calls_of(self.armed, 1)]
        if self.kind == "logpoint":
            return [int(str(one)) for one in self.armed.read(10)]
        if self.kind == "change":
            return []
        seen, self.stopped = self.stopped, []
        return list(seen)

    def disarm(self) -> None:
        """Take the probes back; the session stays."""
        (self.armed.cancel if self.kind == "breakpoint" else self.armed.close)()


KINDS = ("trace", "logpoint", "change", "breakpoint")


def test_controllers_share_a_method(java_program: JavaPrograms, jar: Path) -> None:
    program = started(java_program)
    program.ask("longer 1")
    other = Other(jar, program.pid)
    with jvmti.attach(program.pid, timeout=30) as witness:
        before = bytes(witness.find_class(ORDER).class_file)
        # Until a hook changes something, HotSpot makes a class file anew for each retransformation,
        # and no two need be the same.
        witness.trace(f"{ORDER}.longer").close()
        shown = other.sees(ORDER)
        # Each kind is at each place in some of these eight orders.
        for leaving in itertools.islice(itertools.permutations(KINDS), 0, None, 3):
            # Arming has the reverse order of leaving, so that each is once first and once last.
            sessions = [Session(program.pid, kind) for kind in reversed(leaving)]
            assert b"JvmtiProbes" in other.sees(ORDER)
            for call in range(5):
                number = 10**call
                changed = any(one.kind == "change" for one in sessions)
                expected = "99" if changed else str(len(f"n{2 * number}"))
                assert program.ask(f"longer {number}") == expected, leaving
                for one in sessions:
                    if one.kind != "change":
                        assert one.seen() == [number], (leaving, one.kind)
                if sessions:
                    # Half of them disarm first, the others just go.
                    gone = sessions.pop()
                    if call % 2:
                        gone.disarm()
                    gone.vm.detach()
            assert bytes(witness.find_class(ORDER).class_file) == before, leaving
            assert other.sees(ORDER) == shown, leaving


def test_threads_of_the_agent_end_in_methods_with_probes(java_program: JavaPrograms) -> None:
    # They serve nobody any more then, and a stop in them begins a conversation of its own.
    program = started(java_program)
    with jvmti.attach(program.pid, timeout=30) as vm:
        stopped: list[str] = []
        with vm.breakpoint("java.lang.Thread", "exit", do=lambda _: stopped.append("")):
            for _ in range(3):
                with jvmti.attach(program.pid, timeout=30) as other:
                    assert other.env.get_phase()
                program.ask("threads 2")
        assert len(stopped) >= 6
    assert program.running()
