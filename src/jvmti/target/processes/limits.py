"""The descriptors and threads that a process can still create, checked before requests that need
some.

A JVM that cannot start the thread of its attach listener exits at once, and one without a
descriptor for a connection closes its listener for good. Trying would be fatal, so this reads the
limits first: those of the process from /proc/PID/limits, those of its control groups (versions 1
and 2) and of the system.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from jvmti.interface.frozen import frozen
from jvmti.target.errors import JvmDied, TargetExhausted
from jvmti.target.processes.procfs import ProcessHandle

__all__ = [
    "FRESH",
    "Remaining",
    "check_remaining",
    "control_groups",
    "descriptors",
    "shortage",
    "threads",
]

DESCRIPTORS_TO_ANSWER = 3  # the listener, a connection, and one for the program
DESCRIPTORS_TO_LOAD = 8  # the library, the agent's connections, memory of a stream
FRESH = 0.05  # seconds for which a check holds
THREADS_TO_LOAD = 3  # the session's, that of a first channel, and one for the program
_CGROUPS = "/sys/fs/cgroup"
_CAP_SYS_ADMIN = 21
_CAP_SYS_RESOURCE = 24


@frozen
class Remaining:
    """The remaining amount of a resource.

    Attributes:
        left: how many more the process can have.
        limit: how many there can be.
        what: the name of the limit, with what to do about it.
    """

    left: int
    limit: int
    what: str


def descriptors(handle: ProcessHandle) -> Remaining | None:
    """The descriptors that a process can still open; ``None`` if unknown."""
    limit = _own_limit(handle, "Max open files")
    if limit is None:
        return None
    try:
        directory = handle.open("fd", os.O_RDONLY | os.O_DIRECTORY)
        try:
            # Kernels since 6.2 report the number.
            used = os.fstat(directory).st_size or len(os.listdir(directory))
        finally:
            os.close(directory)
    except OSError:
        return None
    what = f"its limit of open files (prlimit --pid {handle.pid} --nofile=… raises it)"
    return Remaining(max(limit - used, 0), limit, what)


def threads(handle: ProcessHandle) -> Remaining | None:
    """The threads that a process can still start, by the tightest limit; ``None`` without any."""
    return min(_of_threads(handle), key=lambda remaining: remaining.left, default=None)


def shortage(handle: ProcessHandle, wanted_descriptors: int, wanted_threads: int) -> str | None:
    """The shortage of either, as a sentence; ``None`` if there is enough."""
    for name, wanted, remaining in (
        ("descriptor", wanted_descriptors, descriptors(handle) if wanted_descriptors else None),
        ("thread", wanted_threads, threads(handle) if wanted_threads else None),
    ):
        if remaining is not None and remaining.left < wanted:
            some = f"{remaining.left or 'no'} {name}{'s' * (remaining.left != 1)}"
            return f"{some} left of {remaining.limit} by {remaining.what}; {wanted} are needed"
    return None


def check_remaining(handle: ProcessHandle, wanted_descriptors: int, wanted_threads: int) -> None:
    """Raise TargetExhausted if a process cannot create this many more of each."""
    why = shortage(handle, wanted_descriptors, wanted_threads)
    if why is not None:
        raise TargetExhausted(
            f"JVM {handle.pid} has {why}. No request was sent: without them it might exit, or "
            "never answer again. Try again when it has closed some"
        )


def _of_threads(handle: ProcessHandle) -> Iterator[Remaining]:
    for group in control_groups(handle, "pids"):
        limit = _number(f"{group}/pids.max")
        used = _number(f"{group}/pids.current") if limit is not None else None
        if limit is not None and used is not None:
            where = f"the limit of its control group ({group}/pids.max)"
            yield Remaining(max(limit - used, 0), limit, where)
    everything = _tasks_of_system()
    for name in ("threads-max", "pid_max"):
        limit = _number(f"/proc/sys/kernel/{name}")
        if limit is not None and everything is not None:
            yield Remaining(
                max(limit - everything, 0), limit, f"the system's limit (kernel.{name})"
            )
    limit = _own_limit(handle, "Max processes")
    if limit is None or _passes_over_limits(handle):
        return
    # All threads of a user count together; they are at most those of the whole system.
    if everything is not None and limit - everything > 100:
        return
    used = _threads_of_user(handle)
    if used is not None:
        what = f"its user's limit of processes (prlimit --pid {handle.pid} --nproc=… raises it)"
        yield Remaining(max(limit - used, 0), limit, what)


def control_groups(handle: ProcessHandle, controller: str) -> Iterator[str]:
    """The directories of the process's control groups with this controller, innermost first."""
    try:
        lines = handle.read("cgroup").decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            top = _CGROUPS
            if not os.path.exists(f"{top}/cgroup.controllers") and os.path.isdir(f"{top}/unified"):
                top = f"{top}/unified"
        elif controller in controllers.split(","):
            top = f"{_CGROUPS}/{controller}"
        else:
            continue
        group = path.strip("/")
        while group:
            yield f"{top}/{group}"
            group = group.rpartition("/")[0]
        yield top


def _own_limit(handle: ProcessHandle, name: str) -> int | None:
    """The soft limit of a process; ``None``: unlimited, or not to be seen."""
    try:
        lines = handle.read("limits").decode("ascii", "replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        raise JvmDied(f"process {handle.pid} has ended") from None
    except OSError:
        return None
    for line in lines:
        if line.startswith(name):
            soft = line[len(name) :].split()[0]
            return int(soft) if soft.isdigit() else None
    return None


def _status_field(text: str, name: str) -> list[str]:
    for line in text.splitlines():
        if line.startswith(name + ":"):
            return line.split()[1:]
    return []


def _passes_over_limits(handle: ProcessHandle) -> bool:
    """Whether the kernel lets a process have more threads than its user's limit."""
    try:
        text = handle.read("status").decode("utf-8", "replace")
    except OSError:
        return False
    capabilities = int((_status_field(text, "CapEff") or ["0"])[0], 16)
    return _status_field(text, "Uid")[:1] == ["0"] or bool(
        capabilities & (1 << _CAP_SYS_ADMIN | 1 << _CAP_SYS_RESOURCE)
    )


def _threads_of_user(handle: ProcessHandle) -> int | None:
    try:
        mine = _status_field(handle.read("status").decode("utf-8", "replace"), "Uid")[0]
    except (OSError, IndexError):
        return None
    total = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            text = _read(f"/proc/{name}/status").decode("utf-8", "replace")
        except OSError:
            continue  # it has ended meanwhile
        if _status_field(text, "Uid")[:1] == [mine]:
            total += int((_status_field(text, "Threads") or ["0"])[0])
    return total


def _tasks_of_system() -> int | None:
    try:
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return None


def _number(path: str) -> int | None:
    try:
        text = _read(path).strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _read(path: str) -> bytes:
    """A small file of the kernel's, in fewer calls than a file object makes."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, 1 << 14)
    finally:
        os.close(file)
