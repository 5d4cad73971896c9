"""Runs `jvmti` as a user does, in a process of its own, and waits for its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "jvmti"]


def run(
    *words: str | int,
    timeout: float = 60,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `jvmti WORDS` with nothing to read; `env` is added to the environment."""
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )


def done(*words: str | int, timeout: float = 60) -> str:
    """What the command prints, which must succeed."""
    ended = run(*words, timeout=timeout)
    assert ended.returncode == 0, (ended.stdout[-2000:], ended.stderr)
    return ended.stdout


def as_json(*words: str | int, timeout: float = 60) -> Any:
    """What the command prints with `--json`."""
    return json.loads(done(*words, "--json", timeout=timeout))
