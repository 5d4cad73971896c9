"""Streams from the first thread of a program to its last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_thread_that_ends_the_vm_is_another_than_the_one_that_ran_main(
    launched: Callable[..., Any],
) -> None:
    """They are one thread of the system, which the launcher attaches to the VM a second time."""
    one = launched("Lives", "end")
    stream = one.env.stream(["ThreadStart", "ThreadEnd"])
    assert one.run() == 0
    records = stream.read(0).sorted_by_time()
    stream.close()
    reported = [
        (event.removeprefix("Thread"), name)
        for event, name in zip(records["event"], records["thread"], strict=True)
        if name in ("main", "worker", "hook", "DestroyJavaVM")
    ]
    assert reported == [
        ("Start", "main"),
        ("Start", "worker"),
        ("End", "worker"),
        ("End", "main"),
        ("Start", "DestroyJavaVM"),
        ("Start", "hook"),
        ("End", "hook"),
        ("End", "DestroyJavaVM"),
    ]
    # A thread has one number from its start to its end.
    pairs = set(zip(records["thread"].codes.tolist(), records["thread"], strict=True))
    assert len(pairs) == len({code for code, _ in pairs}) == len({name for _, name in pairs})


def test_what_it_does_is_reported_under_its_own_name(launched: Callable[..., Any]) -> None:
    """In a stream that has no beginnings and ends."""
    one = launched("Lives", "end", capabilities="can_generate_method_entry_events")
    stream = one.env.stream("MethodEntry", classes=["Lives", "java.lang.Shutdown"])
    assert one.run() == 0
    rows = list(stream.read(0).rows())
    stream.close()
    by_method = {(row["method_class"], row["method"]): row["thread"] for row in rows}
    assert by_method["Lives", "main"] == "main"
    assert by_method["java.lang.Shutdown", "shutdown"] == "DestroyJavaVM"
