"""A short run of what tests/robustness/faults/fuzz_dumps.py does a million times."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "robustness" / "faults" / "fuzz_dumps.py"


@pytest.mark.stress
def test_damaged_dumps_harm_nobody(rounds: Callable[[int, int], int]) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(rounds(1_000, 10_000)), "7"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
