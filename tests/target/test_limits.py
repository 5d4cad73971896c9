"""A JVM that has no descriptor or no thread left is let alone, and attached to when it has."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.target.diagnose import diagnose
from jvmti.target.errors import TargetExhausted
from jvmti.target.hotspot import command, protocol_version
from jvmti.target.processes import limits
from jvmti.target.processes.procfs import ProcessHandle
from jvmti.target.processes.search import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

SMALL = ("-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
NOBODY = 65534


@pytest.fixture
def program(java_program: JavaPrograms) -> JavaProgram:
    started = java_program("Witness", jvm_args=SMALL)
    started.expect("ready", timeout=60)
    return started


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def leave_descriptors(pid: int, count: int) -> None:
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files(pid) + count, hard))


def give_descriptors_back(pid: int) -> None:
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))


def goes_on(program: JavaProgram) -> bool:
    return program.running() and program.ask("gc", 60) != ""


def checks(pid: int) -> dict[str, bool | None]:
    return {check.name: check.ok for check in diagnose(pid).checks}


def works(pid: int) -> bool:
    with jvmti.attach(pid, timeout=60) as vm:
        return bool(vm.env.get_all_threads())


@pytest.mark.parametrize("listener", [False, True])
def test_without_descriptors_nothing_is_asked(program: JavaProgram, listener: bool) -> None:
    if listener:
        assert works(program.pid)
    for left in (0, 1, 2):
        leave_descriptors(program.pid, left)
        with pytest.raises(TargetExhausted, match=r"descriptors? left of \d+ by its limit of open"):
            jvmti.attach(program.pid, timeout=60)
        with pytest.raises(TargetExhausted):
            protocol_version(find(program.pid), timeout=60)
        found = checks(program.pid)
        assert (found["descriptors"], found["answers"]) == (False, False)
    assert not Path(f"/tmp/.attach_pid{program.pid}").exists()
    give_descriptors_back(program.pid)
    assert checks(program.pid)["descriptors"]
    assert works(program.pid)
    assert goes_on(program)


def test_a_listener_that_had_no_descriptor_is_replaced(program: JavaProgram) -> None:
    """Other tools do not look: HotSpot's listener ends when it cannot take their connection."""
    assert works(program.pid)
    leave_descriptors(program.pid, 0)
    # Waiting for the first of them, the kernel has a descriptor put aside already.
    for _ in range(2):
        with socket.socket(socket.AF_UNIX) as careless:
            careless.connect(f"/tmp/.java_pid{program.pid}")
    with ProcessHandle(program.pid) as handle:
        until = time.monotonic() + 60
        while handle.thread_states(("Attach Listener",)):
            assert time.monotonic() < until, "the listener lives"
            time.sleep(0.01)
    give_descriptors_back(program.pid)
    assert works(program.pid)
    assert "java.vm.name" in command(find(program.pid), "properties", timeout=60)
    assert goes_on(program)


class PidsGroup:
    """A control group for one process that limits its threads."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def leave(self, count: int) -> None:
        used = int((self.place / "pids.current").read_text())
        (self.place / "pids.max").write_text(str(used + count))

    def give_back(self) -> None:
        (self.place / "pids.max").write_text("max")


@pytest.fixture
def group(program: JavaProgram) -> Iterator[PidsGroup]:
    mounted = Path("/sys/fs/cgroup")
    top = mounted / "pids" if (mounted / "pids").is_dir() else mounted
    place = top / f"jvmti-test-{os.getpid()}-{time.monotonic_ns()}"
    try:
        place.mkdir()
        (place / "cgroup.procs").write_text(str(program.pid))
        (place / "pids.max").write_text("max")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield PidsGroup(place)
    program.kill()
    until = time.monotonic() + 30
    while place.exists():
        try:
            place.rmdir()
        except OSError:
            assert time.monotonic() < until, f"{place} is still in use"
            time.sleep(0.05)


@pytest.mark.parametrize("listener", [False, True])
def test_without_threads_nothing_is_asked(
    program: JavaProgram, group: PidsGroup, listener: bool
) -> None:
    """A JVM that cannot start its attach listener ends at once."""
    if listener:
        assert works(program.pid)
        time.sleep(0.1)
    for left in (0, 1, 2):
        group.leave(left)
        with pytest.raises(
            TargetExhausted, match=r"threads? left of \d+ by the limit of its contr"
        ):
            jvmti.attach(program.pid, timeout=60)
        if not listener and left < 2:
            with pytest.raises(TargetExhausted):
                protocol_version(find(program.pid), timeout=60)
        assert checks(program.pid)["threads"] is False
        assert goes_on(program)
    group.give_back()
    assert works(program.pid)
    assert checks(program.pid)["threads"]
    assert not any("Failed to start thread" in line for line in program.lines)


def test_a_new_channel_needs_a_thread(program: JavaProgram, group: PidsGroup) -> None:
    with jvmti.attach(program.pid, timeout=60) as vm:
        assert vm.env.get_all_threads()
        seen: list[Any] = []

        def call() -> None:
            try:
                seen.append(vm.env.get_all_threads())
            except jvmti.JvmtiError as error:
                seen.append(error)

        def on_another_thread() -> Any:
            caller = threading.Thread(target=call)
            caller.start()
            caller.join()
            return seen.pop()

        group.leave(0)
        refused = on_another_thread()
        assert isinstance(refused, jvmti.errors.OutOfMemory), refused
        assert "no threads left of" in str(refused)
        assert vm.env.get_all_threads()
        group.give_back()
        assert isinstance(on_another_thread(), list)
        leave_descriptors(program.pid, 0)
        refused = on_another_thread()
        assert isinstance(refused, jvmti.errors.OutOfMemory), refused
        assert "no descriptors left of" in str(refused)
        give_descriptors_back(program.pid)
        assert isinstance(on_another_thread(), list)
    assert not any("Failed to start thread" in line for line in program.lines)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can")
def test_the_limit_of_a_user_counts_all_its_threads(java_program: JavaPrograms) -> None:
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    program = java_program("Witness", jvm_args=SMALL, wrapper=as_nobody)
    program.expect("ready", timeout=60)

    def limit(count: str) -> None:
        command = [*as_nobody, "prlimit", "--pid", str(program.pid), f"--nproc={count}:"]
        subprocess.run(command, check=True)

    with ProcessHandle(program.pid) as handle:
        limit(str(len(os.listdir(f"/proc/{program.pid}/task"))))
        room = limits.threads(handle)
        assert room is not None
        assert room.left == 0
        with pytest.raises(TargetExhausted, match="its user's limit of processes"):
            jvmti.attach(program.pid, timeout=60)
        assert goes_on(program)
        limit(str(resource.getrlimit(resource.RLIMIT_NPROC)[1]))
        assert works(program.pid)
