"""The faithful form of events: callbacks that get everything, as those in C are.

`Env.set_event_callbacks` and `Env.set_event_notification_mode` are functions of the specification,
and what these send is what the VM sends: what the controller's own calls cause as well, and, after
the fact, what happens while the VM is stopped.  `Env.on` leaves both out.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from jvmti.env.events import EVENTS
from jvmti.interface.constants import Event, EventMode
from jvmti.layouts.conversations import OwnWork
from prepared import attaching

#: These come on threads of their own, which are the program's even if we have started them.
OF_NEW_THREADS = {
    Event.THREAD_START,
    Event.THREAD_END,
    Event.VIRTUAL_THREAD_START,
    Event.VIRTUAL_THREAD_END,
}
OWN = {
    cls.declaration.constant
    for cls in EVENTS.values()
    if cls.declaration.own_work is not OwnWork.REPORTED
} - OF_NEW_THREADS


class Work:
    """What this process does in the target, and what of it causes each event."""

    def __init__(self, vm: jvmti.VM) -> None:
        self.vm = vm
        self.jni = jni = vm.jni
        self.integer = jni.find_class("java/lang/Integer")
        self.atomic = jni.find_class("java/util/concurrent/atomic/AtomicInteger")
        self.object_class = jni.find_class("java/lang/Object")
        self.signum = jni.get_static_method_id(self.integer, "signum", "(I)I")
        self.value = jni.get_field_id(self.atomic, "value", "I")
        self.made = jni.new_object(self.atomic, jni.get_method_id(self.atomic, "<init>", "()V"))
        self.contended = threading.Event()
        self.unloaded = ["SubmissionPublisher", "Exchanger", "CyclicBarrier"]

    def call(self) -> None:
        self.jni.call_static_int_method(self.integer, self.signum, [5])

    def step(self) -> None:
        vm, event = self.vm, Event.SINGLE_STEP
        vm.env.set_event_notification_mode(EventMode.ENABLE, event, vm.env.get_current_thread())
        self.call()
        vm.env.set_event_notification_mode(EventMode.DISABLE, event, vm.env.get_current_thread())

    def breakpoint(self) -> None:
        self.vm.env.set_breakpoint(self.signum, 0)
        self.call()
        self.vm.env.clear_breakpoint(self.signum, 0)

    def field(self) -> None:
        env = self.vm.env
        env.set_field_access_watch(self.atomic, self.value)
        env.set_field_modification_watch(self.atomic, self.value)
        # By Java code: what JNI does to a field is reported where a Java method has called it.
        self.jni.call_void_method(
            self.made, self.jni.get_method_id(self.atomic, "set", "(I)V"), [3]
        )
        self.jni.call_int_method(self.made, self.jni.get_method_id(self.atomic, "get", "()I"))
        env.clear_field_access_watch(self.atomic, self.value)
        env.clear_field_modification_watch(self.atomic, self.value)

    def load(self) -> None:
        self.jni.find_class(f"java/util/concurrent/{self.unloaded.pop()}")

    def bind(self) -> None:
        adler = self.jni.find_class("java/util/zip/Adler32")
        update = self.jni.get_static_method_id(adler, "update", "(II)I")
        self.jni.call_static_int_method(adler, update, [1, 2])

    def throw(self) -> None:
        decode = self.jni.get_static_method_id(
            self.integer, "decode", "(Ljava/lang/String;)Ljava/lang/Integer;"
        )
        lowest = self.jni.new_string("-2147483648")
        # Read without its sign, this is too much; that is caught, and it is read with it.
        self.jni.call_static_object_method(self.integer, decode, [lowest])

    def wait(self) -> None:
        wait = self.jni.get_method_id(self.object_class, "wait", "(J)V")
        self.jni.monitor_enter(self.made)
        self.jni.call_void_method(self.made, wait, [1])
        self.jni.monitor_exit(self.made)

    def contend(self) -> None:
        """Until the owner of the monitor gets the event that somebody else wants it."""
        entered = threading.Event()

        def hold() -> None:
            self.jni.monitor_enter(self.made)
            entered.set()
            self.contended.wait(60)
            self.jni.monitor_exit(self.made)

        holder = threading.Thread(target=hold)
        holder.start()
        assert entered.wait(60)
        self.jni.monitor_enter(self.made)
        self.jni.monitor_exit(self.made)
        holder.join()

    def allocate(self) -> None:
        self.vm.env.set_heap_sampling_interval(0)
        for _ in range(10):  # the interval before is left behind first
            self.jni.new_long_array(100_000)

    def reflect(self) -> None:
        cls = self.jni.find_class("java/lang/Class")
        declared = self.jni.get_method_id(cls, "getDeclaredFields", "()[Ljava/lang/reflect/Field;")
        self.jni.call_object_method(self.jni.find_class("java/util/zip/CRC32"), declared)

    def causing(self, event: Event) -> Callable[[], None]:
        match event:
            case Event.METHOD_ENTRY | Event.METHOD_EXIT:
                return self.call
            case Event.SINGLE_STEP:
                return self.step
            case Event.BREAKPOINT:
                return self.breakpoint
            case Event.FIELD_ACCESS | Event.FIELD_MODIFICATION:
                return self.field
            case Event.CLASS_FILE_LOAD_HOOK | Event.CLASS_LOAD | Event.CLASS_PREPARE:
                return self.load
            case Event.NATIVE_METHOD_BIND:
                return self.bind
            case Event.EXCEPTION | Event.EXCEPTION_CATCH:
                return self.throw
            case Event.MONITOR_WAIT | Event.MONITOR_WAITED:
                return self.wait
            case Event.MONITOR_CONTENDED_ENTER | Event.MONITOR_CONTENDED_ENTERED:
                return self.contend
            case Event.SAMPLED_OBJECT_ALLOC:
                return self.allocate
            case Event.VM_OBJECT_ALLOC:
                return self.reflect
        raise AssertionError(f"what causes {event!r}?")


@pytest.fixture(scope="module")
def own_vm(witness: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session whose first environment has every capability."""
    with jvmti.attach(witness.pid, capabilities="all", timeout=30) as attached:
        attached.timeout = 60
        yield attached
        assert attached.handler_errors == []
    assert witness.ask("state parked") == "WAITING"


