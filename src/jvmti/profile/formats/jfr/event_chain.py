"""The places of events in a chunk: each begins with its size, so that they are a chain.

A chain is followed one event after the other, which Python does slowly.  So it is followed in many
parts at once, from places that look like the beginning of an event.  A part counts from the first
place on that the part before leads to, because there the chain is known to pass; where it leads to
none of a part, the chain is followed one by one.
"""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr.varints import read_at, read_one

__all__ = ["event_places"]

Places = NDArray[numpy.int64]
_PART = 8192
"""Bytes of a part."""
_WINDOW = 160
"""Bytes at the beginning of a part in which its first event is looked for."""
_LINKS = 3
"""Events that must follow each other for a place to look like the first of them."""
_TYPES = 1 << 14
"""Types have numbers of two bytes at most."""


def event_places(data: memoryview, begin: int, end: int, types: Places, latest: int) -> Places:
    """The place of each event, in their order.

    Args:
        data: the chunk.
        begin: the place of the first event.
        end: the end of the last one.
        types: the numbers of the types of events that begin with a time.
        latest: when the chunk ended, by the clock of its events.

    Raises:
        ValueError: an event has no size, or is longer than its chunk.
        IndexError: an event ends after the data.
    """
    column = numpy.frombuffer(data, numpy.uint8)
    starts = numpy.arange(begin, end, _PART)
    ends = numpy.minimum(starts + _PART, end)
    lanes, leads_to = _followed(column, _begun(column, starts, ends, types, latest), ends)
    lanes[0], leads_to[0] = _one_lane(column, begin, int(ends[0]))
    found = []
    at = begin
    for lane, until, next_part in zip(lanes, ends.tolist(), leads_to, strict=True):
        if at >= until:
            continue
        place = int(numpy.searchsorted(lane, at))
        walked = []
        while at < until and not (place < len(lane) and lane[place] == at):
            walked.append(at)
            size, _ = read_one(data, at)
            if size <= 0:
                raise ValueError("an event has no size")
            at += size
            while place < len(lane) and lane[place] < at:
                place += 1
        if walked:
            found.append(numpy.array(walked, numpy.int64))
        if at < until:
            found.append(lane[place:])
            at = next_part
            if at < 0:
                raise ValueError("an event has no size")
    if at > end:
        raise ValueError("an event is longer than its chunk")
    return numpy.concatenate(found) if found else numpy.empty(0, numpy.int64)


def _one_lane(data: NDArray[numpy.uint8], begin: int, end: int) -> tuple[Places, int]:
    lanes, leads_to = _followed(data, numpy.array([begin]), numpy.array([end]))
    return lanes[0], leads_to[0]


def _sizes(data: NDArray[numpy.uint8], places: Places) -> tuple[Places, Places]:
    """The number at each place, of four bytes at most, and its length."""
    byte = data[places]
    size = (byte & 0x7F).astype(numpy.int64)
    length = numpy.ones(len(places), numpy.int64)
    more = numpy.flatnonzero(byte >= 0x80)
    for number in range(1, 4):
        if not len(more):
            break
        byte = data[numpy.minimum(places[more] + number, len(data) - 1)]
        size[more] |= (byte & 0x7F).astype(numpy.int64) << (7 * number)
        length[more] += 1
        more = more[byte >= 0x80]
    return size, length


def _begun(
    data: NDArray[numpy.uint8], starts: Places, ends: Places, types: Places, latest: int
) -> Places:
    """For each part a place that looks like an event with others behind it, or its end."""
    known = numpy.zeros(_TYPES, numpy.bool_)
    known[types[types < _TYPES]] = True
    last = len(data) - 1
    places = (starts[:, None] + numpy.arange(_WINDOW)).ravel()
    rows = numpy.flatnonzero(places < numpy.repeat(ends, _WINDOW))
    at = places[rows]
    for _ in range(_LINKS):
        size, length = _sizes(data, at)
        behind = numpy.minimum(at + length, last)
        kind = (data[behind] & 0x7F).astype(numpy.int64)
        long = data[behind] >= 0x80
        kind |= numpy.where(long, data[numpy.minimum(behind + 1, last)].astype(numpy.int64) << 7, 0)
        good = (size > length) & (kind < _TYPES) & (at + size <= last)
        good &= known[numpy.minimum(kind, _TYPES - 1)]
        # The time is of this chunk, or of before it, where the event has lasted.
        place = (behind + 1 + long)[good]
        time, _ = read_at(data, numpy.minimum(place, max(last - 9, 0)))
        near = (time > latest // 8) & (time <= latest)
        rows, at = rows[good][near], (at + size)[good][near]
    first = ends.copy()
    parts, which = numpy.unique(rows // _WINDOW, return_index=True)
    first[parts] = places[rows[which]]
    return first


def _followed(
    data: NDArray[numpy.uint8], first: Places, ends: Places
) -> tuple[list[Places], list[int]]:
    """The places of each part from its first one on, and the place that they lead to.

    That is -1 where an event has no size.
    """
    at = first.copy()
    rows = numpy.flatnonzero(at < ends)
    places, owners = [], []
    while len(rows):
        here = at[rows]
        places.append(here)
        owners.append(rows)
        size, _ = _sizes(data, here)
        at[rows] = numpy.where(size > 0, here + size, -1)
        rows = rows[(size > 0) & (at[rows] < ends[rows])]
    if not places:
        return [numpy.empty(0, numpy.int64)] * len(first), at.tolist()
    owner = numpy.concatenate(owners)
    # Stable: the places of a part stay in their order.
    order = numpy.argsort(owner, kind="stable")
    bounds = numpy.cumsum(numpy.bincount(owner, minlength=len(first)))[:-1]
    return numpy.split(numpy.concatenate(places)[order], bounds), at.tolist()
