"""Constants of classes that events change over and over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti

if TYPE_CHECKING:
    from programs import JavaPrograms


@pytest.mark.oldest_and_newest
def test_constants_that_are_no_numbers_do_not_double(java_program: JavaPrograms) -> None:
    # HotSpot takes no NaN for one that it has, and its pool of java.lang.Double would double.
    program = java_program("Traced")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=60, emulate=True) as vm:
        env = vm.env
        env.add_capabilities({"can_generate_method_entry_events", "can_get_constant_pool"})
        double = vm.find_class("java.lang.Double")
        counts = []
        for _ in range(6):
            env.set_event_notification_mode("ENABLE", "MethodEntry")
            env.set_event_notification_mode("DISABLE", "MethodEntry")
            counts.append(env.get_constant_pool(double).constant_pool_count)
        assert program.ask("add 1")
    assert counts[-1] - counts[0] < 40, counts
