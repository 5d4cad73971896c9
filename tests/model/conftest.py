"""What the tests of the model share: nothing that a test looked at is held when it is over."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jvmti


def held(vm: jvmti.VM) -> dict[str, int]:
    """What the agent holds for a session, but for the classes that the model keeps for good."""
    gc.collect()
    agent = vm.stats.agent
    assert agent is not None
    return {
        "objects": agent.objects - len(vm._bootstrap_classes),
        "environments": agent.environments,
        "monitors": agent.monitors,
        "memory": agent.memory,
        "streams": agent.streams,
    }


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that has the session in the fixture `vm` gives back every handle it was given."""
    if "vm" not in request.fixturenames:
        yield
        return
    vm: jvmti.VM = request.getfixturevalue("vm")
    vm.lookup_env  # noqa: B018 - made at its first use, and kept
    before = held(vm)
    gc.freeze()  # what is there now need not be looked at again: that takes as long as many a test
    yield
    if not vm.closed:
        # A thread of the model's own, such as one that waits for a redefinition, may just end.
        until = time.monotonic() + 10
        while (now := held(vm)) != before and time.monotonic() < until:
            time.sleep(0.05)
        assert now == before


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What only the VM does is not tried on an agent that was attached late."""
    left_out = [
        item
        for item in items
        if isinstance(item, pytest.Function)
        and hasattr(item, "callspec")
        and item.callspec.params.get("way") == "late"
        and item.get_closest_marker("natively")
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
