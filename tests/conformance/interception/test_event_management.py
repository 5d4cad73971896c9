"""The chapter "Event Management", as far as it goes without handlers."""

from __future__ import annotations

from typing import Any

import pytest

import jvms
import jvmti
from conformance.evidence import Evidence
from conformance.finding import thread_named
from conformance.pairs import FACTS
from jvmti.interface.constants import Event, EventMode

#: Events that one release switches for all threads only, unlike those after or before it.
FOR_ALL_THREADS = {(Event.SAMPLED_OBJECT_ALLOC, 11), (Event.VIRTUAL_THREAD_START, 25)}

EVENTS = [pytest.param(fact, id=fact["name"]) for fact in FACTS["events"]]


@pytest.mark.parametrize("fact", EVENTS)
def test_an_event_is_switched_with_its_capability(
    fact: dict[str, Any],
    env: jvmti.Env,
    bare_env: jvmti.Env,
    jvm: jvms.Jvm,
    evidence: Evidence,
) -> None:
    event = Event(fact["number"])
    if int(fact["since"].split(".")[0]) > jvm.feature:
        with pytest.raises(jvmti.JvmtiError):
            env.set_event_notification_mode(EventMode.ENABLE, event)
        return
    evidence.proves("set_event_notification_mode")
    for mode in (EventMode.ENABLE, EventMode.DISABLE):
        env.set_event_notification_mode(mode, event)
    if fact["capabilities"]:
        evidence.provokes("set_event_notification_mode", "MUST_POSSESS_CAPABILITY")
        with pytest.raises(jvmti.errors.MustPossessCapability):
            bare_env.set_event_notification_mode(EventMode.ENABLE, event)


@pytest.mark.parametrize("fact", EVENTS)
def test_an_event_is_switched_for_one_thread_where_that_makes_sense(
    fact: dict[str, Any], env: jvmti.Env, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    event = Event(fact["number"])
    if int(fact["since"].split(".")[0]) > jvm.feature:
        return
    thread = thread_named(env, "sleeping")
    if not fact["thread_filtered"] or (event, jvm.feature) in FOR_ALL_THREADS:
        evidence.provokes("set_event_notification_mode", "ILLEGAL_ARGUMENT")
        with pytest.raises(jvmti.errors.IllegalArgument):
            env.set_event_notification_mode(EventMode.ENABLE, event, thread)
        return
    for mode in (EventMode.ENABLE, EventMode.DISABLE):
        env.set_event_notification_mode(mode, event, thread)


@pytest.mark.parametrize("fact", EVENTS)
def test_only_two_events_can_be_generated(
    fact: dict[str, Any],
    env: jvmti.Env,
    bare_env: jvmti.Env,
    jvm: jvms.Jvm,
    evidence: Evidence,
) -> None:
    event = Event(fact["number"])
    if event is Event.DYNAMIC_CODE_GENERATED or event is Event.COMPILED_METHOD_LOAD:
        evidence.proves("generate_events")
        env.generate_events(event)
        return
    evidence.provokes("generate_events", "ILLEGAL_ARGUMENT")
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.generate_events(event)
