"""Stops at all kinds of places: what is known there, and what a thread does afterwards."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from debug.stopping import LINE, SOON, taken
from jvmti.expressions import evaluated
from jvmti.instrumentation.probes import BadProbe
from jvmti.interface.errors import NotAvailable, PauseTooLong, StopOver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jvms import Jvm
    from jvmti.model.debug.stops import Stop
    from programs import JavaProgram


pytestmark = pytest.mark.usefixtures("nothing_stops_any_more")


def known(stop: Stop) -> dict[str, Any]:
    """What is known at its place besides variables, objects by their classes."""
    found = {}
    for name, (value, _) in stop.names.items():
        found[name] = value.cls.name if hasattr(value, "cls") else value
    return found


PLACES = [
    ("return Stopping.add", "add 2", "add", "return", {"value": 2}, "returns 2"),
    (
        "unwind Stopping.thrower",
        "guarded 3",
        "thrower",
        "throw",
        {"exception": "java.lang.IllegalStateException"},
        "is left by ",
    ),
    (
        "throw Stopping.*",
        "guarded 3",
        "thrower",
        "throw",
        {"exception": "java.lang.IllegalStateException"},
        "throws ",
    ),
    (
        "catch java.lang.IllegalStateException in Stopping.*",
        "guarded 3",
        "guarded",
        None,
        {"exception": "java.lang.IllegalStateException"},
        "catches ",
    ),
    (
        "call Stopping.add(int, String) in Stopping.*",
        "other 1",
        "another",
        "another",
        {"target": None, "passed0": 0, "passed1": "other"},
        "calls Stopping.add(0, 'other')",
    ),
    (
        "called Stopping.add in Stopping.another",
        "other 1",
        "another",
        "another",
        {"value": 5, "target": None, "passed0": 0, "passed1": "other"},
        "has called Stopping.add: 5",
    ),
    ("new Stopping in *.fields", "fields 1", "fields", None, {"value": "Stopping"}, "has made "),
    (
        "write Stopping.counted",
        "fields 1",
        "fields",
        "instance",
        {"value": 10, "target": "Stopping"},
        "writes Stopping.counted: 10",
    ),
    (
        "read Stopping.label in Stopping.fields",
        "fields 1",
        "fields",
        None,
        {"value": "done", "target": None},
        "reads Stopping.label: 'done'",
    ),
    (
        "monitor-enter Stopping.locked",
        "locked 1",
        "locked",
        "locked",
        {"target": "java.util.concurrent.ConcurrentHashMap"},
        "enters the monitor of ",
    ),
    (
        "monitor-exit Stopping.*",
        "locked 1",
        "locked",
        None,
        {"target": "java.util.concurrent.ConcurrentHashMap"},
        "leaves the monitor of ",
    ),
    ("Stopping.add", "add 2", "add", "twice", {}, ""),
    ("Stopping:{sum}", "add 2", "add", "sum", {}, ""),
]


@pytest.mark.parametrize(
    ("place", "what", "method", "mark", "names", "words"), PLACES, ids=[one[0] for one in PLACES]
)
def test_a_thread_stops_at_a_place_of_any_kind_with_what_is_known_there(
    vm: jvmti.VM,
    program: JavaProgram,
    place: str,
    what: str,
    method: str,
    mark: str | None,
    names: dict[str, Any],
    words: str,
) -> None:
    with vm.stop_at(place.format(**LINE)) as stops:
        assert (stops.places > 0, stops.is_pending, stops.is_emulated) == (True, False, True)
        program.ask(f"start t {what}")
        stop = taken(stops)
        assert (stop.method.name, stop.thread.name) == (method, "t")
        if mark is not None:
            assert stop.line == LINE[mark]
        assert known(stop) == names
        assert str(stop.at_place).startswith(words)
        nothing = None, ""
        assert stop.value == stop.names.get("value", stop.names.get("exception", nothing))[0]
        assert stop.frames[1].method.name in ("perform", "guarded", "another")
        for name, (value, _) in stop.names.items():
            assert evaluated(stop.frame, name, names=stop.names).value == value
    program.ask("join t", timeout=SOON)


def test_what_was_known_is_gone_when_the_thread_has_resumed(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.stop_at("called Stopping.add in Stopping.another") as stops:
        program.ask("start t other 1")
        stop = taken(stops)
    for look in (lambda: stop.value, lambda: stop.names, lambda: stop.locals):
        with pytest.raises(StopOver):
            look()
    program.ask("join t", timeout=SOON)


def test_conditions_are_about_what_is_known_there(vm: jvmti.VM, program: JavaProgram) -> None:
    cases = [
        ("return Stopping.add", "value >= 6 and name == 'x2'", 2),
        ("call Stopping.add in Stopping.perform", "passed0 == 3", 3),
        ("called Stopping.add in Stopping.perform", "value == 6 and passed0 > 0", 2),
        ("return Stopping.add", "took > 0.0 and n == 1", 1),
    ]
    for place, when, number in cases:
        with vm.stop_at(place, when=when) as stops:
            program.ask("start t add 4")
            stop = taken(stops)
            seen = stop.names["passed0"][0] if "passed0" in stop.names else stop.locals["n"]
            assert seen == number
            assert stops.hits == 1
        program.ask("join t", timeout=SOON)
    with vm.stop_at("return Stopping.add", when=lambda stop: stop.value == 4) as stops:
        program.ask("start t add 4")
        assert taken(stops).locals["n"] == 1
    program.ask("join t", timeout=SOON)
    with vm.stop_at("return Stopping.add", over=3600.0) as stops:
        program.ask("start t add 4")
        assert program.ask("join t", timeout=SOON) == str(sum(2 * n + 2 for n in range(4)))
        assert stops.hits == 0


def test_hits_threads_and_callers_choose_as_for_breakpoints(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    seen = []
    with vm.stop_at("return Stopping.add", hits="every 2", do=lambda stop: seen.append(stop.value)):
        program.ask("start t add 4")
        program.ask("join t", timeout=SOON)
    assert seen == [4, 8]
    with vm.stop_at("return Stopping.add", caller="Stopping.another") as stops:
        program.ask("start t add 2")
        program.ask("join t", timeout=SOON)
        program.ask("start t other 1")
        assert taken(stops).value == 5
        assert stops.hits == 1
    program.ask("join t", timeout=SOON)
    main = next(one for one in vm.threads if one.name == "main")
    with vm.stop_at("return Stopping.add", thread=main) as stops:
        program.ask("start t add 2")
        program.ask("join t", timeout=SOON)
        assert stops.hits == 0


def test_a_stop_where_a_method_returns_can_make_it_return_something_else(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.stop_at("return Stopping.add", do=lambda stop: stop.frame.return_(stop.value + 100)):
        program.ask("start t add 3")
        assert program.ask("join t", timeout=SOON) == str(sum(2 * n + 102 for n in range(3)))
    with vm.stop_at("unwind Stopping.thrower", do=lambda stop: stop.frame.return_(7)):
        program.ask("start t guarded 3")
        assert program.ask("join t", timeout=SOON) == "7"
    with vm.stop_at("call Stopping.add in Stopping.another", do=lambda stop: _put(stop, "n", 50)):
        # The value is on its way already: what follows the call sees the other one.
        program.ask("start t other 1")
        assert program.ask("join t", timeout=SOON) == "5"
    with vm.stop_at("read Stopping.label in *.fields", do=lambda stop: _put(stop, "n", 3)) as stops:
        program.ask("start t fields 1")
        assert program.ask("join t", timeout=SOON) == "0 10 done"
        assert stops.hits == 1


def _put(stop: Stop, name: str, value: Any) -> None:
    stop.locals[name] = value
    assert stop.locals[name] == value


def test_steps_begin_at_such_a_place(vm: jvmti.VM, way: str, program: JavaProgram) -> None:
    with vm.stop_at("catch * in Stopping.guarded") as stops:
        program.ask("start t guarded 3")
        stop = taken(stops)
        step = stop.step("over", timeout=SOON)
        assert step is not None
        assert (step.method.name, step.line) == ("guarded", LINE["handler"])
    program.ask("join t", timeout=SOON)
    with vm.stop_at("call Stopping.add in *.*") as stops:
        program.ask("start t other 1")
        into = taken(stops).step("into", timeout=SOON)
        assert into is not None
        assert (into.method.name, into.line) == ("add", LINE["twice"])
    program.ask("join t", timeout=SOON)
    with vm.watch("Stopping", "written") as watched:
        program.ask("start t fields 1")
        step = taken(watched).step("over", timeout=SOON)
        assert step is not None
        assert (step.method.name, step.line) == ("fields", LINE["instance"])
    program.ask("join t", timeout=SOON)
    with vm.stop_at("return Stopping.add") as stops:
        program.ask("start t other 1")
        stop = taken(stops)
        assert stop.is_at_end
        with pytest.raises(NotAvailable, match="by line|step"):
            stop.step("over", by="instruction", timeout=SOON)
        if way == "late":
            with pytest.raises(NotAvailable, match="about to end, and its callers began before"):
                stop.step("over", timeout=SOON)
        else:
            caller = stop.step("out", timeout=SOON)
            assert caller is not None
            assert (caller.method.name, caller.line) == ("another", LINE["another"])
    program.ask("join t", timeout=SOON)


def test_a_class_that_is_loaded_later_has_the_place(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.stop_at("return Stopping$Loaded.answer", unloaded=True) as stops:
        before = stops.places
        if stops.is_pending:
            assert "Stopping$Loaded" in (stops.pending_reason or "")
        program.send("load 2")
        assert [taken(stops).value, taken(stops).value] == [1, 2]
        assert stops.places > before
        assert stops.next(0.0) is None
        assert program.expect("3", timeout=SOON)
    program.ask("unload", timeout=SOON)


def test_threads_that_stop_at_once_do_not_disturb_what_sets_the_place(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    for _ in range(3):
        program.ask("start t other 20000000")  # it may stop while its class gets the probes
        with vm.stop_at("call Stopping.add in Stopping.another") as stops:
            program.ask("start u other 1")
            assert taken(stops).at_place is not None
            assert stops.places == 1
        for name in "tu":
            program.ask(f"join {name}", timeout=SOON)


def test_running_calls_are_those_of_methods_with_the_place(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    program.ask("start t wait 0")
    until = time.monotonic() + SOON
    while vm.threads["t"].java_state != "WAITING":
        assert time.monotonic() < until
        time.sleep(0.01)
    with vm.stop_at("return Stopping.*") as stops:
        assert {"Stopping.waiting", "Stopping.perform"} <= set(stops.running)
    with vm.stop_at("call Stopping.add in Stopping.*") as stops:
        assert set(stops.running) == {"Stopping.perform"}
    program.ask("release")
    program.ask("join t", timeout=SOON)


def test_what_cannot_be_there_is_refused_before_anything_changes(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    refused = [
        (LookupError, {"place": "return Stopping.ad"}, r"has no method 'ad'; did you mean .*add"),
        (LookupError, {"place": "call Stopping.ad in Stopping.*"}, "has no 'ad'"),
        (LookupError, {"place": "call Stopping.add(int) in Stopping.*"}, r"has add\(int, java"),
        (LookupError, {"place": "return Stoping.add"}, "similar ones: Stopping"),
        (LookupError, {"place": "Stopping:1"}, "the nearest lines with code"),
        (LookupError, {"place": "return Stopping.add", "when": "nix > 3"}, "'nix > 3'"),
        (BadProbe, {"place": "call Stopping.add", "when": "value > 3"}, "is not known there"),
        (BadProbe, {"place": "gone Stopping.add"}, "is not a place"),
        (BadProbe, {"place": "return Stopping.add", "line": 3}, "a line is of a class"),
        (BadProbe, {"place": "return Stopping.add", "when": "n +"}, "not an expression"),
        (TypeError, {"place": 3}, "a place is a text"),
        (PauseTooLong, {"place": "return Stopping.add", "max_pause": 1e-9}, "putting probes"),
    ]
    for kind, arguments, message in refused:
        with pytest.raises(kind, match=message):
            vm.stop_at(**arguments)  # type: ignore[arg-type]
        assert len(vm.breakpoints) == 0
    with pytest.raises(ValueError, match=r"vm\.stop_at\('return Stopping.add'\)"):
        vm.breakpoint("return Stopping.add")
    program.ask("start t add 2")
    assert program.ask("join t", timeout=SOON) == "6"


@pytest.mark.natively("it starts a JVM of its own")
def test_a_held_jvm_stops_at_the_first_such_place(
    jvm: Jvm, java_classes: Callable[..., Path]
) -> None:
    command = [jvm.java, *jvm.args, "-cp", java_classes("Stopping"), "Stopping"]
    with jvmti.launch(command, hold=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as vm:
        assert vm.popen is not None
        with vm.stop_at("new java.util.ArrayList in Stopping.<clinit>") as stops:
            assert stops.is_pending
            vm.proceed()
            stop = taken(stops)
            assert (stop.thread.name, stop.value.cls.name) == ("main", "java.util.ArrayList")
            assert not stops.is_pending
        assert vm.popen.stdin is not None
        vm.popen.communicate(timeout=SOON)
        assert vm.popen.returncode == 0
