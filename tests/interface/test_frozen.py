from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest

from jvmti.interface.frozen import frozen


@frozen
class Ours:
    """One of ours."""

    name: str
    size: int = 3


@dataclasses.dataclass(frozen=True)
class Theirs:
    """The same, made by the standard library."""

    name: str
    size: int = 3


@frozen(eq=False)
class Event:
    """One whose instances are what they are."""

    name: str

    def __repr__(self) -> str:
        return "an event"


def test_a_frozen_class_is_a_dataclass_like_any_other() -> None:
    for kind in (Ours, Theirs):
        one: Any = kind("a")
        assert (one.name, one.size) == ("a", 3)
        assert repr(one) == f"{kind.__name__}(name='a', size=3)"
        assert one == kind("a", 3)
        assert one != kind("a", 4)
        assert one != "a"
        assert hash(one) == hash(kind("a")) == hash(("a", 3))
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
            one.name = "b"
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'size'"):
            del one.size
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
            kind()  # type: ignore[call-arg]
        assert dataclasses.replace(one, size=5) == kind(name="a", size=5)
        assert dataclasses.asdict(one) == {"name": "a", "size": 3}
        assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
        match one:
            case Ours(name, size) | Theirs(name, size):
                assert (name, size) == ("a", 3)
    assert Ours("a") != Theirs("a")
    assert str(inspect.signature(Ours)) == str(inspect.signature(Theirs))


def test_what_a_class_defines_itself_is_left_alone() -> None:
    one = Event("x")
    assert repr(one) == "an event"
    assert one == one
    assert one != Event("x")
    assert len({one, Event("x")}) == 2


def test_a_field_without_a_default_cannot_follow_one_with_a_default() -> None:
    with pytest.raises(TypeError, match="a field of Wrong without a default follows"):

        @frozen
        class Wrong:
            size: int = 3
            name: str  # type: ignore[misc]
