"""Conditions of breakpoints: the instructions that the agent evaluates.

There is one truth value: a test sets it, ``NOT`` turns it round, the two jumps go forward only. And
there is one object at hand, which the fields are those of: that of a variable, or of a field of the
one before. A test of a field is false where that object is null, whatever it compares, and so is
one of its length, if it is an array or a string.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Constants, Row, shared

INSTRUCTION = Row("Instruction", "operation", "type", "slot", "relation", "constant")
"""Of a test: the type to compare by (``I J F D``, ``L`` for a reference and null, ``T`` for text),
the variable's slot, the relation, and the constant: an integer, the bits of a double, or where a
text begins in the texts and, below, its length.  Of a jump the relation is where to.  Of what is
about a field, the slot is its place among the fields of the condition."""

LIMITS = Constants("ConditionLimits", INSTRUCTIONS=128, TEXT=64 * 1024)
"""Instructions of a condition, and UTF-16 units of its texts."""


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


@shared("int")
class Relation(enum.IntEnum):
    """How a test compares."""

    EQUAL = 1
    NOT_EQUAL = 2
    LESS = 3
    LESS_OR_EQUAL = 4
    GREATER = 5
    GREATER_OR_EQUAL = 6


__all__ = ["INSTRUCTION", "LIMITS", "Operation", "Relation"]