@pytest.fixture(scope="module")
def work(own_vm: jvmti.VM) -> Work:
    return Work(own_vm)


@pytest.fixture
def env(own_vm: jvmti.VM) -> Iterator[jvmti.Env]:
    """The environment, whose callbacks go with the test."""
    yield own_vm.env
    own_vm.env.set_event_callbacks(None)


def switched(env: jvmti.Env, event: Event, mode: EventMode) -> None:
    if event is Event.SINGLE_STEP:
        return  # by the work itself, for its own thread
    thread = env.get_current_thread() if event.name.startswith("METHOD_E") else None
    env.set_event_notification_mode(mode, event, thread)


@pytest.mark.parametrize("event", sorted(OWN), ids=lambda event: event.name)
def test_callbacks_receive_events_of_our_own_calls_and_handlers_do_not(
    event: Event, env: jvmti.Env, work: Work, evidence: Evidence
) -> None:
    """Both at once, in one environment: what is asked of one form changes nothing in the other."""
    evidence.proves("set_event_callbacks")
    me = threading.get_ident()
    reported: list[Any] = []
    handled: list[Any] = []

    def callback(happened: Any) -> None:
        if event is Event.MONITOR_CONTENDED_ENTER:
            work.contended.set()
        if threading.get_ident() == me:  # on which this process waits for its own call
            reported.append(happened)

    def handler(happened: Any) -> None:
        if threading.get_ident() == me:
            handled.append(happened)

    work.contended.clear()
    callbacks = {event: callback}
    if event is Event.MONITOR_CONTENDED_ENTERED:
        callbacks[Event.MONITOR_CONTENDED_ENTER] = lambda happened: work.contended.set()
        env.set_event_notification_mode(EventMode.ENABLE, Event.MONITOR_CONTENDED_ENTER)
    env.set_event_callbacks(callbacks)
    current = env.get_current_thread() if event.name.startswith(("METHOD_E", "SINGLE")) else None
    with env.on(event, handler, current):
        switched(env, event, EventMode.ENABLE)
        work.causing(event)()
        switched(env, event, EventMode.DISABLE)
    if event is Event.MONITOR_CONTENDED_ENTERED:
        env.set_event_notification_mode(EventMode.DISABLE, Event.MONITOR_CONTENDED_ENTER)
    assert reported, f"{event.name} did not come"
    assert {type(one) for one in reported} == {EVENTS[event]}
    if EVENTS[event].declaration.own_work is OwnWork.NEVER:
        assert handled == []
    else:
        assert len(handled) == len(reported), "a call that runs into it is reported to both"


def test_events_of_a_callback_s_own_calls_are_reported_within_it_and_end(
    env: jvmti.Env, own_vm: jvmti.VM, work: Work
) -> None:
    """In C a callback that causes its own event again overflows its thread's stack."""
    before = own_vm.stats.agent
    within, deepest, reported = 0, 0, 0

    def again(event: Any) -> None:
        nonlocal within, deepest, reported
        within += 1
        reported += 1
        deepest = max(deepest, within)
        work.call()
        within -= 1

    env.set_event_callbacks({Event.METHOD_ENTRY: again})
    current = env.get_current_thread()
    env.set_event_notification_mode(EventMode.ENABLE, Event.METHOD_ENTRY, current)
    work.call()
    env.set_event_notification_mode(EventMode.DISABLE, Event.METHOD_ENTRY, current)
    after = own_vm.stats.agent
    assert before is not None
    assert after is not None
    assert (deepest, reported) == (16, 16)
    assert after.events_too_deep - before.events_too_deep == 1


ENDLESS = """
import sys, jvmti
from jvmti.interface.constants import Event, EventMode
vm = jvmti.attach(int(sys.argv[1]), capabilities="all", timeout=30)
made = vm.string("text")
wanted = [Event.METHOD_ENTRY, Event.METHOD_EXIT, Event.EXCEPTION, Event.CLASS_PREPARE]
def again(event):
    if not reported:
        print("begun", flush=True)
    reported.append(event)
    made.call("concat", "more")
reported = []
vm.env.set_event_callbacks(dict.fromkeys(wanted, again))
for event in wanted:
    vm.env.set_event_notification_mode(EventMode.ENABLE, event)
made.call("concat", "some")
"""


