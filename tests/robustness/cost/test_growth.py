"""Nothing grows: what is done again and again leaves nothing in the target.

The whole search is `growth.py`; here are the cases that left something once, with room for noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from robustness.cost import growth

if TYPE_CHECKING:
    from collections.abc import Callable

    import programs
    from robustness import steady

pytestmark = [
    pytest.mark.slow,
    pytest.mark.not_sanitized(reason="a sanitizer keeps freed memory for a while"),
]

NOISE = 640 * 1024
"""Bytes that the C library and the VM may take on the side, in all."""


@pytest.fixture(scope="module")
def target(shared_java_program: programs.JavaPrograms) -> steady.Steady:
    return growth.launch(shared_java_program)


def scans(vm: jvmti.VM) -> None:
    vm.heap.scan(classes="java.lang.String").close()


def referrers(vm: jvmti.VM) -> None:
    vm.find_class("Steady")["prey"].referrers()


def found_again(vm: jvmti.VM) -> None:
    scan = vm.heap.scan(classes="java.lang.Thread")
    assert scan.live([0]).objects
    scan.close()


@pytest.mark.oldest_and_newest
@pytest.mark.parametrize("do", [scans, referrers, found_again], ids=lambda one: one.__name__)
def test_passes_over_the_heap_leave_nothing(
    target: steady.Steady, do: Callable[[jvmti.VM], Any]
) -> None:
    """An environment of JVM TI is freed with a garbage collection, and each pass had its own."""
    with jvmti.attach(target.pid, timeout=60) as vm:

        def repeat(times: int) -> None:
            for _ in range(times):
                do(vm)

        found = growth.grows(vm, target.pid, repeat, 50)
    assert sum(found.of_vm.values()) * found.calls < NOISE, found
    assert found.anonymous * found.calls < NOISE, found


@pytest.mark.oldest_and_newest
def test_a_table_of_jni_functions_that_comes_and_goes_leaves_nothing(
    target: steady.Steady,
) -> None:
    """The VM's own table was kept anew each time, 1.8 KB."""
    with jvmti.attach(target.pid, timeout=60) as vm:

        def repeat(times: int) -> None:
            for _ in range(times):
                vm.env.set_jni_function_table({"GetVersion": lambda original: original()})
                vm.env.set_jni_function_table({})

        found = growth.grows(vm, target.pid, repeat, 200)
    assert found.anonymous * found.calls < NOISE, found
