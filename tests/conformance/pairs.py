"""Every pair of a function and an error that conformance is about, from the specification's facts.

The facts list the errors that a function names for itself; the others follow from its parameters,
its capabilities and its phase.  Three things are counted once rather than for every function:

- the universal errors that have nothing to do with what a function does (`UNIVERSAL`);
- NULL_POINTER for a pointer that a result is written to: the agent owns these, and Python has no
  parameter for them;
- NOT_AVAILABLE for a capability: HotSpot gives it to ``add_capabilities``, and without the
  capability a function that needs it gives MUST_POSSESS_CAPABILITY.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jvmti.env.interface import FUNCTIONS

FACTS: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "specification" / "jvmti.json").read_text()
)
BY_SLOT: dict[int, dict[str, Any]] = {fact["slot"]: fact for fact in FACTS["functions"]}

EVERY = "every function"
UNIVERSAL = ("UNATTACHED_THREAD", "INTERNAL", "OUT_OF_MEMORY", "ACCESS_DENIED")

#: What came with virtual threads, which the facts (those of version 17) do not list.
VIRTUAL_THREADS = (
    ("stop_thread", "THREAD_NOT_SUSPENDED"),
    ("stop_thread", "OPAQUE_FRAME"),
    ("get_thread_cpu_time", "UNSUPPORTED_OPERATION"),
    ("get_current_thread_cpu_time", "UNSUPPORTED_OPERATION"),
)

_BY_KIND = {
    "jclass": "INVALID_CLASS",
    "jobject": "INVALID_OBJECT",
    "jthreadGroup": "INVALID_THREAD_GROUP",
    "jrawMonitorID": "INVALID_MONITOR",
    "jmethodID": "INVALID_METHODID",
    "jfieldID": "INVALID_FIELDID",
    "jlocation": "INVALID_LOCATION",
}


def fact_of(function: str) -> dict[str, Any]:
    """The facts of a function by its Python name."""
    return BY_SLOT[FUNCTIONS[function].slot]


def errors_of(function: str) -> set[str]:
    """The errors of a function: listed, and implied."""
    fact = fact_of(function)
    found = {error.removeprefix("JVMTI_ERROR_") for error in fact["errors"]}
    found.add("INVALID_ENVIRONMENT")
    if fact["phase"] != "any":
        found.add("WRONG_PHASE")
    if fact["capabilities"]:
        found.add("MUST_POSSESS_CAPABILITY")
    for parameter in fact["params"]:
        found |= _implied_by(parameter)
    return found | {error for name, error in VIRTUAL_THREADS if name == function}


def _implied_by(parameter: dict[str, Any]) -> set[str]:
    kind = parameter["kind"]
    if kind == "jclass" and "method" in parameter:
        return set()  # stands for the method's class, which C does not pass
    implied = {_BY_KIND[kind]} if kind in _BY_KIND else set()
    if kind == "jthread":
        implied.add("INVALID_THREAD")
        if parameter.get("started") != "maybe":
            implied.add("THREAD_NOT_ALIVE")
    if kind == "jframeID":
        implied |= {"ILLEGAL_ARGUMENT", "NO_MORE_FRAMES"}
    if parameter.get("native") == "error":
        implied.add("NATIVE_METHOD")
    if "min" in parameter:
        implied.add("ILLEGAL_ARGUMENT")
    if kind == "enum":
        wrong_event = parameter["type"] == "jvmtiEvent"
        implied.add("INVALID_EVENT_TYPE" if wrong_event else "ILLEGAL_ARGUMENT")
    if kind in ("inbuf", "inptr") and not parameter.get("null_ok"):
        implied.add("NULL_POINTER")
    return implied


def pairs() -> set[tuple[str, str]]:
    """Every pair, the universal errors once each."""
    found = {(name, error) for name in FUNCTIONS for error in errors_of(name)}
    return found | {(EVERY, error) for error in UNIVERSAL}
