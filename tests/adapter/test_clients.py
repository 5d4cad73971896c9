"""What single editors make of the protocol: each of these took its user's stop, or his program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from adapter.client import Client, line

if TYPE_CHECKING:
    from programs import JavaPrograms

pytestmark = pytest.mark.newest

_REPORTED = 1.5
"""Seconds after which a thread's start is known to the client."""


def test_a_thread_that_has_stopped_is_not_said_to_start(client: Client, command: list[str]) -> None:
    """For Neovim, a thread that starts runs: it would forget the stop."""
    client.launch(line("GROSS"), command=command)
    main = client.stopped("breakpoint")
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": "java.util.TimerThread.mainLoop"}])
    client.evaluate(main, 'WAITING.add(new java.util.Timer("stops"))')
    stopped = client.stopped("function breakpoint")
    client.ask("setFunctionBreakpoints", breakpoints=[])
    client.evaluate(main, 'WAITING.add(new java.util.Timer("runs"))')
    client.event("thread", where=lambda one: one["reason"] == "started")
    time.sleep(_REPORTED)
    started = [one["body"]["threadId"] for one in client.events if one["event"] == "thread"]
    names = {one["id"]: one["name"] for one in client.ask("threads")["threads"]}
    assert names[stopped] == "stops"
    assert "runs" in [names.get(one) for one in started]
    assert stopped not in started
    client.disconnect()


def test_helix_ends_a_session_and_not_the_program(
    java_program: JavaPrograms, client: Client
) -> None:
    """It overlooks its first stop, takes a thread that starts for the chosen one, ends twice."""
    program = java_program("Debugged")
    program.expect("ready")
    client.name = "hx"
    client.attach(program.pid, line("GROSS"), endsWithSession=False)
    thread = client.stopped("breakpoint")
    assert client.stopped("breakpoint") == thread
    client.evaluate(thread, 'WAITING.add(new java.util.Timer("ticker"))')
    time.sleep(_REPORTED)
    assert "ticker" in [one["name"] for one in client.ask("threads")["threads"]]
    assert not client.has_event("thread")
    client.ask("terminate", restart=False)
    client.event("terminated")
    client.ask("disconnect", restart=False)
    client.disconnect()
    seen = len(program.lines)
    while len(program.lines) < seen + 2:
        program.read_line()
