"""Profiles in OpenTelemetry's protocol: ``ProfilesData``, as an exporter sends them.

Numbers of fields are those of ``opentelemetry/proto/profiles/v1development/profiles.proto``, which
is not stable yet.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy

from jvmti.profile.call_tree import distinct
from jvmti.profile.formats import protobuf
from jvmti.profile.formats.pprof import stacks_of
from jvmti.profile.tables import Kind, State

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["write"]

_ATTRIBUTES = ("thread.name", "thread.state", "label")
_UNITS = {"ns": "nanoseconds", "bytes": "bytes", "count": "count"}


def write(profile: Profile, path: str, name: str) -> None:
    """Write a profile, one of the format's for each kind: times, threads, states and labels."""
    with open(path, "wb") as file:
        file.write(_encoded(profile))


def _encoded(profile: Profile) -> bytes:
    columns, stacks, frames = profile._columns, profile.stacks, profile.frames
    thread, threads = distinct(list(profile.threads.name))
    kinds = profile.kinds
    states = [one.name.lower() for one in State]
    first_state, first_label = 1 + len(threads), 1 + len(threads) + len(states)
    # The first row of each table stands for nothing.
    strings = ["", *_ATTRIBUTES, *_UNITS.values(), *(kind.name.lower() for kind in Kind)]
    first_kind, first_name = 1 + len(_ATTRIBUTES) + len(_UNITS), len(strings)
    strings += columns.names
    line = protobuf.message_rows(
        3,
        protobuf.varint_rows(1, columns.method.astype(numpy.int64) + 1),
        protobuf.varint_rows(2, numpy.maximum(frames.line, 0)),
    )
    functions = protobuf.varint_rows(1, numpy.arange(len(columns.names)) + first_name)
    dictionary = b"".join(
        [
            protobuf.one(*((table, b"") for table in (1, 2, 3, 4, 6, 7))),
            protobuf.message_rows(2, line).tobytes(),
            protobuf.message_rows(3, functions).tobytes(),
            protobuf.repeated(5, [text.encode("utf-8", "replace") for text in strings]),
            protobuf.repeated(
                6,
                [
                    protobuf.one((1, key), (2, protobuf.one((1, one))))
                    for key, values in enumerate((threads, states, profile.labels), 1)
                    for one in values
                ],
            ),
            protobuf.repeated(7, stacks_of(1, stacks)),
        ]
    )
    duration = max(profile.ended - profile.began, 0)
    made = []
    for kind in kinds:
        part = profile[kind].samples
        value = protobuf.one((1, first_kind + kind), (2, strings.index(_UNITS[kind.unit])))
        samples = b""
        for has_label, has_state in product((True, False), (True, False)):
            # All these have equally many attributes.
            some = part.take(
                ((part.label >= 0) == has_label) & ((part.state != State.UNKNOWN) == has_state)
            )
            attributes = [(thread[some.thread] if len(thread) else some.thread) + 1]
            if has_state:
                attributes.append(some.state + numpy.int32(first_state))
            if has_label:
                attributes.append(some.label + first_label)
            samples += protobuf.message_rows(
                2,
                protobuf.varint_rows(1, some.stack.astype(numpy.int64) + 1),
                protobuf.message_rows(2, *(protobuf.numbers(one) for one in attributes)),
                protobuf.message_rows(4, protobuf.numbers(some.weight)),
                protobuf.fixed64_rows(5, some.time, packed=True),
            ).tobytes()
        made.append(
            protobuf.one((1, value))
            + samples
            + protobuf.fixed64_rows(3, [profile.began]).tobytes()
            + protobuf.one((4, duration), (5, value), (7, bytes(15) + bytes([kind + 1])))
        )
    scope = protobuf.one((1, protobuf.one((1, "jvmti"))), (2, made))
    return protobuf.one((1, protobuf.one((2, scope))), (2, dictionary))
