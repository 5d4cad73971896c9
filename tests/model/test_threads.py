"""Threads and the VM of the model, against java.lang.management in the program and jcmd."""

from __future__ import annotations

import subprocess
import textwrap
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from interrupts import interrupted_after, lost_ones
from jvmti.model.threads.java_thread import Thread
from jvmti.model.threads.thread_fields import FEW, ThreadFields
from jvmti.operations.agent import AgentOperations
from jvmti.target.agent_library import library_for_executable
from prepared import attaching

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def served(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    options = [f"-agentpath:{library_for_executable(jvm.java)}=reserve", "-XX:+StartAttachListener"]
    program = shared_java_program("Served", "one", "two words", jvm_args=options)
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def vm(served: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(served.pid, timeout=30) as attached:
        attached.env_with("can_suspend", "can_get_owned_monitor_info")
        repr([thread.carrier for thread in attached.threads.virtual])
        attached.java_version  # noqa: B018 - what the model looks up once, it keeps
        yield attached
    assert served.running()


@pytest.fixture
def counting(vm: jvmti.VM, served: JavaProgram, request: pytest.FixtureRequest) -> str:
    """The name of a thread of the test's own that counts."""
    name = request.node.originalname
    served.ask(f"start {name}")
    return name


def counts(served: JavaProgram, name: str) -> bool:
    """Whether a thread goes on while another one counts to three."""
    before = int(served.ask(f"count {name}"))
    other = int(served.ask("count http-3"))
    while int(served.ask("count http-3")) < other + 3:
        if int(served.ask(f"count {name}")) > before + 1:
            break
    return int(served.ask(f"count {name}")) > before + 1


def awaited_to_count(served: JavaProgram, name: str) -> None:
    before = int(served.ask(f"count {name}"))
    while int(served.ask(f"count {name}")) < before + 2:
        pass


# ---- the VM --------------------------------------------------------------------------------


def test_the_vm_is_what_its_management_bean_says(vm: jvmti.VM, served: JavaProgram) -> None:
    assert vm.name == served.ask("vm")
    assert vm.java_version == served.ask("version")
    # The launcher takes the first for itself where it chooses among VMs.
    assert served.ask("arguments") in "\t".join(vm.arguments.jvm)
    assert vm.arguments.main == "Served"
    assert vm.arguments.program == ("one", "two words")
    before = int(served.ask("uptime"))
    uptime = vm.uptime
    assert before - 10 <= uptime * 1000 <= int(served.ask("uptime")) + 10


def test_flags_are_those_of_the_management_bean(vm: jvmti.VM, served: JavaProgram) -> None:
    for name in (
        "MaxHeapSize",
        "UseG1GC",
        "HeapDumpPath",
        "MinHeapFreeRatio",
        "StartAttachListener",
    ):
        value, writeable, origin = served.ask(f"flag {name}").rsplit(" ", 2)
        flag = vm.flags.flag(name)
        shown = str(flag.value).lower() if isinstance(flag.value, bool) else str(flag.value)
        assert shown == value
        assert flag.is_manageable == (writeable == "true")
        assert flag.origin.upper().replace(" ", "_") in (origin, "COMMAND_LINE", "DEFAULT")
    assert isinstance(vm.flags["MaxHeapSize"], int)
    assert vm.flags["StartAttachListener"] is True
    assert vm.flags.flag("StartAttachListener").origin == "command line"
    assert len(dict(vm.flags.items())) == len(vm.flags) > 100


def test_a_manageable_flag_is_set_and_no_other(vm: jvmti.VM, served: JavaProgram) -> None:
    vm.flags["HeapDumpOnOutOfMemoryError"] = True
    assert served.ask("flag HeapDumpOnOutOfMemoryError").startswith("true")
    vm.flags["HeapDumpOnOutOfMemoryError"] = False
    assert served.ask("flag HeapDumpOnOutOfMemoryError").startswith("false")
    with pytest.raises(ValueError, match=r"cannot be set while the program runs.*HeapDumpPath"):
        vm.flags["MaxHeapSize"] = 1
    with pytest.raises(TypeError, match="takes an int"):
        vm.flags["MinHeapFreeRatio"] = "forty"
    with pytest.raises(ValueError, match="cannot be 101"):
        vm.flags["MinHeapFreeRatio"] = 101
    with pytest.raises(KeyError, match="MaxHeapSize"):
        vm.flags["MaxHeapSiz"]


def test_diagnostic_commands_are_those_of_jcmd(
    vm: jvmti.VM, served: JavaProgram, jdk: Path
) -> None:
    listed = subprocess.run(
        [jdk / "bin" / "jcmd", str(served.pid), "help"], capture_output=True, text=True, check=True
    ).stdout
    names = [name for name in vm.diagnostic_commands if name in listed.splitlines()]
    assert names == list(vm.diagnostic_commands)
    assert "Thread.print" in names
    assert "-l" in vm.diagnostic_commands["Thread.print"]
    assert '"http-1" ' in vm.diagnostic_command("Thread.print")
    with pytest.raises(KeyError, match=r"Thread\.print"):
        vm.diagnostic_command("Thread.prin")
    with pytest.raises(ValueError, match="nonsense"):
        vm.diagnostic_command("Thread.print nonsense=1")


# ---- suspending ----------------------------------------------------------------------------


def test_a_suspended_thread_stands_still_and_runs_on_at_the_end(
    vm: jvmti.VM, served: JavaProgram
) -> None:
    thread = vm.threads["http-2"]
    with thread.suspended():
        assert thread.is_suspended
        assert not counts(served, "http-2")
    assert not thread.is_suspended
    awaited_to_count(served, "http-2")


def test_suspensions_nest(vm: jvmti.VM, served: JavaProgram) -> None:
    thread, same = vm.threads["http-2"], vm.threads["http-2"]
    with thread.suspended():
        with same.suspended():
            assert thread.is_suspended
        assert thread.is_suspended
        thread.suspend()
        with vm.threads.suspended([thread, vm.threads["blocked"]]) as both:
            assert len(both.threads) == 2
        assert thread.is_suspended
    assert thread.is_suspended
    thread.suspend()
    thread.resume()
    assert thread.is_suspended
    thread.resume()
    assert not thread.is_suspended
    with pytest.raises(jvmti.errors.ThreadNotSuspended, match="has not suspended it"):
        thread.resume()
    awaited_to_count(served, "http-2")


def test_what_somebody_else_has_suspended_stays_so(vm: jvmti.VM, served: JavaProgram) -> None:
    thread = vm.threads["http-2"]
    env = vm.env_with("can_suspend")
    env.suspend_thread(thread)
    with thread.suspended(), vm.threads.suspended([thread]):
        assert thread.is_suspended
    assert thread.is_suspended
    with pytest.raises(jvmti.errors.ThreadSuspended):
        thread.suspend()
    env.resume_thread(thread)
    # And what they resume in between is not suspended again.
    with thread.suspended():
        env.resume_thread(thread)
    awaited_to_count(served, "http-2")


def test_all_threads_are_suspended_but_those_that_are_left(
    vm: jvmti.VM, served: JavaProgram
) -> None:
    main = vm.threads["main"]
    with vm.threads.suspended(leave=[main]) as suspension:
        before = served.ask("count http-2")
        assert {"http-1", "http-2", "http-3", "holder", "blocked"} <= {
            thread.name for thread in suspension.threads
        }
        assert not main.is_suspended
        for thread in vm.threads:
            if thread.name.startswith("http"):
                assert thread.is_suspended
        assert len(vm.threads["http-1"].frames) > 3
        assert served.ask("count http-2") == before
        if served.ask("state unmounted") == "WAITING":
            virtual = suspension._already
            assert virtual == []
    assert not [thread.name for thread in vm.threads if thread.is_suspended]
    assert not [thread.name for thread in vm.threads.virtual if thread.is_suspended]
    awaited_to_count(served, "http-2")


def test_an_exception_leaves_nothing_suspended(vm: jvmti.VM, served: JavaProgram) -> None:
    with pytest.raises(ZeroDivisionError), vm.threads.suspended(leave=[vm.threads["main"]]):
        1 / 0  # noqa: B018
    awaited_to_count(served, "http-2")


@lost_ones
def test_ctrl_c_at_any_moment_leaves_nothing_suspended(vm: jvmti.VM, served: JavaProgram) -> None:
    thread = vm.threads["http-2"]
    for round_ in range(25):
        try:
            with interrupted_after(0.002 + round_ * 0.0001):
                while True:
                    with thread.suspended():
                        pass
        except KeyboardInterrupt:
            pass
        assert not thread.is_suspended
    awaited_to_count(served, "http-2")


def test_a_killed_controller_leaves_nothing_suspended(jvm: Jvm, java_program: JavaPrograms) -> None:
    program = java_program("Served")
    program.expect("ready")
    code = f"""
        import jvmti, sys
        vm = jvmti.attach({program.pid}, timeout=30)
        with vm.threads.suspended(leave=[vm.threads["main"]]):
            print(vm.threads["http-2"].is_suspended, flush=True)
            sys.stdin.read()
    """
    with attaching("-c", textwrap.dedent(code)) as controller:
        assert controller.stdout.readline() == "True\n"
        controller.kill()
    awaited_to_count(program, "http-2")


def test_resuming_may_come_before_suspending(vm: jvmti.VM, served: JavaProgram) -> None:
    """As where Ctrl-C has cut a request off and another channel is faster."""
    thread = vm.threads["http-2"]
    suspension = thread.suspended()
    suspension.suspend()
    key = suspension._key
    operations = AgentOperations(vm._session, vm.env_with("can_suspend")._number)
    suspension.resume()
    suspension.resume()
    assert operations.suspend([thread], key) == [jvmti.errors.ErrorCode.INTERRUPT]
    assert not thread.is_suspended


def test_the_threads_of_the_agent_are_not_suspended(vm: jvmti.VM) -> None:
    with pytest.raises(jvmti.errors.InvalidThread), vm.service_threads()[0].suspended():
        pass


# ---- interrupting and stopping --------------------------------------------------------------


def test_many_threads_are_described_as_by_jvm_ti(vm: jvmti.VM, served: JavaProgram) -> None:
    served.ask("start ä日\U0001f600")
    ended = vm.threads["ä日\U0001f600"]
    ended.interrupt()
    served.ask(f"ended {ended.name}")
    while ended.is_alive:
        time.sleep(0.001)
    threads = list(vm.threads)
    assert len(vm.threads) == len(threads)
    threads += [*vm.threads.virtual, ended]
    expected = [(one.name, one.priority, one.is_daemon) for one in threads]
    assert len({priority for _, priority, _ in expected}) > 2
    fields = ThreadFields(vm)
    assert fields.names(threads) == [name for name, _, _ in expected]
    assert list(fields.described(threads)) == expected
    # Many are not asked for like few.
    many = 1 + FEW // len(threads)
    assert list(fields.described(threads * many)) == expected * many
    snapshot = vm.threads.snapshot(0)
    shown = [(one.name, one.priority, one.is_daemon) for one in snapshot]
    assert shown == expected[: len(snapshot)]


def test_a_thread_is_interrupted(vm: jvmti.VM, served: JavaProgram, counting: str) -> None:
    vm.threads[counting].interrupt()
    assert served.ask(f"ended {counting}").startswith("java.lang.InterruptedException")


def test_a_thread_is_stopped_by_an_exception(
    vm: jvmti.VM, served: JavaProgram, counting: str
) -> None:
    thread = vm.threads[counting]
    thread.stop("java.lang.IllegalStateException", "by hand")
    assert served.ask(f"ended {counting}") == "java.lang.IllegalStateException by hand"
    assert not thread.is_alive
    assert thread.frames == []
    assert thread.group is None
    assert "TERMINATED" in repr(thread)
    assert "TERMINATED" in str(thread)
    for act in (thread.suspend, thread.interrupt, thread.suspended().__enter__):
        with pytest.raises(jvmti.errors.ThreadNotAlive):
            act()
    vm._bootstrap_classes.pop("java/lang/IllegalStateException")


# ---- what they are --------------------------------------------------------------------------


def test_carriers_and_pinned_threads(vm: jvmti.VM, served: JavaProgram, jvm: Jvm) -> None:
    threads = {thread.name: thread for thread in vm.threads.virtual}
    if jvm.feature < 21:
        assert threads == {}
        assert vm.threads["http-1"].carrier is None
        return
    assert threads["unmounted"].carrier is None
    assert not threads["unmounted"].is_pinned
    assert served.ask("state unmounted") == threads["unmounted"].java_state
    carrier = threads["pinned"].carrier
    assert carrier is not None
    assert carrier.name.startswith("ForkJoinPool")
    assert not carrier.is_virtual
    assert threads["pinned"].is_pinned
    assert not vm.threads["http-1"].is_pinned
    assert "Served$Slow.<clinit>" in str(threads["pinned"])
    with threads["unmounted"].suspended():
        assert threads["unmounted"].is_suspended
    assert not threads["unmounted"].is_suspended


def test_running_methods_are_counted_by_thread(vm: jvmti.VM) -> None:
    counts = vm.threads.running_methods()
    by_name = {f"{method.class_name}.{method.name}": n for method, n in counts.items()}
    assert by_name["Served.holdOuter"] == by_name["Served.holdInner"] == 1
    assert by_name["Served$Counter.run"] >= 2
    # Native methods have no code to change.
    assert "jdk.internal.misc.Unsafe.park" not in by_name


def test_groups_are_found_by_name(vm: jvmti.VM, served: JavaProgram) -> None:
    group = vm.thread_groups["of http-1"]
    assert group.name == served.ask("group http-1")
    assert [thread.name for thread in group.threads] == ["http-1"]
    assert group["http-1"] == vm.threads["http-1"]
    assert group.parent == vm.thread_groups["main"]
    assert vm.thread_groups[0].name == "system"
    assert "of http-1" in vm.thread_groups
    tree = str(vm.thread_groups[0])
    assert "\n    main, priority at most 10\n        main (RUNNABLE)" in tree
    assert "\n        of http-1, priority at most 10\n            http-1 (" in tree
    with pytest.raises(KeyError, match="of http-1"):
        vm.thread_groups["of htp-1"]
    with pytest.raises(KeyError, match="http-1"):
        group["htp-1"]


def test_monitors_are_those_that_management_tells(vm: jvmti.VM, served: JavaProgram) -> None:
    holder, blocked = vm.threads["holder"], vm.threads["blocked"]
    reported = dict(one.split("=") for one in served.ask("monitors holder").split())
    assert {one.cls.name for one in holder.owned_monitors} == set(reported.values())
    contended = blocked.contended_monitor
    assert contended is not None
    assert contended.cls.name == reported["holdOuter"] == "Served$Outer"
    assert blocked.owned_monitors == []
    by_frame = {frame.method.name: frame.monitors for frame in holder.frames if frame.monitors}
    assert {name: one.cls.name for name, (one,) in by_frame.items()} == reported
    assert by_frame["holdOuter"][0] == contended


def test_a_thread_prints_itself_with_its_locks(vm: jvmti.VM) -> None:
    lines = str(vm.threads["holder"]).splitlines()
    assert lines[0].startswith('"holder" #')
    assert lines[0].endswith(" prio=5 daemon")
    assert lines[1] == "   java.lang.Thread.State: WAITING (parked)"
    at = next(n for n, line in enumerate(lines) if "at Served.holdOuter(Served.java:" in line)
    assert lines[at + 1].startswith("\t- locked <0x")
    assert lines[at + 1].endswith("(a Served$Outer)")
    assert "\t- waiting to lock <" in str(vm.threads["blocked"])
    assert repr(vm.threads["blocked"]).endswith("BLOCKED>")


def test_threads_and_stacks_are_tables(vm: jvmti.VM, served: JavaProgram) -> None:
    rows = vm.threads.to_arrow().to_pylist()
    holder = next(row for row in rows if row["name"] == "holder")
    reported = served.ask("frames holder").split()
    assert (holder["state"], holder["daemon"]) == ("WAITING", True)
    # Java hides frames of hidden classes, JVM TI does not.
    assert holder["frames"] == len(vm.threads["holder"].frames) >= len(reported)
    assert holder["id"] == vm.threads["holder"].id
    assert holder["top"] == str(vm.threads["holder"].frames[0])
    stacks = vm.threads.stacks()
    table = stacks.to_arrow()
    assert table.column_names == ["thread", "name", "depth", "class", "method", "line"]
    assert table.num_rows == len(stacks)
    shown = [
        f"{row['class']}.{row['method']}:{row['line']}"
        for row in table.to_pylist()
        if row["name"] == "holder" and row["line"] is not None and "Lambda" not in row["class"]
    ]
    assert shown
    assert set(shown) <= set(reported)
    assert vm.threads.stacks(0).to_arrow().num_rows == 0


def test_everything_prints_itself_when_the_session_is_over(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")  # before, its main thread may have no frame
    vm = jvmti.attach(program.pid, timeout=30)
    thread, group, threads = vm.threads["main"], vm.thread_groups[0], vm.threads
    frame = thread.frames[0]
    printed = [thread, group, threads, frame, frame.locals, vm.flags, vm.diagnostic_commands]
    vm.detach()
    for one in printed:
        assert repr(one)
    for one in printed[:2]:
        assert str(one)
    assert isinstance(thread, Thread)


@pytest.mark.parametrize("reserved", [False, True], ids=["attached late", "reserved"])
def test_a_deadlock_says_who_waits_for_whom(
    java_program: JavaPrograms, jvm: Jvm, reserved: bool
) -> None:
    options = [f"-agentpath:{library_for_executable(jvm.java)}=reserve"] if reserved else []
    program = java_program("Deadlock", jvm_args=options)
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        found = vm.deadlocks()
        named = {frozenset(thread.name for thread in one.threads) for one in found}
        assert named == {frozenset(("first", "second")), frozenset(("third", "fourth"))}
        of_monitors = next(one for one in found if "first" in repr(one))
        for one in of_monitors.waiting:
            assert one.owner in of_monitors.threads
            assert one.owner != one.thread
            assert f'"{one.name}" #{one.id} waits for monitor Deadlock$' in str(of_monitors)
        assert "at Deadlock.monitors(Deadlock.java:" in str(of_monitors)
        [owned] = vm.threads["first"].owned_monitors
        assert owned == vm.threads["second"].contended_monitor
        waits = next(one for one in of_monitors.waiting if one.name == "second")
        assert waits.waits_for.key == f"{owned.identity_hash & 0xFFFFFFFF:x}"
