"""Variables of a JVM that was attached to late; the program says what its variables hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.interface.errors import NotAvailable, OpaqueFrame
from jvmti.model.threads.frames import FrameGone
from prepared import attaching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from jvmti.model.threads.frames import Frame
    from programs import JavaProgram, JavaPrograms

COMPILED = [
    "-Xcomp",
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=compileonly,Parked*::*",
]
"""The program's own methods are compiled before they run, and nothing else is."""
COMPILERS = {"C1": "-XX:TieredStopAtLevel=1", "C2": "-XX:-TieredCompilation"}


@pytest.fixture(scope="module")
def parked(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Parked", "mounted")
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def vm(parked: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(parked.pid, timeout=30) as attached:
        attached.env_with("can_suspend")
        yield attached
    assert parked.running()


def named(vm: jvmti.VM, name: str) -> Any:
    """A thread, platform or virtual."""
    found = [thread for thread in vm.threads if thread.name == name]
    return (found or [one for one in vm.threads.virtual if one.name == name])[0]


def frames_of(thread: Any, method: str) -> list[Frame]:
    return [frame for frame in thread.frames if frame.method.name == method]


def frame_of(thread: Any, method: str) -> Frame:
    return frames_of(thread, method)[0]


def hash_of(vm: jvmti.VM, value: Any) -> str:
    return str(vm.env.get_object_hash_code(value))


def check_desk(vm: jvmti.VM, program: JavaProgram, name: str) -> None:
    """The objects of the two frames of a thread at a desk are those that the program means."""
    thread = named(vm, name)
    with thread.suspended():
        outer, inner = frame_of(thread, "outer"), frame_of(thread, "inner")
        objects = outer.locals.read()
        within = inner.locals.read()
        for variable in ("this", "first", "second"):
            expected = program.ask(f"hash {name}.outer.{variable}")
            assert hash_of(vm, objects[variable]) == expected, (name, variable)
        for variable in ("this", "given", "other", "numbers"):
            expected = program.ask(f"hash {name}.inner.{variable}")
            assert hash_of(vm, within[variable]) == expected, (name, variable)
        assert objects["label"] == outer.locals["label"] == "outer first"
        assert list(objects) == ["this", "first", "second", "label"]
        assert list(within) == ["this", "given", "other", "numbers", "same"]
        # One object is one object, in whichever frame and however it is reached.
        assert within["given"] is within["same"] is objects["second"] is inner.locals["same"]
        assert objects["this"] is within["this"] is outer.this is inner.this
        assert within["numbers"][:].tolist() == [1, 2, 3]
        assert outer.locals[4] is objects["second"]
        assert outer.locals[5, "String"] == "outer first"
    assert not thread.is_suspended


@pytest.mark.parametrize("name", ["one", "two"])
def test_objects_are_read_by_name_and_slot(vm: jvmti.VM, parked: JavaProgram, name: str) -> None:
    check_desk(vm, parked, name)


@pytest.mark.since(21)
@pytest.mark.parametrize("name", ["unmounted", "mounted"])
def test_virtual_threads_have_objects_too(vm: jvmti.VM, parked: JavaProgram, name: str) -> None:
    check_desk(vm, parked, name)


def test_one_that_is_not_suspended_is_stopped_for_the_moment_only(
    vm: jvmti.VM, parked: JavaProgram
) -> None:
    thread = vm.threads["one"]
    assert hash_of(vm, frame_of(thread, "inner").locals["given"]) == parked.ask(
        "hash one.outer.second"
    )
    assert not thread.is_suspended
    assert vm.stats.agent is not None
    assert vm.stats.agent.sessions == 1


def test_numbers_and_missing_objects_say_what_they_are(vm: jvmti.VM) -> None:
    variables = frame_of(vm.threads["one"], "outer").locals
    assert [(one.name, one.type) for one in variables.variables] == [
        ("this", "Parked$Desk"),
        ("first", "Parked$Item"),
        ("wide", "long"),
        ("second", "Parked$Item"),
        ("label", "java.lang.String"),
        ("count", "int"),
        ("nothing", "Parked$Item"),
    ]
    for name in ("count", "wide", 6):
        with pytest.raises(NotAvailable, match=r"Parked.java:\d+\) is primitive; .*--reserve"):
            variables[name]
    with pytest.raises(NotAvailable, match=r"`Parked\$Item nothing` .* is null, or .*--reserve"):
        variables["nothing"]
    assert "count" in variables
    assert "counts" not in variables
    with pytest.raises(KeyError, match="no variable 'counts' .*'count'"):
        variables["counts"]
    assert list(variables) == list(dict(variables)) == ["this", "first", "second", "label"]
    assert len(variables) == 4
    text = str(variables).split("\n")
    assert "long wide = ?" in text
    assert "int count = ?" in text
    assert "java.lang.String label = 'outer first'" in text
    assert "Parked$Item nothing = null, or not kept" in text
    assert repr(variables) == "<Locals this, first, wide, second, label, count, nothing>"
    with pytest.raises(NotAvailable, match="`java.lang.String label` cannot be written"):
        variables["label"] = "other"
    with pytest.raises(NotAvailable, match="`int count` cannot be written.*--reserve"):
        variables["count"] = 4
    assert variables["label"] == "outer first"


def test_a_method_that_called_itself_has_objects_for_each_frame(
    vm: jvmti.VM, parked: JavaProgram
) -> None:
    thread = vm.threads["deep"]
    with thread.suspended():
        frames = frames_of(thread, "deep")
        assert len(frames) == 4
        for level, frame in enumerate(frames):
            item = frame.locals["item"]
            assert hash_of(vm, item) == parked.ask(f"hash deep.deep.item{level}")
            assert item["label"] == f"level {level}"
            assert frame.this is None


def test_native_methods_have_none(vm: jvmti.VM) -> None:
    frame = vm.threads["one"].frames[0]
    assert frame.is_native
    with pytest.raises(NotAvailable, match="park.* is native; .*--reserve"):
        frame.this  # noqa: B018
    assert dict(frame.locals) == {}
    with pytest.raises(OpaqueFrame, match="native"):
        frame.locals[0, "Object"]
    assert frame.locals.variables == []


def test_a_frame_that_was_left_has_gone(vm: jvmti.VM) -> None:
    thread = vm.threads["one"]
    frame = frame_of(thread, "inner")
    elsewhere = type(frame)(frame.method, frame.location - 1, frame.line, frame.depth, frame._stack)
    with pytest.raises(FrameGone):
        elsewhere.locals["given"]
    assert not thread.is_suspended


def test_the_agent_answers_for_all_frames_at_once(vm: jvmti.VM) -> None:
    thread = vm.threads["deep"]
    with thread.suspended():
        found = vm._agent.local_objects(thread, -1)
        objects = dict(zip(found.marks, found.objects, strict=True))
        assert len(objects) == len(found.marks)
        items = {
            depth: objects[mark]
            for mark, depth, slot in zip(*[iter(found.places)] * 3, strict=True)
            if thread.frames[depth].method.name == "deep" and slot == 1
        }
        assert {depth: item["label"] for depth, item in items.items()} == {
            frame.depth: f"level {level}" for level, frame in enumerate(frames_of(thread, "deep"))
        }
        assert vm._agent.local_objects(thread, 1000).places == []
    assert found.stopped > 0


def test_classes_without_names_have_slots(java_program: JavaPrograms) -> None:
    program = java_program("Parked", "mounted", debug=False)
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        thread = vm.threads["one"]
        with thread.suspended():
            outer, inner = frame_of(thread, "outer").locals, frame_of(thread, "inner").locals
            assert [str(one) for one in outer.variables] == [
                "Parked$Desk this",
                "Parked$Item [slot 1]",
                "long [slot 2]",
                "Parked$Item [slot 4]",
            ]
            assert list(outer) == ["this", 1, 4, 5]
            assert list(inner) == ["this", 1, 2, 3, 4]
            for slot, variable in ((1, "first"), (4, "second")):
                expected = program.ask(f"hash one.outer.{variable}")
                assert hash_of(vm, outer[slot]) == expected
            assert hash_of(vm, inner[3]) == program.ask("hash one.inner.numbers")
            assert outer[5] == "outer first"
            assert "[slot 5] = 'outer first'" in str(outer)
            with pytest.raises(NotAvailable, match="is null, or compiled"):
                outer[7]
            with pytest.raises(NotAvailable, match="is primitive"):
                outer[2]
            with pytest.raises(KeyError, match="compiled without its variables"):
                outer[70]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_compiled_code_keeps_what_it_needs(
    jvm: Jvm, java_program: JavaPrograms, compiler: str
) -> None:
    if jvm.name == "zero":
        pytest.skip("it has no compilers")
    program = java_program("Parked", "mounted", jvm_args=[*COMPILED, COMPILERS[compiler]])
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        compiled = vm.diagnostic_command("Compiler.codelist")
        for methods in (r"Desk\.inner|Parked\.work", r"Parked\.spent|Parked\.lambda\$main\$0"):
            assert re.search(methods, compiled), "by itself, or in the code of what calls it"
        check_desk(vm, program, "one")
        if vm.version.major >= 21:
            check_desk(vm, program, "unmounted")
        spent = frame_of(vm.threads["spent"], "spent").locals
        assert hash_of(vm, spent["late"]) == program.ask("hash spent.spent.late")
        assert list(spent) == ["late"]
        # It is not null, and the program has no use for it any more.
        with pytest.raises(NotAvailable, match=r"is null, or compiled code does not keep"):
            spent["early"]
        apart = frame_of(vm.threads["apart"], "apart").locals
        if compiler == "C2" and vm.version.major < 16:
            with pytest.raises(NotAvailable, match=r"is null, or compiled code does not keep"):
                apart["item"]
        else:
            # Later VMs make such objects for those who look at the heap.  JDK-8227745
            assert apart["item"]["label"] == "kept"


def test_a_handler_looks_at_the_thread_that_it_is_called_on(java_program: JavaPrograms) -> None:
    program = java_program("Parked")
    program.expect("ready")
    seen: list[str] = []

    def waits(event: Any) -> None:
        seen.append(frame_of(event.thread, "waited").locals["item"]["label"])

    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.env.add_capabilities({"can_generate_monitor_events"})
        with vm.env.on("MonitorWait", waits, vm.threads["main"]):
            assert program.ask("wait abc") == "abc"
        assert not vm.handler_errors
    assert seen == ["abc"]


def test_a_frame_of_code_that_was_replaced_has_slots(java_program: JavaPrograms) -> None:
    program = java_program("Parked")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        desk = vm.find_class("Parked$Desk")
        three, four = b"\x06\x36\x06", b"\x07\x36\x06"  # int count = 3, and 4: iconst, istore 6
        class_file = bytes(desk.class_file)
        assert class_file.count(three) == 1
        assert list(frame_of(vm.threads["one"], "outer").locals)[1:3] == ["first", "second"]
        desk.redefine(class_file.replace(three, four))
        outer = frame_of(vm.threads["one"], "outer").locals
        assert list(outer) == ["this", 1, 4, 5]
        assert hash_of(vm, outer[1]) == program.ask("hash one.outer.first")
        with pytest.raises(KeyError, match="or was redefined while it ran"):
            outer["first"]
        # This one is as before.
        assert "given" in dict(frame_of(vm.threads["one"], "inner").locals)


READS = """
import sys
import jvmti

with jvmti.attach(int(sys.argv[1]), timeout=30) as vm:
    frame = next(one for one in vm.threads["one"].frames if one.method.name == "outer")
    while True:
        assert frame.locals["label"] == "outer first"
        print("read", flush=True)
"""


def test_a_controller_that_is_killed_leaves_nothing(java_program: JavaPrograms) -> None:
    program = java_program("Parked", "mounted")
    program.expect("ready")
    with attaching("-c", READS, program.pid) as controller:
        for _ in range(3):
            assert controller.stdout.readline() == "read\n"
        controller.kill()
    with jvmti.attach(program.pid, timeout=30) as vm:
        while vm.stats.agent.sessions > 1:  # type: ignore[union-attr]
            pass
        assert not any(thread.is_suspended for thread in vm.threads)
        check_desk(vm, program, "one")
