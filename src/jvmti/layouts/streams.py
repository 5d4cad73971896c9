"""Announcements in a stream: what the numbers in its records stand for.

An announcement is `ANNOUNCEMENT` and a payload, together a multiple of eight bytes.  The payloads:
of a thread `THREAD` and its name; of a class its signature; of a method `METHOD`, its lines, its
name, signature and source file; of a field `FIELD`, its name and signature; of a text the text; of
a stack `STACK` and its frames.  A text is its length (32 bits) and modified UTF-8.
"""

from __future__ import annotations

from jvmti.layouts.declare import Record

ANNOUNCEMENT = Record(
    "Announcement", size="uint32_t", kind="uint32_t", number="uint32_t", length="uint32_t"
)
"""The bytes of the whole, `jvmti.events.streams.layout.Announced`, the announced number, and
the bytes of the payload."""

THREAD = Record("AnnouncedThread", daemon="uint32_t")
METHOD = Record(
    "AnnouncedMethod", klass="uint32_t", modifiers="int32_t", end="int32_t", lines="int32_t"
)
LINE = Record("AnnouncedLine", location="int32_t", line="int32_t")
FIELD = Record("AnnouncedField", klass="uint32_t", modifiers="int32_t")
STACK = Record("AnnouncedStack", frames="int32_t")
FRAME = Record("AnnouncedFrame", method="uint32_t", location="int32_t")

__all__ = ["ANNOUNCEMENT", "FIELD", "FRAME", "LINE", "METHOD", "STACK", "THREAD"]
