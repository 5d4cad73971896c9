"""Stops: the data of a stopped thread, and how to step threads.

The opening of a stop is `HEAD`, the numbers of the breakpoints, watchpoints and so on that it hit
(32 bits each), `PLACE`, and what the event adds: of an exception `EXCEPTION`; of a field `FIELD`,
with a value behind it where it is written; of a class `CLASS`; of a step `PROBE`, all zero if it
has not ended at one, and what the calls returned that were to be made there, as a batch has it.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Record, shared

HEAD = Record("StopHead", event="uint32_t", count="uint32_t")
PLACE = Record("StopPlace", thread="uint64_t", method="uint64_t", location="jlocation")
EXCEPTION = Record(
    "StopException",
    exception="uint64_t",
    caught="uint8_t",
    catch_method="uint64_t",
    catch_location="jlocation",
)
FIELD = Record("StopField", object="uint64_t")
CLASS = Record("StopClass", klass="uint64_t")
PROBE = Record(
    "StopProbe",
    values="uint64_t",
    waiting="uint32_t",
    probes="uint32_t",
    site="uint32_t",
    depth="int32_t",
)
"""Of a stop at a probe, behind the place: the array with the variables, or 0 and the number to ask
for it with; the set of probes, the site, whose shape says what the array has, and how many frames
are above that of the place."""


@shared("jint")
class Step(enum.IntEnum):
    """How to step a thread."""

    INTO = 1
    OVER = 2
    OUT = 3


@shared("jint")
class Caught(enum.IntFlag):
    """Which exceptions stop a thread."""

    CAUGHT = 1
    UNCAUGHT = 2


@shared("jint")
class Within(enum.IntFlag):
    """Further threads that a breakpoint stops."""

    HANDLERS = 1
    """A thread that calls the place for a handler, or from its stop."""


__all__ = ["CLASS", "EXCEPTION", "FIELD", "HEAD", "PLACE", "PROBE", "Caught", "Step", "Within"]
