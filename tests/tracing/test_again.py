"""Calls that keep their objects, and are made once more."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.instrumentation.probes import BadProbe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvmti.tracing.records.calls import Call
    from jvmti.tracing.trace import Trace
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


def calls_of(trace: Trace, most: int) -> list[Call]:
    found: list[Call] = []
    until = time.monotonic() + 10
    while len(found) < most and time.monotonic() < until:
        found += trace.read(0.1)
    return found


def test_a_call_is_made_again_with_the_same_objects(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", objects=10) as trace:
        traced.ask("add 3")
        calls = calls_of(trace, 3)
        call = calls[2]
        total = call.value
        assert call.again() == total + 2  # on the same order, as the program sees it, too
        assert traced.ask("add 0") == str(total + 2)
        assert call.objects is not None
        assert call.objects.receiver.cls.name == ORDER
        assert [one.arguments for one in calls] == [(0, "tea 0"), (1, "tea 1"), (2, "tea 2")]
        # That it was made again was traced like any other.
        (again,) = calls_of(trace, 1)
        assert again.arguments == (2, "tea 2")
        assert again.thread_id != call.thread_id


def test_arguments_are_objects_of_the_model(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.objects", objects=10, text=16) as trace:
        traced.ask("objects")
        first, second = calls_of(trace, 2)
    text, color, type_, numbers, boxed, none = first.arguments
    assert (text, boxed, none) == ("a text", 42, None)
    assert color.cls.name == "Traced$Color"
    assert type_.name == "java.lang.String"
    assert list(numbers) == [0, 0, 0]
    assert second.arguments[0] == "a very long text that does not fit into its place"
    assert second.arguments[5].cls.name == ORDER
    assert "GREEN" in str(first)
    # Even when the trace is closed the objects that were read are there.
    again = first.again()
    assert again.value == ["a text"]


def test_values_of_every_type_are_handed_over_again(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.everything", objects=1) as trace:
        traced.ask("everything")
        (call,) = calls_of(trace, 1)
        assert call.arguments == (True, -2, "x", -3, 4, 5, 1.5, 2.5)
        assert call.again() == call.value == 9
        (again,) = calls_of(trace, 1)
        assert again.arguments == call.arguments


def test_what_is_thrown_again_is_raised(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.check", objects=2) as trace:
        traced.ask("check 1")
        (call,) = calls_of(trace, 1)
        assert call.exception is not None
        with pytest.raises(jvmti.JavaException, match="too long: abcd"):
            call.again()


def test_a_constructor_makes_another_object(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.<init>(int)", objects=2) as trace:
        traced.ask("make 7")
        (call,) = calls_of(trace, 1)
        assert call.objects is not None
        made = call.again()
    assert made.cls.name == ORDER
    assert made["total"] == 7
    assert made != call.objects.receiver


def test_only_the_last_calls_are_held(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", objects=3) as trace:
        traced.ask("add 10")
        calls = calls_of(trace, 10)
    assert [one.objects is not None for one in calls] == [False] * 7 + [True] * 3
    assert [one.arguments[0] for one in calls] == list(range(10))
    with pytest.raises(LookupError, match="not held"):
        calls[0].again()


def test_without_objects_nothing_is_held(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add") as trace:
        traced.ask("add 1")
        (call,) = calls_of(trace, 1)
    with pytest.raises(LookupError, match="objects=100"):
        call.again()


def live_orders(vm: jvmti.VM) -> int:
    return len(vm.find_class(ORDER).instances())


def test_objects_are_let_go_with_the_trace(vm: jvmti.VM, traced: JavaProgram) -> None:
    gc.collect()
    vm.env.force_garbage_collection()
    before = live_orders(vm)
    with vm.trace(f"{ORDER}.add", objects=100) as trace:
        traced.ask("threads 5")  # each makes an order of its own
        vm.env.force_garbage_collection()
        assert live_orders(vm) == before + 5
        calls = calls_of(trace, 5)
        assert len({one.objects.receiver for one in calls if one.objects is not None}) == 5
        traced.ask("threads 4")
    vm.env.force_garbage_collection()
    assert live_orders(vm) == before + 5  # those of the calls that were read
    del calls
    gc.collect()
    until = time.monotonic() + 10
    while live_orders(vm) > before and time.monotonic() < until:
        vm.env.force_garbage_collection()
        time.sleep(0.05)
    assert live_orders(vm) == before


def test_options_that_do_not_go_together(vm: jvmti.VM) -> None:
    for options, message in (
        ({"summary": True}, "not for a summary"),
        ({"arguments": False}, "needs the arguments"),
    ):
        with pytest.raises(BadProbe, match=message):
            vm.trace(f"{ORDER}.add", objects=1, **options)  # type: ignore[arg-type]
    with pytest.raises(BadProbe, match="at most 65,536"):
        vm.trace(f"{ORDER}.add", objects=1 << 20)
    with pytest.raises(BadProbe, match="not for calls where they are made"):
        vm.trace("call Traced.spin in *.*", objects=1)
