"""Which hits stop a thread: counts, conditions of exceptions, and accesses to fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adapter.client import Client, line

if TYPE_CHECKING:
    from adapter.conftest import Begin

pytestmark = pytest.mark.oldest_and_newest


def place(client: Client, thread: int) -> tuple[int, int]:
    """The line of the stop, and the variable ``count`` there."""
    return client.top(thread)["line"], int(client.evaluate(thread, "count")["result"])


def completed(client: Client, thread: int, text: str) -> list[str]:
    """The names that may stand at the end of a text."""
    frame = client.top(thread)["id"]
    body = client.ask("completions", text=text, column=len(text) + 1, frameId=frame)
    return [one["text"] for one in body["targets"]]


def test_hits_are_counted_from_the_first(client: Client, command: list[str]) -> None:
    client.launch(
        {"line": line("NET"), "hitCondition": "10"},
        {"line": line("GROSS"), "hitCondition": ">= 12"},
        {"line": line("RETURN"), "hitCondition": "> 13"},
        command=command,
    )
    seen = []
    for _ in range(6):
        thread = client.stopped("breakpoint")
        seen.append(place(client, thread))
        client.ask("continue", threadId=thread)
    net, gross, end = (line(one) for one in ("NET", "GROSS", "RETURN"))
    assert seen == [(net, 10), (gross, 12), (gross, 13), (gross, 14), (end, 14), (gross, 15)]
    client.disconnect()


def test_an_exception_stops_only_where_its_condition_holds(begin: Begin) -> None:
    client = begin()
    for condition, why in (
        ("com.acme.Stack", "no class 'com.acme.Stack' is loaded yet"),
        ("((( if total > 1", "'(((' is no name of a class"),
        ("java.lang.Exception if exception.get(", "'(' is not closed"),
    ):
        wanted = {"filterId": "caught", "condition": condition}
        options = [wanted, {**wanted, "filterId": "uncaught"}]
        body = client.ask("setExceptionBreakpoints", filters=[], filterOptions=options)
        for one in body["breakpoints"]:
            assert not one["verified"]
            assert one["message"].startswith(why)
            assert "similar" not in one["message"]
    for condition in ("total % 5 == 0", 'exception.getMessage().endsWith("3")'):
        wanted = {"filterId": "caught", "condition": f"java.lang.IllegalState* if {condition}"}
        uncaught = {**wanted, "filterId": "uncaught"}  # late, nobody knows which it will be
        body = client.ask("setExceptionBreakpoints", filters=[], filterOptions=[wanted, uncaught])
        assert all(one["verified"] for one in body["breakpoints"]), body
        for is_last in (False, True):
            thread = client.stopped("exception")
            assert client.evaluate(thread, condition)["result"] == "true"
            assert completed(client, thread, "exc") == ["exception"]
            assert "getMessage" in completed(client, thread, "exception.getM")
            if is_last and condition.startswith("total"):
                name = "java.util.zip.ZipException"
                options = [{**one, "condition": name} for one in (wanted, uncaught)]
                ask = {"filters": [], "filterOptions": options}
                for one in client.ask("setExceptionBreakpoints", **ask)["breakpoints"]:
                    assert (one["verified"], one["reason"]) == (False, "pending")
                client.evaluate(thread, f'Class.forName("{name}")')
                assert client.event("breakpoint")["breakpoint"]["verified"]
            if is_last:
                client.ask("setExceptionBreakpoints", filters=[])
            client.ask("continue", threadId=thread)
    client.disconnect()


def test_a_field_stops_threads_that_read_it(begin: Begin) -> None:
    client = begin()
    wanted = {"dataId": "Debugged$Priced.price", "accessType": "read", "condition": "limit > 1010"}
    (set_there,) = client.ask("setDataBreakpoints", breakpoints=[wanted])["breakpoints"]
    assert set_there["verified"] or set_there["message"]
    thread = client.stopped("data breakpoint")
    assert client.top(thread)["line"] == line("CHEAP")
    assert int(client.evaluate(thread, "limit")["result"]) > 1010
    client.disconnect()


def test_a_field_stops_threads_that_read_or_write_it(begin: Begin) -> None:
    client = begin(line("FIRST"))
    thread = client.stopped("breakpoint")
    client.breakpoints()
    wanted = {"dataId": "Debugged.total", "accessType": "readWrite", "hitCondition": "% 3"}
    (set_there,) = client.ask("setDataBreakpoints", breakpoints=[wanted])["breakpoints"]
    assert set_there["verified"]
    texts = set()
    for _ in range(6):
        client.ask("continue", threadId=thread)
        stop = client.event("stopped")
        assert stop["reason"] == "data breakpoint"
        thread = stop["threadId"]
        texts.add(stop["text"].split()[1])
        is_write = "becomes" in stop["text"]
        assert completed(client, thread, "new_v") == ["new_value"] * is_write
    assert texts == {"is", "becomes"}
    client.disconnect()
