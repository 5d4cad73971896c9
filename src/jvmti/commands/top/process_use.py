"""Processor time and threads of a process, with those of the agent apart."""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

__all__ = ["ProcessUse", "Use"]

_OWN = "jvmti "
"""The names of the agent's threads begin so."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Use(NamedTuple):
    """Processor time of a process since it began, and its threads.

    Attributes:
        seconds: processor time, of threads that have ended, too.
        threads: how many it has, without the agent's.
        own: for each of the agent's threads, by its number, its processor time in seconds, which
            ``seconds`` contains.
    """

    seconds: float
    threads: int
    own: dict[int, float]

    def own_since(self, before: Use) -> float:
        """Processor time of the agent's threads since then, in seconds."""
        return sum(used - before.own.get(thread, 0.0) for thread, used in self.own.items())


class ProcessUse:
    """Reads the use of a process again and again; threads of the agent are asked apart.

    To ask each of 5,000 threads would take a tenth of a second.

    Args:
        pid: the process.
    """

    def __init__(self, pid: int) -> None:
        self._folder = f"/proc/{pid}"
        self._names: dict[str, str] = {}
        self._new: set[str] = set()

    def read(self) -> Use:
        """Read it; of a process that has ended, nothing."""
        try:
            seconds, threads = _times(f"{self._folder}/stat")
            present = os.listdir(f"{self._folder}/task")
        except OSError:
            return Use(0.0, 0, {})
        # A new thread has the name of the one that began it until it gets its own.
        unsure = self._new
        self._new = set()
        names = {}
        for thread in present:
            name = None if thread in unsure else self._names.get(thread)
            if name is None:
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    with open(f"{self._folder}/task/{thread}/comm", errors="replace") as file:
                        names[thread] = file.read()
                    if thread not in unsure:
                        self._new.add(thread)
            else:
                names[thread] = name
        self._names = names
        own = {}
        for thread, name in names.items():
            if name.startswith(_OWN):
                with contextlib.suppress(OSError):
                    own[int(thread)] = _times(f"{self._folder}/task/{thread}/stat")[0]
        return Use(seconds, max(threads - len(own), 0), own)


def _times(path: str) -> tuple[float, int]:
    """Seconds of processor time, and threads of the process.

    Raises:
        OSError: it has ended.
    """
    with open(path, errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS, int(fields[17])
