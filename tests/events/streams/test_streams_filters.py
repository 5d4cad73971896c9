"""What a stream leaves out, it leaves out in the target; what it takes is what was asked for."""

from __future__ import annotations

import fnmatch
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from events.streams.streamed import rest_of

if TYPE_CHECKING:
    from events.streams.streamed import Streamed


def entered(streamed: Streamed, **filters: Any) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()

    def read() -> None:
        while records := it.read():
            found.update(zip(records["method_class"], records["method"], strict=True))

    with streamed.vm.env.stream("MethodEntry", **filters, policy="wait") as it:
        reader = threading.Thread(target=read)
        reader.start()
        for command in ("set 2", "throw 1", "call 2 1", "load 2"):
            streamed.ask(command)
    reader.join()
    return found


@pytest.mark.parametrize(
    ("classes", "methods"),
    [
        ("Streamed", None),
        ("Streamed", "w*"),
        ("Streamed*", ["work", "fail", "call"]),
        (["Streamed$Other", "java.lang.Thread"], None),
        ("java.lang.Str?ng", "[a-h]*"),
        ("java.lang.Str[!ou]ng", "*"),
        (None, "<init>"),
        ("*Loader", "define*"),
        ("nothing.like.it", "work"),
        ("Streamed", "nothing"),
    ],
)
def test_patterns_are_those_of_the_shell(streamed: Streamed, classes: Any, methods: Any) -> None:
    everything = entered(streamed)

    def wanted(klass: str, method: str) -> bool:
        for patterns, name in ((classes, klass), (methods, method)):
            listed = (
                ["*"] if patterns is None else [patterns] if isinstance(patterns, str) else patterns
            )
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in listed):
                return False
        return True

    found = entered(streamed, classes=classes, methods=methods)
    assert all(wanted(*name) for name in found)
    ours = {name for name in everything if name[0].startswith("Streamed") and wanted(*name)}
    # What the class library does besides may differ from one time to the next.
    assert ours <= found
    if not ours and classes is not None and "nothing" in f"{classes} {methods}":
        assert found == set()


@pytest.mark.parametrize(
    ("exceptions", "subclasses", "expected"),
    [
        ("*", True, {"java.io.IOException", "java.lang.IllegalStateException",
                     "Streamed$Special"}),
        ("java.lang.IllegalStateException", True,
         {"java.lang.IllegalStateException", "Streamed$Special"}),
        ("java.lang.IllegalStateException", False, {"java.lang.IllegalStateException"}),
        ("java.lang.RuntimeException", True,
         {"java.lang.IllegalStateException", "Streamed$Special"}),
        ("java.lang.RuntimeException", False, set()),
        ("Special", False, {"Streamed$Special"}),
        (["java.io.*", "Streamed$*"], False, {"java.io.IOException", "Streamed$Special"}),
        ("java.lang.Error", True, set()),
    ],
)  # fmt: skip
def test_exceptions_by_class_with_and_without_subclasses(
    streamed: Streamed, exceptions: Any, subclasses: bool, expected: set[str]
) -> None:
    for event in ("Exception", "ExceptionCatch"):
        with streamed.vm.env.stream(
            event, exceptions=exceptions, subclasses=subclasses, classes="Streamed"
        ) as it:
            streamed.ask("throw 4")
        counts = it.read(0)["exception"].counts()
        assert counts == dict.fromkeys(expected, 4)


def test_exceptions_say_where_they_are_thrown_and_caught(streamed: Streamed) -> None:
    with streamed.vm.env.stream("Exception", classes="Streamed", methods="fail") as it:
        streamed.ask("throw 1")
    rows = rest_of(it)
    lines = [row["line"] for row in rows]
    assert [lines[1] - lines[0], lines[2] - lines[1]] == [3, 2]
    assert {row["catch_method"] for row in rows} == {"answer"}
    assert len({row["catch_line"] for row in rows}) == 1


