"""Plans of instrumentation: where the probes go, and what each of them calls.

A plan is `HEADER`, then its probes, their operands, and a text of strings that end with a zero.
A text is named by its offset; `NO_TEXT` is none, and as a pattern matches everything.
``native/classfile`` reads it.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Constants, Record, shared

NO_TEXT = 0xFFFFFFFF

PLAN = Constants(
    "Plans",
    MAGIC=0x4E4C504A,
    NO_TEXT=NO_TEXT,
    PROBES=4096,
    OPERANDS=255,
    TESTS=4096,
    TEXT=1 << 20,
    LARGEST_RECORD=4096,
    LONGEST_TEXT=1024,
)
"""The beginning of a plan, and its limits; bytes of a record, and of a text in one."""


@shared("uint32_t")
class Site(enum.IntEnum):
    """Where in a method a probe is."""

    ENTRY = 1
    RETURN = 2
    UNWIND = 3
    LINE = 4
    INDEX = 5
    THROW = 6
    CATCH = 7
    READ = 8
    WRITE = 9
    CALL = 10
    CALLED = 11
    NEW = 12
    MONITOR_ENTER = 13
    MONITOR_EXIT = 14


@shared("uint32_t")
class Operand(enum.IntEnum):
    """A value that a probe passes to the method that it calls.

    ``SITE`` is the number of the place. With ``METHOD_SITE`` all places of the probe in a method
    are one, with the number of the first.
    """

    NUMBER = 1
    TEXT = 2
    SITE = 3
    LINE = 4
    CLASS = 5
    METHOD = 6
    DESCRIPTOR = 7
    MEMBER = 8
    THIS = 9
    ARGUMENT = 10
    ARGUMENTS = 11
    VALUE = 12
    TARGET = 13
    PASSED = 14
    ALL_PASSED = 15
    LOCAL = 16
    KEPT = 17
    NAMED = 18
    THREAD = 19
    STACK = 20
    TOOK = 21
    HELD = 22
    POSITION = 23
    METHOD_SITE = 24


@shared("uint32_t")
class Outcome(enum.IntEnum):
    """The use of the result of the method that a probe calls.

    A probe that records calls ``begin(int, int, long)`` with its first three operands. It passes
    the result, each of the other operands and its place in the record to a ``put``, and calls
    ``end`` last.

    A probe that stops calls ``stop(int, int, int)`` with its first two operands and the size of the
    array that this returns; null means that the thread goes on. The other operands and the
    variables of the method go into the array after its first place, ``stopped`` lets the thread
    wait, and then the variables take the values of the array.
    """

    NONE = 0
    KEEP = 1
    REPLACE = 2
    RECORD = 3
    STOP = 4


@shared("uint32_t")
class Test(enum.IntEnum):
    """A step of a condition: it pushes a truth value on a stack, or changes those on it."""

    COMPARE = 1
    AND = 2
    OR = 3
    NOT = 4


@shared("uint32_t")
class Outcomes(enum.IntFlag):
    """The outcomes of a comparison for which it holds."""

    LESS = 1
    EQUAL = 2
    GREATER = 4


@shared("uint32_t")
class LeftOut(enum.IntEnum):
    """The reasons why a method, or a place in it, has no probe."""

    TOO_LARGE = 1
    NO_SUCH_VALUE = 2


HEADER = Record(
    "PlanHeader",
    magic="uint32_t",
    probes="uint32_t",
    operands="uint32_t",
    tests="uint32_t",
    text="uint32_t",
    unused="uint32_t",
)

PROBE = Record(
    "PlanProbe",
    site="uint32_t",
    outcome="uint32_t",
    result="uint32_t",
    number="int32_t",
    first_operand="uint32_t",
    operands="uint32_t",
    classes="uint32_t",
    methods="uint32_t",
    descriptors="uint32_t",
    annotations="uint32_t",
    supertypes="uint32_t",
    owners="uint32_t",
    members="uint32_t",
    member_descriptors="uint32_t",
    helper="uint32_t",
    name="uint32_t",
    record_size="uint32_t",
    text_size="uint32_t",
    first_test="uint32_t",
    tests="uint32_t",
    conditional="uint32_t",
    event="uint32_t",
    about="uint32_t",
    loaders="uint32_t",
)
"""The result is a type's letter as in descriptors, or ``V``; the number a line or a bytecode index,
-1 for all. ``owners`` and ``members`` are those of the field, call or object; of a catch or a throw
``owners`` has the class of exceptions. ``helper`` is the internal name of the class to call. Of a
probe that records, how many bytes a record has, and the text of an object in it. A conditional one
passes first whether its tests succeed, 1 without any. One that stops for an event of JVM TI has the
event's number, and of a watched field the number that the agent gave it; else 0."""

