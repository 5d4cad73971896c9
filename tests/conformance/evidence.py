"""What the tests have shown: which function gave a right result or an error, and which event came.

A test asks for the fixture `evidence` and says what it is about to show; that counts when the
test passes.  Where several processes share a run, each keeps a book of its own; the tests of
completeness, which run last, wait for all of them.  At the end of the run everything shown goes to
``build/conformance.json``, function by JVM, from which ``scripts/conformance_page.py`` makes
``docs/conformance.md``.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

import jvms

RESULT = "result"
LACKS = "without "
"""Before the name of a capability that a VM does not offer: its functions cannot be shown."""


EVENT = "event."
"""Before the name of an event."""

SAVED = jvms.ROOT / "build" / "conformance.json"
REPORT: pytest.StashKey[pytest.TestReport] = pytest.StashKey()

FOLDERS = (jvms.ROOT / "tests" / "conformance", jvms.ROOT / "tests" / "events")
"""Where the tests are that make up a whole run."""


def counts(path: Path) -> bool:
    """Whether a file of tests is one of those that show something."""
    return any(folder in path.parents for folder in FOLDERS)


class Book:
    """Everything shown in one run: function, JVM, and what."""

    def __init__(self) -> None:
        self.shown: dict[str, dict[str, set[str]]] = {}

    def enter(self, function: str, jvm: str, what: str) -> None:
        """Note that a passing test showed ``what`` of ``function`` on ``jvm``."""
        self.shown.setdefault(function, {}).setdefault(jvm, set()).add(what)

    def open(self, path: Path) -> None:
        """Go on with what an earlier run has saved."""
        self.add(json.loads(path.read_text()) if path.exists() else {})

    def add(self, shown: dict[str, dict[str, list[str]]]) -> None:
        """Note what another book has."""
        for function, by_jvm in shown.items():
            for jvm, what in by_jvm.items():
                self.shown.setdefault(function, {}).setdefault(jvm, set()).update(what)

    def leave(self, pieces: Path, finished: set[str]) -> None:
        """Write the book of this process beside those of the others that share the run.

        Args:
            pieces: the directory of all their books.
            finished: the tests that count and that this process has run.
        """
        shown = {
            function: {jvm: sorted(what) for jvm, what in by_jvm.items()}
            for function, by_jvm in self.shown.items()
        }
        draft = pieces / f"{os.getpid()}.draft"
        draft.write_text(json.dumps({"finished": sorted(finished), "shown": shown}))
        draft.replace(draft.with_suffix(".json"))

    def gather(self, pieces: Path) -> set[str]:
        """Note what all processes of the run have left so far; return the tests they finished."""
        finished: set[str] = set()
        for piece in pieces.glob("*.json"):
            left = json.loads(piece.read_text())
            finished |= set(left["finished"])
            self.add(left["shown"])
        return finished

    def errors(self, function: str) -> set[str]:
        """Every error of a function that was shown on some JVM."""
        everything = set().union(*self.shown.get(function, {}).values())
        return {what for what in everything if what != RESULT and not what.startswith(LACKS)}

    def save(self, path: Path, *, whole: bool = False) -> None:
        """Write the book.

        Args:
            path: where to; several runs may write at the same time.
            whole: this run was all of the conformance tests, so that what earlier runs showed
                is void; otherwise that stays.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = json.loads(path.read_text()) if path.exists() and not whole else {}
            merged: dict[str, Any] = known
            for function, by_jvm in self.shown.items():
                for jvm, what in by_jvm.items():
                    before = merged.setdefault(function, {}).get(jvm, [])
                    merged[function][jvm] = sorted({*before, *what})
            draft = path.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(merged, indent=1, sort_keys=True) + "\n")
            draft.replace(path)


BOOK = Book()
"""What this process has shown."""


class Evidence:
    """What one test shows on one JVM."""

    def __init__(self, jvm: str) -> None:
        self.jvm = jvm
        self.claims: list[tuple[str, str]] = []

    def proves(self, *functions: str) -> None:
        """The test checks right results of these functions, by their Python names."""
        self.claims += [(function, RESULT) for function in functions]

    def shows(self, *events: str) -> None:
        """The test sees these events, by the specification's names, with all that they bring."""
        self.claims += [(EVENT + event, RESULT) for event in events]

    def provokes(self, function: str, *errors: str) -> None:
        """The test makes a function give these errors (``"INVALID_THREAD"``)."""
        self.claims += [(function, error) for error in errors]

    def lacks(self, function: str, *capabilities: str) -> None:
        """The test shows that the VM does not offer a capability that the function needs."""
        self.claims += [(function, LACKS + capability) for capability in capabilities]
