"""Events of the VM's own life: its start, its end, and what it is asked or runs out of."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Seen
from jvmti.interface.constants import Event, EventMode, ResourceExhaustionFlags, VMPhase

Launch = Callable[..., Any]


# The start ------------------------------------------------------------------------------------


def test_the_events_of_a_start_come_in_order(launched: Launch, evidence: Evidence) -> None:
    evidence.shows("VMStart", "VMInit")
    one = launched("Lives", "end")
    env = one.env
    order: list[tuple[str, VMPhase]] = []
    threads: list[tuple[str, bool]] = []

    def note(event: Any) -> None:
        order.append((type(event).__name__, env.get_phase()))

    def init(event: Any) -> None:
        note(event)
        threads.append((event.thread.name, event.thread == env.get_current_thread()))

    def start(event: Any) -> None:
        if env.get_phase() == VMPhase.LIVE and event.thread.name == "worker":
            note(event)

    env.on("VMStart", note)
    env.on("VMInit", init)
    env.on("ThreadStart", start)
    env.on("VMDeath", note)
    assert order == []  # nothing has happened in the OnLoad phase
    assert one.run() == 0
    assert order == [
        ("VMStart", VMPhase.START),
        ("VMInit", VMPhase.LIVE),
        ("ThreadStart", VMPhase.LIVE),
        ("VMDeath", VMPhase.LIVE),
    ]
    assert threads == [("main", True)]
    assert one.output == ["main", "hook"]
    assert one.vm.handler_errors == []


@pytest.mark.parametrize("early", [True, False], ids=["early", "ordinary"])
def test_what_may_be_called_in_the_start_phase_works_there(early: bool, launched: Launch) -> None:
    """What the specification allows there, and an error of its own for the rest."""
    one = launched("Lives", "end", capabilities="all")
    if not early:
        one.env.relinquish_capabilities({"can_generate_early_vmstart"})
    env, jni = one.env, one.vm.jni
    found: dict[str, Any] = {}

    def call(event: Any) -> None:
        string = jni.find_class("java/lang/String")
        found["signature"] = env.get_class_signature(string).signature
        found["status"] = env.get_class_status(string)
        found["methods"] = len(env.get_class_methods(string))
        found["fields"] = len(env.get_class_fields(string))
        found["interfaces"] = [
            env.get_class_signature(item).signature
            for item in env.get_implemented_interfaces(string)
        ]
        found["modifiers"] = env.get_class_modifiers(string)
        found["loader"] = env.get_class_loader(string)
        found["interface"] = env.is_interface(string)
        found["array"] = env.is_array_class(string)
        found["version"] = env.get_class_version_numbers(string)
        length = next(m for m in env.get_class_methods(string) if m.name == "length")
        found["bytecodes"] = len(env.get_bytecodes(length))
        found["location"] = env.get_method_location(length)
        found["time"] = env.get_time() > 0
        found["processors"] = env.get_available_processors()
        env.set_tag(string, 7)
        found["tag"] = env.get_tag(string)
        found["size"] = env.get_object_size(string)
        env.raw_monitor_enter(monitor)
        env.raw_monitor_exit(monitor)
        text = jni.new_string("from the start phase")
        found["text"] = str(text)
        try:
            one.vm.new_env()
        except jvmti.errors.WrongPhase as error:
            found["new_env"] = error.name

    monitor = env.create_raw_monitor("early")
    env.on("VMStart", call)
    assert one.run() == 0
    assert one.vm.handler_errors == []
    assert found.pop("methods") > 50
    assert found.pop("fields") > 3
    assert "Ljava/lang/CharSequence;" in found.pop("interfaces")
    assert found.pop("size") > 0
    assert found.pop("bytecodes") > 3
    assert found.pop("location").end_location >= 3
    assert found.pop("processors") == os.cpu_count()
    assert found.pop("status") != 0
    assert found.pop("version").major_version >= 55
    assert found == {
        "signature": "Ljava/lang/String;",
        "modifiers": 0x31,
        "loader": None,
        "interface": False,
        "array": False,
        "time": True,
        "tag": 7,
        "text": "from the start phase",
        "new_env": "WRONG_PHASE",
    }


TOO_LATE_AND_TOO_EARLY: dict[str, Callable[[jvmti.Env], Any]] = {
    "add_capabilities": lambda env: env.add_capabilities({"can_tag_objects"}),
    "relinquish_capabilities": lambda env: env.relinquish_capabilities({"can_tag_objects"}),
    "get_potential_capabilities": lambda env: env.get_potential_capabilities(),
    "get_system_properties": lambda env: env.get_system_properties(),
    "get_system_property": lambda env: env.get_system_property("java.vm.name"),
    "get_extension_functions": lambda env: env.get_extension_functions(),
    "get_extension_events": lambda env: env.get_extension_events(),
    "add_to_bootstrap_class_loader_search": (
        lambda env: env.add_to_bootstrap_class_loader_search("/tmp")
    ),
    "add_to_system_class_loader_search": lambda env: env.add_to_system_class_loader_search("/tmp"),
    "set_event_notification_mode": (
        lambda env: env.set_event_notification_mode(EventMode.ENABLE, Event.VM_OBJECT_ALLOC)
    ),
    "set_heap_sampling_interval": lambda env: env.set_heap_sampling_interval(1024),
    "create_raw_monitor": lambda env: env.create_raw_monitor("early"),
    "get_all_threads": lambda env: env.get_all_threads(),
    "get_loaded_classes": lambda env: env.get_loaded_classes(),
    "force_garbage_collection": lambda env: env.force_garbage_collection(),
}
"""Functions for the OnLoad phase and the live phase, or for the live phase alone."""


def test_what_may_not_be_called_in_the_start_phase_says_so(
    launched: Launch, evidence: Evidence
) -> None:
    one = launched("Lives", "end", capabilities="all")
    monitor = one.env.create_raw_monitor("made in OnLoad")
    functions = TOO_LATE_AND_TOO_EARLY | {
        "destroy_raw_monitor": lambda env: env.destroy_raw_monitor(monitor)
    }
    found: dict[str, str] = {}

    def call(event: Any) -> None:
        for name, function in functions.items():
            try:
                function(one.env)
                found[name] = "worked"
            except jvmti.JvmtiError as error:
                found[name] = error.name

    one.env.on("VMStart", call)
    assert one.run() == 0
    assert one.vm.handler_errors == []
    assert set(found) == set(functions)
    for name, error in found.items():
        assert error == "WRONG_PHASE", name
        evidence.provokes(name, "WRONG_PHASE")


def test_classes_are_hooked_from_the_first_one_on(launched: Launch) -> None:
    """With the early capability: in the primordial phase, when little more than this works."""
    one = launched(
        "Lives",
        "end",
        capabilities={"can_generate_early_class_hook_events", "can_generate_all_class_hook_events"},
    )
    names: list[str] = []
    phases: list[VMPhase] = []

    def hook(event: Any) -> None:
        names.append(event.name)
        if len(names) < 100:
            phases.append(one.env.get_phase())

    one.env.on("ClassFileLoadHook", hook)
    assert one.run() == 0
    assert names[0] == "java/lang/Object"
    assert phases[0] == VMPhase.PRIMORDIAL
    assert "Lives" in names
    assert one.vm.handler_errors == []


def test_classes_that_the_handler_of_vm_start_sees_loaded_have_been_reported(
    launched: Launch,
) -> None:
    """ClassLoad and ClassPrepare from the start phase on, in this order for each class."""
    one = launched("Lives", "end")
    env = one.env
    loaded: list[str] = []
    prepared: list[str] = []
    env.on("ClassLoad", lambda event: loaded.append(env.get_class_signature(event.klass).signature))
    env.on(
        "ClassPrepare",
        lambda event: prepared.append(env.get_class_signature(event.klass).signature),
    )
    assert one.run() == 0
    assert one.vm.handler_errors == []
    assert "LLives;" in prepared
    assert loaded.index("LLives;") >= 0
    assert len(loaded) > 20


# The end --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "status", "stage"),
    [("end", 0, "hook"), ("exit", 3, "hook"), ("halt", 4, "worked"), ("uncaught", 1, "hook")],
)
def test_calls_work_while_the_vm_ends(
    how: str, status: int, stage: str, launched: Launch, evidence: Evidence
) -> None:
    """After the shutdown hooks, where there are any, and still in the live phase."""
    evidence.shows("VMDeath")
    one = launched("Lives", how)
    env, jni = one.env, one.vm.jni
    found: list[Any] = []

    def death(event: Any) -> None:
        lives = one.vm.find_class("Lives")
        reported = jni.get_static_method_id(lives, "reported", "(I)Ljava/lang/String;")
        found.append(env.get_phase())
        found.append(str(jni.call_static_object_method(lives, reported, [3])))
        found.append(len(env.get_all_threads()) > 0)
        env.force_garbage_collection()

    env.on("VMDeath", death)
    assert one.run() == status
    assert one.vm.handler_errors == []
    assert found == [VMPhase.LIVE, f"{stage} 20", True]


@pytest.mark.oldest_and_newest
def test_the_exit_waits_for_the_handler_of_vm_death(launched: Launch) -> None:
    one = launched("Lives", "end")
    inside, go_on = threading.Event(), threading.Event()

    def death(event: Any) -> None:
        inside.set()
        assert go_on.wait(60)

    one.env.on("VMDeath", death, timeout=None)
    one.vm.proceed()
    assert inside.wait(60)
    assert one.vm.popen.poll() is None
    go_on.set()
    assert one.ended() == 0


@pytest.mark.oldest_and_newest
def test_a_handler_of_vm_death_that_takes_too_long_does_not_keep_the_vm(launched: Launch) -> None:
    one = launched("Lives", "exit")
    inside, go_on = threading.Event(), threading.Event()

    def death(event: Any) -> None:
        inside.set()
        go_on.wait(60)

    one.env.on("VMDeath", death, timeout=0.3)
    one.vm.proceed()
    assert inside.wait(60)
    assert one.ended() == 3
    go_on.set()


@pytest.mark.oldest_and_newest
def test_a_handler_that_the_vm_ends_under_has_not_failed(
    launched: Launch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever it calls then raises; that is nothing to tell of as a mistake of the handler's."""
    one = launched("Lives", "end")
    raised = threading.Event()

    def init(event: Any) -> None:
        one.vm.popen.kill()
        try:
            while True:
                one.env.get_time()
        except (jvmti.TargetLost, jvmti.errors.SessionClosed):
            raised.set()
            raise

    one.env.on("VMInit", init)
    assert one.run() == -signal.SIGKILL
    assert raised.wait(30)
    assert one.vm.wait(30)
    one.vm.detach()
    assert one.vm.handler_errors == []
    assert caplog.records == []


