"""Which of the JVMs each test runs on: with several, most tests run on some of them only.

What shows a function or an event of the VM (conformance and events, with the fixture `evidence`)
runs on every JVM.  The other tests of these folders, and robustness, run on one of them all, in
turn: each second one on the newest.  Where the VM decides what is found and done, tests run on the
oldest and on the newest; the rest on one of these two, in turn.  Whose
turn it is depends on the name of the test alone, so that it does not change with other tests.
`pytest --every-jvm` (`make test-all`) runs each test on every JVM where it may show anything of its
own.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import jvms

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parents[1]

ON_EVERY_JVM = ("conformance", "events")
"""The tests of what the VM does: each JVM has to show all of it, but for `ON_TWO`.  What shows
nothing for the record, such as the rules for handlers, is as `IN_TURN`."""

IN_TURN = ("robustness", "debug/test_frame_locals.py", "test_java_programs.py")
"""Tests that take turns on all JVMs, the interpreter-only VM among them, which differs in what it
offers and survives.  A folder has many tests of one matter, so that each JVM has some of them."""


ON_TWO = (
    "emulation",
    "events/streams",
    "heap/live/test_collectors.py",
    "instrumentation",
    "target/test_hotspot.py",
)
"""The tests of what rests on the VM everywhere, though in the same way for all who use it."""


def turn_of(nodeid: str) -> int:
    """A number that a test has on every JVM."""
    return zlib.crc32(without_jvm(nodeid).encode())


def without_jvm(nodeid: str) -> str:
    """The name of a test, whichever of the JVMs it runs on."""
    return _JVM.sub("", nodeid, count=1)


_JVM = re.compile(rf"(?<=[\[-])({'|'.join(map(re.escape, map(str, jvms.selected())))})(?=[-\]])")


class Choice:
    """The JVMs of this run, and what each test has of them."""

    def __init__(self, *, every: bool) -> None:
        there = [jvm for jvm in jvms.selected() if not jvm.missing]
        oldest, newest = (choose(there, key=_release, default=None) for choose in (min, max))
        self._every = every
        self._newest = newest
        self._two = [jvm for jvm in there if jvm in (oldest, newest)]
        self._others = [jvm for jvm in there if jvm != newest]

    def able(self, function: pytest.Function) -> list[jvms.Jvm]:
        """The JVMs that a test may have as a parameter: some of these may be left to others.

        Only for them pytest makes tests, which saves each of its processes the making of the rest.
        Where there is none, pytest makes one even so, and `is_for` leaves it out.
        """
        chosen = jvms.selected()
        marks = marks_of(function)
        able = [jvm for jvm in chosen if self._newest is None or self._may(function, marks, jvm)]
        return able or chosen[:1]

    def is_for(self, item: pytest.Item) -> bool:
        """Whether a test runs on the JVM that it has as a parameter, if it has one."""
        jvm = item.callspec.params.get("jvm") if hasattr(item, "callspec") else None
        if not isinstance(jvm, jvms.Jvm) or self._newest is None:
            return True
        marks = marks_of(item)
        if not self._may(item, marks, jvm):  # marks of one of the test's parameters
            return False
        if self._every or "on" in marks or "newest" in marks:
            return True
        able = marks["since"].args[0] if "since" in marks else 0
        whole_file = "file_in_turn" in marks
        takes_turns = "oldest_and_newest" in marks
        if not takes_turns and is_below(item, ON_TWO):
            return True
        shows = "evidence" in getattr(item, "fixturenames", ())
        if not takes_turns and is_below(item, ON_EVERY_JVM) and shows:
            return True
        if not takes_turns and is_below(item, (*ON_EVERY_JVM, *IN_TURN)):
            often = [self._newest] * max(len(self._others), 1)
            return jvm in in_turn([*often, *self._others], item, able, whole_file=whole_file)
        return jvm in in_turn(self._two, item, able, whole_file=whole_file)

    def _may(self, function: pytest.Item, marks: dict[str, pytest.Mark], jvm: jvms.Jvm) -> bool:
        if "on" in marks:
            return jvm.name in marks["on"].args
        if "since" in marks and jvm.feature < marks["since"].args[0]:
            return False
        if "newest" in marks:
            return jvm.name == jvms.NEWEST
        if jvm in self._two:
            return True
        if "oldest_and_newest" in marks:
            return False
        if is_below(function, (*ON_EVERY_JVM, *IN_TURN)) and not is_below(function, ON_TWO):
            return True
        return self._every and jvm.name != "zero"


def is_below(item: pytest.Item, places: tuple[str, ...]) -> bool:
    """Whether a test is in one of these folders or files."""
    return _is_below(item.path, places)


@cache
def _is_below(file: Path, places: tuple[str, ...]) -> bool:
    path = file.relative_to(HERE)
    return any(path.is_relative_to(place) for place in places)


def marks_of(item: pytest.Item) -> dict[str, pytest.Mark]:
    """The marks of a test, the closest of each name."""
    return {mark.name: mark for node in item.listchain() for mark in node.own_markers}


def in_turn(
    among: list[jvms.Jvm], item: pytest.Item, able: int, *, whole_file: bool
) -> list[jvms.Jvm]:
    """The one of these JVMs, of that release or later, whose turn a test is."""
    left = [jvm for jvm in among if jvm.feature >= able]
    name = item.nodeid.partition("::")[0] if whole_file else item.nodeid
    return [left[turn_of(name) % len(left)]] if left else []


def _release(jvm: jvms.Jvm) -> int:
    return jvm.feature