def test_the_program_survives_callbacks_that_never_end_and_the_end_of_their_controller(
    witness: programs.JavaProgram,
) -> None:
    """Each event calls methods again, in every thread of the program, so that nothing goes on."""
    with attaching("-c", ENDLESS, witness.pid) as controller:
        assert controller.stdout.readline() == "begun\n"
        time.sleep(1)
        assert controller.poll() is None
        controller.send_signal(signal.SIGKILL)
    assert witness.ask("state parked", timeout=60) == "WAITING"


# Events that are sent while the VM is stopped ---------------------------------------------------

STOPPED = (
    Event.GARBAGE_COLLECTION_START,
    Event.GARBAGE_COLLECTION_FINISH,
    Event.OBJECT_FREE,
)


def test_callbacks_of_a_stopped_vm_are_called_late_in_order_and_with_calls_that_work(
    env: jvmti.Env, work: Work, evidence: Evidence
) -> None:
    evidence.proves("set_event_callbacks")
    reported: list[tuple[str, bool, int | None]] = []
    phases: list[int] = []

    def late(event: Any) -> None:
        reported.append((type(event).__name__, event.late, getattr(event, "tag", None)))
        phases.append(env.get_phase())

    env.set_event_callbacks(dict.fromkeys(STOPPED, late))
    for event in STOPPED:
        env.set_event_notification_mode(EventMode.ENABLE, event)
    init = work.jni.get_method_id(work.object_class, "<init>", "()V")
    for tag in range(7000, 7010):
        made = work.jni.new_object(work.object_class, init)
        env.set_tag(made, tag)
        made.release()
    env.force_garbage_collection()
    until = time.monotonic() + 60
    while sum(name == "ObjectFree" for name, _, _ in reported) < 10 and time.monotonic() < until:
        time.sleep(0.05)
    for event in STOPPED:
        env.set_event_notification_mode(EventMode.DISABLE, event)
    # All that has happened until now is reported before this returns, and nothing after it.
    env.set_event_callbacks(None)
    seen = list(reported)
    names = [name for name, _, _ in seen]
    starts = [i for i, name in enumerate(names) if name == "GarbageCollectionStart"]
    finishes = [i for i, name in enumerate(names) if name == "GarbageCollectionFinish"]
    assert len(starts) == len(finishes) >= 1
    assert all(start < finish for start, finish in zip(starts, finishes, strict=True))
    freed = [(i, tag) for i, (name, _, tag) in enumerate(seen) if name == "ObjectFree"]
    assert sorted(tag for _, tag in freed if tag is not None) == list(range(7000, 7010))
    assert min(i for i, _ in freed) > starts[0]
    assert {late for _, late, _ in seen} == {True}
    assert set(phases) == {4}
    env.force_garbage_collection()
    time.sleep(0.2)
    assert reported == seen


def test_other_events_are_not_late(env: jvmti.Env, work: Work) -> None:
    reported: list[bool] = []
    env.set_event_callbacks({Event.CLASS_LOAD: lambda event: reported.append(event.late)})
    env.set_event_notification_mode(EventMode.ENABLE, Event.CLASS_LOAD)
    work.jni.find_class("java/util/concurrent/Phaser")
    env.set_event_notification_mode(EventMode.DISABLE, Event.CLASS_LOAD)
    assert reported
    assert not any(reported)


def test_a_late_callback_that_fails_is_reported_and_can_remove_the_callbacks(
    own_vm: jvmti.VM,
) -> None:
    env = own_vm.new_env()
    env.add_capabilities({"can_generate_garbage_collection_events"})
    called = threading.Event()

    def fail(event: Any) -> None:
        env.set_event_callbacks(None)
        called.set()
        raise ZeroDivisionError("on purpose")

    env.set_event_callbacks({Event.GARBAGE_COLLECTION_FINISH: fail})
    env.set_event_notification_mode(EventMode.ENABLE, Event.GARBAGE_COLLECTION_FINISH)
    env.force_garbage_collection()
    assert called.wait(60)
    until = time.monotonic() + 60
    while not own_vm.handler_errors and time.monotonic() < until:
        time.sleep(0.02)
    [failed] = own_vm.handler_errors
    assert (failed.event, type(failed.error)) == ("GarbageCollectionFinish", ZeroDivisionError)
    own_vm._handlers.errors.clear()
    env.dispose_environment()


def test_a_callback_of_an_event_needs_its_capability(own_vm: jvmti.VM) -> None:
    env = own_vm.new_env()
    env.set_event_callbacks({Event.GARBAGE_COLLECTION_FINISH: print})
    with pytest.raises(jvmti.errors.MustPossessCapability):
        env.set_event_notification_mode(EventMode.ENABLE, Event.GARBAGE_COLLECTION_FINISH)
    env.dispose_environment()
