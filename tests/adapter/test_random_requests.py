"""Random sequences of requests, valid and wrong; `random_requests.py` makes longer ones."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from adapter.client import Client, Failed, line
from adapter.random_requests import Session, end_sessions, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adapter.conftest import Begin
    from programs import JavaPrograms


def test_each_request_of_a_random_sequence_is_answered_once_and_in_order(begin: Begin) -> None:
    """Whatever it asks for, and the session goes on."""
    client = begin(line("GROSS"))
    session = Session(client)
    run(session, 12, 16, seed=1)
    assert session.sent.total() > 60
    assert 0 < session.failed.total() < session.sent.total()
    session.resume()
    while True:
        thread = client.stopped()
        try:
            found = client.evaluate(thread, "1 + 1")
        except Failed:
            continue  # a stop of before
        assert found["result"] == "2"
        break
    client.disconnect()


def test_a_session_ends_whatever_comes_before_and_behind_the_request_for_it(
    command: list[str], java_program: JavaPrograms
) -> None:
    """What comes before is answered; a program that was there before runs on, unless asked to end.

    A request behind it may have no answer, never a wrong one.
    """

    @contextmanager
    def begin() -> Iterator[tuple[Client, Any]]:
        with closing(Client()) as client:
            program = java_program("Debugged")
            program.expect("ready")
            client.attach(program.pid, line("GROSS"))
            yield client, program.process

    assert end_sessions(begin, 2) > 2
