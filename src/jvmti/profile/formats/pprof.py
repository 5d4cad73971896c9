"""pprof's profiles: ``profile.proto``, compressed with gzip.

A sample is a stack with its thread, state and label, and a value for each kind of samples; there
are no times.  Numbers of fields are those of github.com/google/pprof/proto/profile.proto.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from jvmti.profile.call_tree import distinct as distinct_names
from jvmti.profile.call_tree import sorted_rows
from jvmti.profile.errors import NotAProfile, ProfileError
from jvmti.profile.formats import protobuf
from jvmti.profile.formats.class_names import java_class_name
from jvmti.profile.formats.collapsed import are_types
from jvmti.profile.formats.library import distinct, distinct_stacks
from jvmti.profile.formats.messages import Messages
from jvmti.profile.limits import Limits
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, State, Threads

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["read", "write"]

Column = NDArray[numpy.int64]


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
    thread, thread_names = distinct_names(list(threads.name))
    states = [one.name.lower() for one in State]
    strings = ["", "thread", "label", "state", *states]
    first_state, first_name = 4, len(strings)
    strings += [*columns.names, *thread_names, *profile.labels]
    first_thread = first_name + len(columns.names)
    first_label = first_thread + len(thread_names)
    for kind in kinds:
        strings += _NAMES[kind]
    first_kind = len(strings) - 2 * len(kinds)
    for name in range(first_kind, len(strings), 2):
        value = protobuf.one((1, name), (2, name + 1))
        yield protobuf.one((_Profile.sample_type, value))

    # The distinct stacks with threads, labels and states, and the weight of each kind.
    labels = len(profile.labels) + 1
    key = samples.stack.astype(numpy.int64) * max(len(thread_names), 1)
    if len(thread):
        key += thread[samples.thread]
    key = (key * labels + (samples.label + 1)) * len(states) + samples.state
    ordered, order = sorted_rows(key)
    first = numpy.flatnonzero(numpy.diff(ordered, prepend=-1))
    found = ordered[first]
    found, state = numpy.divmod(found, len(states))
    found, label = numpy.divmod(found, labels)
    stack, number = numpy.divmod(found, max(len(thread_names), 1))
    values = []
    for kind in kinds:
        weight = samples.weight[order]
        if len(kinds) > 1:
            weight = numpy.where(samples.kind[order] == kind, weight, 0)
        values.append(numpy.add.reduceat(weight, first) if len(first) else weight)
    locations = stacks_of(1, stacks)
    for has_label, has_state in product((False, True), (False, True)):
        some = ((label > 0) == has_label) & ((state > 0) == has_state)
        if not some.any():
            continue
        # All these have equally many bytes but for their stacks.
        rest = [
            protobuf.message_rows(2, *(protobuf.numbers(value[some]) for value in values)),
            _label_rows(1, number[some] + first_thread),
        ]
        if has_label:
            rest.append(_label_rows(2, label[some] + first_label - 1))
        if has_state:
            rest.append(_label_rows(3, state[some] + first_state))
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
    """Read a profile of any writer: stacks, values, and labels of threads, states and requests.

    Raises:
        NotAProfile: it is something else, damaged, or unpacks to more than a gigabyte.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        if data.startswith(b"\x1f\x8b"):
            unpacker = zlib.decompressobj(wbits=31)
            data = unpacker.decompress(data, _MOST)
            if unpacker.unconsumed_tail:
                raise ValueError(f"it unpacks to more than {_MOST:,} bytes")
            if not unpacker.eof:
                raise ValueError("it is cut off")
        return _decoded(numpy.frombuffer(data, numpy.uint8))
    except (
        zlib.error,
        LookupError,
        MemoryError,
        OverflowError,
        ProfileError,
        TypeError,
        ValueError,
    ) as problem:
        raise NotAProfile(f"{path} is no profile of pprof, or damaged: {problem}") from None


