"""pprof's profiles: ``profile.proto``, compressed with gzip.

A sample is a stack with its thread and label, and a value for each kind of samples; there are no
times.  Numbers of fields are those of github.com/google/pprof/proto/profile.proto.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti.profile.call_tree import distinct
from jvmti.profile.errors import NotAProfile, ProfileError
from jvmti.profile.formats import protobuf
from jvmti.profile.limits import Limits
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, Threads

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["read", "write"]


class _Profile:
    """Numbers of the fields of ``Profile``."""

    sample_type, sample, mapping, location, function, string_table = 1, 2, 3, 4, 5, 6
    time_nanos, duration_nanos, period_type, period, comment = 9, 10, 11, 12, 13


_NAMES = {
    Kind.CPU: ("cpu", "nanoseconds"),
    Kind.WALL: ("wall", "nanoseconds"),
    Kind.ALLOC: ("alloc_space", "bytes"),
    Kind.LIVE: ("inuse_space", "bytes"),
    Kind.LOCK: ("delay", "nanoseconds"),
    Kind.COUNT: ("events", "count"),
}
"""Type and unit of the values, as other writers of this format name them."""
_KNOWN = {
    "wall": Kind.WALL,
    "space": Kind.ALLOC,
    "allocations": Kind.ALLOC,
    "contentions": Kind.LOCK,
    "locks": Kind.LOCK,
}
"""Other names of types, of other writers."""
_FACTORS = {
    "ns": {"nanoseconds": 1, "microseconds": 1_000, "milliseconds": 1_000_000, "seconds": 10**9},
    "bytes": {"bytes": 1, "kilobytes": 1 << 10, "megabytes": 1 << 20},
    "count": {"count": 1},
}
"""The units of values, and the factor that makes each that of a kind."""
_TYPE = "class "
"""Begins the system name of what is no method, but the class that was allocated, or of a lock."""
_MOST = 1 << 30
"""The largest profile to read, in bytes when unpacked."""


def write(profile: Profile, path: str, name: str) -> None:
    """Write a profile; all kinds of its samples are in the file."""
    with open(path, "wb") as file:
        compressor = zlib.compressobj(1, wbits=31)
        for part in _encoded(profile):
            file.write(compressor.compress(part))
        file.write(compressor.flush())


def _encoded(profile: Profile) -> Iterator[bytes]:
    samples, frames, stacks = profile.samples, profile.frames, profile.stacks
    threads, columns = profile.threads, profile._columns
    kinds = profile.kinds or (Kind.CPU,)
    thread, thread_names = distinct(list(threads.name))
    strings = ["", "thread", "label", *columns.names, *thread_names, *profile.labels]
    first_name, first_thread = 3, 3 + len(columns.names)
    first_label = first_thread + len(thread_names)
    for kind in kinds:
        strings += _NAMES[kind]
    first_kind = len(strings) - 2 * len(kinds)
    for name in range(first_kind, len(strings), 2):
        value = protobuf.one((1, name), (2, name + 1))
        yield protobuf.one((_Profile.sample_type, value))

    # The distinct stacks with threads and labels, and the weight of each kind.
    labels = len(profile.labels) + 1
    key = samples.stack.astype(numpy.int64) * max(len(thread_names), 1)
    if len(thread):
        key += thread[samples.thread]
    key = key * labels + (samples.label + 1)
    order = numpy.argsort(key)
    ordered = key[order]
    first = numpy.flatnonzero(numpy.diff(ordered, prepend=-1))
    found = ordered[first]
    label = found % labels
    stack, number = numpy.divmod(found // labels, max(len(thread_names), 1))
    values = []
    for kind in kinds:
        weight = samples.weight[order]
        if len(kinds) > 1:
            weight = numpy.where(samples.kind[order] == kind, weight, 0)
        values.append(numpy.add.reduceat(weight, first) if len(first) else weight)
    locations = stacks_of(1, stacks)
    for some in (label == 0, label > 0):
        # All these have equally many bytes but for their stacks.
        rest = [
            protobuf.message_rows(2, *(protobuf.numbers(value[some]) for value in values)),
            _label_rows(1, number[some] + first_thread),
        ]
        if label[some].any():
            rest.append(_label_rows(2, label[some] + first_label - 1))
        yield _samples(locations, stack[some].tolist(), numpy.concatenate(rest, axis=1))

    # The system names of types differ from those of methods.
    methods = numpy.arange(len(columns.names))
    system_names = methods + first_name
    types = numpy.unique(columns.method[frames.kind == FrameKind.TYPE])
    system_names[types] = len(strings) + numpy.arange(len(types))
    strings += [f"{_TYPE}{columns.names[code]}" for code in types.tolist()]
    ids = numpy.arange(len(frames)) + 1
    line = protobuf.message_rows(
        4,
        protobuf.varint_rows(1, columns.method.astype(numpy.int64) + 1),
        protobuf.varint_rows(2, numpy.maximum(frames.line, 0)),
    )
    yield protobuf.message_rows(_Profile.location, protobuf.varint_rows(1, ids), line).tobytes()
    yield protobuf.message_rows(
        _Profile.function,
        protobuf.varint_rows(1, methods + 1),
        protobuf.varint_rows(2, methods + first_name),
        protobuf.varint_rows(3, system_names),
    ).tobytes()
    notes = [text for one in profile.limits for text in one.complaints()]
    first_note = len(strings)
    yield protobuf.repeated(
        _Profile.string_table, [text.encode("utf-8", "replace") for text in [*strings, *notes]]
    )
    period = next((one.interval for one in profile.limits if one.interval), None)
    yield protobuf.one(
        *((_Profile.comment, first_note + number) for number in range(len(notes))),
        (_Profile.time_nanos, profile.began),
        (_Profile.duration_nanos, max(profile.ended - profile.began, 0)),
        (_Profile.period_type, protobuf.one((1, first_kind), (2, first_kind + 1))),
        (_Profile.period, int(period * (1e9 if kinds[0].unit == "ns" else 1)) if period else 0),
    )


def stacks_of(number: int, stacks: Stacks) -> list[bytes]:
    """A packed field of the numbers of frames for each stack; the first frame has the number 1."""
    rows = protobuf.numbers(stacks.frames.astype(numpy.int64) + 1)
    width = rows.shape[1]
    data = rows.tobytes()
    places = (stacks.offsets * width).tolist()
    key = protobuf.varint(number << 3 | 2)
    return [key + protobuf.varint(end - begin) + data[begin:end] for begin, end in pairwise(places)]


def _label_rows(name: int, value: NDArray[numpy.int64]) -> NDArray[numpy.uint8]:
    return protobuf.message_rows(
        3, protobuf.varint_rows(1, numpy.full(len(value), name)), protobuf.varint_rows(2, value)
    )


def _samples(locations: list[bytes], stacks: list[int], rest: NDArray[numpy.uint8]) -> bytes:
    """Samples of these stacks, and what is of one length."""
    width = rest.shape[1]
    data = rest.tobytes()
    key = protobuf.varint(_Profile.sample << 3 | 2)
    heads = [key + protobuf.varint(len(one) + width) + one for one in locations]
    return b"".join(
        chain.from_iterable(
            zip(
                map(heads.__getitem__, stacks),
                [data[at : at + width] for at in range(0, len(data), width)],
                strict=True,
            )
        )
    )


def read(path: str) -> Profile:
    """Read a profile of any writer: stacks, values, and labels of threads.

    Raises:
        NotAProfile: it is something else, damaged, or unpacks to more than a gigabyte.
    """
    with open(path, "rb") as file:
        packed = file.read()
    try:
        if not packed.startswith(b"\x1f\x8b"):
            return _decoded(memoryview(packed))
        unpacker = zlib.decompressobj(wbits=47)
        data = unpacker.decompress(packed, _MOST)
        if unpacker.unconsumed_tail:
            raise ValueError(f"it unpacks to more than {_MOST:,} bytes")
        if not unpacker.eof:
            raise ValueError("it is cut off")
        return _decoded(memoryview(data))
    except (
        zlib.error,
        LookupError,
        OverflowError,
        ProfileError,
        TypeError,
        ValueError,
    ) as problem:
        raise NotAProfile(f"{path} is no profile of pprof, or damaged: {problem}") from None


def _decoded(data: memoryview) -> Profile:
    from jvmti.profile.profile import Profile

    found: dict[int, list[Any]] = {number: [] for number in range(1, 16)}
    for number, value in _fields(data):
        if number in found:
            found[number].append(value)
    strings = [str(text, "utf-8", "replace") for text in found[_Profile.string_table]]
    types = [dict(_fields(one)) for one in found[_Profile.sample_type]]
    names = [strings[one.get(1, 0)] for one in types]
    if not names:
        raise ValueError("the file has no types of samples")
    units = [strings[one.get(2, 0)] for one in types]
    known = _KNOWN | {name: kind for kind, (name, _) in _NAMES.items()}
    kinds = {
        known[name]: column
        for column, (name, unit) in enumerate(zip(names, units, strict=True))
        if name in known and unit in _FACTORS[known[name].unit]
    }
    notes = []
    if not kinds:
        # pprof itself shows the last one.
        kinds = {Kind.COUNT: len(names) - 1}
        notes.append(
            f"The samples are of {names[-1]!r} in {units[-1]!r}, of a kind that is not known here."
        )
    functions = {}
    for one in found[_Profile.function]:
        fields = dict(_fields(one))
        name = strings[fields.get(2, 0)]
        functions[fields[1]] = (name, strings[fields.get(3, 0)] == f"{_TYPE}{name}")
    rows: dict[tuple[str, bool, int], int] = {}
    locations: dict[int, list[int]] = {}
    for one in found[_Profile.location]:
        lines = [dict(_fields(value)) for number, value in _fields(one) if number == 4]
        fields = dict(_fields(one))
        # The innermost of inlined functions comes first, as frames do in stacks.
        at = [(*functions[line[1]], line.get(2, 0) or -1) for line in lines]
        at = at or [(f"0x{fields.get(3, 0):x}", False, -1)]
        locations[fields[1]] = [rows.setdefault(row, len(rows)) for row in at]
    stacks: dict[bytes, int] = {}
    threads: dict[str, int] = {}
    columns: list[tuple[int, int, int, int]] = []
    for one in found[_Profile.sample]:
        ids: list[int] = []
        values: list[int] = []
        thread = ""
        for number, value in _fields(one):
            if number == 3:
                fields = dict(_fields(value))
                if strings[fields.get(1, 0)] == "thread":
                    thread = strings[fields.get(2, 0)]
            elif number in (1, 2):
                (ids if number == 1 else values).extend(
                    [value] if isinstance(value, int) else _numbers(value)
                )
        frames = numpy.array([row for at in ids for row in locations[at]], numpy.int32)
        stack = stacks.setdefault(frames.tobytes(), len(stacks))
        for kind, column in kinds.items():
            weight = values[column]
            if weight:
                weight -= (weight >> 63) << 64
                weight *= _FACTORS[kind.unit].get(units[column], 1)
                columns.append((threads.setdefault(thread, len(threads)), stack, weight, kind))
    lengths = [len(one) // 4 for one in stacks]
    times = {number: found[number][-1] if found[number] else 0 for number in (9, 10)}
    table = numpy.array(columns, numpy.int64).reshape(-1, 4)
    split = [
        ("", "", name) if is_type or "(" in name else name.rpartition(".")
        for name, is_type, _ in rows
    ]
    return Profile(
        Samples(times[9], table[:, 0], table[:, 1], table[:, 2], table[:, 3]),
        Stacks(
            numpy.concatenate([[0], numpy.cumsum(lengths)]),
            numpy.frombuffer(b"".join(stacks), numpy.int32),
        ),
        Frames(
            [one[0] for one in split],
            [one[2] for one in split],
            line=numpy.array([line for _, _, line in rows], numpy.int32),
            kind=numpy.array(
                [FrameKind.TYPE if is_type else FrameKind.UNKNOWN for _, is_type, _ in rows],
                numpy.uint8,
            ),
        ),
        Threads(numpy.zeros(len(threads)), list(threads)),
        [
            Limits(kind, began=times[9], ended=times[9] + times[10], notes=tuple(notes))
            for kind in kinds
        ],
    )


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The number and the value of each field of a message."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif kind == 2:
            length, at = _varint(data, at)
            if length > end - at:
                raise ValueError("a part is longer than the file")
            yield key >> 3, data[at : at + length]
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of type {kind}")


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is longer than 64 bits")


def _numbers(data: memoryview) -> list[int]:
    found = []
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found
