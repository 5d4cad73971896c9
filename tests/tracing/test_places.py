"""Every kind of place in code, seen by logpoints, and by the VM's own events as a witness."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from events.conftest import NO_SIGNAL
from jvmti.instrumentation.probes import BadProbe
from jvmti.target.agent_library import library_for_executable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jvms import Jvm
    from jvmti.tracing.logpoint import Hit, Logpoint
    from programs import JavaProgram, JavaPrograms

SOURCE = Path(__file__).parents[1] / "java" / "Placed.java"
LINES = SOURCE.read_text().splitlines()
ROUNDS = 6


def line_of(text: str) -> int:
    """The line that has a text."""
    (found,) = (number for number, line in enumerate(LINES, 1) if text in line)
    return found


@pytest.fixture(scope="module")
def placed(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    library = library_for_executable(jvm.java)
    arguments = [f"-agentpath:{library}=reserve", NO_SIGNAL, "-Xmx128m"]
    program = shared_java_program("Placed", jvm_args=arguments)
    program.expect("ready", timeout=60)
    program.ask("2")  # what Java does at first use is no part of a test
    return program


@pytest.fixture(scope="module")
def vm(placed: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(placed.pid, capabilities="all", timeout=30) as attached:
        attached.timeout = 60
        yield attached
        assert attached.handler_errors == []
    assert placed.running()


def hits_of(log: Logpoint, most: int) -> list[Hit]:
    """So many hits, and whatever comes shortly behind them."""
    found: list[Hit] = []
    until = time.monotonic() + 10
    while len(found) < most and time.monotonic() < until:
        found += log.read(0.1)
    return [*found, *log.read(0.05)]


def line_at(event: Any) -> int:
    lines = [one for one in event.method.lines if one.start_location <= event.location]
    return int(max(lines, key=lambda one: one.start_location).line_number)


def in_placed(event: Any) -> bool:
    return bool(event.method.class_name.startswith("Placed"))


def witnessed(
    vm: jvmti.VM,
    placed: JavaProgram,
    event: str,
    seen: Callable[[Any], Any],
    place: str,
    text: str,
) -> tuple[list[Any], list[tuple[int, str]]]:
    """What the VM's event says, and what a logpoint does, of the same run."""
    events: list[Any] = []

    def handle(one: Any) -> None:
        if in_placed(one):
            events.append(seen(one))

    with vm.logpoint(place, text, limit=None) as log, vm.env.on(event, handle):
        placed.ask(str(ROUNDS), timeout=60)
        hits = hits_of(log, sum(one is not None for one in events))
    assert log.dropped == 0
    return events, [(hit.line, hit.text) for hit in hits]


@pytest.fixture
def watched(vm: jvmti.VM) -> Iterator[jvmti.VM]:
    """Both fields of a thing are watched."""
    cls = vm.find_class("Placed$Thing")
    fields = [cls.fields[name] for name in ("size", "last")]
    for field in fields:
        vm.env.set_field_modification_watch(cls, field)
        vm.env.set_field_access_watch(cls, field)
    yield vm
    for field in fields:
        vm.env.clear_field_modification_watch(cls, field)
        vm.env.clear_field_access_watch(cls, field)


def test_writes_of_fields_are_those_that_the_vm_reports(
    watched: jvmti.VM, placed: JavaProgram
) -> None:
    def seen(event: Any) -> tuple[int, str]:
        value = event.new_value
        text = watched.jni.get_string_chars(value) if event.field.name == "last" else value
        return line_at(event), f"Placed$Thing.{event.field.name} = {text}"

    events, hits = witnessed(
        watched, placed, "FieldModification", seen, "write Placed$Thing.*", "{member} = {value}"
    )
    assert len(events) == 4 * ROUNDS
    assert hits == events


def test_reads_of_fields_are_those_that_the_vm_reports(
    watched: jvmti.VM, placed: JavaProgram
) -> None:
    events, hits = witnessed(
        watched,
        placed,
        "FieldAccess",
        lambda event: (line_at(event), f"Placed$Thing.{event.field.name}"),
        "read Placed$Thing.*",
        "{member}",
    )
    assert len(events) > 5 * ROUNDS
    assert hits == events


