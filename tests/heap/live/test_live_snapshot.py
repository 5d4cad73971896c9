"""Snapshots of a running VM: dumped into memory, and nothing left of that."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

import jvms
import jvmti
import programs
from heap.conftest import attach_command, histogram_of
from jvmti.heap.errors import NotEnoughMemory
from jvmti.liveheap.dumping import dump
from jvmti.liveheap.pauses import PauseTooLong
from jvmti.operations.agent import AgentOperations
from prepared import attaching

CONTROLLER = """
import sys, jvmti
vm = jvmti.attach(int(sys.argv[1]))
vm.heap.pauses.bytes_in_use()
print("ready", flush=True)
while True:
    vm.heap.snapshot()
"""


def kept(pid: int) -> set[str]:
    """Dumps that the process keeps open, and its directories for parts of one."""
    links = set()
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.add(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
        except FileNotFoundError:
            continue  # closed meanwhile
    return {link for link in links if "heap dump" in link} | {
        str(path)
        for place in ("dev/shm", "tmp")
        for path in Path(f"/proc/{pid}/root/{place}").glob(f"jvmti-{pid}-??????")
    }


def left_behind(pid: int) -> list[str]:
    # The agent may still end the session of a controller that is gone.
    deadline = time.monotonic() + 20
    while (stayed := kept(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return sorted(stayed)


def test_a_snapshot_has_what_the_vm_counts(program: programs.JavaProgram, vm: jvmti.VM) -> None:
    attach_command(program.pid, "jcmd", "GC.run")
    snapshot = vm.heap.snapshot(unreachable="keep")
    counted = histogram_of(program.pid)
    assert snapshot.fault is None
    assert 0 < snapshot.pause < 30
    for name in ("Holdings$Order", "Holdings$Item"):
        assert len(snapshot.objects(name)) == counted[name][0] > 0
        row = next(row for row in snapshot.histogram() if row.name == name)
        assert (row.count, row.bytes) == counted[name]
    assert left_behind(program.pid) == []


def test_garbage_is_left_out_without_a_collection(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm:
        kept = vm.heap.snapshot(unreachable="keep")
        dropped = vm.heap.snapshot()
        collected = vm.heap.snapshot(gc=True, unreachable="keep")
    assert dropped.unreachable_count > 0
    assert len(dropped) < len(kept)
    # What the roots lead to is what a collection leaves, but for what attaching makes itself.
    assert abs(len(dropped) - (len(collected) - collected.unreachable_count)) < 2000


def test_a_snapshot_outlives_the_program(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm:
        snapshot = vm.heap.snapshot()
    count = len(snapshot.objects("Holdings$Order"))
    changing.process.kill()
    changing.process.wait()
    assert len(snapshot.objects("Holdings$Order")) == count > 0
    assert snapshot.objects("java.lang.String").strings()


@pytest.mark.parametrize("collector", ["Serial", "Parallel", "G1", "Z", "Shenandoah"])
def test_every_collector_dumps(
    collector: str, java_program: programs.JavaPrograms, jvm: jvms.Jvm
) -> None:
    options = ["-Xmx256m", f"-XX:+Use{collector}GC"]
    probe = subprocess.run(
        [jvm.java, *jvm.args, "-XX:+UnlockExperimentalVMOptions", *options, "-version"],
        capture_output=True,
        check=False,
    )
    if probe.returncode:
        pytest.skip(f"JVM {jvm.name} has no {collector}")
    started = java_program("Holdings", jvm_args=["-XX:+UnlockExperimentalVMOptions", *options])
    started.expect("ready")
    with jvmti.attach(started.pid) as vm:
        snapshot = vm.heap.snapshot()
        assert snapshot.fault is None
        assert len(snapshot.objects("Holdings$Order")) > 0
    assert left_behind(started.pid) == []


def test_what_there_is_no_room_for_is_refused_before(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    with pytest.raises(NotEnoughMemory, match="nothing was done"):
        dump(vm, gc=False, used=1 << 50, timeout=10)
    assert left_behind(program.pid) == []


def test_a_pause_that_is_too_long_is_refused_before(vm: jvmti.VM) -> None:
    with pytest.raises(PauseTooLong):
        vm.heap.snapshot(max_pause=0)


def test_a_name_that_was_not_lent_is_refused(vm: jvmti.VM) -> None:
    operations = AgentOperations(vm._session)
    with pytest.raises(jvmti.JvmtiError, match="no temporary file has this name"):
        operations.close_temporary_file("/etc/passwd")
    with pytest.raises(jvmti.JvmtiError, match="no file came along"):
        operations.open_temporary_file(0)


def test_a_directory_for_parts_goes_with_the_session(program: programs.JavaProgram) -> None:
    with (
        jvmti.attach(program.pid) as vm,
        open(os.memfd_create("jvmti heap dump"), "rb") as file,
    ):
        AgentOperations(vm._session, descriptor=file.fileno()).open_temporary_file(1)
        assert len(kept(program.pid)) == 2
    assert left_behind(program.pid) == []


@pytest.mark.parametrize("after", [0.0, 0.02, 0.1, 0.3])
def test_a_controller_killed_in_a_dump_leaves_nothing(
    after: float, changing: programs.JavaProgram
) -> None:
    with attaching("-c", CONTROLLER, changing.pid) as controller:
        assert controller.stdout.readline() == "ready\n"
        time.sleep(after)
        controller.kill()
    assert left_behind(changing.pid) == []
    with jvmti.attach(changing.pid) as vm:
        assert len(vm.heap.snapshot().objects("Holdings$Order")) > 0


@pytest.mark.parametrize("collector", ["Serial", "Parallel", "G1"])
def test_rows_of_a_snapshot_are_live_objects(
    collector: str, java_program: programs.JavaPrograms
) -> None:
    started = java_program("Holdings", jvm_args=["-Xmx256m", f"-XX:+Use{collector}GC"])
    started.expect("ready")
    with jvmti.attach(started.pid) as vm:
        snapshot = vm.heap.snapshot()
        orders = snapshot.objects("Holdings$Order")
        found = snapshot.live(orders)
        if found.collections == 0:
            assert found.coverage >= 0.95
        numbers = orders["number"].tolist()
        field = vm.jni.get_field_id(vm.find_class("Holdings$Order"), "number", "I")
        same = [
            vm.jni.get_int_field(one, field) == number
            for one, number in zip(found.objects, numbers, strict=True)
            if one is not None
        ]
        assert sum(same) >= 0.95 * len(orders)
        names = snapshot.objects("java.lang.String")[:5000:50]
        texts = names.strings()
        strings = snapshot.live(names)
        alike = sum(
            one is not None and vm.jni.get_string_chars(one) == text
            for one, text in zip(strings.objects, texts, strict=True)
        )
        assert alike >= 0.95 * len(names)
        assert len(snapshot.live(snapshot.objects("java.lang.Class")[:3]).objects) == 3


def test_a_file_has_no_live_objects(vm: jvmti.VM, tmp_path: Path) -> None:
    vm.heap.snapshot().save(tmp_path / "heap.hprof")
    snapshot = jvmti.heap.open(tmp_path / "heap.hprof")
    with pytest.raises(ValueError, match="of a file"):
        snapshot.live(snapshot.objects("Holdings$Order"))
