"""What tests cost: processor seconds, and starts of JVMs and Pythons, by file of tests and JVM.

`JVMTI_TEST_COST=DIRECTORY pytest …` makes each process of the run leave a file there;
`python tests/runs/cost.py DIRECTORY` adds them up by folder (`--files`: by file).  Wall time
says little on a machine that does other work; processor time counts the same everywhere.  A JVM
that a command starts counts as the command's: its time is there, its start is not.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "JVMTI_TEST_COST"
COLUMNS = ("seconds", "here", "wall", "jvms", "pythons", "tests")
MEASURED = COLUMNS[:3]
"""Processor seconds, those of the tests' own process, and wall time; kept as milliseconds."""


def processor_seconds(whose: int) -> float:
    """User and system time of this process, or of its children that have ended."""
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


class Meter:
    """Adds up what the tests of each file cost in this process."""

    def __init__(self, directory: Path, config: pytest.Config) -> None:
        # The workers of a run are children of its controller, and count for themselves.
        is_worker = hasattr(config, "workerinput")
        self._with_children = is_worker or not config.getoption("numprocesses", None)
        self._path = directory / f"{os.getpid()}.json"
        self._costs: dict[str, Counter[str]] = defaultdict(Counter)
        self._started: Counter[str] = Counter()
        self._before = (0.0, 0.0, time.monotonic())
        directory.mkdir(parents=True, exist_ok=True)
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "subprocess.Popen":
            return
        command = arguments[1]
        words = [command] if isinstance(command, (str, bytes, os.PathLike)) else command
        for word in list(words)[:12]:  # behind a wrapper
            name = Path(os.fsdecode(word)).name
            if name == "java" or name.startswith("python"):
                self._started["jvms" if name == "java" else "pythons"] += 1
                return

    def _charge(self, file: str, jvm: str, tests: int = 0) -> None:
        here = processor_seconds(resource.RUSAGE_SELF)
        children = processor_seconds(resource.RUSAGE_CHILDREN) if self._with_children else 0.0
        now = (here + children, here, time.monotonic())
        cost = self._costs[f"{file} {jvm}"]
        cost.update({**self._started, "tests": tests})
        for name, after, before in zip(MEASURED, now, self._before, strict=True):
            cost[name] += round(1000 * (after - before))
        self._started.clear()
        self._before = now

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """What was spent until here is the collection's."""
        self._charge("collection", "-")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """A test, with the fixtures that it makes and those that end with it."""
        result = yield
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        file = item.path.relative_to(Path(__file__).parents[1]).as_posix()
        self._charge(file, str(parameters.get("jvm", "-")), tests=1)
        return result

    def pytest_unconfigure(self) -> None:
        """Leave the result."""
        self._charge("collection", "-")
        self._path.write_text(json.dumps(self._costs))


def meter(config: pytest.Config) -> Meter | None:
    """The meter that the environment asks for."""
    directory = os.environ.get(VARIABLE)
    return Meter(Path(directory), config) if directory else None


def total(directories: Sequence[Path], *, files: bool) -> dict[str, Counter[str]]:
    """Add up what runs have left, by folder or by file."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for directory in directories:
        for path in directory.glob("*.json"):
            for key, cost in json.loads(path.read_text()).items():
                file = key.split()[0]
                where = Path(file).parent.as_posix() if file.endswith(".py") else file
                sums[file if files else where].update(cost)
                sums["all"].update(cost)
    return sums


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--files", action="store_true", help="by file, not by folder")
    options = parser.parse_args()
    sums = total(options.directories, files=options.files)
    print(f"{'':48}" + "".join(f"{column:>9}" for column in COLUMNS))
    for name, cost in sorted(sums.items(), key=lambda one: -one[1]["seconds"]):
        for measured in MEASURED:
            cost[measured] = round(cost[measured] / 1000)
        print(f"{name:48}" + "".join(f"{cost[column]:9,}" for column in COLUMNS))


if __name__ == "__main__":
    main()
