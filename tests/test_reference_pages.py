"""The reference pages say what the declarations say."""

from __future__ import annotations

import subprocess
import sys

import jvms


def test_the_reference_is_current() -> None:
    script = jvms.ROOT / "scripts" / "reference_pages.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
