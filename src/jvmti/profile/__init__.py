"""Profiles: samples of stacks as columns, what they say, and the files that hold them.

This package needs no JVM: `jvmti.profiling` takes profiles of one.
"""

from __future__ import annotations

from jvmti.profile.difference import Change, Difference
from jvmti.profile.errors import NotAProfile, ProfileError, SeveralKinds
from jvmti.profile.files import open_profile as open
from jvmti.profile.limits import Limits
from jvmti.profile.parts import Parts
from jvmti.profile.profile import Profile, Use
from jvmti.profile.tables import (
    Frame,
    FrameKind,
    Frames,
    Kind,
    Samples,
    Stacks,
    State,
    Thread,
    Threads,
)

__all__ = [
    "Change",
    "Difference",
    "Frame",
    "FrameKind",
    "Frames",
    "Kind",
    "Limits",
    "NotAProfile",
    "Parts",
    "Profile",
    "ProfileError",
    "Samples",
    "SeveralKinds",
    "Stacks",
    "State",
    "Thread",
    "Threads",
    "Use",
    "open",
]
