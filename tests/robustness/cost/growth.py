"""Looks for what makes the target grow: each function N times, then 2 N times more.

    python tests/robustness/cost/growth.py --jvm 17
    python tests/robustness/cost/growth.py --jvm 17 --only scan,get_stack_trace --calls 5000

Every function of JVM TI, JNI and the agent is called with generated arguments, good and bad, and
everything of the model and the heap that is in `OPERATIONS` as a user calls it.  What the process
has grown by in the second round is printed apart:

    VM      what the VM counts as its own (native memory tracking), by its categories
    rest    anonymous memory that is resident and not of that: the agent's, or what the C library
            keeps of what was given back
    kept    what is left of the two after a garbage collection

Nothing of the program's own may move meanwhile: its heap has one size and is resident.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402
from jvmti.target import hotspot  # noqa: E402
from jvmti.target.processes.search import find  # noqa: E402
from robustness import steady  # noqa: E402
from robustness.calls import random_calls  # noqa: E402

ONE_SIZE = (
    "-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch", "-XX:TieredStopAtLevel=1",
    "-XX:NativeMemoryTracking=summary",
)  # fmt: skip

_CATEGORY = re.compile(r"-?\s*([A-Z][A-Za-z ]*?) \(reserved=\d+KB, committed=(\d+)KB", re.MULTILINE)
_OWN_BOOKS = ("Native Memory Tracking",)


@dataclass(frozen=True)
class Memory:
    """Kilobytes of a process at a moment."""

    anonymous: int
    parts: dict[str, int]

    @property
    def of_vm(self) -> int:
        return sum(self.parts.values())


def measure(pid: int) -> Memory:
    """What the process has, once it is quiet."""
    text = hotspot.command(find(pid), "jcmd", "VM.native_memory summary", timeout=60)
    parts = {name: int(size) for name, size in _CATEGORY.findall(text) if name not in _OWN_BOOKS}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return Memory(int(line.split()[1]), parts)
    raise AssertionError("no anonymous memory")


@dataclass(frozen=True)
class Growth:
    """Bytes a call between two moments, and after a collection."""

    calls: int
    anonymous: float
    of_vm: dict[str, float]
    kept: float

    @property
    def rest(self) -> float:
        return self.anonymous - sum(self.of_vm.values())


def grown(calls: int, before: Memory, after: Memory, collected: Memory) -> Growth:
    of_vm = {
        name: (after.parts.get(name, 0) - before.parts.get(name, 0)) * 1024 / calls
        for name in {*before.parts, *after.parts}
    }
    return Growth(
        calls,
        (after.anonymous - before.anonymous) * 1024 / calls,
        {name: size for name, size in of_vm.items() if abs(size) >= 1},
        (collected.anonymous - before.anonymous) * 1024 / calls,
    )


def grows(vm: jvmti.VM, pid: int, do: Callable[[int], None], calls: int) -> Growth:
    """Do something `calls` times, and what twice as many more times make of the memory."""
    do(calls)
    vm.env.force_garbage_collection()
    before = measure(pid)
    do(2 * calls)
    after = measure(pid)
    vm.env.force_garbage_collection()
    return grown(2 * calls, before, after, measure(pid))


def of_model(vm: jvmti.VM) -> dict[str, tuple[Callable[[], Any], int]]:
    """What users call, and how many times: one call must leave nothing."""
    steady_class = vm.find_class("Steady")
    prey = steady_class["prey"]
    counter = vm.threads["prey-0"]
    method = next(one for one in steady_class.methods if one.name == "live")

    def scan(**wishes: Any) -> None:
        vm.heap.scan(**wishes).close()

    def breakpoint() -> None:
        with method.breakpoint():
            pass

    def stream() -> None:
        with vm.env.stream("ThreadStart"):
            pass

    def handler() -> None:
        with vm.env.on("ThreadStart", print):
            pass

    def monitor() -> None:
        vm.env.destroy_raw_monitor(vm.env.create_raw_monitor("growth"))

    return {
        "vm.threads": (lambda: [one.name for one in vm.threads], 300),
        "thread.frames": (lambda: [str(one) for one in counter.frames], 1000),
        "thread.state": (lambda: counter.state, 3000),
        "vm.thread_groups": (lambda: list(vm.thread_groups), 300),
        "vm.classes": (lambda: list(vm.classes("java.util.*")), 30),
        "vm.find_class": (lambda: vm.find_class("java.util.HashMap"), 1000),
        "vm.modules": (lambda: list(vm.modules), 100),
        "class.methods": (lambda: [one.name for one in steady_class.methods], 300),
        "class.fields": (lambda: [one.name for one in steady_class.fields], 300),
        "class.static": (lambda: steady_class["count"], 1000),
        "object.field": (lambda: prey["aString"], 1000),
        "object.value": (lambda: prey["strings"].value, 500),
        "object.call": (lambda: prey.call("giveInt", 3), 1000),
        "object.size": (lambda: prey.size, 3000),
        "object.referrers": (lambda: prey.referrers(), 20),
        "object.path": (lambda: prey.path_to_root(), 20),
        "object.retained": (lambda: prey.retained_size(), 20),
        "class.instances": (lambda: list(prey.cls.instances()), 50),
        "heap.histogram": (lambda: vm.heap.histogram(), 20),
        "heap.scan": (lambda: scan(), 50),
        "heap.scan(class)": (lambda: scan(classes="java.lang.String"), 50),
        "heap.snapshot": (lambda: vm.heap.snapshot(), 5),
        "stream": (stream, 100),
        "handler": (handler, 300),
        "breakpoint": (breakpoint, 300),
        "new_env": (lambda: vm.new_env().dispose_environment(), 300),
        "raw monitor": (monitor, 1000),
    }  # fmt: skip


def of_functions(fuzzer: random_calls.Fuzzer) -> dict[str, tuple[Callable[[int], None], int]]:
    """Each function by itself, in batches with generated arguments."""

    def calling(declaration: Any) -> Callable[[int], None]:
        def do(calls: int) -> None:
            fuzzer.functions, fuzzer.weights = [declaration], [1.0]
            while calls > 0:
                fuzzer.batch(min(calls, 250))
                calls -= 250

        return do

    return {
        f"{one.table.name.lower()} {one.name}": (
            calling(one),
            max(int(2000 * random_calls.HEAVY.get(one.name, 1.0)), 20),
        )
        for one in list(fuzzer.functions)
    }


def launch(started: programs.JavaPrograms, *more: str) -> steady.Steady:
    return steady.launch(started, jvm_args=[*ONE_SIZE, *more])


def look(target: steady.Steady, only: list[str], factor: float) -> dict[str, Growth]:
    """Everything, each in a session of its own."""
    found: dict[str, Growth] = {}

    def wanted(name: str) -> bool:
        return not only or any(one in name for one in only)

    def repeated(call: Callable[[], Any]) -> Callable[[int], None]:
        def do(times: int) -> None:
            for _ in range(times):
                call()

        return do

    with jvmti.attach(target.pid, timeout=60) as vm:
        names = list(of_model(vm))
    for name in filter(wanted, names):
        with jvmti.attach(target.pid, timeout=60) as vm:
            call, times = of_model(vm)[name]
            found[name] = grows(vm, target.pid, repeated(call), max(int(times * factor), 2))
            tell(name, found[name])
    fuzzer = random_calls.Fuzzer(1)
    fuzzer.template = (compiler.classes("Steady") / "Steady$Spare.class").read_bytes()
    every = of_functions(fuzzer)
    for name in filter(wanted, every):
        do, times = every[name]
        with jvmti.attach(target.pid, timeout=60) as vm:
            fuzzer.begin(vm)
            found[name] = grows(vm, target.pid, do, max(int(times * factor), 2))
            fuzzer.heal()
            fuzzer.end()
            tell(name, found[name])
    return found


def tell(name: str, growth: Growth) -> None:
    vm = " ".join(f"{part} {size:.0f}" for part, size in sorted(growth.of_vm.items()))
    mark = "  <<<" if growth.anonymous > 100 else ""
    print(
        f"{name:45} {growth.calls:6} calls {growth.anonymous:9.0f} B a call, rest "
        f"{growth.rest:8.0f}, kept {growth.kept:8.0f}; VM: {vm}{mark}",
        flush=True,
    )


def sessions(target: steady.Steady, count: int) -> Growth:
    """Sessions that do nothing but begin and end."""

    def one() -> None:
        with jvmti.attach(target.pid, timeout=60) as vm:
            vm.threads["prey-0"].frames  # noqa: B018

    for _ in range(count):
        one()
    before = measure(target.pid)
    for _ in range(2 * count):
        one()
    time.sleep(0.2)
    after = measure(target.pid)
    with jvmti.attach(target.pid, timeout=60) as vm:
        vm.env.force_garbage_collection()
    return grown(2 * count, before, after, measure(target.pid))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--only", default="")
    parser.add_argument("--factor", type=float, default=1.0, help="times as many calls")
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix=f"growth-{chosen.jvm}-"))
    started = programs.JavaPrograms(jvms.named(chosen.jvm), directory)
    only = [one for one in chosen.only.split(",") if one]
    try:
        target = launch(started)
        found = look(target, only, chosen.factor)
        if chosen.sessions:
            found["session"] = sessions(target, chosen.sessions)
            tell("session", found["session"])
    finally:
        started.close()
    if chosen.json:
        chosen.json.write_text(
            json.dumps({name: vars(one) | {"rest": one.rest} for name, one in found.items()})
        )


if __name__ == "__main__":
    main()