def test_exceptions_thrown_are_those_that_the_vm_reports(vm: jvmti.VM, placed: JavaProgram) -> None:
    events, hits = witnessed(
        vm,
        placed,
        "Exception",
        lambda event: (line_at(event), f"throws {event.exception.cls.name}"),
        "throw Placed.*",
        "throws {type(exception)}",
    )
    assert hits == events
    assert events == [(line_of("throw new"), "throws java.lang.IllegalStateException")] * 3


def test_exceptions_caught_are_those_that_the_vm_reports(vm: jvmti.VM, placed: JavaProgram) -> None:
    events, hits = witnessed(
        vm,
        placed,
        "ExceptionCatch",
        lambda event: line_at(event),
        "catch java.lang.IllegalStateException in Placed.*",
        "{exception}",
    )
    assert [line for line, _ in hits] == events == [line_of("} catch (Ill")] * 3
    assert [text for _, text in hits] == [
        f"java.lang.IllegalStateException: odd {n}" for n in (1, 3, 5)
    ]


@pytest.mark.parametrize(
    ("place", "event", "text"),
    [
        ("return Placed$Thing.grown", "MethodExit", "{value}"),
        ("called Placed$Thing.grown in Placed.*", "MethodExit", "{value}"),
        ("call Placed$Thing.grown in Placed.*", "MethodEntry", "{passed0}"),
        ("Placed$Thing.grown", "MethodEntry", "{arg0}"),
        ("Placed$Thing.named", "MethodEntry", "{text}{number}"),
        ("call Placed$Thing.named", "MethodEntry", "{passed0}{passed1}"),
        ("called Placed$Thing.named", "MethodExit", "{value}"),
    ],
)
def test_calls_are_those_that_the_vm_reports(
    vm: jvmti.VM, placed: JavaProgram, place: str, event: str, text: str
) -> None:
    name = "named" if "named" in place else "grown"

    def seen(one: Any) -> Any:
        if one.method.name != name:
            return None
        if event == "MethodExit":
            value = one.return_value
            return vm.jni.get_string_chars(value) if name == "named" else value
        thread = one.thread
        if name == "grown":
            return vm.env.get_local_int(thread, 0, 1)
        text = vm.jni.get_string_chars(vm.env.get_local_object(thread, 0, 0))
        return f"{text}{vm.env.get_local_long(thread, 0, 1)}"

    events, hits = witnessed(vm, placed, event, seen, place, text)
    expected = [str(one) for one in events if one is not None]
    assert [text for _, text in hits] == expected
    assert len(expected) == ROUNDS
    if "called " in place or "call " in place:
        line = line_of("Thing.named(" if name == "named" else "thing.grown(")
        assert {line for line, _ in hits} == {line}


def test_a_method_that_an_exception_leaves(vm: jvmti.VM, placed: JavaProgram) -> None:
    def seen(event: Any) -> str | None:
        return event.method.name if event.was_popped_by_exception else None

    events, hits = witnessed(vm, placed, "MethodExit", seen, "unwind Placed.*", "{exception}")
    assert [one for one in events if one] == ["check"] * 3
    assert [text.rpartition(" ")[2] for _, text in hits] == ["1", "3", "5"]


@pytest.mark.parametrize(
    ("place", "method", "mnemonic"),
    [
        ("monitor-enter Placed.guarded", "guarded", "monitorenter"),
        ("monitor-exit Placed.guarded", "guarded", "monitorexit"),
        ("new int[] in Placed.make", "make", "newarray"),
        ("new Placed$Thing in Placed.make", "make", "new"),
        (f"Placed:{line_of('return check(number)')}", "checked", "aload_0"),
    ],
)
def test_places_are_reached_as_often_as_breakpoints_there(
    vm: jvmti.VM, placed: JavaProgram, place: str, method: str, mnemonic: str
) -> None:
    (target,) = (one for one in vm.find_class("Placed").methods if one.name == method)
    locations = [one.location for one in target.instructions if one.name == mnemonic]
    events: list[int] = []
    for location in locations:
        vm.env.set_breakpoint(target, location)
    try:
        with vm.logpoint(place, "{thread}", limit=None) as log:
            # The VM clears breakpoints in methods that get other code.
            for location in locations:
                try:
                    vm.env.set_breakpoint(target, location)
                except jvmti.errors.Duplicate:
                    pass
            with vm.env.on("Breakpoint", lambda event: events.append(event.location)):
                placed.ask(str(ROUNDS), timeout=60)
            hits = hits_of(log, ROUNDS)
    finally:
        for location in locations:
            try:
                vm.env.clear_breakpoint(target, location)
            except jvmti.errors.NotFound:
                pass
    assert {hit.text for hit in hits} == {"main"}
    assert len(hits) >= ROUNDS
    if mnemonic != "monitorexit":  # the one for exceptions has the same line
        assert len(hits) == {"newarray": ROUNDS + 2}.get(mnemonic, ROUNDS)


