"""Streams: the memory of one, and announcements, which say what the numbers in its records are.

The memory begins with lines of counters, the agent's in the first half and the controller's in the
second: a line for the announcements and one for each lane.  Behind it is the ring of announcements,
and then each lane's ring of records.  A lane belongs to one thread at a time; the last one is for
all threads that find none free.

A record is `RECORD_HEAD`, the `Words` that the stream was asked for, and the fields of the event,
which `jvmti.events.streams.layout` makes from its declaration.

An announcement is `ANNOUNCEMENT` and a payload, together a multiple of eight bytes.  The payloads:
of a thread `THREAD` and its name; of a class its signature; of a method `METHOD`, its lines, its
name, signature and source file; of a field `FIELD`, its name and signature; of a text the text; of
a stack `STACK` and its frames.  A text is its length (32 bits) and modified UTF-8.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Constants, Record, shared

STREAMS = Constants("Streams", MOST=32, LANES=63, NAMES_SIZE=1 << 20)
"""How many streams one JVM has at a time, the lanes of a stream, and the bytes of its ring of
announcements."""

COUNTERS = Constants(
    "StreamCounters", SIZE=4 * 4096, HEARD=2 * 4096, LINE=128, HEAD=0, DROPPED=1, TAIL=0
)
"""The bytes of all counters, where the controller's begin, and from one line to the next, so that
no two share a cache line.  In a line, 64-bit words: the agent's have how much it has written, in
``HEAD``, and how many records it has ``DROPPED``; the controller's how much it has read."""

RECORD_HEAD = Record("RecordHead", event="uint32_t", thread="uint32_t")
"""The number of the event, and that of the thread."""


@shared("jint")
class Words(enum.IntFlag):
    """The words of eight bytes between head and fields, in the order of these bits."""

    TIME = 1
    """When the event came, in nanoseconds of ``CLOCK_MONOTONIC``."""
    DURATION = 2
    """How long lasted what the event ends, in nanoseconds; -1 where its beginning was not seen."""
    STACK = 4
    """The number of the stack trace."""


@shared("jint")
class Wishes(enum.IntFlag):
    """What else a stream is asked for."""

    WAIT = 1
    """Threads wait where there is no room; otherwise the event is dropped and counted."""
    OWN = 2
    """Record events that the controller's own work causes, too."""
    OBJECTS = 4
    """The classes of objects are looked up in events that are sent very often, too."""
    SUBCLASSES = 8
    """An exception is what its superclasses are."""
    BEGINNINGS = 16
    """Record the beginnings of waits, too; only they are measured, unless there is a shortest
    duration."""
    PLACES = 32
    """Only waits have a stack."""


@shared("uint32_t")
class Announced(enum.IntEnum):
    """What an announcement is about."""

    PADDING = 0
    THREAD = 1
    CLASS = 2
    METHOD = 3
    FIELD = 4
    TEXT = 5
    STACK = 6


ANNOUNCEMENT = Record(
    "Announcement", size="uint32_t", kind="uint32_t", number="uint32_t", length="uint32_t"
)
"""The bytes of the whole, what it is about (`Announced`), the announced number, and
the bytes of the payload."""

THREAD = Record("AnnouncedThread", daemon="uint32_t")
METHOD = Record(
    "AnnouncedMethod", klass="uint32_t", modifiers="int32_t", end="int32_t", lines="int32_t"
)
LINE = Record("AnnouncedLine", location="int32_t", line="int32_t")
FIELD = Record("AnnouncedField", klass="uint32_t", modifiers="int32_t")
STACK = Record("AnnouncedStack", frames="int32_t")
FRAME = Record("AnnouncedFrame", method="uint32_t", location="int32_t")

__all__ = [
    "ANNOUNCEMENT",
    "COUNTERS",
    "FIELD",
    "FRAME",
    "LINE",
    "METHOD",
    "RECORD_HEAD",
    "STACK",
    "STREAMS",
    "THREAD",
    "Announced",
    "Wishes",
    "Words",
]
