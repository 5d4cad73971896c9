"""Interrupted, overdue, forked, hung and dead: each gives one clear exception and no more."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
import programs
from interrupts import interrupted_after, lost_ones
from jvmti.interface.errors import CallTimeout, SessionClosed, TargetLost
from prepared import attaching
from robustness import steady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jvms import Jvm


@pytest.fixture(scope="module")
def target(shared_java_program: programs.JavaPrograms) -> steady.Steady:
    return steady.launch(shared_java_program)


@pytest.fixture
def vm(target: steady.Steady) -> Iterator[jvmti.VM]:
    with jvmti.attach(target.pid) as attached:
        yield attached


def steady_class(vm: jvmti.VM) -> Any:
    env = vm.env
    for one in env.get_loaded_classes():
        if env.get_class_signature(one).signature == "LSteady;":
            return one
    raise AssertionError("the program has no class Steady")


def press_ctrl_c_after(seconds: float) -> None:
    """Send this process the signal, as the terminal does; it reaches the main thread."""
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


def pause_of(vm: jvmti.VM) -> Callable[[int], None]:
    """A call that takes that many milliseconds in the VM."""
    cls = steady_class(vm)
    pause = vm.jni.get_static_method_id(cls, "pause", "(J)V")
    return lambda milliseconds: vm.jni.call_static_void_method(cls, pause, [milliseconds])


def _all_stopped(pid: int) -> bool:
    """Whether a stop has reached each thread: the one that answers may be the last."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return all("\nState:\tT" in (one / "status").read_text() for one in threads)


def test_ctrl_c_in_the_middle_of_a_call_leaves_the_session_usable(vm: jvmti.VM) -> None:
    pause = pause_of(vm)
    for number in range(20):
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c_after(0.01 + 0.01 * (number % 3))
            pause(60)
            time.sleep(5)
        assert vm.env.get_phase() == 4
        assert len(vm.env.get_all_threads()) > 5


# Between the making of a socket and its assignment an interrupt leaves it to the collector, which
# closes it and says so.
@lost_ones
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_ctrl_c_between_quick_calls_never_mixes_up_replies(vm: jvmti.VM) -> None:
    threads = vm.env.get_all_threads()
    names = [vm.env.get_thread_info(one).name for one in threads]
    interrupted = 0
    for number in range(150):
        try:
            with interrupted_after(0.002 + number % 7 / 5000):
                while True:
                    for thread, name in zip(threads, names, strict=True):
                        assert vm.env.get_thread_info(thread).name == name
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted == 150


@lost_ones
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_ctrl_c_while_channels_are_opened_leaves_the_session_usable(vm: jvmti.VM) -> None:
    session = vm.env._session
    interrupted = 0
    for number in range(100):
        try:
            with interrupted_after(0.0005 + number % 7 / 5000):
                while True:
                    session.adopt(None)  # the next call opens a channel
                    vm.env.get_phase()
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted == 100
    assert vm.env.get_phase() == 4


def test_a_call_that_overruns_its_limit_is_shown_as_running_until_it_returns(
    vm: jvmti.VM,
) -> None:
    pause = pause_of(vm)
    cls = steady_class(vm)
    method = vm.jni.get_static_method_id(cls, "pause", "(J)V")
    limited = vm.jni.with_timeout(0.1)
    begun = time.monotonic()
    with pytest.raises(CallTimeout, match="call_static_void_method"):
        limited.call_static_void_method(cls, method, [4000])
    assert time.monotonic() - begun < 4
    assert vm.env.get_phase() == 4  # on another channel
    assert vm.stats.running == ("call_static_void_method",)
    assert steady.wait_until(lambda: vm.stats.running == ())
    vm.timeout = 0.1
    with pytest.raises(CallTimeout):
        pause(300)
    vm.timeout = None
    assert vm.env.get_phase() == 4


def test_a_late_reply_is_never_taken_for_another(vm: jvmti.VM) -> None:
    pause = pause_of(vm)
    for _ in range(10):
        vm.timeout = 0.01
        with pytest.raises(CallTimeout):
            pause(40)
        vm.timeout = None
        assert vm.env.get_error_name(99) == "JVMTI_ERROR_MUST_POSSESS_CAPABILITY"


def test_a_late_reply_of_a_vm_that_is_held_is_never_taken_for_another(jvm: Jvm) -> None:
    """It has one channel only, for all calls."""
    vm = jvmti.launch([jvm.java, *jvm.args, "-version"], hold=True, stdout=-3, stderr=-3)
    assert vm.popen is not None
    os.kill(vm.popen.pid, signal.SIGSTOP)
    assert steady.wait_until(lambda: _all_stopped(vm.popen.pid))  # type: ignore[union-attr]
    try:
        vm.timeout = 0.1
        for _ in range(2):
            with pytest.raises(CallTimeout):
                vm.env.get_error_name(98)
        os.kill(vm.popen.pid, signal.SIGCONT)
        vm.timeout = None
        assert vm.env.get_error_name(99) == "JVMTI_ERROR_MUST_POSSESS_CAPABILITY"
    finally:
        os.kill(vm.popen.pid, signal.SIGCONT)
        vm.detach()
        assert vm.popen.wait(60) == 0


