"""What a dump needs room for, and what is said where there is too little: nothing is done then."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import jvms
import jvmti
import programs
from heap.live.test_live_snapshot import left_behind
from jvmti.heap import NotEnoughMemory
from places import emptied

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount, and limit memory"),
]

SMALL = "size=8m"
"""Less than any dump may take."""
PARTS_SINCE = 22
"""The release from which the VM puts parts of a dump beside it."""


def beside_small(*places: str) -> list[str]:
    """A command that runs another with little room in some places, in its own mount namespace."""
    mounts = " && ".join(emptied(place, SMALL) for place in places)
    return ["unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh"]


@pytest.mark.parametrize("small", [("/dev/shm",), ("/tmp",), ("/dev/shm", "/tmp")])
def test_parts_of_a_dump_go_where_there_is_room(
    small: tuple[str, ...], java_program: programs.JavaPrograms, jvm: jvms.Jvm, tmp_path: Path
) -> None:
    started = java_program("Holdings", wrapper=beside_small(*small), jvm_args=["-Xmx64m"])
    started.expect("ready")
    command = [sys.executable, "-m", "jvmti", "heap", "dump", str(started.pid)]
    path = tmp_path / "heap.hprof"
    with jvmti.attach(started.pid) as vm:
        if len(small) == 1 or jvm.feature < PARTS_SINCE:
            assert len(vm.heap.snapshot().objects("Holdings$Order")) == 1000
        else:
            with pytest.raises(NotEnoughMemory, match=r"/dev/shm or /tmp .* nothing was done"):
                vm.heap.snapshot()
            ended = subprocess.run(
                [*command, str(path)], capture_output=True, text=True, timeout=60, check=False
            )
            assert ended.returncode == 1
            assert re.fullmatch(r"jvmti: the VM writes .*\n", ended.stderr)
            assert not path.exists()
        # The session goes on.
        assert vm.heap.histogram(classes="Holdings$Order").count.tolist() == [1000]
    assert left_behind(started.pid) == []


class Group:
    """A control group that limits memory, with one in it for the processes."""

    def __init__(self, top: Path, limit: str) -> None:
        self.outer = top / f"jvmti-test-{os.getpid()}-{time.monotonic_ns()}"
        self.inner = self.outer / "inner"
        self._limit = self.outer / limit

    def limit(self, size: int) -> None:
        self._limit.write_text(str(size))


@pytest.fixture
def group() -> Iterator[Group]:
    mounted = Path("/sys/fs/cgroup")
    old = (mounted / "memory").is_dir()
    made = Group(mounted / "memory", "memory.limit_in_bytes") if old else Group(
        mounted, "memory.max"
    )  # fmt: skip
    try:
        made.outer.mkdir()
        if not old:
            (made.outer / "cgroup.subtree_control").write_text("+memory")
        made.inner.mkdir()
        made.limit(1 << 40)
    except OSError as error:
        with contextlib.suppress(OSError):
            made.outer.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    yield made
    for place in (made.inner, made.outer):
        # The processes may take a moment to be gone.
        until = time.monotonic() + 30
        while place.exists():
            try:
                place.rmdir()
            except OSError:
                assert time.monotonic() < until, f"{place} is still in use"
                time.sleep(0.05)


def test_the_memory_limit_of_the_target_is_looked_at(
    group: Group, java_program: programs.JavaPrograms
) -> None:
    started = java_program("Holdings", jvm_args=["-Xmx64m"])
    started.expect("ready")
    # What the program has taken so far does not count for the new group.
    (group.inner / "cgroup.procs").write_text(str(started.pid))
    try:
        with jvmti.attach(started.pid) as vm:
            group.limit(60 << 20)
            with pytest.raises(
                NotEnoughMemory, match=r"the target's memory limit leaves \d\d MB; nothing"
            ):
                vm.heap.snapshot()
            assert left_behind(started.pid) == []
            group.limit(2 << 30)
            assert len(vm.heap.snapshot().objects("Holdings$Order")) == 1000
    finally:
        started.process.kill()
        started.process.wait()


@pytest.fixture
def unified() -> Iterator[Path]:
    """A control group of version 2, with one in it for a process."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    tops = [Path(words[1]) for words in mounts if words[2] == "cgroup2"]
    if not tops:
        pytest.skip("no control groups of version 2 are mounted here")
    outer = tops[0] / f"jvmti-test-{os.getpid()}-{time.monotonic_ns()}"
    try:
        (outer / "inner").mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield outer
    (outer / "inner").rmdir()
    outer.rmdir()


LAID_OUT = """
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir -p /sys/fs/cgroup$1/inner
cd /sys/fs/cgroup$1
echo $2 >memory.max
echo $((30 << 20)) >memory.current
echo $3 >inner/memory.max
echo $((20 << 20)) >inner/memory.current
shift 3
cd /
exec "$@"
"""
"""Where the memory of this machine is limited by groups of version 1, those of version 2 have no
such files: so a process sees them here as the kernel has them elsewhere. The root has none."""


@pytest.mark.parametrize(
    ("outer", "inner", "leaves"),
    [(80 << 20, "max", 50), (1 << 40, 70 << 20, 50), ("max", "max", None)],
)
def test_limits_of_unified_groups_are_looked_at(
    unified: Path,
    outer: int | str,
    inner: int | str,
    leaves: int | None,
    program: programs.JavaProgram,
    tmp_path: Path,
) -> None:
    (unified / "inner" / "cgroup.procs").write_text(str(program.pid))
    path = tmp_path / "heap.hprof"
    try:
        ended = subprocess.run(
            [
                *("unshare", "--mount", "sh", "-ec", LAID_OUT, "sh"),
                *(f"/{unified.name}", str(outer), str(inner)),
                *(sys.executable, "-m", "jvmti", "heap", "dump"),
                *(str(program.pid), str(path)),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        (unified.parent / "cgroup.procs").write_text(str(program.pid))
    if leaves is None:
        assert ended.returncode == 0, ended.stderr
        assert path.stat().st_size > 1 << 20
    else:
        assert ended.returncode == 1
        assert f"the target's memory limit leaves {leaves} MB; nothing was done" in ended.stderr
        assert not path.exists()
    assert left_behind(program.pid) == []
