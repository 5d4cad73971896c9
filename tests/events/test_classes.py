"""Events of classes: their files on the way into the VM, loading and preparing; redefinition."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import compiler
import jvmti
import programs
from conformance.class_file import ClassFile
from conformance.evidence import Evidence
from events.seen import Code, Seen
from jvmti.env.structures import ClassDefinition
from jvmti.interface.constants import ClassStatus


def class_file(name: str) -> Path:
    return compiler.classes("Events") / f"{name}.class"


def changed(name: str, before: str, after: str) -> bytes:
    """The class file with one text of its constant pool changed."""
    made = ClassFile.parse(class_file(name))
    made.replace_text(before, after)
    return made.to_bytes()


def of_name(name: str) -> Seen:
    return Seen(lambda event: event.name == name)


# Loading --------------------------------------------------------------------------------------


def test_the_hook_is_given_the_class_file_and_who_loads_it(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("ClassFileLoadHook")
    seen = of_name("Events$Loaded")
    with vm.env.on("ClassFileLoadHook", seen):
        assert program.ask("load") == "loaded first"
    event = seen.only
    assert event.class_data == class_file("Events$Loaded").read_bytes()
    assert event.class_being_redefined is None
    assert event.loader == code.static("loader", "LEvents$Loader;")
    assert event.protection_domain == code.static("domain", "Ljava/lang/Object;")


def test_the_answer_of_the_hook_is_what_the_vm_takes(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    answer = changed("Events$Loaded", "loaded first", "from Python")

    def hook(event: Any) -> bytes | None:
        return answer if event.name == "Events$Loaded" else None

    with vm.env.on("ClassFileLoadHook", hook):
        assert program.ask("load") == "from Python"
    assert program.ask("load") == "loaded first"


def test_hooks_are_given_what_those_before_have_made(
    program: programs.JavaProgram, vm: jvmti.VM, another: jvmti.Env
) -> None:
    """Two functions of one environment, and the one of another behind them."""
    first = changed("Events$Loaded", "loaded first", "changed once")
    second = changed("Events$Loaded", "loaded first", "changed twice")
    last = of_name("Events$Loaded")
    given: list[bytes] = []

    def once(event: Any) -> Any:
        return first if event.name == "Events$Loaded" else None

    def twice(event: Any) -> Any:
        if event.name != "Events$Loaded":
            return None
        given.append(event.class_data)
        return bytearray(second)

    with (
        vm.env.on("ClassFileLoadHook", once),
        vm.env.on("ClassFileLoadHook", twice),
        another.on("ClassFileLoadHook", last),
    ):
        assert program.ask("load") == "changed twice"
    assert given == [first]
    assert last.only.class_data == second


def test_a_class_is_loaded_then_prepared(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("ClassLoad", "ClassPrepare")
    env = vm.env
    found: list[tuple[str, Any, bool, list[str]]] = []

    def note(event: Any) -> None:
        if env.get_class_signature(event.klass).signature != "LEvents$Loaded;":
            return
        prepared = bool(env.get_class_status(event.klass) & ClassStatus.PREPARED)
        methods = (
            [env.get_method_name(method).name for method in env.get_class_methods(event.klass)]
            if prepared
            else []
        )
        found.append((type(event).__name__, event.thread, prepared, sorted(methods)))
        loaders.append(env.get_class_loader(event.klass))
        classes.append(event.klass)

    loaders: list[Any] = []
    classes: list[Any] = []
    with env.on("ClassLoad", note), env.on("ClassPrepare", note):
        assert program.ask("load") == "loaded first"
    main = vm.threads["main"]
    assert found == [
        ("ClassLoad", main, False, []),
        ("ClassPrepare", main, True, ["<init>", "heat", "passing", "said"]),
    ]
    assert loaders == [code.static("loader", "LEvents$Loader;")] * 2
    assert classes[0] == classes[1]


def test_loading_is_reported_for_one_thread(program: programs.JavaProgram, vm: jvmti.VM) -> None:
    seen = Seen(lambda event: event.klass.name == "Events$Loaded", lambda event: event.thread)
    with vm.env.on("ClassLoad", seen, thread=vm.threads["main"]):
        program.ask("thread other load")
        program.ask("load")
    assert seen == [vm.threads["main"]]


def test_classes_that_a_call_of_our_own_loads_are_not_reported_unless_asked(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    silent, reported = (
        of_name("java/util/concurrent/Phaser"),
        of_name("java/util/concurrent/Exchanger"),
    )
    with vm.env.on("ClassFileLoadHook", silent):
        vm.jni.find_class("java/util/concurrent/Phaser")
    with vm.env.on("ClassFileLoadHook", reported, own=True):
        vm.jni.find_class("java/util/concurrent/Exchanger")
    assert silent == []
    assert reported.only.loader is None
    assert reported.only.class_data[:4] == b"\xca\xfe\xba\xbe"


# Retransformation and redefinition ------------------------------------------------------------


def test_a_late_hook_changes_a_loaded_class_and_changes_it_back(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    env = vm.env
    changing = vm.jni.find_class("Events$Changing")
    assert program.ask("version") == "version one"
    answer = changed("Events$Changing", "version one", "version two")
    given = Seen(lambda event: event.class_being_redefined == changing)

    def hook(event: Any) -> Any:
        return answer if event.class_being_redefined == changing else None

    with env.on("ClassFileLoadHook", given):
        with env.on("ClassFileLoadHook", hook):
            env.retransform_classes([changing])
            assert program.ask("version") == "version two"
        env.retransform_classes([changing])
    assert program.ask("version") == "version one"
    assert [event.name for event in given] == ["Events$Changing"] * 2
    # HotSpot makes the file from what it keeps of the class, so that it need not be the same.
    for event in given:
        made = ClassFile.parse(event.class_data)
        assert {method.name for method in made.methods} >= {"version", "lingering", "number"}


def test_an_environment_that_cannot_retransform_comes_first(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """And it gets loading and redefinition only."""
    plain = vm.new_env()
    order: list[str] = []

    def noting(what: str) -> Any:
        def note(event: Any) -> None:
            if event.name in ("Events$Loaded", "Events$Changing"):
                order.append(what)

        return note

    changing = vm.jni.find_class("Events$Changing")
    with (
        vm.env.on("ClassFileLoadHook", noting("retransforming")),
        plain.on("ClassFileLoadHook", noting("plain")),
    ):
        program.ask("load")
        assert order == ["plain", "retransforming"]
        order.clear()
        vm.env.retransform_classes([changing])
        assert order == ["retransforming"]


ICONST_1, ICONST_2, ICONST_5, NOP = b"\x04", b"\x05", b"\x08", b"\x00"
IRETURN, INVOKESTATIC = b"\xac", b"\xb8"


def frame_of(env: jvmti.Env, thread: Any, name: str) -> Any:
    """The running method of that name."""
    frames = env.get_stack_trace(thread, 0, 30)
    return next(one.method for one in frames if env.get_method_name(one.method).name == name)


def test_a_running_method_calls_the_new_code_of_others(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    env = vm.env
    changing = vm.jni.find_class("Events$Changing")
    made = ClassFile.parse(class_file("Events$Changing"))
    number = made.method("number")
    number.code = number.code.replace(ICONST_1 + IRETURN, ICONST_2 + IRETURN)
    assert program.ask("linger") == "lingering"
    thread = vm.threads["lingerer"]
    env.redefine_classes([ClassDefinition(changing, made.to_bytes())])
    # It is the same in both versions, so the running one is as good as the new one.
    assert not env.is_method_obsolete(frame_of(env, thread, "lingering"))
    assert program.ask("leave") == "2"
    env.redefine_classes([ClassDefinition(changing, class_file("Events$Changing").read_bytes())])


def test_a_running_method_that_was_changed_ends_as_it_began(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    env = vm.env
    changing = vm.jni.find_class("Events$Changing")
    made = ClassFile.parse(class_file("Events$Changing"))
    lingering = made.method("lingering")
    # Its last instructions are the call of number() and the return of what that gives.
    at = lingering.code.index(IRETURN) - 3
    assert lingering.code[at : at + 1] == INVOKESTATIC
    lingering.code = lingering.code[:at] + ICONST_5 + NOP + NOP + lingering.code[at + 3 :]
    assert program.ask("linger") == "lingering"
    thread = vm.threads["lingerer"]
    assert not env.is_method_obsolete(frame_of(env, thread, "lingering"))
    env.redefine_classes([ClassDefinition(changing, made.to_bytes())])
    assert env.is_method_obsolete(frame_of(env, thread, "lingering"))
    current = next(one for one in env.get_class_methods(changing) if one.name == "lingering")
    assert not env.is_method_obsolete(current)
    assert program.ask("leave") == "1"
    assert program.ask("linger") == "lingering"
    assert program.ask("leave") == "5"
    env.redefine_classes([ClassDefinition(changing, class_file("Events$Changing").read_bytes())])


def test_breakpoints_of_a_redefined_class_are_gone(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    env = vm.env
    changing = Code(vm, "Events$Changing")
    seen = Seen()
    env.set_breakpoint(changing["version"], 0)
    with env.on("Breakpoint", seen):
        assert program.ask("version") == "version one"
        original = class_file("Events$Changing").read_bytes()
        answer = changed("Events$Changing", "version one", "version two")
        env.redefine_classes([ClassDefinition(changing.cls, answer)])
        assert program.ask("version") == "version two"
        env.redefine_classes([ClassDefinition(changing.cls, original)])
    assert len(seen) == 1


def test_the_class_that_is_being_retransformed_meets_its_own_handler(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """The call that retransforms is what runs into the event: the calling thread handles it."""
    names: list[str] = []
    changing = vm.jni.find_class("Events$Changing")
    with vm.env.on(
        "ClassFileLoadHook",
        lambda event: (
            names.append(threading.current_thread().name) if event.class_being_redefined else None
        ),
    ):
        vm.env.retransform_classes([changing])
    assert names == [threading.current_thread().name]
