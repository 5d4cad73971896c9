"""A short run of what fuzz_classes.py does a million times."""

from __future__ import annotations

from pathlib import Path

import pytest

import compiler
from robustness.faults import fuzz_classes


@pytest.mark.stress
@pytest.mark.timeout(900)
def test_damaged_class_files_harm_nobody(tmp_path: Path) -> None:
    classes = [compiler.classes(name) for name in fuzz_classes.PROGRAMS[:3]]
    done = fuzz_classes.Fuzzer(classes, tmp_path, "-O0").run(5_000, 7)
    assert done.returncode == 0, done.stdout
    assert "5000 cases" in done.stdout
