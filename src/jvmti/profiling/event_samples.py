"""Samples from events of JVM TI: sampled allocations, and waits for monitors."""

from __future__ import annotations

import time
from typing import Any

import numpy
from numpy.typing import NDArray

from jvmti.events.streams.records import Records
from jvmti.profile.tables import Kind, Samples, State, Threads
from jvmti.profiling.named_stacks import NamedStacks
from jvmti.profiling.profiled_vm import ProfiledVM
from jvmti.profiling.sources import Tables, bytes_of_samples

MOST_FRAMES = 256
"""The most frames of a stack in a stream."""

_EVENTS = {
    Kind.ALLOC: ("SampledObjectAlloc", "can_generate_sampled_object_alloc_events"),
    Kind.LOCK: ("MonitorContendedEntered", "can_generate_monitor_events"),
}


class EventSource:
    """Events of an environment of its own, recorded in a stream.

    An allocated object stands for all bytes that were allocated since the sample before. A wait for
    a monitor counts as its duration; shorter ones than the interval are left out.

    Args:
        vm: the VM.
        kind: allocated memory, or locks.
        interval: bytes from one sample to the next on average, or the shortest wait in seconds.
        depth: frames of a stack at most.

    Raises:
        NotAvailable: another environment has these events.

    JVM TI: SampledObjectAlloc, MonitorContendedEntered, SetHeapSamplingInterval.
    """

    engine = "events"
    reason = ""

    def __init__(self, vm: ProfiledVM, kind: Kind, interval: float, depth: int) -> None:
        self._vm = vm
        self._kind = kind
        self._interval = interval
        self._depth = min(depth, MOST_FRAMES)
        event, capability = _EVENTS[kind]
        self._env = vm.new_env()
        try:
            self._env.add_capabilities({capability})
            options: dict[str, Any] = {"stack": self._depth}
            if kind is Kind.ALLOC:
                self._env.set_heap_sampling_interval(round(interval))
            else:
                options["min_duration"] = interval
            self._stream = self._env.stream(event, **options)
        except BaseException:
            self._env.dispose_environment()
            raise
        self._columns: list[tuple[NDArray[Any], ...]] = []
        self._truncated = 0
        self._types: list[Any] = []
        self._names: list[Any] = []
        self._threads: list[Any] = []

    def read(self) -> None:
        """Take the records over that there are."""
        while records := self._stream.read(0):
            self._take(records)

    def _take(self, records: Records) -> None:
        what = records["object_klass" if self._kind is Kind.ALLOC else "object"]
        stack, thread = records["stack"], records["thread"]
        self._types, self._names, self._threads = what.names, stack.names, thread.names
        if self._kind is Kind.ALLOC:
            weight = bytes_of_samples(records["size"], self._interval)
        else:
            weight = records["duration"]
        self._columns.append(
            tuple(
                numpy.array(column, numpy.int64)
                for column in (
                    records["time"],
                    thread.codes,
                    what.codes,
                    stack.codes,
                    numpy.rint(weight),
                )
            )
        )

    def stop(self) -> None:
        """Record no more; the rest can still be read."""
        self._stream.close()

    def close(self) -> None:
        """Dispose of the environment."""
        self._env.dispose_environment()

    def tables(self) -> Tables:
        """The samples that were read: the class of the object is the innermost frame."""
        columns = [numpy.concatenate(parts) for parts in zip(*self._columns, strict=True)]
        moments, threads, types, stacks, weights = columns or [numpy.empty(0, numpy.int64)] * 5
        pairs = types * (len(self._names) + 1) + stacks
        distinct, inverse = numpy.unique(pairs, return_inverse=True)
        named = NamedStacks()
        numbers = [
            named.add(self._types[of_type] or "?", self._names[of_stack] or ())
            for of_type, of_stack in (
                divmod(pair, len(self._names) + 1) for pair in distinct.tolist()
            )
        ]
        # The clock of streams is the monotonic one.
        since = time.time_ns() - time.monotonic_ns()
        samples = Samples(
            moments + since,
            threads.astype(numpy.int32),
            numpy.array(numbers, numpy.int32)[inverse],
            weights,
            self._kind,
            State.RUNNING if self._kind is Kind.ALLOC else State.BLOCKED,
        )
        names = [name or "?" for name in self._threads or [None]]
        return (
            samples,
            *named.tables(),
            Threads(
                numpy.zeros(len(names), numpy.int64),
                names,
                [""] * len(names),
                numpy.zeros(len(names), numpy.bool_),
            ),
        )

    def limits(self) -> dict[str, Any]:
        """The fields that say what the samples lack."""
        return {"lost": int(self._stream.dropped)}


__all__ = ["EventSource"]
