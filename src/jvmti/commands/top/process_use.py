"""Processor time, threads and memory of a process, with the agent's threads apart."""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

__all__ = ["ProcessUse", "Use"]

_OWN = "jvmti "
"""The names of the agent's threads begin so."""
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Use(NamedTuple):
    """Processor time of a process since it began, its threads, and its memory.

    Attributes:
        seconds: processor time, of threads that have ended, too.
        threads: how many it has, without the agent's.
        own: for each of the agent's threads, by its number, its processor time in seconds, which
            ``seconds`` contains.
        resident: bytes of memory that it has in use: heap, code, stacks and all else.
    """

    seconds: float
    threads: int
    own: dict[int, float]
    resident: int

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
            seconds, threads, resident = _counters(f"{self._folder}/stat")
            present = os.listdir(f"{self._folder}/task")
        except OSError:
            return Use(0.0, 0, {}, 0)
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
                    own[int(thread)] = _counters(f"{self._folder}/task/{thread}/stat")[0]
        return Use(seconds, max(threads - len(own), 0), own, resident)


def _counters(path: str) -> tuple[float, int, int]:
    """Seconds of processor time, threads of the process, and its resident bytes.

    Raises:
        OSError: it has ended.
    """
    with open(path, errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    seconds = (int(fields[11]) + int(fields[12])) / _TICKS
    return seconds, int(fields[17]), int(fields[21]) * _PAGE
