"""A JVM as objects: what is there, and what a pure Python program makes of it."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.constants import ThreadState
from jvmti.interface.signatures import java_name, parameters_of, result_of, signature_of
from jvmti.model.classes.java_class import Class
from jvmti.model.threads.java_thread import Thread
from jvmti.model.threads.locks import LockFinder
from jvmti.target.agent_library import library_for_executable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def vm(witness: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=30) as attached:
        LockFinder(attached)  # the session keeps its environment
        yield attached
    assert witness.running()


NAMED = ("holder", "sleeping", "waiting", "blocked", "parked", "busy", "deep")


def test_every_java_thread_is_there_and_none_of_the_agents(vm: jvmti.VM) -> None:
    names = [thread.name for thread in vm.threads]
    assert {"main", "Finalizer", *NAMED} <= set(names)
    assert not [name for name in names if name.startswith("jvmti")]
    assert len(vm.threads) == len(names) < len(vm.env.get_all_threads())


@pytest.mark.parametrize("name", NAMED)
def test_a_thread_is_what_java_says_it_is(vm: jvmti.VM, witness: JavaProgram, name: str) -> None:
    thread = vm.threads[name]
    assert isinstance(thread, Thread)
    assert thread.java_state == witness.ask(f"state {name}")
    assert thread.id == int(witness.ask(f"id {name}"))
    assert thread.priority == int(witness.ask(f"priority {name}"))
    assert str(thread.is_daemon).lower() == witness.ask(f"daemon {name}")
    assert thread.group is not None
    assert thread.group.name == witness.ask(f"group {name}")
    assert thread.state & ThreadState.ALIVE
    assert not thread.is_virtual


def test_looking_for_a_thread_that_is_not_there_names_near_ones(vm: jvmti.VM) -> None:
    assert "sleeping" in vm.threads
    assert "sleepin" not in vm.threads
    with pytest.raises(KeyError, match="sleeping"):
        vm.threads["sleepin"]


def test_two_threads_of_one_name_are_not_confused(vm: jvmti.VM) -> None:
    jni = vm.jni
    cls = jni.find_class("java/lang/Thread")
    thread = jni.new_object(
        cls,
        jni.get_method_id(cls, "<init>", "(Ljava/lang/String;)V"),
        [jni.new_string("sleeping")],
    )
    # One that has not been started is none of the live ones.
    assert len(vm.threads.named("sleeping")) == 1
    assert thread != vm.threads["sleeping"]


def test_a_snapshot_has_the_lines_that_a_stack_trace_of_java_has(
    vm: jvmti.VM, witness: JavaProgram
) -> None:
    blocked = next(t for t in vm.threads.snapshot() if t.name == "blocked")
    frame = blocked.frames[0]
    assert frame.source_file == "Witness.java"
    assert frame.line is not None
    assert (frame.method.class_name, frame.method.name) == ("Witness", "block")
    assert f"{frame.method.name}:{frame.line}" in witness.ask("stack blocked").replace(" ", "")
    assert str(frame) == f"Witness.block(Witness.java:{frame.line})"
    assert blocked.thread.frames[0] == frame


def test_a_stack_of_twenty_calls_has_twenty_frames_of_it(vm: jvmti.VM) -> None:
    frames = vm.threads["deep"].frames
    assert len([frame for frame in frames if frame.method.name == "descend"]) == 20
    assert [frame.depth for frame in frames] == list(range(len(frames)))
    assert len(vm.threads["deep"].get_frames(3)) == 3
    assert frames[0].is_native
    assert frames[0].line is None


def test_a_snapshot_takes_few_messages_however_many_frames_there_are(vm: jvmti.VM) -> None:
    vm.threads.snapshot()
    before = vm.stats.messages
    threads = vm.threads.snapshot()
    assert sum(len(thread.frames) for thread in threads) > 50
    # One of them asks for the count.
    assert vm.stats.messages - before <= 12


def test_a_thread_that_worked_has_used_the_processor(vm: jvmti.VM, witness: JavaProgram) -> None:
    witness.ask("spin on")
    try:
        before = vm.threads["busy"].cpu_time
        witness.ask("uptime")
        while True:
            after = vm.threads["busy"].cpu_time
            assert before is not None
            assert after is not None
            if after > before:
                break
    finally:
        witness.ask("spin off")


def test_asking_the_model_leaves_the_users_capabilities_alone(vm: jvmti.VM) -> None:
    vm.threads.snapshot()
    assert vm.find_class("Witness").source_file == "Witness.java"
    assert not vm.env.get_capabilities()


def test_handles_that_functions_return_are_of_the_model(vm: jvmti.VM) -> None:
    assert all(isinstance(thread, Thread) for thread in vm.env.get_all_threads())
    assert isinstance(vm.jni.find_class("java/util/HashMap"), Class)


def test_a_loaded_class_is_found_by_its_name(vm: jvmti.VM, witness: JavaProgram) -> None:
    cls = vm.find_class("java.util.HashMap")
    assert cls.name == "java.util.HashMap"
    assert cls.signature == "Ljava/util/HashMap;"
    assert cls.loader is None
    assert cls.superclass is not None
    assert cls.superclass.name == "java.util.AbstractMap"
    assert "java.util.Map" in {interface.name for interface in cls.interfaces}
    assert cls == vm.jni.find_class("java/util/HashMap")
    assert {"put", "get", "<init>"} <= {method.name for method in cls.methods}
    put = next(method for method in cls.methods if method.name == "put")
    assert put.parameter_types == ["java.lang.Object", "java.lang.Object"]
    assert put.declaring_class == cls
    assert vm.find_class("int[]").is_array
    assert vm.find_class("java.util.Map$Entry").is_interface


def test_a_class_of_the_program_has_its_fields_lines_and_loader(vm: jvmti.VM) -> None:
    cls = vm.find_class("Witness")
    fields = {field.name: field.type for field in cls.fields}
    assert fields["waitedFor"] == "java.lang.Object"
    assert fields["ownable"] == "java.util.concurrent.locks.ReentrantLock"
    block = next(method for method in cls.methods if method.name == "block")
    assert block.lines[0].start_location == 0
    assert block.source_file == "Witness.java"
    assert cls.loader is not None
    assert "ClassLoader" in cls.loader.cls.name


def test_a_class_that_is_not_loaded_is_not_loaded_by_looking(vm: jvmti.VM) -> None:
    with pytest.raises(LookupError, match=r"java/util/IllformedLocaleException.*loads it"):
        vm.find_class("java.util.IllformedLocaleException")
    assert not vm.classes("java.util.IllformedLocaleException")


def test_classes_are_chosen_by_a_pattern_and_the_others_given_up(vm: jvmti.VM) -> None:
    held = vm.env.get_loaded_classes()
    assert vm.stats.agent is not None
    everything = len(held)
    del held
    before = vm.stats.agent.objects
    found = vm.classes("java.util.Hash*")
    assert "java.util.HashMap" in {cls.name for cls in found}
    assert all(cls.name.startswith("java.util.Hash") for cls in found)
    vm.env.get_phase()
    assert vm.stats.agent.objects - before < everything // 2
    assert len(vm.classes()) >= len(found)


def test_properties_are_those_of_the_vm(vm: jvmti.VM, witness: JavaProgram) -> None:
    assert vm.properties["java.vm.version"] == witness.ask("property java.vm.version")
    assert vm.properties["java.home"] == witness.ask("property java.home")


def test_virtual_threads_are_found_where_there_are_any(
    vm: jvmti.VM, witness: JavaProgram, jvm: Jvm
) -> None:
    names = [thread.name for thread in vm.threads.virtual]
    if jvm.feature < 21:
        assert names == []
        return
    assert "virtual" in names
    found = next(t for t in vm.threads.snapshot(virtual=True) if t.name == "virtual")
    assert found.is_virtual
    assert found.java_state == "WAITING"
    assert any(frame.method.class_name == "Witness" for frame in found.frames)


def test_threads_of_python_may_ask_at_the_same_time(vm: jvmti.VM) -> None:
    failures: list[BaseException] = []

    def look() -> None:
        try:
            for _ in range(20):
                assert {"blocked"} <= {thread.name for thread in vm.threads.snapshot()}
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("reserved", [False, True], ids=["attached late", "reserved"])
def test_deadlocks_are_found_by_both_ways_of_looking(
    java_program: JavaPrograms, jvm: Jvm, reserved: bool
) -> None:
    options = [f"-agentpath:{library_for_executable(jvm.java)}=reserve"] if reserved else []
    program = java_program("Deadlock", jvm_args=options)
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        finder = LockFinder(vm)
        threads = vm.threads.snapshot()
        sample = finder.sample(threads)
        assert sample.source == ("jvmti" if reserved else "dump")
        names = {thread.id: thread.name for thread in threads}
        circles = [{names[one] for one in circle} for circle in finder.deadlocks(threads, sample)]
        assert len(circles) == 2
        assert {"first", "second"} in circles
        assert {"third", "fourth"} in circles
        numbers = {thread.name: thread.id for thread in threads}
        onlooker = sample.threads[numbers["onlooker"]]
        assert onlooker.owner == numbers["first"]
        assert onlooker.waits_for is not None
        assert onlooker.waits_for.class_name == "Deadlock$One"
        first = sample.threads[numbers["first"]]
        assert [lock.class_name for lock in first.owned] == ["Deadlock$One"]
        assert first.owned[0] == onlooker.waits_for


def test_no_deadlock_is_seen_where_threads_only_wait(vm: jvmti.VM) -> None:
    finder = LockFinder(vm)
    threads = vm.threads.snapshot()
    sample = finder.sample(threads)
    assert finder.deadlocks(threads, sample) == []
    ids = {thread.name: thread.id for thread in threads}
    assert sample.threads[ids["blocked"]].owner == ids["holder"]
    assert sample.threads[ids["queued"]].owner == ids["holder"]
    assert sample.threads[ids["waiting"]].owner is None


def test_the_first_example_of_the_readme_works(
    witness: JavaProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text()
    example = re.findall(r"```python\n(.*?)```", page, re.S)[0]
    assert '"MyServer"' in example
    exec(example.replace('"MyServer"', str(witness.pid)), {})
    shown = capsys.readouterr().out
    assert "main ALIVE|RUNNABLE" in shown
    assert "blocked ALIVE|BLOCKED_ON_MONITOR_ENTER [<Frame Witness.block(" in shown
    assert shown.endswith("5\n")


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("Ljava/util/Map$Entry;", "java.util.Map$Entry"),
        ("[[I", "int[][]"),
        ("J", "long"),
        ("LWitness$$Lambda.0x0000000800c03000;", "Witness$$Lambda/0x0000000800c03000"),
        ("[Lp/C;", "p.C[]"),
    ],
)
def test_signatures_and_names_are_turned_into_each_other(signature: str, name: str) -> None:
    assert java_name(signature) == name
    assert signature_of(name) == signature


def test_hidden_classes_of_release_11_keep_their_slash() -> None:
    assert java_name("Lp/C$$Lambda$9/987405879;") == "p.C$$Lambda$9/987405879"


def test_a_method_signature_is_taken_apart() -> None:
    assert parameters_of("(I[Ljava/lang/String;J)[B") == ["int", "java.lang.String[]", "long"]
    assert result_of("(I)[B") == "byte[]"
    assert re.match(r"void", result_of("()V"))
