"""The terminal of `jvmti top`: its keys, and what happens to it.

Ctrl-Z leaves the terminal as the shell needs it, and ``fg`` takes it again.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from types import FrameType
from typing import Any, Protocol

__all__ = ["Terminal", "opened_terminal"]

_ONE_KEY = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|.", re.DOTALL)
"""A key as the terminal sends it: an escape sequence, or a character."""
_SIGNALS = (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)


class Shown(Protocol):
    """Drawing that takes the screen and gives it back."""

    def start(self) -> None:
        """Take the screen."""

    def stop(self) -> None:
        """Give the screen back as it was."""


class Terminal:
    """The keys of a terminal; get one from `opened_terminal`.

    Args:
        keys: the descriptor that they come from; ``None`` if there are none.
        signals: the descriptor that has the number of each signal that came.
        shown: what is on the terminal.
    """

    def __init__(self, keys: int | None, signals: int, shown: Shown) -> None:
        self._keys = keys
        self._signals = signals
        self._shown = shown
        self._before: list[Any] = [] if keys is None else termios.tcgetattr(keys)
        self.closed = False
        self.take()

    def take(self) -> None:
        """Get keys as they are pressed, and the screen."""
        if self._keys is not None:
            tty.setcbreak(self._keys)
        self._shown.start()

    def leave(self) -> None:
        """Give both back."""
        self._shown.stop()
        if self._keys is not None:
            with contextlib.suppress(termios.error):  # it is closed
                termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)

    def typed(self, seconds: float) -> list[str]:
        """The keys that were pressed; waits for one, for another size, or for that long."""
        sources = [self._signals] if self._keys is None else [self._signals, self._keys]
        ready = select.select(sources, [], [], max(seconds, 0))[0]
        if self._signals in ready:
            came = os.read(self._signals, 64)
            if signal.SIGTSTP in came:
                self._suspend()
            elif signal.SIGCONT in came:
                # SIGSTOP has stopped it, and the shell has the terminal in its own state since.
                self._shown.stop()
                self.take()
        if self._keys not in ready or self._keys is None:
            return []
        try:
            text = os.read(self._keys, 64).decode(errors="replace")
        except OSError:
            text = ""
        self.closed = not text
        return _ONE_KEY.findall(text)

    def _suspend(self) -> None:
        self.leave()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        # Here it goes on after `fg`.
        signal.signal(signal.SIGTSTP, handler)
        with contextlib.suppress(BlockingIOError):  # no SIGCONT, which is dealt with here
            os.read(self._signals, 64)
        self.take()


@contextlib.contextmanager
def opened_terminal(shown: Shown) -> Iterator[Terminal]:
    """The terminal of this process until the end of the block.

    Args:
        shown: what is on the terminal.
    """

    def note(number: int, frame: FrameType | None) -> None:
        """Let Python write the number."""

    read, write = os.pipe()
    for one in (read, write):
        os.set_blocking(one, False)
    handlers = [signal.signal(one, note) for one in _SIGNALS]
    woken = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        terminal = Terminal(sys.stdin.fileno() if sys.stdin.isatty() else None, read, shown)
        try:
            yield terminal
        finally:
            terminal.leave()
    finally:
        signal.set_wakeup_fd(woken)
        for one, handler in zip(_SIGNALS, handlers, strict=True):
            signal.signal(one, handler)
        os.close(read)
        os.close(write)
