"""The memory available to this machine and to a process."""

from __future__ import annotations

from pathlib import Path

from jvmti.target.errors import NoSuchProcess
from jvmti.target.processes.limits import control_groups
from jvmti.target.processes.procfs import ProcessHandle

_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def free_memory() -> int | None:
    """Bytes that are available without swapping; ``None`` if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def free_of_groups(pid: int) -> int | None:
    """The bytes that the tightest limit of the process's control groups leaves; ``None`` without
    one."""
    left = []
    try:
        with ProcessHandle(pid) as handle:
            groups = list(control_groups(handle, "memory"))
    except NoSuchProcess:
        return None
    for group in groups:
        for names in _FILES:
            try:
                limit, used = (Path(group, name).read_text().strip() for name in names)
            except OSError:
                continue  # the group is another namespace's, or has no limit
            if limit.isdigit() and int(limit) < 1 << 60:
                left.append(max(int(limit) - int(used), 0))
    return min(left, default=None)


__all__ = ["free_memory", "free_of_groups"]
