"""How much memory there is for what is about to be done."""

from __future__ import annotations

from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Bytes that the system can give without swapping; ``None`` where it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def free_of_groups(pid: int) -> int | None:
    """What the tightest limit of the process's control groups leaves; ``None`` without one."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    left = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            names = ("memory.max", "memory.current")
            top = _CGROUPS
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            top = _CGROUPS / "memory"
        else:
            continue
        group = top / path.lstrip("/")
        for place in (group, *group.parents):
            try:
                limit, used = ((place / name).read_text().strip() for name in names)
                if limit.isdigit() and int(limit) < 1 << 60:
                    left.append(max(int(limit) - int(used), 0))
            except OSError:
                pass  # the group is another namespace's, or has no limit
            if place == top:
                break
    return min(left, default=None)


__all__ = ["free_memory", "free_of_groups"]
