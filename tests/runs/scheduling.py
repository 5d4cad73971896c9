"""Which tests run side by side when pytest-xdist has several workers: a file's tests on one JVM.

Those share programs, and the tests of a file on another JVM share none with them. Some files have
what a machine has once, such as the attach socket of pid 1 in `/tmp`: `ONE_AT_A_TIME`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdist.scheduler import LoadScopeScheduling

import jvms

if TYPE_CHECKING:
    import pytest

CHOSEN = {str(jvm) for jvm in jvms.selected()}
LONGEST = (
    "package/test_packaging.py",
    "integrations/test_spark.py",
    "interface/test_adding_a_function.py",
    "commands/test_documented_commands.py",
    "robustness/faults/test_damaged_classes.py",
    "robustness/stopped/test_locks.py",
    "tracing/test_under_fire.py",
    "debug/test_stops.py",
    "heap/test_records.py",
    "heap/live/test_collectors.py",
    "robustness/faults/test_failing_allocations.py",
    "robustness/leaving/test_leaving.py",
    "agents/test_scripts.py",
    "commands/test_demo.py",
    "instrumentation/test_jars.py",
    "instrumentation/test_real_programs.py",
    "commands/test_events_command.py",
)
"""Files that take a minute: begun last, one would keep one worker when the others are done."""


ONE_AT_A_TIME = (
    "robustness/connections/test_intruders.py",
    "target/test_namespaces.py",
)
"""Files whose tests are one unit, whatever the JVM."""


def is_long(item: pytest.Item) -> bool:
    """Whether a test should begin before the others."""
    return item.path.as_posix().endswith(LONGEST)


COUNTED_TOGETHER = "tests/emulation/"
"""A folder whose last file counts what the others have shown."""


def unit_of(nodeid: str) -> str:
    """The file of a test, and the JVM that it runs on."""
    file, _, test = nodeid.partition("::")
    if file.startswith(COUNTED_TOGETHER):
        file = file.rpartition("/")[0]
    if file.endswith(ONE_AT_A_TIME):
        return file
    jvm = test.partition("[")[2].rstrip("]").partition("-")[0]
    return f"{file} {jvm}" if jvm in CHOSEN else file


class ByFileAndJvm(LoadScopeScheduling):
    """Gives each worker one unit after the other, in the order in which they were collected.

    With thousands of tests xdist's own way to count them takes more time than many of the tests.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self._units: dict[str, str] = {}
        self._numbers: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        unit = self._units.get(nodeid)
        if unit is None:
            unit = self._units[nodeid] = unit_of(nodeid)
        return unit

    def _assign_work_unit(self, node: Any) -> None:
        unit, tests = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[unit] = tests
        if not self._numbers:  # the workers have collected the same
            self._numbers = {one: at for at, one in enumerate(self.registered_collections[node])}
        node.send_runtest_some([self._numbers[one] for one, done in tests.items() if not done])

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Note that a test has ended, and forget its unit when that was the last one of it."""
        nodeid = self.registered_collections[node][item_index]
        unit = self._split_scope(nodeid)
        tests = self.assigned_work[node][unit]
        tests[nodeid] = True
        if all(tests.values()):
            del self.assigned_work[node][unit]
        self._reschedule(node)
