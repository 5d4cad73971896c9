"""What the tests of scripts share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from running import Notes, Runner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jvms import Jvm


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """The notes that a run of `recording.py` makes."""
    return Notes(tmp_path / "notes")


@pytest.fixture
def runner(jvm: Jvm, tmp_path: Path) -> Iterator[Runner]:
    """Run commands with this JVM in a directory of the test's own."""
    runner = Runner(jvm, tmp_path)
    yield runner
    runner.end()
