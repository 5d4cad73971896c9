"""Stops in a JVM that nobody prepared, where they differ from the VM's own; see also test_stops."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import jvmti
from debug import stopping
from debug.stopping import LINE, SOON
from jvms import Jvm
from jvmti.interface.errors import (
    ClassNotPrepared,
    NotAvailable,
    OpaqueFrame,
    StopOver,
    UnmodifiableClass,
)
from jvmti.model.debug.conditions import ConditionError
from jvmti.model.debug.late import step_probes
from jvmti.model.debug.stops import Stop, StopRequest
from prepared import attaching
from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def changed(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Changed", jvm_args=["-XX:+StartAttachListener"])
    program.expect("ready", timeout=60)
    return program


@pytest.fixture(scope="module")
def changed_vm(changed: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(changed.pid) as vm:
        yield vm


@pytest.fixture(scope="module")
def program(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    return stopping.start(shared_java_program, jvm, late=True)


@pytest.fixture
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with stopping.attached(program) as attached:
        yield attached


def taken(stops: StopRequest) -> Stop:
    stop = stops.next(SOON)
    assert stop is not None
    return stop


VALUES: list[tuple[str, Any, str]] = [
    ("pieces", 77, "77"),
    ("total", 1 << 40, "1099511627776"),
    ("price", 2.75, "2.75"),
    ("weight", 0.5, "0.5"),
    ("open", True, "true"),
    ("grade", "z", "z"),
    ("shelf", -300, "-300"),
    ("level", -5, "-5"),
    ("name", "Ada", "Ada"),
    ("name", None, "null"),
    ("thing", "anything", "anything"),
    ("boxed", 5, "5"),
    ("fixed", 12, "12"),
    ("close", None, "closed"),
]


@pytest.mark.parametrize(("what", "value", "shown"), VALUES)
def test_a_method_returns_early_what_the_controller_says(
    changed_vm: jvmti.VM, changed: JavaProgram, what: str, value: Any, shown: str
) -> None:
    with changed_vm.breakpoint("Changed$Shop", what) as stops:
        assert stops.is_emulated
        changed.send(f"{what} -1")
        stop = taken(stops)
        assert stop.locals["n"] == -1
        stop.frame.return_(value)
    assert changed.read_line(SOON).partition("|")[0] == shown


def test_variables_are_brought_when_somebody_looks_at_them(
    changed_vm: jvmti.VM, changed: JavaProgram
) -> None:
    with changed_vm.breakpoint("Changed$Shop", "pieces") as stops:
        changed.send("pieces 4")
        stop = taken(stops)
        held = changed_vm.stats.agent.objects  # type: ignore[union-attr]
        seen: list[Any] = []
        # Another Python thread asks on a thread of its own in the JVM.
        reader = threading.Thread(
            target=lambda: seen.append(changed_vm.threads[stop.thread.name].frames[0].locals["n"])
        )
        reader.start()
        reader.join(SOON)
        assert seen == [4]
        assert stop.locals["n"] == 4
        assert changed_vm.stats.agent.objects > held  # type: ignore[union-attr]
        stop.locals["n"] = 6
        assert stop.locals["n"] == 6
    assert changed.read_line(SOON).partition("|")[0] == "6"


def test_variables_that_nobody_looked_at_go_with_the_stop(
    changed_vm: jvmti.VM, changed: JavaProgram
) -> None:
    with changed_vm.breakpoint("Changed$Shop", "pieces") as stops:
        changed.send("pieces 4")
        left = taken(stops).probed
        assert left is not None
        changed.send("pieces 5")
        stop = taken(stops)
        with pytest.raises(StopOver, match="has resumed"):
            left.get(1)
        assert stop.locals["n"] == 5
    assert [changed.read_line(SOON).partition("|")[0] for _ in range(2)] == ["4", "5"]


def test_a_value_of_another_type_is_refused_and_nothing_changes(
    changed_vm: jvmti.VM, changed: JavaProgram
) -> None:
    with changed_vm.breakpoint("Changed$Shop", "pieces") as stops:
        changed.send("pieces 4")
        stop = taken(stops)
        with pytest.raises(TypeError):
            stop.frame.return_("four")
        with pytest.raises(OverflowError):
            stop.locals["n"] = 1 << 40
    assert changed.read_line(SOON).partition("|")[0] == "4"


def test_a_synchronized_method_is_left_and_gives_its_monitor_up(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.breakpoint("Stopping", "guarding") as stops:
        program.ask("start t guard 0")
        taken(stops).frame.return_(8)
    assert program.ask("join t") == "8"
    with stopping.cls(vm).locked():
        pass


def test_a_method_with_a_synchronized_block_is_not_left_early(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    println = ("java.io.PrintStream", "println")
    with vm.breakpoint(*println, signature="(Ljava/lang/String;)V") as stops:
        program.send("start t other 1")
        with pytest.raises(OpaqueFrame, match="`synchronized` block"):
            taken(stops).frame.return_()
    assert program.read_line(SOON) == "started"
    program.ask("join t")


def test_a_breakpoint_in_the_jdk_stops_there(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.breakpoint("java.util.ArrayList", "<init>", signature="(I)V") as stops:
        jni = vm.jni
        lists = vm.find_class("java.util.ArrayList")
        constructor = jni.get_method_id(lists, "<init>", "(I)V")
        made: list[Any] = []

        def make() -> None:
            made.append(vm.jni.new_object(lists, constructor, [7]))

        thread = threading.Thread(target=make)
        thread.start()
        assert taken(stops).locals[1] == 7
    thread.join(SOON)
    assert len(made) == 1


def test_classes_that_box_values_take_no_breakpoints(vm: jvmti.VM) -> None:
    with pytest.raises(jvmti.Error, match=r"java\.lang\.Integer\.valueOf"):
        vm.breakpoint("java.lang.Integer", "valueOf", signature="(I)Ljava/lang/Integer;")
    assert not list(vm.breakpoints)


def test_a_hidden_class_says_why_it_takes_none(vm: jvmti.VM, program: JavaProgram) -> None:
    program.ask("unload", timeout=SOON)  # has a lambda expression
    hidden = [one for one in vm.classes if one.is_hidden and one.methods and not one.is_array]
    method = next(one for one in hidden[0].methods if not one.is_native and one.bytecodes)
    with pytest.raises(UnmodifiableClass, match="attached late cannot stop"):
        method.breakpoint()
    assert not list(vm.breakpoints)


def test_a_condition_about_fields_is_decided_by_the_probe(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    point = vm.breakpoint("Stopping", "add", when="len(name) == 5 and thread.name == 'chosen'")
    for name, what in (("chosen", "other"), ("chosen", "add"), ("another", "other")):
        program.ask(f"start {name} {what} 2")
        program.ask(f"join {name}")
    assert point.hits == 2
    assert vm.stats.agent.events_answered == 2  # type: ignore[union-attr]
    point.cancel()
    with pytest.raises(ValueError, match="Stopping has no field 'countd'; did you mean 'counted'"):
        vm.breakpoint("Stopping", "add", when="this.countd > 1")
    with pytest.raises(ConditionError, match="not an expression"):
        vm.breakpoint("Stopping", "add", when="n ==")


def test_an_exception_stops_where_it_is_made(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.catch("IllegalStateException") as stops:  # in whatever package
        program.ask("start t guarded 3")
        stop = taken(stops)
        assert (stop.method.name, stop.line) == ("thrower", LINE["throw"])
        assert stop.exception is not None
        assert stop.exception.message == "n is 3"
        assert [one.method.name for one in stop.frames[:2]] == ["thrower", "guarded"]
    program.ask("join t")
    with pytest.raises(NotAvailable, match="before it is known whether they are caught"):
        vm.catch("java.lang.Exception", caught=False)


def test_an_exception_of_the_vms_own_stops_where_it_is_made(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.catch("java.lang.NullPointerException") as stops:
        program.ask("start t null 0")
        assert taken(stops).method.name == "nothing"
    program.ask("join t")


def test_callers_keep_their_places_and_names_when_their_class_gets_other_probes(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    performing = vm.breakpoint("Stopping", "perform")
    with vm.breakpoint("Stopping", "add") as stops, ExitStack() as later:
        with performing as first:
            program.ask("start t add 2")
            taken(first)
            # A version of the class in which it has the same probes.
            later.enter_context(vm.watch("Stopping", "written"))
        stop = taken(stops)
        caller = stop.frames[1]
        assert caller.method.name == "perform"
        assert caller.line == LINE["adding"]
        assert vm.lookup_env.is_method_obsolete(caller.method)
        names = [one.name for one in caller.locals.variables]
        assert names == ["what", "number", "sum", "i"]
        assert caller.locals["what"] == "add"
    assert program.ask("join t") == "6"


def test_a_watchpoint_has_the_object_the_value_and_conditions(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    written = stopping.field(vm, "written")
    with written.watch(when="i == 1 and n != 4") as stops:
        assert stops.is_emulated
        program.ask("start t fields 4")
        program.ask("join t")
        program.ask("start t fields 5")
        stop = taken(stops)
        assert stop.is_write
        assert (stop.value, stop.line, stop.locals["n"]) == (1, LINE["static"], 5)
        assert stops.next(0) is None
    program.ask("join t")


def test_a_field_is_watched_whose_class_is_loaded_and_not_prepared(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    loader = stopping.cls(vm).loader
    assert loader is not None
    kept = loader.call("loadClass", "Stopping$Kept")
    with pytest.raises(ClassNotPrepared):
        kept.fields  # noqa: B018
    with vm.watch("Stopping$Kept", "kept") as stops:
        assert stops.is_pending
        program.ask("start t kept 4")
        stop = taken(stops)
        assert (stop.value, stop.line) == (4, LINE["kept"])
        assert not stops.is_pending
    assert program.ask("join t") == "4"


def test_a_breakpoint_is_there_though_others_read_its_class_meanwhile(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    """To read it, they begin to transform the class, and the VM refuses that alone."""
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            bytes(stopping.cls(vm).class_file)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(20):
            with vm.breakpoint("Stopping", "another", do=lambda stop: None) as point:
                program.ask("start t other 1")
                program.ask("join t")
                assert point.hits == 1
    finally:
        over.set()
        reader.join()
        del reader  # with the class that it had last


def test_the_class_file_is_afterwards_what_it_was(vm: jvmti.VM, program: JavaProgram) -> None:
    cls = stopping.cls(vm)
    before = bytes(cls.class_file)
    point = vm.breakpoint("Stopping", line=LINE["sum"])
    watch = stopping.field(vm, "written").watch(read=True)
    assert b"JvmtiProbes" in bytes(cls.class_file)
    point.cancel()
    watch.cancel()
    assert bytes(cls.class_file) == before


def test_a_breakpoint_goes_at_once(vm: jvmti.VM) -> None:
    # Only after classes that are just loading does the agent wait, for 0.1 s.
    took = []
    for _ in range(5):
        stops = vm.breakpoint("Stopping", line=LINE["sum"])
        began = time.monotonic()
        stops.cancel()
        took.append(time.monotonic() - began)
    assert min(took) < 0.08


def test_two_controllers_stop_one_thread_one_after_the_other(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with (
        jvmti.attach(program.pid) as other,
        vm.breakpoint("Stopping", "another") as first,
        other.breakpoint("Stopping", "another") as second,
    ):
        program.ask("start t other 1")
        # The probe that came last is in front.
        assert taken(second).method.name == "another"
        assert second.next(0) is None
        assert taken(first).method.name == "another"
    program.ask("join t")


def test_calls_that_are_running_are_named(vm: jvmti.VM, program: JavaProgram) -> None:
    program.ask("start t wait 0")
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        if any(frame.method.name == "waiting" for frame in vm.threads["t"].frames):
            break
    with vm.breakpoint("Stopping", "waiting") as stops:
        running = stops.running
    program.ask("release")
    program.ask("join t")
    assert running.get("Stopping.waiting") == 1


def test_a_trace_and_a_breakpoint_share_a_method(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.trace("Stopping.add") as trace, vm.breakpoint("Stopping", "add") as stops:
        program.ask("start t other 1")
        stop = taken(stops)
        assert stop.locals["n"] == 0
        stop.locals["n"] = 21
        assert stops.next(0) is None
        assert program.ask("join t") == "47"
        (call,) = trace.read(SOON)
    assert call.value == 47


def test_variables_of_a_method_without_names_are_read_by_slot(
    jvm: Jvm, java_program: JavaPrograms
) -> None:
    program = java_program("Stopping", debug=False)
    program.expect("ready", timeout=60)
    with (
        jvmti.attach(program.pid) as vm,
        vm.breakpoint("Stopping", "add", when="arg0 == 1") as stops,
    ):
        program.ask("start t add 2")
        stop = taken(stops)
        assert (stop.locals[0], stop.locals[1]) == (1, "x1")
        stop.locals[0] = 10
        stop.locals[1] = "longer"
    assert program.ask("join t") == "28"


# ---- steps ----------------------------------------------------------------------------------


def stepped(stop: Stop, how: str = "over") -> Stop:
    found = stop.step(how, timeout=SOON)
    assert found is not None
    return found


def test_steps_go_over_calls_into_them_and_out_to_the_next_line(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    found = []
    with vm.breakpoint("Stopping", "factorial", line=LINE["recurse"], hits="after 2") as stops:
        program.ask("start t factorial 5")
        stop = taken(stops)  # 3 times 2
        assert stop.locals["n"] == 3
        for how in ("into", "over", "over", "out"):
            stop = stepped(stop, how)
            assert stop.thread.frames[0].method.name == "factorial"
            found.append((stop.line, stop.locals["n"]))
        assert stop.locals["below"] == 2
    assert found == [
        (LINE["test"], 2),
        (LINE["recurse"], 2),  # the breakpoint
        (LINE["multiply"], 2),
        (LINE["multiply"], 3),
    ]
    assert program.ask("join t") == "120"


def test_a_step_into_a_method_that_nobody_has_looked_at(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.breakpoint("Stopping", "another") as stops:
        program.ask("start t other 1")
        stop = stepped(taken(stops), "into")
        assert (stop.method.name, stop.line) == ("add", LINE["twice"])
        assert stop.locals["name"] == "other"
        stop.locals["n"] = 20
        stop = stepped(stop)
        assert (stop.line, stop.locals["twice"]) == (LINE["sum"], 40)
    assert program.ask("join t") == "45"


def test_lines_are_stepped_to_the_end_of_a_method_whose_callers_cannot_be(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    lines: list[int | None] = []
    with vm.breakpoint("Stopping", "loop") as stops:
        program.ask("start t loop 2")
        stop = taken(stops)
        lines.append(stop.line)
        with stop.thread.step("over") as steps:
            step = taken(steps)
            while not step.is_at_end:
                lines.append(step.line)
                step = taken(steps)
            assert (step.method.name, step.line) == ("loop", LINE["end"])
            assert step.locals["sum"] == 1
            with pytest.raises(NotAvailable, match="loop.* is about to end, and its callers"):
                steps.next(SOON)
    again = [LINE["for"], LINE["body"]]
    assert lines == [LINE["for"] - 1, *again, *again, LINE["for"], LINE["end"]]
    assert program.ask("join t") == "1"


@pytest.mark.parametrize("how", ["over", "out"])
def test_steps_end_where_an_exception_leaves_a_method_whose_callers_cannot_be_stepped(
    vm: jvmti.VM, program: JavaProgram, how: str
) -> None:
    with vm.breakpoint("Stopping", "thrower") as stops:
        program.ask("start t guarded 1")
        stop = taken(stops)
        while not stop.is_at_end:
            assert stop.method.name == "thrower"
            stop = stepped(stop, how)
        assert stop.method.name == "thrower"
    assert program.ask("join t") == "-1"


def test_a_step_out_of_the_constructor_of_an_exception_ends_where_it_is_thrown(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    throwing = vm.breakpoint("Stopping", "thrower", line=LINE["throw"])
    maker = vm.breakpoint("java.lang.IllegalStateException", "<init>", caller="Stopping.thrower")
    with throwing, maker as made:
        program.ask("start t guarded 1")
        taken(throwing)
        throwing.cancel()
        stop = stepped(taken(made), "out")
        assert (stop.method.name, stop.line) == ("thrower", LINE["throw"])
        assert (stop.frame.line, stop.is_at_end) == (LINE["throw"], False)
        end = stepped(stop)
        # The probe there is behind all code.
        assert (end.is_thrown, end.line, end.frame.line) == (True, LINE["throw"], LINE["throw"])
    assert program.ask("join t") == "-1"


def test_a_running_thread_is_stepped_from_its_next_call(vm: jvmti.VM, program: JavaProgram) -> None:
    program.ask("start t spin 0")
    with vm.threads["t"].step("over") as steps:
        assert steps.next(0.3) is None  # it is in a call from before
        program.ask("release")
    assert program.ask("join t") == "1"


def test_steps_are_by_line_only(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.breakpoint("Stopping", "add") as stops:
        program.ask("start t other 1")
        with pytest.raises(NotAvailable, match="steps threads by line"):
            taken(stops).step("over", by="instruction")
    program.ask("join t")


def test_nothing_of_steps_stays_in_the_classes(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.breakpoint("Stopping", "another"):
        (gate,) = vm.classes("java.lang.JvmtiProbes*Gate")
    classes = stopping.cls(vm), gate
    before = [bytes(one.class_file) for one in classes]
    with vm.breakpoint("Stopping", "another") as stops:
        program.ask("start t other 1")
        assert bytes(gate.class_file) == before[1]  # nothing is stepped yet
        stepped(taken(stops), "into")
        assert bytes(gate.class_file) != before[1]
    program.ask("join t")
    assert [bytes(one.class_file) for one in classes] == before


def test_classes_that_were_stepped_through_long_ago_lose_their_probes(
    vm: jvmti.VM, program: JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_probes, "_MOST_CLASSES", 1)
    earlier = vm.find_class("Stopping$Handler")
    before = bytes(earlier.class_file)
    with vm.breakpoint("Stopping", "another") as stops:
        program.ask("start t other 1")
        stop = taken(stops)
        vm.breakpoints.step_probes.add(stops, [one for one in earlier.methods if one.lines])
        assert bytes(earlier.class_file) != before
        stop = stepped(stop, "into")
        assert (stop.method.name, stop.line) == ("add", LINE["twice"])
        assert bytes(earlier.class_file) == before
        stop = stepped(stop)
        assert (stop.line, stop.locals["twice"]) == (LINE["sum"], 0)
    assert program.ask("join t") == "5"


STEPPING = """
import sys, jvmti
vm = jvmti.attach(int(sys.argv[1]), timeout=60)
with vm.breakpoint("Stopping", "another") as stops:
    print("armed", flush=True)
    stop = stops.next(60).step("into", timeout=60)
    print(stop.method.name, flush=True)
    sys.stdin.read()
