"""Conversations that the agent begins: their numbers, and values that travel in them."""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Constants, Record, shared

OPENING = Constants(
    "Opening",
    OWN_WORK=0x800,
    JNI_CALL=0x1000,
    EXTENSION_EVENT=0x2000,
    STOP=0x3000,
    PROBE_STOP=0x3001,
)
"""The numbers of openings: below ``JNI_CALL`` those of events, with ``OWN_WORK`` if the
controller's own work caused one; from ``JNI_CALL`` on the slots of JNI functions."""


@shared("int")
class OwnWork(enum.IntEnum):
    """Whether to report an event that the controller's own work causes.

    Its own work is that of its calls and of its handlers.
    """

    REPORTED = 0
    """Report it: the controller asked for it, or placed the request there."""
    IN_CALLS = 1
    """Report it in calls, but not in a handler, which would be called for itself without end."""
    NEVER = 2
    """Do not report it: the VM sends it for everything that runs."""


@shared("uint8_t")
class CallbackMode(enum.IntEnum):
    """How the agent calls a Python function."""

    NEVER = 0
    IN_BLOCKS = 1
    """Many calls travel together: an answer can only end the walk."""
    AT_ONCE = 2
    """The VM waits for the answer."""


VALUE = Record("Value", type="char", bits="uint64_t")
"""A Java value: the first character of its type's descriptor (``L`` for arrays too), and a handle,
an integer widened to 64 bits, or the bits of a double."""

BUFFER = Record(
    "Buffer", type="char", writable="uint8_t", place="uint8_t", length="jint", address="uint64_t"
)
"""Memory of a JNI call: the type of its elements, whether it is writable, which buffer of the call,
how many elements, and the address."""

__all__ = ["BUFFER", "OPENING", "VALUE", "CallbackMode", "OwnWork"]