def test_threads_are_filtered(streamed: Streamed) -> None:
    vm = streamed.vm
    main = vm.threads["main"]
    env = vm.env
    work = {"classes": "Streamed", "methods": ["work", "write"]}
    with (
        env.stream("MethodEntry", thread=main, **work) as of_main,
        env.stream("MethodEntry", **work) as of_all,
    ):
        streamed.ask("call 3 2")
        streamed.ask("set 4")
    assert of_main.read(0)["thread"].counts() == {"main": 4}
    assert of_all.read(0)["thread"].counts() == {"main": 4, "worker-0": 3, "worker-1": 3}
    # And where the event is enabled for this thread alone.
    with env.stream("MethodEntry", thread=[main], **work) as it:
        streamed.ask("call 3 2")
        streamed.ask("set 4")
    assert it.read(0)["thread"].counts() == {"main": 4}


def test_waits_are_reported_if_they_last_long_enough(streamed: Streamed) -> None:
    env = streamed.vm.env
    for least, expected in ((0, 4), (0.1, 2), (10, 0)):
        with env.stream("MonitorWaited", min_duration=least, classes="java.lang.Object") as it:
            streamed.ask("wait 1 150 2 200")
        rows = [row for row in rest_of(it) if row["thread"] == "waiter"]
        assert len(rows) == expected
        assert all(row["timed_out"] for row in rows)
        assert all(row["duration"] >= least * 1e9 for row in rows)
        if least == 0.1:
            assert rows[0]["duration"] >= 150e6


def test_methods_are_reported_if_they_last_long_enough(streamed: Streamed) -> None:
    env = streamed.vm.env
    # The short ones take a few milliseconds, and more where others have the processors.
    with env.stream("MethodExit", min_duration=0.4, classes="Streamed", methods="s*") as it:
        streamed.ask("sleep 1 420 2 450 3")
    durations = [row["duration"] for row in rest_of(it)]
    assert len(durations) == 2
    assert durations[0] >= 420e6
    assert durations[1] >= 450e6
    # With none too short, each call has its own, the inner ones as well.
    with env.stream("MethodExit", min_duration=0, classes="Streamed", methods="[sw]*") as it:
        streamed.ask("sleep 1 2")
        streamed.ask("call 3 2")
        streamed.ask("throw 1")
    rows = rest_of(it)
    assert sorted(row["method"] for row in rows) == ["slow"] * 2 + ["work"] * 6
    assert all(row["duration"] >= 0 for row in rows)


def test_a_method_that_was_running_before_has_no_duration(streamed: Streamed) -> None:
    streamed.send("sleep 400")
    time.sleep(0.1)
    with streamed.vm.env.stream("MethodExit", min_duration=0, classes="Streamed") as it:
        assert streamed.read() == "slept"
        streamed.ask("set 1")
    assert [row["method"] for row in rest_of(it) if row["method"] != "answer"][:2] == [
        "<init>", "write",
    ]  # fmt: skip


def test_stacks_are_reported_once_each(streamed: Streamed) -> None:
    with streamed.vm.env.stream("Exception", classes="Streamed", stack=3) as it:
        streamed.ask("throw 20")
    records = it.read(0)
    stacks = records["stack"]
    assert len(stacks) == 60
    assert len(set(stacks.codes.tolist())) == 3
    for stack in set(stacks):
        assert [frame.rpartition(":")[0] for frame in stack] == [
            "Streamed.fail", "Streamed.answer", "Streamed.main",
        ]  # fmt: skip
    with streamed.vm.env.stream("Exception", classes="Streamed", stack=1) as it:
        streamed.ask("throw 1")
    assert {len(stack) for stack in it.read(0)["stack"]} == {1}


def test_stacks_become_lists_of_frames_in_arrow(streamed: Streamed) -> None:
    pytest.importorskip("pyarrow")
    with streamed.vm.env.stream("Exception", classes="Streamed", stack=2) as it:
        streamed.ask("throw 1")
    [batch] = list(it)
    assert [len(stack) for stack in batch["stack"].to_pylist()] == [2, 2, 2]


def test_our_own_work_is_left_out_unless_asked_for(streamed: Streamed) -> None:
    vm = streamed.vm
    klass = vm.find_class("Streamed")
    work = vm.jni.get_static_method_id(klass, "work", "(I)I")
    wanted = {"classes": "Streamed", "methods": "work"}
    with (
        vm.env.stream("MethodEntry", **wanted) as others,
        vm.env.stream("MethodEntry", **wanted, own=True) as all_of_them,
    ):
        vm.jni.call_static_int_method(klass, work, [1])
        streamed.ask("call 2 1")
    assert len(others.read(0)) == 2
    assert len(all_of_them.read(0)) == 3