def test_monitors_and_new_objects_are_there(vm: jvmti.VM, placed: JavaProgram) -> None:
    with (
        vm.logpoint("monitor-enter Placed.guarded") as locks,
        vm.logpoint("new Placed$Thing in Placed.make", "{value} {value.size}") as made,
    ):
        placed.ask("3")
        assert [hit.text.partition("@")[0] for hit in hits_of(locks, 3)] == ["locks Object"] * 3
        assert [hit.text.rpartition(" ")[2] for hit in hits_of(made, 3)] == ["0", "1", "2"]


def test_a_place_says_what_is_worth_saying(vm: jvmti.VM, placed: JavaProgram) -> None:
    with vm.logpoint("write Placed$Thing.size in Placed.write") as log:
        placed.ask("2")
        assert [hit.text for hit in hits_of(log, 2)] == [
            "Placed$Thing.size = 0",
            "Placed$Thing.size = 1",
        ]
    assert log.text == "{member} = {value}"


def test_conditions_know_what_is_at_a_place(vm: jvmti.VM, placed: JavaProgram) -> None:
    with (
        vm.logpoint("write Placed$Thing.size in Placed.*", when="value > 2") as some,
        vm.logpoint("call Placed$Thing.named", "{passed1}", when="passed1 in (1, 4)") as calls,
        vm.logpoint("throw Placed.*", when="type(exception) in '*IllegalState*'") as thrown,
        vm.logpoint("throw Placed.*", when="type(exception) == 'java.lang.Error'") as none,
    ):
        placed.ask(str(ROUNDS), timeout=60)
        assert [hit.values["value"] for hit in hits_of(some, 3)] == [3, 4, 5]
        assert [hit.text for hit in hits_of(calls, 2)] == ["1", "4"]
        assert len(hits_of(thrown, 3)) == 3
        assert hits_of(none, 0) == []


def test_patterns_of_calls_leave_constructors_out_as_those_of_traces_do(
    vm: jvmti.VM, placed: JavaProgram
) -> None:
    with (
        vm.trace("Placed$Thing.*", summary=True) as trace,
        vm.logpoint("Placed$Thing.*", by="method") as log,
        vm.logpoint("return Placed$Thing.*", by="method") as returns,
        vm.logpoint("Placed$Thing.<init>", by="method") as named,
        vm.logpoint("write * in Placed$Thing.*", by="place") as writes,
    ):
        placed.ask("2")
        traced, *others = (
            {one.name for one in set_of.summary()} for set_of in (trace, log, returns, named)
        )
        assert others == [traced, traced, {"Placed$Thing.<init>"}]
        assert len(traced) > 1
        assert any("<init>" in one.name for one in writes.summary())  # code of theirs is code


def test_what_probes_of_others_do_is_no_place(vm: jvmti.VM, placed: JavaProgram) -> None:
    members = [f"{kind} * in Placed*.*" for kind in ("call", "called", "read", "write")]
    owners = [f"{kind} * in Placed*.*" for kind in ("new", "catch")]
    others = [f"{kind} Placed*.*" for kind in ("throw", "return", "line", "index", "monitor-exit")]

    def places() -> dict[str, dict[str, int]]:
        with contextlib.ExitStack() as stack:
            wanted = (*members, *owners, *others)
            logs = [stack.enter_context(vm.logpoint(one, by="place")) for one in wanted]
            placed.ask(str(ROUNDS), timeout=60)
            return {log.place: {one.name: one.calls for one in log.summary()} for log in logs}

    alone = places()
    # One keeps values and has handlers, one holds arguments, one stands behind calls.
    with (
        vm.trace("Placed*.*", when="exception != None or took > 0"),
        vm.trace("Placed*.*", objects=5),
        vm.trace("call Placed*.* in Placed*.*"),
    ):
        assert places() == alone
    assert all(alone.values())


