"""What the agent begins finds its handler, and a lower layer what is provided from above."""

from __future__ import annotations

import pytest

import jvmti
from jvmti.wire.openings import Openings
from jvmti.wire.services import Service, Services


def test_an_opening_goes_to_the_handler_of_its_number() -> None:
    openings = Openings()
    openings.register(range(0x1000), lambda number, environment, payload: b"event")
    openings.register(range(0x3000, 0x3001), lambda number, environment, payload: payload)
    assert openings.handle(0xFFF, 1, b"x") == b"event"
    assert openings.handle(0x3000, 1, b"x") == b"x"


def test_who_registers_last_is_asked_first() -> None:
    openings = Openings()
    openings.register(range(10), lambda number, environment, payload: b"first")
    openings.register(range(5), lambda number, environment, payload: b"second")
    assert [openings.handle(number, 1, b"") for number in (4, 5)] == [b"second", b"first"]


def test_what_nothing_handles_is_answered_with_nothing() -> None:
    assert Openings().handle(0x3000, 1, b"x") == b""


def test_a_service_is_found_once_it_is_provided() -> None:
    key: Service[int] = Service("number")
    services = Services()
    assert services.find(key) is None
    with pytest.raises(jvmti.errors.SessionClosed, match="no number yet"):
        services[key]
    services.provide(key, 7)
    assert services.find(key) == services[key] == 7