OPERAND = Record(
    "PlanOperand",
    kind="uint32_t",
    type="uint32_t",
    number="int64_t",
    text="uint32_t",
    path="uint32_t",
)
"""The type is how it is passed: ``I J F D``, ``L`` for Object, ``S`` for String, ``T`` for
Throwable, ``A`` for an array of Objects, ``X`` as it is, into a record. The number is a number, an
argument's position, the probe that kept a value, also for ``TOOK``, the nanoseconds since then, and
how many frames of a ``STACK``; the text is a text, or the name of a local variable, of a parameter
first where it is ``NAMED``. ``HELD`` is an array of the receiver, or null, and what was passed;
``POSITION`` the position in the plan of the operand before. What goes into a record may have a
path: it is then the value at the end of the path, as in `TEST`, an object or a number in a box."""

TEST = Record(
    "PlanTest",
    operation="uint32_t",
    operand="uint32_t",
    holds="uint32_t",
    type="uint32_t",
    constant="int64_t",
    text="uint32_t",
    path="uint32_t",
)
"""A step of a condition. A comparison is of an operand, as it is, or of the value at the end of a
path of fields (``customer.name``; a last ``length`` is that of an array or a string, a last
``class`` the class), and of a constant: ``J`` an integer, ``D`` the bits of a double, ``S`` the
text, ``P`` patterns, one a line, ``L`` null. A ``STACK`` is the text ``CLASS.METHOD`` of the
caller, a class the text of its name. `Outcomes` says for which outcomes it holds; a path that meets
null holds for none but the comparison with null."""

INSERTED = Record(
    "InsertedProbe",
    probe="uint32_t",
    method="uint32_t",
    index="uint32_t",
    line="uint32_t",
    shape="uint32_t",
)
"""Where a probe is: its number, the method's position in the class file, the bytecode index there
before, and the line, 0 where that is unknown. The n-th of these is site n. The shape is where among
the shapes a text begins; of a probe that records with a letter for each value: its type as in a
descriptor, ``L`` for any object, ``V`` for a missing one, ``-`` for one without space;
after the arguments a ``;``. Of a field, call or object the name follows, after its class and a dot,
and the descriptor, a byte of 1 before each. The text of a probe that stops is ``P`` where the
thread can begin the method again and leave it early, ``R`` where it can leave it, otherwise ``N``,
and for each variable, after dots: slot, letter
of its type, descriptor, name, and the internal name of the class that it takes; each may be
empty."""

RECORDED = Record(
    "RecordedProbe",
    sequence="uint64_t",
    claimed="uint64_t",
    time="int64_t",
    started="int64_t",
    thread="int64_t",
    site="uint32_t",
    probes="uint32_t",
)
"""The beginning of a record: its number in its lane, from 1, written last; the same, written first;
when it was made and when what it ends began, in nanoseconds of ``CLOCK_MONOTONIC``, or 0 and -1;
Java's number of the thread; the site, and the set of probes.  Values follow, eight bytes each, but
for objects."""


@shared("uint8_t")
class RecordedKind(enum.IntEnum):
    """The kinds of objects in a record."""

    NULL = 0
    OBJECT = 1
    STRING = 2
    THROWABLE = 3
    BOXED = 4
    ARRAY = 5
    CLASS = 6
    ABSENT = 7
    STACK = 8
    HELD = 9


RECORDED_OBJECT = Record(
    "RecordedObject",
    kind="uint8_t",
    letter="uint8_t",
    text="uint16_t",
    klass="uint32_t",
    number="int64_t",
)
"""An object in a record; its text follows, as UTF-8. The letter is the type of what a box has, or
not 0 where the text was cut off; the number is the value in the box, an array's or a string's
length, the number of the class that the object is, or the identity hash. ``ABSENT``: an object on
the path to it has no such field. ``STACK``: the text has the numbers of frames, four bytes each, of
callers, the nearest first, as many as fit. ``HELD``: the agent holds the objects under that
number."""

OMITTED = Record(
    "OmittedProbe", probe="uint32_t", method="uint32_t", index="uint32_t", why="uint32_t"
)
"""A place that should have a probe and has none."""

__all__ = [
    "HEADER",
    "NO_TEXT",
    "OMITTED",
    "OPERAND",
    "INSERTED",
    "TEST",
    "PLAN",
    "PROBE",
    "RECORDED",
    "RECORDED_OBJECT",
    "LeftOut",
    "Operand",
    "Outcome",
    "Outcomes",
    "RecordedKind",
    "Site",
    "Test",
]
