from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_shows_a_program_and_leaves_it_running() -> None:
    began = time.monotonic()
    shown = subprocess.run(
        [sys.executable, DEMO, "--width", "140"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    text = shown.stdout
    assert "Traceback" not in text + shown.stderr
    assert "\x1b" not in text, "plain text where there is no terminal"
    assert re.search(r"GatewayServer\.java:\d+|GatewayConnection\.java:\d+", text)
    assert "RUNNABLE" in text
    assert "missing" in text
    assert text.count("served") >= 6
    assert "it answered a new client" in text
    # About eight seconds on a machine that has nothing else to do.
    assert time.monotonic() - began < 100


def test_the_demo_ends_quietly_with_control_c() -> None:
    with subprocess.Popen(
        [sys.executable, DEMO],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "Attached" in line:
                break
        demo.send_signal(2)
        _, errors = demo.communicate(timeout=60)
        assert demo.returncode == 130
        assert "Traceback" not in errors
