"""The memory that probes write to, which the agent shares with the controller.

Its layout never changes, so that a thread that was stopped in the middle of a probe may write
later. It begins with a page of counters for each side, followed by the lanes with the records and
the tallies.
"""

from __future__ import annotations

from jvmti.layouts.declare import Constants, Record

_LANES = 32
_LANE_SIZE = 1 << 20
_PAGE = 4096
_BUCKETS = 240
_TALLIES = 16384
_STRIPES = 8
_THREADS = 1024
_LINE = 128

LANES = Constants(
    "ProbeLanes",
    COUNT=_LANES,
    OWNED=_LANES // 2,
    LINE=_LINE,
    TAILS=_PAGE,
    RECORDS=2 * _PAGE,
    SIZE=_LANE_SIZE,
    DROPPED=8,
    REACHED=16,
    FAILED=24,
    OWNER=32,
    EVERY=8,
    MOST=16,
)
"""The first ``OWNED`` lanes have an owner: the first thread whose number modulo ``OWNED`` it is. It
writes there without atomic instructions, for ever. All other threads of that number share the lane
that is ``OWNED`` further. Of each lane, ``LINE`` bytes apart: in the agent's page the records so
far, those dropped, and the number of the owner; in the controller's those read. Record n of a lane
is at n times the record's size modulo the lane's ``SIZE``.

Probes that change something have, in the line of the first lane in the agent's page, how often they
were reached and how many changes failed; and in the controller's, to make every n-th change, and
how many at most. Where that is above 1, only every n-th record is made, too."""

TALLIES = Constants(
    "ProbeTallies",
    START=2 * _PAGE + _LANES * _LANE_SIZE + _PAGE,
    COUNT=_TALLIES,
    STRIPES=_STRIPES,
    OWNED=_STRIPES // 2,
    OWNER=40,
    SIZE=2048,
    BUCKETS=_BUCKETS,
    SUM=_BUCKETS * 8,
    LONGEST=_BUCKETS * 8 + 8,
    PER_OCTAVE=4,
)
"""A tally for each site: how many calls took how long, by buckets, of which there are
``PER_OCTAVE`` for each doubling of nanoseconds; their sum and the longest. Each of ``STRIPES`` is
for other threads; the first ``OWNED`` have owners, and the others are shared, as lanes are. At
``OWNER`` in the line of a lane in the agent's page is the owner of the stripe of that number, or 1
for a shared one that is used. The tallies of a stripe lie one after the other. Where calls are
counted by a value, each value has two instead of a site: for calls that return and for those that
fail; the first two are for values that found no place."""

COUNTERS = Constants(
    "ProbeCounters",
    START=TALLIES.START + _STRIPES * _TALLIES * TALLIES.SIZE,
    LINES=2 * _THREADS,
    OWNED=_THREADS,
    LINE=_LINE,
)
"""A counter for each tally, for what is counted without a duration. Those that fit into ``LINE``
bytes are a block, and each block has ``LINES`` such lines. The thread whose number is n writes to
line n without asking: the VM gives each thread another number, from 1 on. Threads with numbers of
``OWNED`` and above share the lines behind those, by their numbers modulo ``OWNED``. To take a line
from others once would need a branch, and C2 unrolls no loop with what is behind it."""

MEMORY = Constants(
    "ProbeMemory",
    SIZE=COUNTERS.START + _TALLIES * 8 * COUNTERS.LINES,
    SETS=256,
)
"""All of it, and how many sets of probes there are in a JVM: a set's place is its number modulo
``SETS``. Numbers are not reused, because frames may still run probes of a removed set."""

CONTROL = Record(
    "ProbeControl",
    lanes="int64_t",
    shortest="int64_t",
    size="int64_t",
    number="int64_t",
    records="int64_t",
    tallies="int64_t",
    waits="int64_t",
    spare="int64_t",
)
"""The part of a set that the helper class reads, in memory of the agent: where its lanes' counters
are; the shortest duration that is recorded, in nanoseconds; a record's size, a power of two; the
set's number, or 0: probes of other sets do nothing; where records and tallies are; where the lines
of waits are."""

WAITS = Constants("ProbeWaits", LINES=16, LINE=64)
"""Lines in memory of the agent, one for the threads whose number modulo ``LINES`` it is: how much
longer they may wait, in nanoseconds, until the helper class calls the agent."""

PROBE_SITE = Record(
    "ProbeSite", probe="uint32_t", index="uint32_t", line="uint32_t", texts="uint32_t"
)
"""A place of a probe, as in `jvmti.layouts.probes.INSERTED`, and the size of the texts behind it:
class, method, descriptor, and the shape of a record from there, a zero behind each."""

__all__ = ["CONTROL", "COUNTERS", "LANES", "MEMORY", "PROBE_SITE", "TALLIES", "WAITS"]
