"""Memory that runs out in the agent, one allocation after the other.

    python tests/robustness/failing.py --jvm 17 --every 1

The agent is built so that every allocation goes through one function, which fails the one that it
is told to (`native/agent/failing_allocations.cpp`).  A mixed session tells which allocations it
makes, and from where; then it is repeated with one of them failing, each time another.  The JVM
goes on, the controller gets an error that says so or its answer, and the next session works.
"""

from __future__ import annotations

import argparse
import mmap
import os
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import steady  # noqa: E402

import agent_builds  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402
from jvmti.env.structures import HeapCallbacks  # noqa: E402
from jvmti.spec.constants import HeapFilter, HeapVisitControl  # noqa: E402
from jvmti.target.errors import AttachError  # noqa: E402

_MOST_PLACES = 2000
_HEAD = struct.Struct("<5q")
_PLACE = struct.Struct("<2q")
_SIZE = _HEAD.size + _MOST_PLACES * _PLACE.size
_NEVER = -1


class Allocations:
    """What the agent and the test share; see `failing_allocations.cpp`."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "allocations"
        self.path.write_bytes(_HEAD.pack(_NEVER, 0, 0, 0, 0).ljust(_SIZE, b"\0"))
        with self.path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _SIZE)

    def start(self, failing: int = _NEVER) -> None:
        """Count from 1 again, and let the one of this number fail."""
        self._memory[: _HEAD.size] = _HEAD.pack(failing, 0, 0, 0, 0)

    @property
    def made(self) -> int:
        return int(_HEAD.unpack_from(self._memory)[1])

    @property
    def failed(self) -> bool:
        return bool(_HEAD.unpack_from(self._memory)[2])

    @property
    def place(self) -> int:
        return int(_HEAD.unpack_from(self._memory)[3])

    def first_of_each_place(self) -> list[int]:
        """The numbers of the allocations that were the first at their places."""
        count = min(int(_HEAD.unpack_from(self._memory)[4]), _MOST_PLACES)
        found = (
            _PLACE.unpack_from(self._memory, _HEAD.size + i * _PLACE.size) for i in range(count)
        )
        return sorted(first for _, first in found)


def library() -> Path:
    return agent_builds.build("failing", "-DJVMTI_FAIL_ALLOCATIONS=ON")


def launch(started: programs.JavaPrograms, allocations: Allocations) -> steady.Steady:
    arguments = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", steady.NO_SIGNAL]
    program = started(
        "Steady", jvm_args=arguments, env={"JVMTI_ALLOCATIONS": str(allocations.path)}
    )
    return steady.Steady(program)


def mixed(vm: jvmti.VM, tell: Any) -> None:
    """Calls, batches, maps, handlers, streams, stops, walks and scans, each by itself."""
    env, jni = vm.env, vm.jni
    pieces: list[Any] = [
        lambda: [one.name for one in vm.threads],
        lambda: vm.threads["prey-0"].frames[:3],
        lambda: env.add_capabilities(
            {"can_tag_objects", "can_get_bytecodes", "can_get_line_numbers", "can_suspend",
             "can_generate_all_class_hook_events", "can_generate_garbage_collection_events"}
        ),
        lambda: env.map.get_class_signature(env.get_loaded_classes()[:20]),
        lambda: vm.find_class("Steady")["prey"].call("giveString", "text", None, None),
        lambda: vm.find_class("Steady")["prey"]["strings"].value,
        lambda: [one.lines for one in vm.find_class("Steady").methods],
        lambda: jni.new_string("text " * 100),
        lambda: env.destroy_raw_monitor(env.create_raw_monitor("one")),
        lambda: env.deallocate(env.allocate(100)),
        lambda: vm.new_env().dispose_environment(),
        lambda: handled(vm),
        lambda: streamed(vm),
        lambda: suspended(vm),
        lambda: walked(vm),
        lambda: vm.heap.scan(classes="java.lang.Thread").close(),
        lambda: vm.find_class("Steady")["prey"].referrers(),
        lambda: vm.find_class("Steady$Prey").instances(),
        lambda: vm.stats,
    ]  # fmt: skip
    for piece in pieces:
        try:
            piece()
        except jvmti.errors.Error as error:
            tell(error)


def handled(vm: jvmti.VM) -> None:
    with vm.env.on("ThreadStart", lambda event: event.thread.name, own=True):
        vm.find_class("Steady")["prey"].cls.loader  # noqa: B018
        thread = vm.find_class("java.lang.Thread").new()
        thread.call("start")
        thread.call("join")


def walked(vm: jvmti.VM) -> None:
    callbacks = HeapCallbacks(heap_iteration_callback=lambda *them: HeapVisitControl.ABORT)
    vm.env.iterate_through_heap(HeapFilter(0), None, callbacks)


def streamed(vm: jvmti.VM) -> None:
    with vm.env.stream("GarbageCollectionFinish") as stream:
        vm.env.force_garbage_collection()
        stream.read()


def suspended(vm: jvmti.VM) -> None:
    with vm.threads["prey-1"].suspended() as thread:
        assert thread is None or thread


def session(target: steady.Steady, errors: Counter[str]) -> None:
    """One mixed session from attach to detach."""

    def tell(error: Exception) -> None:
        errors[f"{type(error).__name__}: {error}"[:160]] += 1

    try:
        vm = jvmti.attach(target.pid, timeout=30)
    except (jvmti.errors.Error, AttachError) as error:
        tell(error)
        return
    try:
        mixed(vm, tell)
    finally:
        try:
            vm.detach(timeout=30)
        except jvmti.errors.Error as error:
            tell(error)


def fail_each(
    target: steady.Steady, allocations: Allocations, every: int | None = None
) -> Counter[str]:
    """Let allocations fail: the first at each place, or every so-many-th.  What was answered."""
    errors: Counter[str] = Counter()
    session(target, errors)
    allocations.start()
    session(target, errors)
    assert not errors, errors
    numbers = (
        allocations.first_of_each_place() if every is None else range(1, allocations.made, every)
    )
    rest = target.at_rest()
    for number in numbers:
        allocations.start(number)
        session(target, errors)
        place = allocations.place
        allocations.start()
        assert target.program.running(), (number, hex(place), target.program.crash())
        after: Counter[str] = Counter()
        session(target, after)
        assert not after, (number, hex(place), after)
    assert target.settles_at(rest), (rest, target.footprint())
    assert target.goes_on()
    assert target.locks_are_free()
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--every", type=int, help="not the first at each place, but every N-th")
    chosen = parser.parse_args()
    os.environ["JVMTI_AGENT_LIBRARY"] = str(library())
    directory = Path(tempfile.mkdtemp(prefix=f"failing-{chosen.jvm}-"))
    allocations = Allocations(directory)
    started = programs.JavaPrograms(jvms.named(chosen.jvm), directory)
    try:
        target = launch(started, allocations)
        for message, count in fail_each(target, allocations, chosen.every).most_common():
            print(f"{count:5} {message}")
    finally:
        started.close()


if __name__ == "__main__":
    main()
