"""Streams: their memory, and announcements, which explain the numbers in the records.

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
"""The most streams of one JVM, the lanes of a stream, and the bytes of its ring of
announcements."""

COUNTERS = Constants(
    "StreamCounters", SIZE=4 * 4096, READ=2 * 4096, LINE=128, HEAD=0, DROPPED=1, TAIL=0
)
"""The bytes of all counters, where the controller's begin, and from one line to the next, so that
no two share a cache line.  In a line, 64-bit words: the agent's have how much it has written, in
``HEAD``, and how many records it has ``DROPPED``; the controller's how much it has read."""

RECORD_HEAD = Record("RecordHead", event="uint32_t", thread="uint32_t")
"""The number of the event, and that of the thread."""


@shared("jint")
class Words(enum.IntFlag):
    """The eight-byte words between head and fields, in the order of these bits."""

    TIME = 1
    """When the event came, in nanoseconds of ``CLOCK_MONOTONIC``."""
    DURATION = 2
    """The duration that the event ends, in nanoseconds; -1 if its beginning was not seen."""
    STACK = 4
    """The number of the stack trace."""


@shared("jint")
class Wishes(enum.IntFlag):
    """Further options of a stream."""

    WAIT = 1
    """Threads wait for space in the ring; otherwise the agent drops the event and counts it."""
    OWN = 2
    """Record events that the controller's own work causes, too."""
    OBJECTS = 4
    """Look up the classes of objects even in very frequent events."""
    SUBCLASSES = 8
    """Patterns for exceptions match their superclasses, too."""
    BEGINNINGS = 16
    """Record the beginnings of waits, too; measure only waits, unless there is a shortest
    duration."""
    PLACES = 32
    """Only waits have a stack."""
    BEFORE_PROBES = 64
    """Places are those that the code has without probes: probes report events of the stream."""


@shared("uint32_t")
class Announced(enum.IntEnum):
    """The subject of an announcement."""

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
"""Its size in bytes, its subject (`Announced`), the announced number, and the size of the
payload."""

THREAD = Record("AnnouncedThread", id="int64_t")
"""The ``Thread.threadId`` of a thread without a name, as most virtual ones are; else 0."""

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
