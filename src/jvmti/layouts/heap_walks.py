"""Heap walks: the records of the callbacks' calls, and the answer to a block of them.

A block: how many kinds of records it has (a byte); for each a `KIND`; the records, kind by kind;
where there are several kinds their order, a byte each; then the arrays and strings.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Record, shared


@shared("uint8_t")
class Visit(enum.IntEnum):
    """The callback that a record calls."""

    OBJECT = 0
    REFERENCE = 1
    PRIMITIVE_FIELD = 2
    ARRAY = 3
    STRING = 4
    OBJECT_10 = 5
    ROOT_10 = 6
    STACK_REFERENCE_10 = 7
    REFERENCE_10 = 8


@shared("uint8_t")
class About(enum.IntFlag):
    """The details of a reference."""

    HAS_REFERRER = 1
    SAME_OBJECT = 2
    """The referrer is the object itself."""


@shared("uint8_t")
class WrittenTags(enum.IntFlag):
    """Which tags a callback wrote."""

    TAG = 1
    REFERRER_TAG = 2


KIND = Record("WalkKind", visit="uint8_t", size="uint32_t")
"""The kind of some records, and the bytes of all of them."""

ANSWER = Record("WalkAnswer", control="jint", written="uint8_t", tag="jlong", referrer_tag="jlong")

OBJECT = Record("WalkObject", class_tag="jlong", size="jlong", tag="jlong", length="jint")
REFERENCE = Record(
    "WalkReference",
    kind="jint",
    class_tag="jlong",
    referrer_class_tag="jlong",
    size="jlong",
    tag="jlong",
    referrer_tag="jlong",
    about="uint8_t",
    length="jint",
    thread_tag="jlong",
    thread_id="jlong",
    depth="jint",
    method="uint64_t",
    location="jlocation",
    index="jint",
)
PRIMITIVE_FIELD = Record(
    "WalkPrimitiveField",
    kind="jint",
    index="jint",
    class_tag="jlong",
    tag="jlong",
    type="jint",
    bits="uint64_t",
)
ARRAY = Record("WalkArray", class_tag="jlong", size="jlong", tag="jlong", count="jint", type="jint")
STRING = Record("WalkString", class_tag="jlong", size="jlong", tag="jlong", length="jint")
OBJECT_10 = Record("WalkObject10", class_tag="jlong", size="jlong", tag="jlong")
ROOT_10 = Record("WalkRoot10", kind="jint", class_tag="jlong", size="jlong", tag="jlong")
STACK_REFERENCE_10 = Record(
    "WalkStackReference10",
    kind="jint",
    class_tag="jlong",
    size="jlong",
    tag="jlong",
    thread_tag="jlong",
    depth="jint",
    method="uint64_t",
    slot="jint",
)
REFERENCE_10 = Record(
    "WalkReference10",
    kind="jint",
    class_tag="jlong",
    size="jlong",
    tag="jlong",
    referrer_tag="jlong",
    index="jint",
)

__all__ = [
    "ANSWER",
    "ARRAY",
    "KIND",
    "OBJECT",
    "OBJECT_10",
    "PRIMITIVE_FIELD",
    "REFERENCE",
    "REFERENCE_10",
    "ROOT_10",
    "STACK_REFERENCE_10",
    "STRING",
    "About",
    "Visit",
    "WrittenTags",
]
