"""Ways in which a process is brought to stand still: by a signal, and in a frozen control group."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from pathlib import Path

SOON = 120.0


def wait_for(path: Path, pattern: str) -> None:
    """Wait until a file of the kernel says so."""
    deadline = time.monotonic() + SOON
    while not re.search(pattern, path.read_text()):
        assert time.monotonic() < deadline, (path, path.read_text())
        time.sleep(0.005)


class Signal:
    """As by Ctrl-Z."""

    def stop(self, pid: int) -> None:
        """Stop all threads of a process, wherever they are, and see that they stand."""
        os.kill(pid, signal.SIGSTOP)
        for task in Path(f"/proc/{pid}/task").iterdir():
            wait_for(task / "stat", r"\) T [^)]*$")

    def let_go(self, pid: int) -> None:
        """Let it go on, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


MOUNTS = {"v1": ["/sys/fs/cgroup/freezer"], "v2": ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]}
LINES = {"v1": r"^\d+:freezer:(.*)$", "v2": r"^0::(.*)$"}
STATES = {
    "v1": ("freezer.state", "FROZEN", "THAWED", "^FROZEN"),
    "v2": ("cgroup.freeze", "1", "0", "^frozen 1"),
}


class Group:
    """A control group of one's own, as a container is one; `OSError` where none can be made."""

    def __init__(self, version: str) -> None:
        found = re.search(LINES[version], Path("/proc/self/cgroup").read_text(), re.M)
        self.file, self.frozen, self.thawed, self.stands = STATES[version]
        if found is None:
            raise FileNotFoundError(f"no control group {version}")
        parents = [Path(mount + found[1]) for mount in MOUNTS[version]]
        self.parent = next((one for one in parents if (one / "cgroup.procs").exists()), parents[0])
        self.path = self.parent / f"jvmti-test-{os.getpid()}"
        self.path.mkdir()
        if not (self.path / self.file).exists():
            self.path.rmdir()
            raise FileNotFoundError(f"{self.path} cannot be frozen")

    def stop(self, pid: int) -> None:
        """Freeze a process in the group, and see that it stands."""
        (self.path / "cgroup.procs").write_text(f"{pid}\n")
        (self.path / self.file).write_text(self.frozen)
        wait_for(
            self.path / self.file.replace("cgroup.freeze", "cgroup.events"), f"(?m){self.stands}"
        )

    def let_go(self, pid: int) -> None:
        """Let it go on."""
        (self.path / self.file).write_text(self.thawed)

    def close(self) -> None:
        """Give the group back; who is in it goes where this process is."""
        (self.path / self.file).write_text(self.thawed)
        for pid in (self.path / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                (self.parent / "cgroup.procs").write_text(pid)
        deadline = time.monotonic() + SOON
        while True:
            try:
                return self.path.rmdir()
            except OSError:  # the kernel is not done with one that has ended
                assert time.monotonic() < deadline
                time.sleep(0.01)
