"""Which of the JVMs each test runs on: with several, most tests run on some of them only.

What depends on the VM everywhere, conformance and events, runs on every JVM.  Robustness runs on
the newest, and each test on one of the others besides, in turn.  The rest runs on the oldest and on
the newest; what is the same on every JVM on one of these two, in turn.  Whose turn it is depends on
the name of the test alone, so that it does not change with other tests.  `pytest --every-jvm`
(`make test-all`) runs each test on every JVM where it may show anything of its own.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import jvms

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parent

ON_EVERY_JVM = ("conformance", "events")
"""The tests of what the VM does: each JVM has to show all of it."""

IN_TURN = ("robustness", "test_java_programs.py")
"""The tests that run on the newest JVM and on one of the others, the interpreter-only VM among
them, which differs in what it offers and survives."""


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

    def is_for(self, item: pytest.Item) -> bool:
        """Whether a test runs on the JVM that it has as a parameter, if it has one."""
        jvm = item.callspec.params.get("jvm") if hasattr(item, "callspec") else None
        if not isinstance(jvm, jvms.Jvm) or self._newest is None:
            return True
        only = item.get_closest_marker("on")
        if only is not None:
            return jvm.name in only.args
        since = item.get_closest_marker("since")
        if since is not None and jvm.feature < since.args[0]:
            return False
        return self._is_chosen(item, jvm, able=0 if since is None else since.args[0])

    def _is_chosen(self, item: pytest.Item, jvm: jvms.Jvm, *, able: int) -> bool:
        below = item.path.relative_to(HERE).parts[0]
        if item.get_closest_marker("newest"):
            return jvm.name == jvms.NEWEST
        if item.get_closest_marker("oldest_and_newest"):
            return jvm in (self._two if self._every else in_turn(self._two, item, able))
        if below in ON_EVERY_JVM:
            return True
        if below in IN_TURN:
            chosen = [self._newest, *in_turn(self._others, item, able)]
            return self._every or jvm in chosen
        if self._every:
            return jvm.name != "zero" or jvm in self._two
        return jvm in self._two


def in_turn(among: list[jvms.Jvm], item: pytest.Item, able: int) -> list[jvms.Jvm]:
    """The one of these JVMs, of that release or later, whose turn a test is."""
    left = [jvm for jvm in among if jvm.feature >= able]
    return [left[turn_of(item.nodeid) % len(left)]] if left else []


def _release(jvm: jvms.Jvm) -> int:
    return jvm.feature
