"""Events of monitors: wanted, got, waited on."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Code, Seen


def of_the_lock(code: Code) -> Seen:
    lock = code.static("lock", "LEvents$Lock;")
    return Seen(lambda event: event.object == lock)


def test_a_thread_that_wants_a_held_monitor_queues_for_it_and_gets_it(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("MonitorContendedEnter", "MonitorContendedEntered")
    env = vm.env
    seen = of_the_lock(code)
    owners: list[str | None] = []
    holding = vm.jni.get_static_field_id(code.cls, "holding", "Z")

    def owner(event: Any) -> None:
        if seen.wanted is not None and seen.wanted(event):
            found = env.get_object_monitor_usage(event.object).owner
            owners.append(None if found is None else found.name)
            vm.jni.set_static_boolean_field(code.cls, holding, False)

    vm.jni.set_static_boolean_field(code.cls, holding, True)
    with (
        env.on("MonitorContendedEnter", seen),
        env.on("MonitorContendedEnter", owner),
        env.on("MonitorContendedEntered", seen),
        env.on("MonitorContendedEntered", owner),
    ):
        assert program.ask("contend holder wanting") == "held entered"
    assert [(type(event).__name__, event.thread.name) for event in seen] == [
        ("MonitorContendedEnter", "wanting"),
        ("MonitorContendedEntered", "wanting"),
    ]
    assert owners == ["holder", "wanting"]


def test_a_wait_that_runs_out_of_time(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("MonitorWait", "MonitorWaited")
    seen = of_the_lock(code)
    with vm.env.on("MonitorWait", seen), vm.env.on("MonitorWaited", seen):
        assert program.ask("doze 7") == "awake"
    wait, waited = seen
    assert (type(wait).__name__, wait.timeout, wait.thread) == (
        "MonitorWait",
        7,
        vm.threads["main"],
    )
    assert (type(waited).__name__, waited.timed_out, waited.thread) == (
        "MonitorWaited",
        True,
        vm.threads["main"],
    )


def test_a_wait_that_is_notified(program: programs.JavaProgram, vm: jvmti.VM, code: Code) -> None:
    seen = of_the_lock(code)
    with vm.env.on("MonitorWait", seen), vm.env.on("MonitorWaited", seen):
        assert program.ask("notified sleeper") == "notified"
    wait, waited = seen
    assert (wait.thread.name, wait.timeout) == ("sleeper", 0)
    assert (waited.thread.name, waited.timed_out) == ("sleeper", False)


def test_events_of_monitors_come_in_whatever_order_they_were_enabled(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Enabling one after another, and before the capability of a second environment."""
    names = ["MonitorContendedEntered", "MonitorWaited", "MonitorContendedEnter", "MonitorWait"]
    for order in (names, names[::-1]):
        seen = of_the_lock(code)
        handlers = [vm.env.on(name, seen) for name in order]
        program.ask("contend holder wanting")
        program.ask("doze 1")
        assert [type(event).__name__ for event in seen] == [
            "MonitorContendedEnter",
            "MonitorContendedEntered",
            "MonitorWait",
            "MonitorWaited",
        ]
        for handler in handlers:
            handler.cancel()
        program.ask("doze 1")
        assert len(seen) == 4


def test_an_environment_that_enabled_nothing_receives_nothing(
    program: programs.JavaProgram, vm: jvmti.VM, another: jvmti.Env, code: Code
) -> None:
    first, second = of_the_lock(code), of_the_lock(code)
    with vm.env.on("MonitorWait", first), another.on("MonitorWaited", second):
        program.ask("doze 1")
    assert [type(event).__name__ for event in first] == ["MonitorWait"]
    assert [type(event).__name__ for event in second] == ["MonitorWaited"]
    assert {event.env for event in first} == {vm.env}
    assert {event.env for event in second} == {another}


MONITOR_EVENTS = (
    "MonitorContendedEnter",
    "MonitorContendedEntered",
    "MonitorWait",
    "MonitorWaited",
)


@pytest.mark.parametrize("turn", [1, -1], ids=["as-made", "backwards"])
def test_environments_receive_events_in_the_order_of_their_creation(
    turn: int, program: programs.JavaProgram, vm: jvmti.VM, another: jvmti.Env, code: Code
) -> None:
    """Whatever the order in which they enabled the events; one gets it when the other is done."""
    with jvmti.attach(program.pid, capabilities="can_generate_monitor_events") as later:
        lock = Code(later, "Events").static("lock", "LEvents$Lock;")
        order: list[tuple[str, str]] = []

        def noting(who: str, wanted: Any) -> Any:
            def note(event: Any) -> None:
                if event.object == wanted:
                    order.append((type(event).__name__, who))

            return note

        own = code.static("lock", "LEvents$Lock;")
        whose = [("first", vm.env, own), ("second", another, own), ("later", later.env, lock)]
        handlers = {
            (who, name): env.on(name, noting(who, wanted))
            for who, env, wanted in whose[::turn]
            for name in MONITOR_EVENTS[::turn]
        }
        program.ask("contend holder wanting")
        program.ask("doze 1")
        assert order == [(name, who) for name in MONITOR_EVENTS for who, _, _ in whose]
        # What one disables the others still receive.
        order.clear()
        for name in ("MonitorContendedEnter", "MonitorWaited"):
            handlers["first", name].cancel()
        handlers["later", "MonitorWait"].cancel()
        program.ask("contend holder wanting")
        program.ask("doze 1")
        assert order == [
            ("MonitorContendedEnter", "second"),
            ("MonitorContendedEnter", "later"),
            ("MonitorContendedEntered", "first"),
            ("MonitorContendedEntered", "second"),
            ("MonitorContendedEntered", "later"),
            ("MonitorWait", "first"),
            ("MonitorWait", "second"),
            ("MonitorWaited", "second"),
            ("MonitorWaited", "later"),
        ]
        # And enabled again it gets events in its old place.
        order.clear()
        vm.env.on("MonitorWait", noting("again", own))
        program.ask("doze 1")
        assert order == [
            ("MonitorWait", "first"),
            ("MonitorWait", "again"),
            ("MonitorWait", "second"),
            ("MonitorWaited", "second"),
            ("MonitorWaited", "later"),
        ]
        assert later.handler_errors == []
    program.ask("doze 1")
    assert [who for name, who in order if name == "MonitorWait"][3:] == ["first", "again", "second"]
