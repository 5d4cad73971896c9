"""Recordings of the JDK's Flight Recorder and of async-profiler, read as columns.

What is read: samples of processor time, wall-clock time and of native methods, allocations, objects
that are alive, contended monitors and parking.  What is not: events of other types.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from jvmti.profile.errors import NotAProfile, ProfileError

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["read"]


def read(path: str) -> Profile:
    """Read a recording, with a kind of samples for each of its kinds of events.

    Raises:
        NotAProfile: it is damaged, or no chunk of it is complete.
    """
    # At its first use: a package that imports its own modules can be entered from two sides.
    from jvmti.profile.formats.jfr.recording import chunks
    from jvmti.profile.formats.jfr.samples import WANTED, RecordedSamples
    from jvmti.profile.profile import Profile

    try:
        parts, rest = chunks(path, WANTED)
        samples = RecordedSamples(rest=rest)
        for chunk in parts:
            samples.add(chunk)
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
