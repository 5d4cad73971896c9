"""Streams of what happens on virtual threads, against the program's own counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import compiler
from events.streams.streamed import CAPABILITIES, Streamed, rest_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm

PROGRAM = "VirtualThreads"
WORK: dict[str, Any] = {"classes": PROGRAM, "methods": "work", "policy": "wait"}


@pytest.fixture(scope="module")
def virtual(jvm: Jvm) -> Iterator[Streamed]:
    """The program, with a session that supports virtual threads."""
    if jvm.feature < compiler.source(PROGRAM).release:
        pytest.skip("virtual threads came with Java 21")
    capabilities = CAPABILITIES | {"can_support_virtual_threads"}
    started = Streamed(jvm, "-Xmx256m", capabilities=capabilities, program=PROGRAM)
    yield started
    started.close()


def times(i: int) -> int:
    """How often the thread ``virtual-i`` calls."""
    return i % 5 + 1


def test_ten_thousand_virtual_threads_are_reported_to_the_last_call(virtual: Streamed) -> None:
    threads = 10_000
    with virtual.vm.env.stream("MethodEntry", **WORK) as it:
        counted = int(virtual.ask(f"run {threads}"))
    rows = rest_of(it)
    assert counted == sum(map(times, range(threads)))
    assert len(rows) == it.recorded == counted
    assert it.dropped == 0
    named: dict[str, int] = {}
    for row in rows:
        named[row["thread"]] = named.get(row["thread"], 0) + 1
    assert named == {f"virtual-{i}": times(i) for i in range(threads)}


def test_a_virtual_thread_is_the_same_on_every_carrier(virtual: Streamed) -> None:
    with virtual.vm.env.stream("MethodEntry", **WORK) as it:
        virtual.ask("run 500")
    column = it.read(0)["thread"]
    pairs = set(zip(column.codes.tolist(), column[:], strict=True))
    assert sorted(name for _, name in pairs) == sorted(f"virtual-{i}" for i in range(500))


def test_threads_of_one_name_or_of_none_are_distinguished(virtual: Streamed) -> None:
    with virtual.vm.env.stream("MethodEntry", **WORK) as it:
        assert virtual.ask("nameless 300") == "900"
        nameless = it.read(0)["thread"]
        assert virtual.ask("both 40") == "80"
        same = it.read(0)["thread"]
    numbers = nameless.counts()
    assert set(numbers.values()) == {3}
    assert len(numbers) == len(set(nameless.codes.tolist())) == 300
    # They are of threads that began together.
    values = sorted(int(name.removeprefix("#")) for name in numbers)
    assert values[0] > 0
    assert values[-1] - values[0] < 1000
    assert same.counts() == {"same": 80}
    assert len(set(same.codes.tolist())) == 80


def test_a_stream_of_one_virtual_thread_has_its_events_alone(virtual: Streamed) -> None:
    vm = virtual.vm
    assert virtual.ask("kept") == "kept"
    klass = vm.find_class(PROGRAM)
    field = vm.jni.get_static_field_id(klass, "kept", "Ljava/lang/Thread;")
    kept = vm.jni.get_static_object_field(klass, field)
    with (
        vm.env.stream("MethodEntry", **WORK, thread=kept) as one,
        vm.env.stream("MethodEntry", **WORK) as all_of_them,
    ):
        assert virtual.ask("release") == "211"
    assert one.read(0)["thread"].counts() == {"kept": 11}
    everything = all_of_them.read(0)["thread"].counts()
    assert everything.pop("kept") == 11
    assert everything == {f"other-{i}": 2 for i in range(100)}


def test_beginnings_and_ends_of_virtual_threads_are_counted(virtual: Streamed) -> None:
    with virtual.vm.env.stream(["VirtualThreadStart", "VirtualThreadEnd"], policy="wait") as it:
        virtual.ask("run 2000")
    reported: dict[str, list[str]] = {"VirtualThreadStart": [], "VirtualThreadEnd": []}
    for row in rest_of(it):
        reported[row["event"]].append(row["thread"])
    names = sorted(f"virtual-{i}" for i in range(2000))
    assert sorted(reported["VirtualThreadStart"]) == names
    assert sorted(reported["VirtualThreadEnd"]) == names


def test_exceptions_on_virtual_threads_have_their_threads_and_stacks(virtual: Streamed) -> None:
    wanted = {"exceptions": "java.io.IOException", "policy": "wait", "stack": 3}
    with virtual.vm.env.stream("Exception", **wanted) as it:
        assert virtual.ask("throw 700") == "700"
    rows = rest_of(it)
    assert sorted(row["thread"] for row in rows) == sorted(f"throws-{i}" for i in range(700))
    for row in rows:
        assert [frame.partition(":")[0] for frame in row["stack"]][:2] == [
            f"{PROGRAM}.fail",
            f"{PROGRAM}.caught",
        ]


def test_without_the_capability_events_are_those_of_the_carriers(virtual: Streamed) -> None:
    """The VM names the carrier to an environment that does not support virtual threads."""
    plain = virtual.vm.new_env()
    plain.add_capabilities({"can_generate_method_entry_events"})
    try:
        with (
            virtual.vm.env.stream("MethodEntry", **WORK) as one,
            plain.stream("MethodEntry", **WORK) as other,
        ):
            assert virtual.ask("both 25") == "50"
        counts, theirs = one.read(0)["thread"].counts(), other.read(0)["thread"].counts()
    finally:
        plain.dispose_environment()
    assert counts == {"same": 50}
    assert theirs.pop("same") == 25
    assert all(name.startswith("ForkJoinPool-") for name in theirs)
    assert sum(theirs.values()) == 25
