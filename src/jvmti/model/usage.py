"""The resource use of a JVM: processor, memory, collections, threads of the VM, code cache.

The data comes from the kernel and over the attach mechanism; in the JVM it runs only the three
methods of ``java.lang.Runtime`` that say how full the heap is, and those that count pauses where
the performance data does not.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error
from jvmti.target.errors import AttachError
from jvmti.target.processes.search import performance_data

if TYPE_CHECKING:
    from jvmti.model.objects.java_object import Object
    from jvmti.model.vm import VM

_CODE = re.compile(
    r"^(?P<name>CodeHeap '[^']*'|CodeCache): size=(?P<size>\d+)Kb used=(?P<used>\d+)Kb"
)
_METASPACE = re.compile(r"Metaspace\s+used (\d+)K")
_KINDS = (
    ("garbage collection", r"GC Thread|G1 |Z(Worker|Driver|Director|Stat|Unmap)|Shenandoah|ConcGC"),
    ("compiler", r"C\d CompilerThre|Sweeper|JVMCI"),
    ("VM", r"VM (Thread|Periodic)|Signal Dispatch|Service Thread|Monitor Deflati|Attach List"),
)
"""The names of threads of the VM, as the kernel truncates them."""
_TICKS = os.sysconf("SC_CLK_TCK")


def usage(vm: VM, seconds: float = 0.5) -> dict[str, Any]:
    """The resources that the JVM uses; unavailable values are ``None`` or missing.

    Args:
        vm: the JVM.
        seconds: for how long the use of processors is watched.
    """
    began, before = time.monotonic(), _thread_ticks(vm.process.pid)
    heap = heap_use(java_runtime(vm))
    pauses = Pauses(vm)
    code = _code_cache(vm)
    passed = time.monotonic() - began
    if passed < seconds:
        time.sleep(seconds - passed)
    after, passed = _thread_ticks(vm.process.pid), time.monotonic() - began
    status = _status(vm.process.pid)
    kinds: dict[str, dict[str, Any]] = {}
    for thread, (name, ticks) in after.items():
        one = kinds.setdefault(_kind(name), {"threads": 0, "processors": 0.0, "cpu_seconds": 0.0})
        one["threads"] += 1
        one["cpu_seconds"] = round(one["cpu_seconds"] + ticks / _TICKS, 2)
        used = (ticks - before.get(thread, ("", ticks))[1]) / _TICKS / passed
        one["processors"] = round(one["processors"] + used, 3)
    return {
        "processors_used": round(sum(one["processors"] for one in kinds.values()), 3),
        "load_average": list(os.getloadavg()),
        "threads_by_kind": kinds,
        "resident": status.get("VmRSS"),
        "swapped": status.get("VmSwap"),
        "heap": heap,
        "metaspace": _metaspace(vm),
        "collections": pauses.read(),
        "code_cache": code,
    }


def java_runtime(vm: VM) -> Object | None:
    """The ``java.lang.Runtime`` of a JVM; ``None`` if it cannot be called.

    Args:
        vm: the JVM.
    """
    try:
        found: Object = vm.find_class("java.lang.Runtime").call("getRuntime")
    except (Error, LookupError):
        return None
    return found


def heap_use(runtime: Object | None) -> dict[str, int] | None:
    """Bytes of the heap that are used, committed, and the most there may be.

    Args:
        runtime: what `java_runtime` gives.
    """
    if runtime is None:
        return None
    try:
        total, free, most = (
            int(runtime.call(name)) for name in ("totalMemory", "freeMemory", "maxMemory")
        )
    except Error:
        return None
    return {"used": total - free, "committed": total, "maximum": most}


def _metaspace(vm: VM) -> int | None:
    # The performance counter of it is as old as the last collection. Up to 21 the first command
    # tells, later the second.
    for line in ("GC.heap_info", "VM.metaspace basic"):
        try:
            found = _METASPACE.search(vm.diagnostic_command(line))
        except (AttachError, KeyError, ValueError):
            continue
        if found:
            return int(found[1]) * 1024
    return None


def _number(counters: dict[str, str | int], name: str) -> int | None:
    found = counters.get(name)
    return found if isinstance(found, int) else None


class Pauses:
    """The pauses of a program for each of its collectors, read again and again.

    The performance data counts them but with Shenandoah, whose counter has phases that stop nothing
    as well, with ZGC of 11, and with ``-XX:-UsePerfData``. Then the JDK's own beans are asked.

    Args:
        vm: the JVM.
    """

    def __init__(self, vm: VM) -> None:
        self._process = vm.process
        self._beans: list[tuple[str, Any]] = []
        counted = _counted(performance_data(vm.process))
        self._known = bool(counted) and "Shenandoah" not in str(counted)
        if self._known:
            return
        try:
            factory = vm.bootstrap_class("java/lang/management/ManagementFactory")
            beans = list(factory.call("getGarbageCollectorMXBeans"))
            names = [str(one.call("getName")) for one in beans]
        except (Error, LookupError):
            return  # a runtime without the module java.management
        # A cycle goes on beside the program, and has pauses of its own.
        self._beans = [
            (name, one)
            for name, one in zip(names, beans, strict=True)
            if not name.endswith("Cycles")
        ]

    def read(self) -> list[dict[str, Any]]:
        """Of each collector its name, the number of pauses, and their seconds; none if unknown."""
        if self._known:
            return _counted(performance_data(self._process))
        try:
            return [
                {
                    "name": name,
                    "count": int(one.call("getCollectionCount")),
                    "seconds": int(one.call("getCollectionTime")) / 1e3,
                }
                for name, one in self._beans
            ]
        except Error:
            return []


def _counted(counters: dict[str, str | int]) -> list[dict[str, Any]]:
    frequency = _number(counters, "sun.os.hrt.frequency") or 1_000_000_000
    found = []
    for at in range(8):
        prefix = f"sun.gc.collector.{at}"
        times = _number(counters, f"{prefix}.invocations")
        if times is not None:
            took = (_number(counters, f"{prefix}.time") or 0) / frequency
            name = counters.get(f"{prefix}.name", "?")
            found.append({"name": name, "count": times, "seconds": round(took, 6)})
    return found


def _code_cache(vm: VM) -> dict[str, int] | None:
    try:
        lines = vm.diagnostic_command("Compiler.codecache").splitlines()
    except (AttachError, KeyError, ValueError):
        return None
    found = [one for one in map(_CODE.match, lines) if one]
    # The parts where there are some, and not their sum besides.
    parts = [one for one in found if one["name"] != "CodeCache"] or found
    if not parts:
        return None
    return {
        "used": sum(int(one["used"]) for one in parts) * 1024,
        "size": sum(int(one["size"]) for one in parts) * 1024,
    }


def _kind(name: str) -> str:
    return next((kind for kind, pattern in _KINDS if re.match(pattern, name)), "Java and others")


def _thread_ticks(pid: int) -> dict[int, tuple[str, int]]:
    """Of each thread its name, as far as the kernel has it, and the processor time it has used."""
    found = {}
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return {}
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/stat", errors="replace") as file:
                head, _, rest = file.read().rpartition(")")
        except OSError:
            continue  # it has ended meanwhile
        fields = rest.split()
        found[int(thread)] = head.partition("(")[2], int(fields[11]) + int(fields[12])
    return found


def _status(pid: int) -> dict[str, int]:
    """Sizes of a process in bytes."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = [line.split() for line in file]
    except OSError:
        return {}
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1] == "kB"}


__all__ = ["Pauses", "heap_use", "java_runtime", "usage"]
