"""One process, through /proc.

A :class:`ProcessHandle` keeps the process's directory in /proc open. The descriptor still means the
same process when its pid is reused, and works after a change of the mount namespace, so everything
else here reads through it.
"""

from __future__ import annotations

import os
import signal
import time

from jvmti.interface.frozen import frozen
from jvmti.target.errors import JvmDied, NoSuchProcess, NotPermitted

__all__ = ["ProcessHandle", "Status", "same_namespace", "ticks_to_epoch"]

_TICKS = os.sysconf("SC_CLK_TCK")


@frozen
class Status:
    """The relevant lines of /proc/PID/status; ids are the effective ones."""

    state: str
    thread_group: int
    parent: int
    uid: int
    gid: int
    groups: tuple[int, ...]
    namespace_pid: int
    caught_signals: int
    pending_signals: int

    @property
    def stopped(self) -> bool:
        """Whether a signal, a terminal or a debugger has stopped it."""
        return self.state in "Tt"

    @property
    def dead(self) -> bool:
        """Whether it has ended and waits to be reaped."""
        return self.state in "ZX"

    def catches(self, number: signal.Signals) -> bool:
        """Whether the process has its own handler of the signal."""
        return bool(self.caught_signals >> (number - 1) & 1)

    def waits(self, number: signal.Signals) -> bool:
        """Whether the signal is pending."""
        return bool(self.pending_signals >> (number - 1) & 1)


class ProcessHandle:
    """One process, held by its /proc directory and, where the system has them, a pidfd.

    Raises:
        NoSuchProcess: there is none with this pid.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.pidfd: int | None = None
        self._directory = -1
        if pid <= 0:
            raise NoSuchProcess(f"there is no process {pid}: a pid is a positive number")
        try:
            self._directory = os.open(f"/proc/{pid}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise NoSuchProcess(
                f"there is no process {pid} that is visible from here; "
                "'jvmti ps' lists the JVMs that are"
            ) from None
        try:
            self.pidfd = os.pidfd_open(pid)
        except (OSError, AttributeError):
            # Kernels before 5.3, and containers with an older system call filter: use plain kill, #
            # after checking that the directory still belongs to a live process.
            self.pidfd = None
        except OverflowError:
            self.close()
            raise NoSuchProcess(f"there is no process {pid}") from None

    @classmethod
    def adopt(cls, pid: int, directory: int, pidfd: int | None) -> ProcessHandle:
        """Make a handle of descriptors that another process opened; the handle then owns them."""
        handle = cls.__new__(cls)
        handle.pid = pid
        handle.pidfd = pidfd
        handle._directory = directory
        return handle

    def __enter__(self) -> ProcessHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptors; repeating it does nothing."""
        for descriptor in (self._directory, self.pidfd):
            if descriptor is not None and descriptor >= 0:
                os.close(descriptor)
        self._directory = -1
        self.pidfd = None

    def fileno(self) -> int:
        """The descriptor of the process's directory in /proc."""
        return self._directory

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Open a file of the directory; the caller closes it. Raises OSError."""
        return os.open(name, flags | os.O_CLOEXEC, dir_fd=self._directory)

    def read(self, name: str) -> bytes:
        """The whole content of a file of the directory. Raises OSError."""
        descriptor = self.open(name)
        try:
            chunks = []
            while chunk := os.read(descriptor, 1 << 16):
                chunks.append(chunk)
            return b"".join(chunks)
        finally:
            os.close(descriptor)

    def link(self, name: str) -> str | None:
        """The target of a link, None if the caller has no permission."""
        try:
            return os.readlink(name, dir_fd=self._directory)
        except OSError:
            return None

    def status(self) -> Status:
        """Read the status lines again. Raises JvmDied if the process has ended."""
        try:
            text = self.read("status").decode("utf-8", "replace")
        except (FileNotFoundError, ProcessLookupError):
            raise JvmDied(f"process {self.pid} has ended") from None
        except OSError as error:
            raise NotPermitted(f"cannot read the state of process {self.pid}: {error}") from None
        fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return Status(
            state=fields["State"].split()[0],
            thread_group=int(fields["Tgid"]),
            parent=int(fields["PPid"]),
            uid=int(fields["Uid"].split()[1]),
            gid=int(fields["Gid"].split()[1]),
            groups=tuple(int(group) for group in fields.get("Groups", "").split()),
            # The last number is the pid in the innermost namespace, which getpid() returns there.
            namespace_pid=int(fields.get("NSpid", str(self.pid)).split()[-1]),
            caught_signals=int(fields.get("SigCgt", "0"), 16),
            pending_signals=int(fields.get("ShdPnd", "0"), 16),
        )

    def thread_states(self, names: tuple[str, ...]) -> str:
        """The states of the threads with these names, one letter for each thread found."""
        states = ""
        tasks = self.open("task", os.O_RDONLY | os.O_DIRECTORY)
        try:
            for task in os.listdir(tasks):
                try:
                    line = self.read(f"task/{task}/stat").decode("utf-8", "replace")
                except OSError:
                    continue  # it has ended meanwhile
                name, _, rest = line.partition("(")[2].rpartition(") ")
                if name in names:
                    states += rest[0]
        finally:
            os.close(tasks)
        return states

    def alive(self) -> bool:
        """Whether the process still runs (a zombie does not)."""
        try:
            return not self.status().dead
        except JvmDied:
            return False

    def start_ticks(self) -> int:
        """When the process started, in clock ticks since boot: with the pid, its identity."""
        try:
            stat = self.read("stat")
        except (FileNotFoundError, ProcessLookupError):
            raise JvmDied(f"process {self.pid} has ended") from None
        # The command name is in parentheses and may contain anything, parentheses included.
        return int(stat[stat.rindex(b")") + 2 :].split()[19])

    def arguments(self) -> list[str]:
        """The command line, undecodable bytes kept (surrogateescape); empty when hidden."""
        try:
            raw = self.read("cmdline")
        except OSError:
            return []
        parts = raw.split(b"\0")
        if parts and not parts[-1]:
            parts.pop()
        return [os.fsdecode(part) for part in parts]

    def environment(self) -> dict[str, str] | None:
        """The environment at the start of the process, None if the caller has no permission."""
        try:
            raw = self.read("environ")
        except OSError:
            return None
        pairs = (os.fsdecode(item).partition("=") for item in raw.split(b"\0") if item)
        return {name: value for name, _, value in pairs}

    def send(self, number: signal.Signals) -> None:
        """Send a signal. Raises JvmDied or NotPermitted."""
        try:
            if self.pidfd is not None:
                signal.pidfd_send_signal(self.pidfd, number)
            elif self.alive():
                os.kill(self.pid, number)
            else:
                raise ProcessLookupError
        except ProcessLookupError:
            raise JvmDied(f"process {self.pid} has ended") from None
        except PermissionError:
            raise NotPermitted(
                f"not allowed to signal process {self.pid}: run as its user or as root"
            ) from None


def same_namespace(handle: ProcessHandle, kind: str) -> bool | None:
    """Whether the process is in the caller's namespace of this kind; None when unknown."""
    theirs = handle.link(f"ns/{kind}")
    if theirs is None:
        return None
    try:
        return theirs == os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return None


def ticks_to_epoch(ticks: int) -> float:
    """Convert clock ticks since boot into seconds since the epoch."""
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return boot + ticks / _TICKS
