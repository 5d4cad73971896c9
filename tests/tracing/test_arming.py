"""How long arming stops the program: estimated, measured by a witness, and kept to a limit."""

from __future__ import annotations

import json
import logging
import re
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from command_line import run
from jvmti.instrumentation.probes import BadProbe
from jvmti.tracing import arming
from jvmti.tracing.arming import Witness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

ORDER = "Traced$Order"


@pytest.fixture(scope="module")
def traced(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Traced", jvm_args=["-Xmx128m"])
    program.expect("ready")
    program.ask("add 1")
    return program


@pytest.fixture(scope="module")
def vm(traced: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(traced.pid, timeout=30) as attached:
        yield attached
    assert traced.running()


def test_what_a_trace_would_cost_is_what_it_takes(vm: jvmti.VM, traced: JavaProgram) -> None:
    traced.ask("start 2")
    try:
        with vm.trace("Traced*.*"):
            pass  # which has the VM prepare classes that it has only loaded
        for patterns in (
            ("Traced*.*",),
            (f"{ORDER}.add", f"{ORDER}.deep(int)"),
            (f"{ORDER}.<init>",),
            (
                "java.util.ArrayList.*",
                "java.util.ArrayDeque.* extends java.util.Abstract*",
            ),
        ):
            cost = vm.trace_cost(*patterns)
            assert b"JvmtiProbes" not in bytes(vm.find_class(ORDER).class_file)
            with vm.trace(*patterns) as trace:
                assert (cost.classes, cost.methods) == (trace.classes, trace.methods)
                assert set(cost.running) <= set(trace.running)
        cost = vm.trace_cost("Traced.run")
        assert cost.running == {"Traced.run": 2}
    finally:
        traced.ask("stop")
    assert 0 < cost.step <= cost.pause < 1
    assert str(cost).startswith("1 method of 1 class; stops the program for about ")
    assert vm.trace_cost("java.*.*").pause > cost.pause
    assert vm.trace_cost("nobody.x", unloaded=True)[:3] == (0, 0, {})
    with pytest.raises(LookupError, match=r"no loaded class matches 'Trased\$Order'.*'Traced\$Ord"):
        vm.trace_cost("Trased$Order.add")
    with pytest.raises(LookupError, match="Order has no method 'ad'; did you mean 'add'"):
        vm.trace_cost(f"{ORDER}.ad")
    call = f"call {ORDER}.add in Traced*.*"
    with vm.trace(call) as trace:
        assert trace.methods == 3
        assert (trace.classes, trace.methods) == vm.trace_cost(call)[:2]
    with pytest.raises(LookupError, match="Order has no 'ad'; did you mean 'add'"):
        vm.trace_cost(f"call {ORDER}.ad in Traced*.*")
    with pytest.raises(BadProbe, match="is not CLASS.METHOD"):
        vm.trace_cost("Traced")


def test_a_logpoint_at_many_places_warns(
    vm: jvmti.VM, traced: JavaProgram, caplog: pytest.LogCaptureFixture
) -> None:
    with vm.logpoint("call * in java.util.*.*", "x", when="thread == 'nobody'") as log:
        assert f"{log.places:,} places in {log.classes:,} classes have probes" in caplog.text
    assert traced.ask("deep 1") == "1"


def test_the_command_says_what_it_would_cost(traced: JavaProgram) -> None:
    ended = run("trace", traced.pid, f"{ORDER}.*", "--dry-run", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["classes"] == 1
    assert found["methods"] > 5
    ended = run("trace", traced.pid, "java.*.*", "--dry-run")
    assert "methods: a narrower pattern" in ended.stdout


def test_a_limit_that_one_class_would_break_is_refused_beforehand(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    with pytest.raises(jvmti.errors.PauseTooLong, match="the limit is 0.0001 s") as raised:
        vm.trace(f"{ORDER}.*", max_pause=0.0001)
    assert raised.value.expected == pytest.approx(vm.trace_cost(f"{ORDER}.*").step, rel=0.5)
    assert b"JvmtiProbes" not in bytes(vm.find_class(ORDER).class_file)
    assert traced.ask("add 0")


def test_stops_take_a_limit_for_their_pauses(vm: jvmti.VM, traced: JavaProgram) -> None:
    traced.ask("send 1")
    order = vm.find_class(ORDER)
    for refused in (
        lambda: vm.breakpoint("Traced*", "add", max_pause=0.0001),
        lambda: vm.watch(ORDER, "total", max_pause=0.0001),
        lambda: order.fields["total"].watch(max_pause=0.0001),
    ):
        with pytest.raises(jvmti.errors.PauseTooLong, match="the limit is 0.0001 s"):
            refused()
        assert b"JvmtiProbes" not in bytes(order.class_file)
    seen: list[str] = []
    with vm.breakpoint(
        "Traced*",
        "*",
        when="thread == 'main'",
        max_pause=1.0,
        do=lambda stop: seen.append(str(stop.method)),
    ) as stops:
        assert stops._probes is not None
        assert len(stops._probes.pauses) > 1
        assert traced.ask("add 1")
    assert any("add" in one for one in seen)


def test_classes_get_their_probes_in_steps_that_are_measured(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    with vm.trace("java.util.*.*", max_pause=1.0) as trace:
        assert len(trace.pauses) > 3
        assert trace.classes > 50
        assert all(0 < pause for pause in trace.pauses)
        assert traced.ask("deep 2") == "2"
    before = vm.stats.messages
    with vm.trace("java.util.*.*", "java.util.L*.*", when="thread.name != '?'") as at_once:
        assert vm.stats.messages - before < 40  # however many classes there are
        assert at_once.pauses == []
        assert abs(at_once.classes - trace.classes) <= 5  # some are loaded meanwhile


def test_emulated_events_take_a_limit_for_their_pauses(traced: JavaProgram) -> None:
    def has_probes(session: jvmti.VM) -> bool:
        return b"JvmtiProbes" in bytes(session.find_class(ORDER).class_file)

    def in_steps(session: jvmti.VM) -> list[float]:
        probes = session.breakpoints.event_probes
        assert probes is not None
        return probes.pauses

    with jvmti.attach(traced.pid, emulate=True) as other:
        env = other.new_env()
        env.add_capabilities({"can_generate_method_entry_events"})
        where = {"classes": ["java.util.*", ORDER]}
        for refused in (
            lambda: env.stream("MethodEntry", **where, max_pause=0.0001),
            lambda: env.on("MethodEntry", lambda event: None, max_pause=0.0001),
        ):
            with pytest.raises(jvmti.errors.PauseTooLong, match="the limit is 0.0001 s"):
                refused()
            assert not has_probes(other)
        with env.stream("MethodEntry", **where, max_pause=1.0) as stream:
            assert has_probes(other)
            assert len(in_steps(other)) > 3
            assert all(0 < pause for pause in in_steps(other))
            traced.ask("deep 2")
            seen: set[str] = set()
            until = time.monotonic() + 20
            while "deep" not in seen and time.monotonic() < until:
                seen |= set(filter(None, stream.read(1)["method"].names))
            assert "deep" in seen
        assert not has_probes(other)
    arguments = ("events", traced.pid, "MethodEntry", "--max-pause")
    wrong = run(*arguments, "1ms", "--native")
    assert wrong.returncode == 2
    assert "--max-pause is for probes, which --native refuses" in wrong.stderr
    refused_command = run(*arguments, "0.1ms")
    assert refused_command.returncode == 1
    assert "would stop the program for about" in refused_command.stderr


def test_steps_that_turn_out_too_long_leave_no_probe(
    traced: JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    with jvmti.attach(traced.pid, emulate=True) as other:
        env = other.new_env()
        env.add_capabilities({"can_generate_method_entry_events"})
        # An estimate that is too low, as on a machine that is busier than any.
        monkeypatch.setattr(arming, "estimated_pause", lambda classes, loaded: 0.0)
        with pytest.raises(jvmti.errors.PauseTooLong, match="putting probes into one class"):
            env.stream("MethodEntry", classes=["java.util.*"], max_pause=1e-9)
        # Of those that came first, in steps of one.
        lists = [one for one in other.classes("java.util.*") if one.signature.startswith("L")]
        for cls in lists:
            assert cls.is_hidden or b"JvmtiProbes" not in bytes(cls.class_file), cls.name


MANY = "java.*.*"
"""More than 2,000 methods."""


def test_many_methods_are_announced(
    vm: jvmti.VM, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def announced() -> list[str]:
        said = [one.message for one in caplog.records if one.name == "jvmti"]
        caplog.clear()
        return said

    with caplog.at_level(logging.WARNING, "jvmti"):
        for options in ({}, {"max_pause": 1.0}):
            # Of each time: probes have the VM prepare further classes.
            cost = vm.trace_cost(MANY)
            assert cost.methods > arming.MANY_METHODS
            with vm.trace(MANY, **options):
                [said] = announced()
            found = re.match(
                r"putting probes into (?:at least )?([\d,]+) methods of ([\d,]+) classes will "
                r"(stop .* and )?"
                r"make each of their calls some 50 ns slower, .*; a narrower pattern takes fewer, ",
                said,
            )
            assert found, said
            assert int(found[1].replace(",", "")) == pytest.approx(cost.methods, rel=0.02)
            assert (found[3] is None) == bool(options)
        monkeypatch.setattr(arming, "MANY_METHODS", 2 * cost.methods)
        with vm.trace(MANY), vm.logpoint("java.*:100000", "x", unloaded=True):
            assert announced() == []


def test_the_command_announces_many_methods_once(traced: JavaProgram) -> None:
    shown = run("trace", traced.pid, MANY, "--duration", "0.1", "--limit", "1")
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr.count("putting probes into") == 1
    assert shown.stderr.index("putting probes into") < shown.stderr.index("tracing ")


def test_a_long_pause_is_announced(
    vm: jvmti.VM,
    traced: JavaProgram,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def announced() -> list[str]:
        said = [one.message for one in caplog.records if one.name == "jvmti"]
        caplog.clear()
        return said

    monkeypatch.setattr(arming, "MANY_METHODS", 100_000)
    with caplog.at_level(logging.WARNING, "jvmti"):
        with vm.trace("java.util.*.*"):
            assert announced() == []  # this is no second
        monkeypatch.setattr(arming, "LONG", 0.0)  # as if it were
        with vm.trace("java.util.*.*") as trace:
            [said] = announced()
            found = re.match(r"putting probes into (\d+) classes will stop the program for", said)
            assert found
            assert int(found[1]) >= trace.classes
        with vm.trace("java.util.*.*", max_pause=1.0), vm.trace(f"{ORDER}.*"):
            assert announced() == []
        # Emulated events put probes into the classes, too.
        with jvmti.attach(traced.pid, emulate=True) as other:
            env = other.new_env()
            env.add_capabilities({"can_generate_method_entry_events"})
            with env.stream("MethodEntry", classes=["java.util.*"]):
                assert any("putting probes into" in one for one in announced())


def test_a_witness_sees_a_pause(vm: jvmti.VM) -> None:
    """Walking the heap stops the VM, as putting probes into classes does."""
    with Witness(vm) as witness:
        nothing = witness.pause(lambda: None)
        pause = witness.pause(lambda: vm.env.force_garbage_collection())
    assert 0 < nothing
    assert 0 < pause


def test_a_class_whose_initialization_failed_is_named_and_disturbs_no_other(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    assert traced.ask("broken") == "broken"
    with vm.logpoint("[BT]r*.add", "added") as log:
        traced.ask("add 1")
        assert len(log.read(20)) == 1
        assert set(log.refused) == {"Broken"}
    with pytest.raises(jvmti.Error, match="Broken: its initialization failed"):
        vm.trace("Broken.add")
