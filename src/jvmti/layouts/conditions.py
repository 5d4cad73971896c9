"""Conditions of breakpoints: the instructions that the agent evaluates.

There is one truth value: a test sets it, ``NOT`` turns it round, the two jumps go forward only. And
there is one object at hand, which the fields are those of: that of a variable, or of a field of the
one before. A test of a field is false where that object is null, whatever it compares, and so is
one of its length, if it is an array or a string.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Constants, Record, Row, shared

INSTRUCTION = Row("Instruction", "operation", "type", "slot", "relation", "constant")
"""Of a test: the type to compare by (``I J F D``, ``L`` for a reference and null, ``T`` for text),
the variable's slot, the relation, and the constant: an integer, the bits of a double, or where a
text begins in the texts and, below, its length.  Of a jump the relation is where to.  Of what is
about a field, the slot is its place among the fields of the condition.

``RECORD`` begins a hit that is recorded in place of a stop, where the condition has held so far;
its constant is a number of the controller's, for the form of what follows: the values of variables,
of fields of the object at hand, and of its length."""

LIMITS = Constants("ConditionLimits", INSTRUCTIONS=128, TEXT=64 * 1024)
"""Instructions of a condition, and UTF-16 units of its texts."""

_PAGE = 4096
_RING = 2 << 20

RECORDS = Constants(
    "StopRecords",
    HEAD=0,
    DROPPED=8,
    TAIL=_PAGE // 2,
    RECORDS=_PAGE,
    SIZE=_RING,
    ALL=_PAGE + _RING,
    LONGEST=1024,
    PER_SECOND=20_000,
)
"""The memory for recorded hits, which the agent shares with the controller: how many bytes it has
written so far, how many hits it has not recorded, and how many bytes the controller has read; then
a ring of ``SIZE`` bytes. A record has ``LONGEST`` bytes at most, and a request ``PER_SECOND``
records in a second."""

RECORDED = Record("RecordedStop", time="int64_t", size="uint32_t", form="uint32_t")
"""Begins a recorded hit: when it was, in nanoseconds of ``CLOCK_MONOTONIC``, the bytes of the whole
record, and the number of its ``RECORD``. For each value there is a byte, and eight with it: ``J``
for a whole number, ``D`` for a double, ``T`` for the number of UTF-16 units that follow; ``N`` is
null."""


@shared("int")
class Operation(enum.IntEnum):
    """The operations of instructions."""

    TEST = 1
    NOT = 2
    SKIP_IF_FALSE = 3
    SKIP_IF_TRUE = 4
    TAKE_LOCAL = 5
    TAKE_FIELD = 6
    TEST_FIELD = 7
    TEST_LENGTH = 8
    RECORD = 9
    RECORD_LOCAL = 10
    RECORD_FIELD = 11
    RECORD_LENGTH = 12


@shared("int")
class Relation(enum.IntEnum):
    """How a test compares."""

    EQUAL = 1
    NOT_EQUAL = 2
    LESS = 3
    LESS_OR_EQUAL = 4
    GREATER = 5
    GREATER_OR_EQUAL = 6


__all__ = ["INSTRUCTION", "LIMITS", "RECORDED", "RECORDS", "Operation", "Relation"]
