"""Controllers in processes of their own, which can be killed and stopped."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from prepared import attaching

SOON = 120.0
"""How long a test waits for what must come, in seconds; nothing is measured by it."""


class Controller:
    """A controller in a process of its own; what it says comes line by line."""

    def __init__(self, *arguments: object, library: Path | None = None) -> None:
        chosen = {} if library is None else {"JVMTI_AGENT_LIBRARY": str(library)}
        self.process = attaching(*arguments, env=chosen)
        self.lines: list[str] = []
        self._ended = False
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._more:
                self.lines.append(line.strip())
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    def says(self, start: str) -> str:
        """Wait for a line that begins so."""

        def said() -> str | None:
            return next((line for line in self.lines if line.startswith(start)), None)

        with self._more:
            self._more.wait_for(lambda: said() or self._ended, SOON)
            found = said()
            assert found, (start, self.lines)
            return found

    def write(self, *words: object) -> None:
        """A line to its standard input, empty unless something is said."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