"""


def test_a_controller_that_is_killed_in_a_step_leaves_nothing(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.breakpoint("Stopping", "another"):
        (gate,) = vm.classes("java.lang.JvmtiProbes*Gate")
    classes = stopping.cls(vm), gate
    before = [bytes(one.class_file) for one in classes]
    controller = attaching("-c", STEPPING, program.pid)
    assert controller.stdout.readline() == "armed\n"
    program.ask("start t other 2")
    assert controller.stdout.readline() == "add\n"
    assert bytes(gate.class_file) != before[1]
    controller.kill()
    controller.communicate()
    assert program.ask("join t") == "12"
    until = time.monotonic() + SOON
    while [bytes(one.class_file) for one in classes] != before:
        assert time.monotonic() < until
        time.sleep(0.1)


# ---- several sets of probes in one method -----------------------------------------------------


def test_requests_at_one_place_stop_a_thread_one_after_the_other_the_newest_first(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    order: list[str] = []
    requests = [
        vm.breakpoint(
            "Stopping", "add", line=LINE["sum"], do=lambda stop, name=name: order.append(name)
        )
        for name in ("first", "second", "third")
    ]
    program.ask("start t other 2")
    assert program.ask("join t") == "12"
    requests[1].cancel()  # the probes of the third find another class file than before
    program.ask("start t other 1")
    assert program.ask("join t") == "5"
    for request in requests:
        request.cancel()
    assert order == ["third", "second", "first"] * 2 + ["third", "first"]
    assert [one.hits for one in requests] == [3, 2, 3]


def test_a_method_with_many_breakpoints_grows_by_as_much_for_each(vm: jvmti.VM) -> None:
    """Each set keeps what was passed where the one before does; with a place of its own for each,
    every one made all frames larger, and there was room for some fifty."""
    cls = vm.find_class("Stopping")
    with ExitStack() as requests:
        sizes = []
        for _ in range(3):
            for _ in range(8):
                requests.enter_context(
                    vm.breakpoint("Stopping", "add", line=LINE["sum"], hits="after 1000")
                )
            sizes.append(len(vm._agent.read_class_file(cls, False)))
    assert sizes[2] - sizes[1] < 1.05 * (sizes[1] - sizes[0]), sizes


def large_class() -> bytes:
    """The class file of one whose only method is as large as a method may be."""
    texts = (b"Large", b"java/lang/Object", b"method", b"()V", b"Code")
    pool = b"".join(struct.pack(">BH", 1, len(one)) + one for one in texts)
    pool += struct.pack(">BHBH", 7, 1, 7, 2)
    code = bytes(65_534) + b"\xb1"
    body = struct.pack(">HHI", 0, 0, len(code)) + code + bytes(4)
    method = struct.pack(">HHHHHI", 9, 3, 4, 1, 5, len(body)) + body
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 49, 8) + pool
    return head + struct.pack(">HHHHHH", 33, 6, 7, 0, 0, 1) + method + bytes(2)


def test_a_method_that_has_no_room_for_a_probe_says_so(vm: jvmti.VM) -> None:
    loader = vm.find_class("Stopping").loader
    large = vm.jni.define_class("Large", loader, large_class())
    vm.jni.get_static_method_id(large, "method", "()V")  # which initializes the class
    for arm in (
        lambda: vm.breakpoint("Large", "method"),
        lambda: vm.trace("Large.method"),
        lambda: vm.logpoint("Large.method", "here"),
    ):
        with pytest.raises(jvmti.Error, match=r"would be larger than the 65,535"):
            arm()


def test_an_index_is_that_of_the_class_file_whatever_probes_the_method_has(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    add = stopping.method(vm, "add")
    starts = {one.line_number: one.start_location for one in add.lines}
    index = starts[LINE["sum"]]
    with (
        vm.trace("Stopping.add"),
        vm.breakpoint("Stopping", "add", line=LINE["twice"]) as before,
        add.breakpoint(location=index) as stops,
        vm.trace("java.lang.String.length"),
    ):
        program.ask("start t other 1")
        stop = taken(before)
        assert stop.line == LINE["twice"]
        assert before.next(0.3) is None
        stop = taken(stops)
        assert (stop.line, stop.locals["twice"]) == (LINE["sum"], 0)
        with pytest.raises(jvmti.errors.Error, match="no instruction at"):
            add.breakpoint(location=index + 3)
    assert program.ask("join t") == "5"
