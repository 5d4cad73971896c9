"""A terminal for programs that need one: what they draw can be read as a user reads it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pexpect
import pyte
from pexpect.fdpexpect import fdspawn

import command_line
from prepared import Prepared, take_terminal

ROWS, COLUMNS = 50, 110
_PROMPTS = ("prompt_toolkit.shortcuts", "traitlets.config", "jvmti.shell.plain")
"""What the prompts import; not IPython, which asks then whether its output is a terminal."""


class Terminal:
    """A program on a pseudo-terminal; a context manager that ends it.

    Args:
        words: what follows the name of the interpreter, or of the program.
        env: what is added to the environment.
        program: what to run instead of a Python.
        cwd: where.

    Attributes:
        raw: everything that it has written, escape sequences and all.
    """

    def __init__(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        program: str | None = None,
        cwd: Path | None = None,
    ) -> None:
        # Cursor positions that nobody tells would make a prompt wait for them.
        environment = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", **env}
        # Which readline leaves to the workers of the tests: the terminal itself has its size.
        for size in {"LINES", "COLUMNS"} - env.keys():
            environment.pop(size, None)
        self.raw = b""
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", ROWS, COLUMNS, 0, 0))
        start: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        start |= {"env": environment, "cwd": cwd}
        self._child: subprocess.Popen[bytes]
        if program is None:
            imports = [*command_line.imports(), *_PROMPTS]
            self._child = Prepared(words, imports, own_terminal=True, **start)
        else:
            self._child = subprocess.Popen([program, *words], preexec_fn=take_terminal, **start)
        os.close(theirs)
        self._keys = fdspawn(ours, timeout=60)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._keys.close()  # which tells the program that its terminal is gone
        try:
            self._child.wait(5)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    def type(self, text: str) -> None:
        """Press keys."""
        self._keys.send(text)

    def resize(self, rows: int, columns: int) -> None:
        """Give it another size."""
        self._screen.resize(rows, columns)
        size = struct.pack("4H", rows, columns, 0, 0)
        fcntl.ioctl(self._keys.child_fd, termios.TIOCSWINSZ, size)

    def wait_for(self, pattern: str, timeout: float = 60) -> str:
        """Wait until the screen matches a regular expression; gives the screen."""
        deadline = time.monotonic() + timeout
        while not re.search(pattern, self.text, re.MULTILINE):
            assert self._read(deadline), f"no {pattern!r} on the screen:\n{self.text}"
        return self.text

    def ask(self, line: str, pattern: str) -> str:
        """Type a line on an empty screen and wait for what it prints, and for the next prompt."""
        self.type("\x0c")  # Ctrl-L, which redraws the prompt at the top
        self.wait_for(r"\A(In \[\d+\]: ?|>>> ?)\s*\Z")
        self.type(line + "\r")
        return self.wait_for(rf"(?s){pattern}.*^(In \[\d+\]:|>>>) *\Z")

    def end(self) -> int:
        """Wait until the program has ended; its exit status."""
        deadline = time.monotonic() + 60
        while self._read(deadline):
            pass
        status = self._child.wait(60)
        assert status >= 0, (status, self.text)
        return status

    def _read(self, deadline: float) -> bool:
        if time.monotonic() > deadline:
            return False
        try:
            data = self._keys.read_nonblocking(1 << 16, timeout=1)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True
