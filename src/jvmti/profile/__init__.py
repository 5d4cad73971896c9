"""Profiles: samples of stacks as columns, what they say, and the files that hold them.

This package needs no JVM: `jvmti.profiling` takes profiles of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.reexports import reexports

if TYPE_CHECKING:
    from jvmti.profile.difference import Change, Changes, Difference
    from jvmti.profile.errors import NotAProfile, ProfileError, SeveralKinds
    from jvmti.profile.files import open_profile as open
    from jvmti.profile.limits import Limits
    from jvmti.profile.parts import Parts
    from jvmti.profile.profile import Profile
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
    from jvmti.profile.uses import Top, Use
else:
    __getattr__, __dir__ = reexports(
        __name__,
        {
            "Change": "jvmti.profile.difference",
            "Changes": "jvmti.profile.difference",
            "Difference": "jvmti.profile.difference",
            "Frame": "jvmti.profile.tables",
            "FrameKind": "jvmti.profile.tables",
            "Frames": "jvmti.profile.tables",
            "Kind": "jvmti.profile.tables",
            "Limits": "jvmti.profile.limits",
            "NotAProfile": "jvmti.profile.errors",
            "Parts": "jvmti.profile.parts",
            "Profile": "jvmti.profile.profile",
            "ProfileError": "jvmti.profile.errors",
            "Samples": "jvmti.profile.tables",
            "SeveralKinds": "jvmti.profile.errors",
            "Stacks": "jvmti.profile.tables",
            "State": "jvmti.profile.tables",
            "Thread": "jvmti.profile.tables",
            "Threads": "jvmti.profile.tables",
            "Top": "jvmti.profile.uses",
            "Use": "jvmti.profile.uses",
            "open": "jvmti.profile.files:open_profile",
        },
    )


__all__ = [
    "Change",
    "Changes",
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
    "Top",
    "Use",
    "open",
]
