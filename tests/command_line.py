"""Runs `jvmti` as a user does until it ends: `run` in a process of its own, `here` in this one.

To start a Python and import all that a command needs takes longer than most commands do.  What is
about processes (signals, terminals, pipes, start-up, what is imported) needs one, and the examples
of the pages have one each.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from unittest.mock import patch

import prepared
from jvmti.commands import main

COMMAND = [sys.executable, "-m", "jvmti"]


def imports() -> tuple[str, ...]:
    """The modules that some command needs, for `prepared`."""
    return (*prepared.modules_of("jvmti.commands"), "jvmti.target.attach", "jvmti.shell.scripts")


def run(
    *words: str | int,
    timeout: float = 60,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `jvmti WORDS` with nothing to read; `env` is added to the environment."""
    environment = {**os.environ, **(env or {})}
    return prepared.run(
        ["-m", "jvmti", *map(str, words)], imports(), timeout=timeout, cwd=cwd, env=environment
    )


def begun(*words: object) -> prepared.Prepared:
    """`jvmti WORDS` that goes on beside the test, with pipes of text for what it prints."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return prepared.Prepared(["-m", "jvmti", *map(str, words)], imports(), **pipes)


def here(*words: object) -> subprocess.CompletedProcess[str]:
    """Run `jvmti WORDS` in this process, with nothing to read."""
    command = [str(word) for word in words]
    # Files, as in a process: what the command starts writes there, too.
    with (
        open(os.devnull) as nothing,
        TemporaryFile("w+", encoding="utf-8") as out,
        TemporaryFile("w+", encoding="utf-8") as errors,
        patch.object(sys, "stdin", nothing),
        redirect_stdout(out),
        redirect_stderr(errors),
        log_as_before(),
    ):
        try:
            code = main(command)
        except SystemExit as end:
            code = int(end.code or 0)
        printed = []
        for file in (out, errors):
            file.flush()
            file.seek(0)
            printed.append(file.read())
    return subprocess.CompletedProcess(command, code or 0, *printed)


@contextmanager
def log_as_before() -> Iterator[None]:
    """Take back where a command has its log written: here it would write to a closed file later."""
    log = logging.getLogger("jvmti")
    before = list(log.handlers), log.propagate
    try:
        yield
    finally:
        log.handlers[:], log.propagate = before


def done(*words: object) -> str:
    """What the command prints, which must succeed."""
    ended = here(*words)
    assert ended.returncode == 0, (ended.stdout[-2000:], ended.stderr)
    return ended.stdout


def as_json(*words: object) -> Any:
    """What the command prints with `--json`."""
    return json.loads(done(*words, "--json"))
