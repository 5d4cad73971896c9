"""Profiles for ui.perfetto.dev and its trace processor: samples with their times and threads.

Numbers of fields are those of perfetto's ``trace_packet.proto``; samples are its ``PerfSample``.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats import protobuf
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile
    from jvmti.profile.tables import Samples

__all__ = ["write"]


class _Packet:
    """Numbers of the fields of ``TracePacket``."""

    process_tree, timestamp, sequence_id, interned_data = 2, 8, 10, 12
    sequence_flags, timestamp_clock, defaults, perf_sample = 13, 58, 59, 66


_SEQUENCE = 1
_PROCESS = 1
_CLEARED, _NEEDED = 1, 2
_BOOTTIME = 6
_PACKET = 1
_USER_MODE = 2


def write(profile: Profile, path: str, name: str) -> None:
    """Write a profile of one kind.

    Perfetto counts samples: their weights are in its column ``timebase_count``, in nanoseconds or
    bytes.
    """
    samples = profile.samples
    kind = profile.kind
    interned = b"".join(_interned(profile))
    timebase = protobuf.one((4, 1), (10, f"{kind.name.lower()} ({kind.unit})"))
    first = protobuf.one(
        (_Packet.sequence_id, _SEQUENCE),
        (_Packet.sequence_flags, _CLEARED),
        (_Packet.timestamp, profile.began),
        (
            _Packet.defaults,
            protobuf.one((12, protobuf.one((1, timebase), (2, 0))), (58, _BOOTTIME)),
        ),
        (_Packet.interned_data, interned),
    )
    tree = protobuf.one(
        (1, protobuf.one((1, _PROCESS), (3, printable(name)))),
        (
            2,
            [
                protobuf.one((1, number + 2), (3, _PROCESS), (2, printable(thread)))
                for number, thread in enumerate(profile.threads.name)
            ],
        ),
    )
    second = protobuf.one(
        (_Packet.sequence_id, _SEQUENCE),
        (_Packet.timestamp, profile.began),
        (_Packet.process_tree, tree),
    )
    # An empty stack would count as an error of the trace.
    has = profile.stacks.depths[samples.stack] > 0
    packets = [_packets(samples.take(has), True), _packets(samples.take(~has), False)]
    with open(path, "wb") as file:
        file.write(protobuf.repeated(_PACKET, [first, second]))
        for some in packets:
            file.write(some.tobytes())


def _packets(samples: Samples, stacks: bool) -> NDArray[numpy.uint8]:
    """Samples, all with a stack or all without."""
    rows = len(samples)
    stack = [protobuf.varint_rows(4, samples.stack.astype(numpy.int64) + 1)] * stacks
    sample = protobuf.message_rows(
        _Packet.perf_sample,
        protobuf.varint_rows(1, numpy.zeros(rows)),
        protobuf.varint_rows(2, numpy.full(rows, _PROCESS)),
        protobuf.varint_rows(3, samples.thread.astype(numpy.int64) + 2),
        *stack,
        protobuf.varint_rows(5, numpy.full(rows, _USER_MODE)),
        protobuf.varint_rows(6, samples.weight),
    )
    return protobuf.message_rows(
        _PACKET,
        protobuf.varint_rows(_Packet.timestamp, samples.time),
        protobuf.varint_rows(_Packet.sequence_id, numpy.full(rows, _SEQUENCE)),
        protobuf.varint_rows(_Packet.sequence_flags, numpy.full(rows, _NEEDED)),
        sample,
    )


def _interned(profile: Profile) -> list[bytes]:
    """Names, frames and stacks, each with a number from 1 on."""
    columns, stacks, frames = profile._columns, profile.stacks, profile.frames
    functions = [
        protobuf.one((1, number), (2, printable(name)))
        for number, name in enumerate(columns.names, 1)
    ]
    frame = protobuf.message_rows(
        6,
        protobuf.varint_rows(1, numpy.arange(len(frames)) + 1),
        protobuf.varint_rows(2, columns.method.astype(numpy.int64) + 1),
        protobuf.varint_rows(3, numpy.full(len(frames), 1)),
    )
    # The outermost frames come first.
    place = numpy.repeat(stacks.offsets[:-1] + stacks.offsets[1:] - 1, stacks.depths)
    inside = stacks.frames[place - numpy.arange(len(place))]
    ids = protobuf.varint_rows(2, inside.astype(numpy.int64) + 1)
    width, data = ids.shape[1], ids.tobytes()
    places = (stacks.offsets * width).tolist()
    callstacks = [
        protobuf.one((1, number)) + data[begin:end]
        for number, (begin, end) in enumerate(itertools.pairwise(places), 1)
    ]
    return [
        protobuf.repeated(5, functions),
        frame.tobytes(),
        protobuf.repeated(7, callstacks),
        protobuf.one((17, protobuf.one((1, 1), (2, "java")))),
        protobuf.one((19, protobuf.one((1, 1), (7, 1)))),
    ]
