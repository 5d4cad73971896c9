"""Recordings of the JDK's Flight Recorder and of async-profiler, read as columns.

What is read: samples of processor time, wall-clock time and of native methods, allocations, objects
that are alive, contended monitors and parking.  What is not: events of other types.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from jvmti.profile.errors import NotAProfile, ProfileError

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["read"]

Part = TypeVar("Part")
Made = TypeVar("Made")


_AHEAD = 2
"""Chunks that are read beside the one whose samples are added; each takes memory."""


def _ahead(make: Callable[[Part], Made], parts: Sequence[Part]) -> Iterator[Made]:
    """Results for the parts in their order, by threads: most of the work is not Python code."""
    if len(parts) < _AHEAD:
        yield from map(make, parts)
        return
    with ThreadPoolExecutor(_AHEAD) as threads:
        waiting = deque(threads.submit(make, part) for part in parts[:_AHEAD])
        try:
            for part in parts[_AHEAD:]:
                made = waiting.popleft().result()
                waiting.append(threads.submit(make, part))
                yield made
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()


def read(path: str) -> Profile:
    """Read a recording, with a kind of samples for each of its kinds of events.

    Raises:
        NotAProfile: it is damaged, or no chunk of it is complete.
    """
    # At its first use: a package that imports its own modules can be entered from two sides.
    from jvmti.profile.formats.jfr.recording import chunks
    from jvmti.profile.formats.jfr.samples import WANTED, ChunkSamples, RecordedSamples
    from jvmti.profile.profile import Profile

    try:
        parts, rest = chunks(path, WANTED)
        samples = RecordedSamples(rest=rest)
        for one in _ahead(ChunkSamples, parts):
            samples.add(one)
        limits = samples.limits()
        if not limits:
            other = f", only {', '.join(samples.unread)}" if samples.unread else ""
            raise NotAProfile(
                f"{path} has no samples{other}: record with settings=profile, or with other events "
                "on"
            )
        samples.merged.limits = limits
        return Profile(*samples.merged.tables())
    except (
        ProfileError,
        LookupError,
        OverflowError,
        TypeError,
        ValueError,
        RecursionError,
        MemoryError,
        struct.error,
    ) as problem:
        if isinstance(problem, NotAProfile):
            raise
        raise NotAProfile(f"{path} is a damaged recording: {problem}") from None