def test_a_hung_vm_costs_no_more_than_the_time_limit(target: steady.Steady, vm: jvmti.VM) -> None:
    classes = vm.env.get_loaded_classes()
    os.kill(target.pid, signal.SIGSTOP)
    assert steady.wait_until(lambda: _all_stopped(target.pid))
    try:
        vm.timeout = 0.2
        for call in (vm.env.get_all_threads, lambda: vm.env.map.get_class_status(classes * 500)):
            begun = time.monotonic()
            with pytest.raises(CallTimeout):
                call()
            assert time.monotonic() - begun < 20
    finally:
        os.kill(target.pid, signal.SIGCONT)
        vm.timeout = None
    assert vm.env.get_phase() == 4
    assert steady.wait_until(lambda: vm.stats.running == ())


def test_a_forked_child_cannot_use_the_session(target: steady.Steady, vm: jvmti.VM) -> None:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                vm.env.get_phase()
                answer = b"answered"
            except SessionClosed as error:
                answer = str(error).encode()
            vm.detach()
            os.write(writes, answer)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writes)
    assert b"fork" in os.read(reads, 1000)
    os.close(reads)
    assert vm.env.get_phase() == 4


def test_a_worker_process_cannot_use_the_session(vm: jvmti.VM) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def work() -> None:
        try:
            vm.env.get_phase()
            answers.put("answered")
        except SessionClosed as error:
            answers.put(str(error))

    process = context.Process(target=work)
    process.start()
    process.join(30)
    assert "fork" in answers.get()
    assert vm.env.get_phase() == 4


