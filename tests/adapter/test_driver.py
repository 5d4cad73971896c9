"""The adapter under the client that adapters are tested with, @vscode/debugadapter-testsupport."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

import pytest

import jvms
from adapter.client import COMMAND, IMPORTS, SOON, SOURCE, line, validate
from prepared import Prepared
from profiles.readers.packages import tool

if TYPE_CHECKING:
    from jvms import Jvm

DRIVER = Path(__file__).parent / "driver.js"
PACKAGE = "@vscode/debugadapter-testsupport@1.68.0"


@pytest.fixture(scope="module")
def testsupport() -> Path:
    """The package of the client, installed once by npm."""
    npm = tool("npm")
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


def checked(record: Path) -> int:
    """Hold what was written down of the sessions to the schema; how many messages there are.

    Requests that are wrong on purpose are those that have failed.
    """
    count = 0
    for received in record.glob("*.received"):
        answers = messages(received)
        failed = {one["request_seq"] for one in answers if not one.get("success", True)}
        asked = [one for one in messages(received.with_suffix(".sent")) if one["seq"] not in failed]
        for message in answers:
            validate(message)
        for message in asked:
            validate({"arguments": {}, **message})  # the client leaves out those that are empty
        assert [one["seq"] for one in answers] == list(range(1, len(answers) + 1))
        count += len(answers) + len(asked)
    return count


def messages(file: Path) -> list[dict[str, Any]]:
    """The messages that were written down; the last may have been cut off at the end."""
    found, rest = [], file.read_bytes()
    while rest:
        header, _, rest = rest.partition(b"\r\n\r\n")
        body, rest = rest[: (length := int(header.split(b":")[1]))], rest[length:]
        if len(body) == length:
            found.append(json.loads(body))
    return found


@pytest.mark.timeout(300)
def test_the_driver_for_adapters_finds_what_it_expects(
    testsupport: Path, command: list[str], jvm: Jvm, tmp_path: Path
) -> None:
    """It launches, attaches, stops and steps as an editor does; one adapter serves all checks."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text("import sys\nfrom jvmti.commands import main\nsys.exit(main(['debug']))\n")
    written, record, socket = (tmp_path / one for one in ("written", "record", "debug.sock"))
    record.mkdir()
    sources = {"sourcePaths": [str(SOURCE.parent)]}
    with (
        written.open("wb") as out,
        running(subprocess.Popen(command, stdout=out)) as program,
        running(Prepared([*COMMAND[1:], "--socket", str(socket)], IMPORTS, stdout=PIPE)) as server,
    ):
        assert server.stdout is not None
        assert server.stdout.readline()
        until = time.monotonic() + SOON
        while not written.stat().st_size:
            assert time.monotonic() < until, "the program does not begin"
            time.sleep(0.02)
        given = {
            "testsupport": str(testsupport),
            "python": sys.executable,
            "adapter": str(adapter),
            "socket": str(socket),
            "record": str(record),
            "source": str(SOURCE),
            "written": str(written),
            "launch": {"command": command, **sources},
            "attach": {"pid": program.pid, **sources},
            "lines": {
                name: line(name) for name in re.findall(r"// ([A-Z]+)\b", SOURCE.read_text())
            },
        }
        done = subprocess.run(
            [tool("node"), str(DRIVER), json.dumps(given)],
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert program.poll() is None
    print(done.stdout)
    assert "failed" not in done.stdout, done.stderr
    assert done.stdout.endswith(f"{done.stdout.count('ok ')} checks\n"), done.stderr
    assert checked(record) > 1000


@contextmanager
def running(process: subprocess.Popen[Any]) -> Iterator[subprocess.Popen[Any]]:
    """A process that ends with the block."""
    with process:
        try:
            yield process
        finally:
            process.kill()
