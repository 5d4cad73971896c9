"""The adapter under the client that adapters are tested with, @vscode/debugadapter-testsupport."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvms
from adapter.client import SOURCE, line

if TYPE_CHECKING:
    from programs import JavaPrograms

DRIVER = Path(__file__).parent / "driver.js"
PACKAGE = "@vscode/debugadapter-testsupport@1.68.0"


@pytest.fixture(scope="module")
def testsupport() -> Path:
    """The package of the client, installed once by npm."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("no Node.js here")
    place = jvms.ROOT / "build" / "npm"
    found = place / "node_modules" / PACKAGE.rpartition("@")[0]
    if not found.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [npm, "install", "--prefix", str(place), "--no-audit", "--no-fund", PACKAGE],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"npm cannot install {PACKAGE}: {done.stderr[-300:]}")
    return found


@pytest.mark.timeout(300)
def test_the_driver_for_adapters_finds_what_it_expects(
    testsupport: Path, command: list[str], java_program: JavaPrograms, tmp_path: Path
) -> None:
    """It launches, attaches, stops and steps as an editor does."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text("import sys\nfrom jvmti.commands import main\nsys.exit(main(['debug']))\n")
    program = java_program("Debugged")
    program.expect("ready")
    sources = {"sourcePaths": [str(SOURCE.parent)]}
    names = ("NET", "GROSS", "RETURN", "SQUARE")
    done = subprocess.run(
        [
            "node",
            str(DRIVER),
            str(testsupport),
            sys.executable,
            str(adapter),
            str(SOURCE),
            json.dumps({"command": command, **sources}),
            json.dumps({"pid": program.pid, **sources}),
            json.dumps({name: line(name) for name in names}),
        ],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "failed" not in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("ok ") == 9, done.stdout + done.stderr