def _decoded(data: NDArray[numpy.uint8]) -> Profile:
    from jvmti.profile.profile import Profile

    whole = Messages(data, numpy.zeros(1, numpy.int64), numpy.array([len(data)]))
    strings = whole.texts(_Profile.string_table)
    kinds, notes = _kinds_of(whole, strings)
    _, samples = whole.messages(_Profile.sample)
    values = _values(samples, 1 + max(column for column, _ in kinds.values()))
    stack, table, names, is_type, line = _stacks_of(whole, samples, strings)
    if not is_type.any() and not {*kinds} & {Kind.CPU, Kind.WALL}:
        innermost = numpy.unique(table.frames[table.offsets[:-1][table.depths > 0]])
        if are_types({names[row] for row in innermost.tolist()}):
            is_type[innermost] = True
    labels = _labels_of(samples, strings)
    thread, threads = _named(labels["thread"], strings)
    label, texts = _named(labels["label"], strings)
    if "" in texts:
        nothing = texts.index("")
        texts.pop(nothing)
        label = numpy.where(label == nothing, -1, label - (label > nothing))
    state, states = _named(labels["state"], strings)
    known = {one.name.lower(): one for one in State}
    state = numpy.array([known.get(one, State.UNKNOWN) for one in states], numpy.int64)[state]
    began, lasted = (int(whole.last(number)[0]) for number in (9, 10))
    rows, weights, of_kind = [], [], []
    for kind, (column, factor) in kinds.items():
        some = numpy.flatnonzero(values[column])
        rows.append(some)
        weights.append(values[column][some] * factor)
        of_kind.append(numpy.full(len(some), kind, numpy.uint8))
    row = numpy.concatenate(rows)
    split = [
        _split(name) if not kind else ("", name)
        for name, kind in zip(names, is_type.tolist(), strict=True)
    ]
    frames = Frames(
        [of for of, _ in split],
        [name for _, name in split],
        line=line,
        kind=numpy.where(is_type, FrameKind.TYPE, FrameKind.UNKNOWN),
    )
    return Profile(
        Samples(
            *(began, thread[row], stack[row], numpy.concatenate(weights)),
            *(numpy.concatenate(of_kind), state[row], label[row]),
        ),
        table,
        frames,
        Threads([0] * len(threads), threads),
        [Limits(kind, began=began, ended=began + lasted, notes=tuple(notes)) for kind in kinds],
        texts,
    )


def _kinds_of(whole: Messages, strings: list[str]) -> tuple[dict[Kind, tuple[int, int]], list[str]]:
    """The kinds of samples, the place and the factor of their values, and notes about these."""
    _, types = whole.messages(_Profile.sample_type)
    names = [strings[row] for row in types.last(1).tolist()]
    units = [strings[row] for row in types.last(2).tolist()]
    if not names:
        raise ValueError("the file has no types of samples")
    known = _KNOWN | {name: kind for kind, (name, _) in _NAMES.items()}
    kinds = {
        known[name]: (column, _FACTORS[known[name].unit][unit])
        for column, (name, unit) in enumerate(zip(names, units, strict=True))
        if name in known and unit in _FACTORS[known[name].unit]
    }
    if kinds:
        return kinds, []
    # pprof itself shows the last one.
    note = f"The samples are of {names[-1]!r} in {units[-1]!r}, of a kind that is not known here."
    return {Kind.COUNT: (len(names) - 1, 1)}, [note]


def _values(samples: Messages, columns: int) -> list[Column]:
    """The first values of each sample, as columns."""
    owner, values = samples.numbers(2)
    count = numpy.bincount(owner, minlength=len(samples))
    if (count < columns).any():
        raise ValueError("a sample has too few values")
    place = numpy.arange(len(owner)) - numpy.repeat(numpy.cumsum(count) - count, count)
    return [values[place == column] for column in range(columns)]