def test_a_forked_child_does_not_keep_the_session_alive(target: steady.Steady) -> None:
    jvmti.attach(target.pid).detach()
    rest = target.at_rest()
    program = (
        "import jvmti, os, sys, time\n"
        "vm = jvmti.attach(int(sys.argv[1])); vm.env.get_phase()\n"
        "if os.fork() == 0: time.sleep(60); os._exit(0)\n"
        "print('forked', flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(target.pid)],
        stdout=subprocess.PIPE,
        **programs.OWN_GROUP,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"forked\n"
    parent.kill()
    parent.wait()
    try:
        assert target.settles_at(rest, 5), (rest, target.footprint())
    finally:
        os.killpg(parent.pid, signal.SIGKILL)  # the child: a process group of the test's own
        parent.stdout.close()


@pytest.mark.parametrize("how", ["kill -9", "System.exit", "halt"])
def test_a_vm_that_dies_in_a_call_is_lost_at_once_for_every_thread(
    how: str, java_program: programs.JavaPrograms
) -> None:
    doomed = steady.launch(java_program)
    vm = jvmti.attach(doomed.pid, timeout=60)
    pause = pause_of(vm)
    seen: list[tuple[type[BaseException], float]] = []

    def call() -> None:
        try:
            pause(60_000)
        except jvmti.Error as error:
            seen.append((type(error), time.monotonic()))

    threads = [threading.Thread(target=call) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    begun = time.monotonic()
    if how == "kill -9":
        os.kill(doomed.pid, signal.SIGKILL)
    elif how == "halt":
        doomed.program.send("halt")
    else:
        cls = steady_class(vm)
        leave = vm.jni.get_static_method_id(cls, "leave", "(I)V")
        with pytest.raises(TargetLost):
            vm.jni.call_static_void_method(cls, leave, [3])
    for thread in threads:
        thread.join(10)
    assert [kind for kind, _ in seen] == [TargetLost] * 5
    assert max(at for _, at in seen) - begun < 2
    with pytest.raises((TargetLost, SessionClosed)):
        vm.env.get_phase()
    with pytest.raises(SessionClosed):
        vm.env.get_phase()
    vm.detach()
    vm.detach()
    assert steady.wait_until(lambda: not doomed.program.running())


def test_detaching_wakes_threads_that_are_in_calls(target: steady.Steady) -> None:
    vm = jvmti.attach(target.pid)
    vm.env.add_capabilities({"can_signal_thread"})
    pause = pause_of(vm)
    seen: list[BaseException] = []
    monitor = vm.env.create_raw_monitor("waited for")

    def sleep() -> None:
        try:
            pause(1000)
        except jvmti.Error as error:
            seen.append(error)

    def wait() -> None:
        try:
            vm.env.raw_monitor_enter(monitor)
            vm.env.raw_monitor_wait(monitor, 0)
        except jvmti.Error as error:
            seen.append(error)

    threads = [threading.Thread(target=body) for body in (sleep, sleep, wait, wait)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    vm.detach()
    for thread in threads:
        thread.join(10)
    assert len(seen) == 4
    assert all(isinstance(error, SessionClosed) for error in seen), seen
    vm.detach()
    with pytest.raises(SessionClosed, match="detached"):
        vm.env.get_phase()
    assert vm.stats.agent is None


def test_a_channel_that_opens_while_its_session_ends_is_refused(target: steady.Steady) -> None:
    for events in (False, True):
        vm = jvmti.attach(target.pid)
        vm.detach()
        with pytest.raises(SessionClosed):
            vm._session.open(events=events)


def test_a_solo_capability_names_who_holds_it(target: steady.Steady, vm: jvmti.VM) -> None:
    vm.env.add_capabilities({"can_suspend"})
    with jvmti.attach(target.pid) as other:
        with pytest.raises(jvmti.errors.NotAvailable, match=rf"can_suspend.*{os.getpid()}"):
            other.env.add_capabilities({"can_suspend"})
        vm.env.relinquish_capabilities({"can_suspend"})
        other.env.add_capabilities({"can_suspend"})


CALLING = """
import sys, jvmti
vm = jvmti.attach(int(sys.argv[1]), timeout=30)
vm.env.add_capabilities({"can_suspend", "can_generate_breakpoint_events"})
with vm.breakpoint("Steady$Prey", "deeper") as stops:
    stop = stops.next()
    print("called", flush=True)
    vm.find_class("Steady").call("pause", 100_000)
"""


def test_a_call_that_goes_on_keeps_no_solo_capability_of_a_controller_that_is_gone(
    java_program: programs.JavaPrograms,
) -> None:
    target = steady.launch(java_program)
    with attaching("-c", CALLING, target.pid) as gone:
        assert gone.stdout.readline() == "called\n"
        time.sleep(0.5)
        gone.kill()
    with jvmti.attach(target.pid) as vm:
        wanted = {"can_suspend", "can_generate_breakpoint_events"}
        until = time.monotonic() + 30
        while True:
            try:
                vm.env.add_capabilities(wanted)
                break
            except jvmti.errors.NotAvailable:
                assert time.monotonic() < until
                time.sleep(0.1)
        with vm.breakpoint("Steady$Prey", "deeper") as stops:
            stops.next(timeout=30)


def test_a_thread_stays_suspended_for_no_session_that_gave_the_capability_back(
    target: steady.Steady,
) -> None:
    with jvmti.attach(target.pid) as vm, jvmti.attach(target.pid) as other:
        vm.env.add_capabilities({"can_suspend"})
        env = vm.env
        prey = next(
            one for one in env.get_all_threads() if env.get_thread_info(one).name == "prey-1"
        )
        env.suspend_thread(prey)
        env.relinquish_capabilities({"can_suspend"})
        assert env.get_thread_state(prey) & 0x100000
        other.env.add_capabilities({"can_suspend"})
        vm.detach()
        assert target.prey_runs()


def test_a_breakpoint_goes_with_the_environment_that_set_it(target: steady.Steady) -> None:
    with jvmti.attach(target.pid) as vm:
        cls = steady_class(vm)
        method = vm.jni.get_static_method_id(cls, "pause", "(J)V")
        for _ in range(3):
            env = vm.new_env()
            env.add_capabilities({"can_generate_breakpoint_events"})
            env.set_breakpoint(method, 0)  # a second one there would be a duplicate
            env.dispose_environment()
        vm.env.dispose_environment()
        assert vm.stats.agent is not None
        assert vm.jni.get_version() > 0
        with pytest.raises(jvmti.errors.InvalidEnvironment):
            vm.env.get_phase()
        assert vm.new_env().get_phase() == 4


def test_fifty_threads_at_once_get_their_own_answers_and_give_their_threads_back(
    target: steady.Steady, vm: jvmti.VM
) -> None:
    threads = vm.env.get_all_threads()
    rest = target.at_rest()
    names = [vm.env.get_thread_info(one).name for one in threads]
    wrong: list[str] = []
    barrier = threading.Barrier(50)

    def call(number: int) -> None:
        barrier.wait()
        which = number % len(threads)
        for _ in range(100):
            name = vm.env.get_thread_info(threads[which]).name
            if name != names[which]:
                wrong.append(name)

    workers = [threading.Thread(target=call, args=(number,)) for number in range(50)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert wrong == []
    assert target.settles_at(rest), (rest, target.footprint())
    assert vm.stats.agent is not None
    assert vm.stats.agent.channels == 1


def test_one_process_may_have_several_sessions_on_several_vms(
    target: steady.Steady, java_program: programs.JavaPrograms
) -> None:
    second = steady.launch(java_program)
    with (
        jvmti.attach(target.pid) as one,
        jvmti.attach(target.pid) as two,
        jvmti.attach(second.pid) as three,
    ):
        assert one.stats.agent is not None
        assert one.stats.agent.sessions == 2
        thread = one.env.get_all_threads()[0]
        with pytest.raises(jvmti.errors.ForeignHandle):
            two.env.get_thread_state(thread)
        one.detach()
        assert two.env.get_phase() == three.env.get_phase() == 4
