"""The chapter "Heap Monitoring"; that samples come is shown where events are."""

from __future__ import annotations

import pytest

import jvmti
from conformance.evidence import Evidence


def test_a_negative_sampling_interval_is_refused(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.proves("set_heap_sampling_interval")
    evidence.provokes("set_heap_sampling_interval", "ILLEGAL_ARGUMENT")
    for interval in (-1, -(2**31)):
        with pytest.raises(jvmti.errors.IllegalArgument):
            env.set_heap_sampling_interval(interval)
    for interval in (0, 1, 2**31 - 1, 512 * 1024):
        env.set_heap_sampling_interval(interval)
