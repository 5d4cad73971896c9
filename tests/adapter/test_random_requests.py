"""Random sequences of requests, valid and wrong; `random_requests.py` makes longer ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapter.client import Failed, line
from adapter.random_requests import Session, run

if TYPE_CHECKING:
    from adapter.conftest import Begin


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
