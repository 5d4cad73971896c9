"""Profiles on their way from the agent: samples, and what their numbers stand for.

A part is `CHUNK`, followed by as many rows of each table as it says, in this order: `RECORD`,
`THREAD`, `FRAME`, the depth of each stack (``uint32_t``), the frames on these stacks, innermost
first (``uint32_t`` each), and texts, each followed by a zero.

The texts are those of the threads, name and group each, and those of the methods: class, name,
descriptor. Numbers count from 0 over all parts, but a stack's from 1: stack 0 is empty.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Constants, Record, shared


@shared("jint")
class ProfiledKind(enum.IntEnum):
    """Kinds of samples, numbered as in `jvmti.profile.Kind`."""

    CPU = 0
    WALL = 1
    ALLOC = 2
    LIVE = 3
    LOCK = 4


@shared("jint")
class ProfileEngine(enum.IntEnum):
    """The engines that take samples."""

    BEST = 0
    """The best that works, in a request."""
    PERF = 1
    """A performance event of the kernel for each thread, which sends signals."""
    TIMER = 2
    """A timer on the processor time of each thread, which sends signals."""
    DELTAS = 3
    """A thread of the agent that asks the VM for the stacks of threads that have run."""
    BIRTHS = 4
    """Sampled allocations, whose objects have tags until they are freed."""
    EVENTS = 5
    """Events of the VM: sampled allocations, or contended monitors."""


@shared("uint32_t", loose=True)
class CodeKind(enum.IntEnum):
    """Kinds of code, numbered as in `jvmti.profile.FrameKind`."""

    UNKNOWN = 0
    NATIVE = 4
    VM = 5
    KERNEL = 6
    COLLECTOR = 7
    COMPILER = 8
    TYPE = 9


@shared("uint32_t", loose=True)
class SampleState(enum.IntEnum):
    """States of threads, numbered as in `jvmti.profile.State`."""

    UNKNOWN = 0
    RUNNING = 1
    RUNNABLE = 2
    BLOCKED = 3
    WAITING = 4
    PARKED = 5
    SLEEPING = 6
    NATIVE = 7


PROFILES = Constants("Profiles", MOST=16, DEPTH=2048, RECORDS=1 << 17, SHORTEST=100_000)
"""The most profiles of one JVM at a time, the most frames of a stack, the most records of a part,
and the shortest interval of processor and wall-clock time: shorter ones starve the program."""

CHUNK = Record(
    "ProfileChunk",
    records="uint32_t",
    threads="uint32_t",
    frames="uint32_t",
    stacks="uint32_t",
    stack_frames="uint32_t",
    methods="uint32_t",
    text="uint32_t",
    rest="uint32_t",
    failed="uint64_t",
    faults="uint64_t",
    truncated="uint64_t",
    cut="uint64_t",
    lost="uint64_t",
    unfollowed="uint64_t",
    unresolved="uint64_t",
    carried="uint64_t",
    apart="uint64_t",
    looks="uint64_t",
    span="uint64_t",
    changes="uint64_t",
    ended="int64_t",
)
"""The rows of each table, and the bytes of all texts; ``rest`` is 1 if more is waiting. Behind it,
since the profile began: samples whose stack could not be walked; those where the walk met a fault,
which are among them; those with a deeper stack; those whose stack ends before the thread's; dropped
ones; threads that could not be followed;
methods whose class was gone before their name was known; samples of virtual threads that count as
their carriers', because more were seen than have space; whether those of others do not; looks at
threads, or objects found dead; the nanoseconds that lay between looks; changes of the signal,
because another handler was set; and when samples ended, because others handled all signals, in
nanoseconds since the epoch, or 0."""

RECORD = Record(
    "ProfileRecord",
    time="int64_t",
    weight="int64_t",
    stack="uint32_t",
    thread="uint32_t",
    owner="uint32_t",
    state="uint32_t",
)
"""The time, in nanoseconds since the epoch; its weight; the numbers of its stack and of its thread;
the number of the thread that had the lock, plus 1, or 0; and its state."""

THREAD = Record("ProfileThread", id="int64_t", is_virtual="uint32_t", padding="uint32_t")
"""The ``Thread.threadId``, 0 for a thread that Java does not know; whether it is virtual."""

FRAME = Record("ProfileFrame", method="uint32_t", line="int32_t", kind="uint32_t")
"""The number of the method, the line or -1, and the kind of code."""

__all__ = [
    "CHUNK",
    "FRAME",
    "PROFILES",
    "RECORD",
    "THREAD",
    "CodeKind",
    "ProfileEngine",
    "ProfiledKind",
    "SampleState",
]