def test_hits_are_counted_in_the_target(vm: jvmti.VM, placed: JavaProgram) -> None:
    with (
        vm.logpoint("new * in Placed*.*", by="place") as places,
        vm.logpoint("write Placed$Thing.size", by="value") as values,
        vm.logpoint("read Placed$Thing.size", by="method") as methods,
    ):
        placed.ask(str(ROUNDS), timeout=60)
        counts = {one.name: one.calls for one in places.summary()}
        assert counts[f"Placed.make:{line_of('new Thing(number)')}"] == ROUNDS
        assert counts[f"Placed.make:{line_of('numbers = new int[number]')}"] == ROUNDS
        by_value = {one.name: one.calls for one in values.summary()}
        assert by_value["5"] == 2  # written, made
        assert sum(by_value.values()) == 3 * ROUNDS
        assert {one.name for one in methods.summary()} == {"Placed$Thing.size"}


def test_calls_are_traced_where_they_are_made_also_of_native_methods(
    vm: jvmti.VM, placed: JavaProgram
) -> None:
    with vm.trace("call java.lang.Thread.sleep in Placed.*", stack=2) as trace:
        placed.ask("2")
        calls = []
        until = time.monotonic() + 10
        while len(calls) < 2 and time.monotonic() < until:
            calls += trace.read(0.1)
    assert [(one.name, one.arguments) for one in calls] == [
        ("java.lang.Thread.sleep", (0,)),
        ("java.lang.Thread.sleep", (1,)),
    ]
    assert calls[1].duration >= 900_000
    assert [one.line for one in calls] == [line_of("Thread.sleep(")] * 2
    assert calls[0].stack == (
        f"Placed.pause:{line_of('Thread.sleep(')}",
        f"Placed.work:{line_of('pause(number % 2)')}",
    )


def test_a_summary_of_calls_where_they_are_made(vm: jvmti.VM, placed: JavaProgram) -> None:
    with vm.trace("call Placed$Thing.* in Placed.call", summary=True) as trace:
        placed.ask("4")
        found = {one.name: one for one in trace.summary()}
    assert {name: one.calls for name, one in found.items()} == {
        "Placed$Thing.grown": 4,
        "Placed$Thing.named": 4,
    }
    assert found["Placed$Thing.named"].descriptor == "(Ljava/lang/String;J)Ljava/lang/String;"


@pytest.mark.parametrize(
    ("place", "text", "message"),
    [
        ("write Placed$Thing.sise", "x", r"no loaded class has code for.*has no 'sise'.*'size'"),
        ("call Placed$Thing.grow", "x", r"has no 'grow'; did you mean 'grown'"),
        ("call java.util.List.ad in Placed.*", "x", r"List has no 'ad'; did you mean.*'add"),
        (
            "new Placed$Thng",
            "x",
            r"no class 'Placed\$Thng' is loaded; did you mean 'Placed\$Thing'",
        ),
        ("catch java.lang.IllegalStatExcepton", "x", "did you mean.*'java.lang.IllegalState"),
        ("read Placed$Thing.size in Placed.raed", "x", "no method 'raed'; did you mean 'read'"),
        ("read Placed$Thing.size in Place.read", "x", "no loaded class matches 'Place'.*Placed"),
        ("write Placed$Thing.size in Placed.read", "x", "no loaded class has code for"),
        ("monitor-enter Placed.read", "x", "no loaded class has code for"),
    ],
)
def test_places_that_there_are_not(vm: jvmti.VM, place: str, text: str, message: str) -> None:
    with pytest.raises(LookupError, match=message):
        vm.logpoint(place, text)


@pytest.mark.parametrize(
    ("place", "text", "when", "message"),
    [
        ("write", "x", None, "'write' has no method"),
        ("write Placed", "x", None, "'write Placed': 'Placed' is not CLASS.MEMBER"),
        ("wrote Placed.x", "x", None, r"a kind of place \(entry, line"),
        ("monitor-enter Placed.guarded", "{value}", None, "known where calls return"),
        ("call Placed.read", "{passed}", None, "name one of them, passed0"),
        ("throw Placed.*", "x", "value == 1", "not known there"),
    ],
)
def test_places_that_make_no_sense(
    vm: jvmti.VM, place: str, text: str, when: str | None, message: str
) -> None:
    with pytest.raises(BadProbe, match=message):
        vm.logpoint(place, text, when=when)
