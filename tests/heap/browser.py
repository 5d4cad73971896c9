"""A headless Chromium that is clicked and typed at, as a user would, over its debugging pipe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_PIPES = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(word), fcntl.F_DUPFD, 100) for word in sys.argv[1:3]]
os.dup2(pipes[0], 3)
os.dup2(pipes[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads requests from descriptor 3 and writes to 4."""
_LONGEST = 60
"""Seconds that the browser gets for anything."""


def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        found = shutil.which(name)
        if found is not None:
            return found
    pytest.skip("no Chromium here; `apt-get install chromium` has one")


class Browser:
    """One page of a browser.

    Attributes:
        complaints: what the page has written to the console, and errors of its scripts.
    """

    def __init__(self, to: int, answers: int) -> None:
        self.complaints: list[Any] = []
        self._to = to
        self._answers = answers
        self._data = b""
        self._last = 0
        self._page: str | None = None

    def open(self, path: Path) -> None:
        """Show a file in a window of 1,280 by 900, in place of what it shows."""
        self.close()
        self.complaints.clear()
        target = self.ask("Target.createTarget", url="about:blank")
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._page, self._target = attached["sessionId"], target["targetId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Page.navigate", url=path.as_uri())
        self._until(lambda said: said.get("method") == "Page.loadEventFired")

    def close(self) -> None:
        """Show nothing any more; what a page had set of the window goes with it."""
        if self._page is not None:
            self._page = None
            self.ask("Target.closeTarget", targetId=self._target)

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def move(self, x: float, y: float) -> None:
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        code = {"Enter": 13, "Escape": 27, "Tab": 9}[key]
        more = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **(more if kind == "keyDown" else {}),
            )

    def ask(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        number = self._last
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._page is not None:
            message["sessionId"] = self._page
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda said: said.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def _until(self, wanted: Any) -> Any:
        until = time.monotonic() + _LONGEST
        while True:
            while b"\0" not in self._data:
                assert time.monotonic() < until, "the browser does not answer"
                more = os.read(self._answers, 1 << 16)
                if not more:
                    pytest.skip("Chromium cannot run here")
                self._data += more
            text, _, self._data = self._data.partition(b"\0")
            said = json.loads(text)
            if said.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(said["params"])
            if wanted(said):
                return said


@contextmanager
def browser(directory: Path) -> Iterator[Browser]:
    """A browser with a profile in a directory."""
    requests, to = os.pipe()
    answers, replies = os.pipe()
    command = [
        *(sys.executable, "-c", _PIPES, str(requests), str(replies)),
        *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
        "--window-size=1280,900",
        *(f"--user-data-dir={directory}", "about:blank"),
    ]
    process = subprocess.Popen(
        command, pass_fds=(requests, replies), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(requests)
    os.close(replies)
    try:
        yield Browser(to, answers)
    finally:
        os.close(to)  # it goes with the pipe
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(answers)