# Asked for ------------------------------------------------------------------------------------


def test_a_dump_is_asked_for_by_signal_and_by_jcmd(
    program: programs.JavaProgram, vm: jvmti.VM, jdk: Path, evidence: Evidence
) -> None:
    evidence.shows("DataDumpRequest")
    came = threading.Semaphore(0)
    with vm.env.on("DataDumpRequest", lambda event: came.release()):
        command = [str(jdk / "bin" / "jcmd"), str(program.pid), "JVMTI.data_dump"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert came.acquire(timeout=30), done.stdout
        os.kill(program.pid, signal.SIGQUIT)
        assert came.acquire(timeout=30)
        # The signal has the VM print its threads too, among the program's own lines.
        program.send("echo behind")
        program.expect("behind", timeout=30)


def test_an_exhausted_heap_is_reported(
    program: programs.JavaProgram, vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.shows("ResourceExhausted")
    seen = Seen()
    with vm.env.on("ResourceExhausted", seen):
        program.send("exhaust")
        program.expect("Java heap space")  # behind what the VM itself prints of it
    event = seen.only
    assert event.description == "Java heap space"
    assert event.flags & ResourceExhaustionFlags.OOM_ERROR
    assert event.flags & ResourceExhaustionFlags.JAVA_HEAP
    assert event.reserved == 0
