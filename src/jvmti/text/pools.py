"""Pools of threads, by the names of these."""

from __future__ import annotations

import re

__all__ = ["pool_of"]

_NUMBERS = re.compile(r"\d+(?=\D*$)|(?<=\s)\d+(?:\.\d+)*(?=\s)")
_COLLECTOR_OR_COMPILER = re.compile(r"[A-Z]\d(?=\s)")


def pool_of(name: str) -> str:
    """The name of a thread with ``*`` for its numbers: ``pool-1-thread-*`` for its last, at least.

    Threads of a pool differ in the last number of their names, and in numbers that stand alone, as
    those of Spark: ``Executor task launch worker for task * in stage * (TID *)``. The first ones of
    ``C2 CompilerThread`` and ``G1 Conc#0`` are part of a name.
    """
    begins = _COLLECTOR_OR_COMPILER.match(name)
    end = begins.end() if begins else 0
    return name[:end] + _NUMBERS.sub("*", name[end:])
