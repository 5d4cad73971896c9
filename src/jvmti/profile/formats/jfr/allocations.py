"""Weights of the first sample of a thread's allocations in a recording of Flight Recorder.

The weight of ``jdk.ObjectAllocationSample`` is what the thread has allocated since the sample
before.  The first one of a recording has all since the thread began, or since an earlier
recording: hours of it in a JVM that has run for long.  The recorder also writes what each thread
has allocated in all when a chunk begins and ends, so that the excess is known.
"""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr.recording import Chunk
from jvmti.profile.formats.jfr.sources import Sampled
from jvmti.profile.formats.library import dense

__all__ = ["EVENTS", "FirstSamples"]

Column = NDArray[numpy.int64]

_TOTALS = "jdk.ThreadAllocationStatistics"
_START = "jdk.ThreadStart"
EVENTS = (_TOTALS, _START)
"""The types of events that tell it."""


class FirstSamples:
    """Takes from the first sample of each thread what it has allocated before a recording.

    Attributes:
        known: the numbers of threads that have begun in the recording, or had a sample.
    """

    def __init__(self) -> None:
        self.known: Column = numpy.empty(0, numpy.int64)

    def weights(self, chunk: Chunk, samples: Sampled) -> Column:
        """The bytes that were allocated within the recording, for each sample of a chunk.

        Args:
            chunk: the next chunk.
            samples: its samples.
        """
        weight, time = samples.weight.copy(), samples.time
        threads, number = dense(samples.thread)
        earliest = numpy.full(len(threads), numpy.iinfo(numpy.int64).max)
        numpy.minimum.at(earliest, number, time)
        begins = numpy.flatnonzero(time == earliest[number])
        # Of equal times, the first.
        row = begins[numpy.unique(number[begins], return_index=True)[1]]
        started = chunk.events(_START, {"thread"}) or {}
        begun = started.get("thread", numpy.empty(0, numpy.int64))
        known = numpy.union1d(self.known, begun)
        self.known = numpy.union1d(known, threads)
        totals = chunk.events(_TOTALS, {"thread", "allocated"})
        if totals is None or len(totals) < 2:
            return weight
        counted, which = numpy.unique(totals["thread"], return_inverse=True)
        least = numpy.full(len(counted), numpy.iinfo(numpy.int64).max)
        most = numpy.zeros(len(counted), numpy.int64)
        numpy.minimum.at(least, which, totals["allocated"])
        numpy.maximum.at(most, which, totals["allocated"])
        place = numpy.minimum(numpy.searchsorted(counted, threads), len(counted) - 1)
        is_older = (counted[place] == threads) & ~numpy.isin(threads, known)
        within = (most - least)[place]
        sampled = numpy.zeros(len(threads), numpy.int64)
        numpy.add.at(sampled, number, weight)
        # Of a thread that ended before the chunk, only the first of the two totals is there.
        only = numpy.where(least[place] <= weight[row], least[place], 0)
        excess = numpy.where(within > 0, sampled - within, only)
        weight[row] -= numpy.where(is_older, numpy.clip(excess, 0, weight[row]), 0)
        return weight
