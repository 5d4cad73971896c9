"""How the agent is to call a Python function."""

from __future__ import annotations

import enum


class Told(enum.IntEnum):
    """In the numbers of ``Told`` in ``native/agent/call.h``."""

    NEVER = 0
    IN_BLOCKS = 1
    """Many calls travel together: what they answer changes nothing but that there are no more."""
    AT_ONCE = 2
    """The VM waits for the answer."""


__all__ = ["Told"]