def _stacks_of(
    whole: Messages, samples: Messages, strings: list[str]
) -> tuple[Column, Stacks, list[str], NDArray[numpy.bool_], Column]:
    """The stack of each sample, the distinct stacks, and names, kinds and lines of frames."""
    _, functions = whole.messages(_Profile.function)
    name, system = functions.last(2), functions.last(3)
    described = [f"{_TYPE}{strings[row]}" for row in name.tolist()]
    types = [strings[row] == one for row, one in zip(system.tolist(), described, strict=True)]
    _, locations = whole.messages(_Profile.location)
    owner, lines = locations.messages(4)
    function = _rows(functions.last(1), lines.last(1))
    # A location without lines has its address as name.
    lacking = numpy.flatnonzero(numpy.bincount(owner, minlength=len(locations)) == 0)
    addresses = [f"0x{at & 0xFFFF_FFFF_FFFF_FFFF:x}" for at in locations.last(3)[lacking].tolist()]
    owner = numpy.concatenate([owner, lacking])
    # The innermost of inlined functions comes first, as frames do in stacks.
    order = numpy.argsort(owner, kind="stable")
    texts, text = _distinct_texts([strings[row] for row in name.tolist()] + addresses)
    at = numpy.concatenate([function, len(name) + numpy.arange(len(lacking))])[order]
    number = numpy.append(lines.last(2), numpy.zeros(len(lacking), numpy.int64))[order]
    number = numpy.where((number > 0) & (number < 1 << 31), number, -1)
    is_type = numpy.append(numpy.array(types, numpy.bool_), numpy.zeros(len(lacking), numpy.bool_))
    frame, first = distinct([text[at], is_type[at].astype(numpy.int64), number])
    depth = numpy.bincount(owner, minlength=len(locations))
    sample, ids = samples.numbers(1)
    if len(ids) and not 0 <= ids.min() <= ids.max() < 1 << 31:
        ids = _rows(locations.last(1), ids)
        known = numpy.arange(len(locations))
    else:
        known = locations.last(1)
    # Samples are many, and their stacks few.
    stack, places, offsets = _distinct_stacks(
        numpy.bincount(sample, minlength=len(samples)), ids.astype(numpy.int32)
    )
    row = _rows(known, places.astype(numpy.int64))
    frames = frame[_spans(numpy.cumsum(depth) - depth, depth, row)]
    depths = numpy.diff(numpy.concatenate([[0], numpy.cumsum(depth[row])])[offsets])
    number_of, inside, offsets = _distinct_stacks(depths, frames)
    table = Stacks(offsets, inside)
    names = [texts[row] for row in text[at][first].tolist()]
    return number_of[stack].astype(numpy.int64), table, names, is_type[at][first], number[first]


def _spans(begins: Column, lengths: Column, rows: Column) -> Column:
    """The places from the begin of each of these rows on, as many as it is long."""
    length = lengths[rows]
    ends = numpy.cumsum(length)
    whole = int(ends[-1]) if len(ends) else 0
    found: Column = numpy.arange(whole) + numpy.repeat(begins[rows] - (ends - length), length)
    return found


def _distinct_stacks(
    depths: Column, inside: NDArray[numpy.int32]
) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], Column]:
    """The number of each stack among the distinct ones; what is inside these, and their offsets."""
    offsets = numpy.concatenate([[0], numpy.cumsum(depths)])
    numbers, found = distinct_stacks(offsets, numpy.ascontiguousarray(inside))
    first = found.astype(numpy.int64)
    ends = numpy.concatenate([[0], numpy.cumsum(depths[first])])
    return numbers, inside[_spans(offsets[:-1], depths, first)], ends


def _rows(ids: Column, wanted: Column) -> Column:
    """The row of each of these numbers."""
    order = numpy.argsort(ids, kind="stable")
    place = numpy.searchsorted(ids[order], wanted)
    if len(wanted) and (not len(ids) or place.max() >= len(ids)):
        raise ValueError("a number is of nothing in the file")
    found = order[place] if len(wanted) else place
    if (ids[found] != wanted).any():
        raise ValueError("a number is of nothing in the file")
    return found


def _distinct_texts(texts: list[str]) -> tuple[list[str], Column]:
    code, found = distinct_names(texts)
    return found, code.astype(numpy.int64)


def _labels_of(samples: Messages, strings: list[str]) -> dict[str, Column]:
    """The text of each label that is read, for each sample: a row of the strings."""
    owner, labels = samples.messages(3)
    key, text = labels.last(1), labels.last(2)
    found = {}
    for name in ("thread", "state", "label"):
        wanted = numpy.flatnonzero(
            numpy.isin(key, [row for row, one in enumerate(strings) if one == name])
        )
        found[name] = numpy.zeros(len(samples), numpy.int64)
        found[name][owner[wanted]] = text[wanted]
    return found


def _named(texts: Column, strings: list[str]) -> tuple[Column, list[str]]:
    """A number for each sample, and the text of each number."""
    rows, number = numpy.unique(texts, return_inverse=True)
    code, names = distinct_names([strings[row] for row in rows.tolist()])
    return code[number].astype(numpy.int64) if len(code) else number, names


def _split(name: str) -> tuple[str, str]:
    """The class and the method of a name."""
    of, dot, method = name.rpartition(".")
    if not dot or not of or "(" in name or "::" in name:
        return "", name
    return java_class_name(of), method
