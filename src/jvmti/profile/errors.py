"""Errors of profiles; `jvmti.errors` lists the whole tree."""

from __future__ import annotations

from jvmti.interface.errors import Error

__all__ = ["NotAProfile", "ProfileError", "SeveralKinds"]


class ProfileError(Error):
    """An error with a profile."""


class NotAProfile(ProfileError, ValueError):
    """A file is no profile, is damaged, or has a format that is not read."""


class SeveralKinds(ProfileError, LookupError):
    """A view was asked of a profile with samples of several kinds, which do not add up."""
