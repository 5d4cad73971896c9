"""Events of native methods that are bound, and of machine code that the VM makes."""

from __future__ import annotations

import re
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import compiler
import jvms
import jvmti
import programs
from conformance.class_file import Attribute, ClassFile, Member
from conformance.evidence import EVENT, Evidence
from events.seen import Code, Seen
from jvmti.interface.constants import Event
from jvmti.target.agent_library import library_for_executable

SOURCE = Path(__file__).parent.parent / "native" / "natives.c"
PREFIX = "Java_Events_00024Native_"


@pytest.fixture(scope="session")
def library(jdk_headers: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native methods, compiled."""
    made = tmp_path_factory.mktemp("natives") / "libnatives.so"
    include = [f"-I{directory}" for directory in jdk_headers]
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", *include, "-o", made, SOURCE], check=True)
    return made


def address_of(program: programs.JavaProgram, library: Path, function: str) -> int:
    """Where a function of the library is, by its symbols and the kernel's map of the process."""
    symbols = subprocess.run(
        ["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    offset = re.search(rf"^([0-9a-f]+) T {function}$", symbols, re.M)
    maps = Path(f"/proc/{program.pid}/maps").read_text()
    base = re.search(rf"^([0-9a-f]+)-\S+ \S+ 00000000 .*{library}$", maps, re.M)
    assert offset
    assert base
    return int(base[1], 16) + int(offset[1], 16)


@pytest.fixture
def native(program: programs.JavaProgram, vm: jvmti.VM, library: Path) -> Code:
    """The class with the native methods, none of them bound."""
    assert program.ask(f"library {library}") == "loaded"
    code = Code(vm, "Events$Native")
    vm.jni.unregister_natives(code.cls)
    return code


def test_a_native_method_is_bound_at_its_first_call(
    program: programs.JavaProgram, vm: jvmti.VM, native: Code, library: Path, evidence: Evidence
) -> None:
    evidence.shows("NativeMethodBind")
    seen = Seen(lambda event: event.method.class_name == "Events$Native")
    with vm.env.on("NativeMethodBind", seen):
        assert program.ask("bind one") == "1"
        assert program.ask("bind one") == "1"
    event = seen.only
    assert event.method == native["one"]
    assert event.thread == vm.threads["main"]
    assert event.address == address_of(program, library, f"{PREFIX}one")


def test_the_answer_binds_a_native_method_to_another_function(
    program: programs.JavaProgram, vm: jvmti.VM, native: Code, library: Path
) -> None:
    other = address_of(program, library, f"{PREFIX}two")

    def answer(event: Any) -> int | None:
        return other if event.method == native["three"] else None

    with vm.env.on("NativeMethodBind", answer):
        assert program.ask("bind three") == "2"
        assert program.ask("bind one") == "1"
    assert program.ask("bind three") == "2"
    vm.jni.unregister_natives(native.cls)
    assert program.ask("bind three") == "3"


@pytest.mark.parametrize("distance", [1, 1 << 40])
def test_an_answer_that_is_the_address_of_no_function_is_not_taken(
    distance: int, program: programs.JavaProgram, vm: jvmti.VM, native: Code, library: Path
) -> None:
    """The VM would jump there."""
    wrong = address_of(program, library, f"{PREFIX}two") + distance
    with vm.env.on(
        "NativeMethodBind",
        lambda event: wrong if event.method == native["three"] else None,
    ):
        assert program.ask("bind three") == "3"


def test_an_answer_that_is_no_address_is_reported(
    program: programs.JavaProgram, jvm: jvms.Jvm, native: Code
) -> None:
    vm = native.vm
    with vm.env.on("NativeMethodBind", lambda event: "elsewhere"):
        assert program.ask("bind two") == "2"
    [failed] = vm.handler_errors
    assert isinstance(failed.error, TypeError)
    vm._handlers.errors.clear()


def methodref(made: ClassFile, klass: str, name: str, descriptor: str) -> int:
    """The index of a reference to a method in the constant pool."""
    name_and_type = (12, struct.pack(">HH", made.index(name), made.index(descriptor)))
    made.pool.append(name_and_type)
    at = len(made.pool)
    made.pool.append((10, struct.pack(">HH", made.class_index(klass), at)))
    return made.pool.index((10, struct.pack(">HH", made.class_index(klass), at))) + 1


def wrap(made: ClassFile, name: str, prefix: str) -> None:
    """Rename a native method, and put one in its place that calls it and adds a hundred."""
    native = made.method(name)
    native.name = prefix + name
    target = methodref(made, "Events$Native", native.name, native.descriptor)
    # invokestatic, bipush 100, iadd, ireturn
    code = b"\xb8" + struct.pack(">H", target) + b"\x10\x64\x60\xac"
    data = struct.pack(">HHI", 2, 0, len(code)) + code + struct.pack(">HH", 0, 0)
    wrapper = Member(native.access & ~0x0100, name, native.descriptor, [Attribute("Code", data)])
    made.methods.append(wrapper)


@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_a_wrapped_native_method_is_found_behind_its_prefix(
    several: bool,
    java_program: programs.JavaPrograms,
    jvm: jvms.Jvm,
    library: Path,
    evidence: Evidence,
) -> None:
    evidence.proves("set_native_method_prefixes" if several else "set_native_method_prefix")
    agent = library_for_executable(jvm.java)
    program = java_program("Events", jvm_args=[f"-agentpath:{agent}=reserve"])
    program.expect("ready", timeout=60)
    made = ClassFile.parse(compiler.classes("Events") / "Events$Native.class")
    wrap(made, "one", "outer_inner_" if several else "wrapped_")
    with jvmti.attach(program.pid, capabilities="all", timeout=30) as vm:
        if several:
            vm.env.set_native_method_prefixes(["inner_", "outer_"])
        else:
            vm.env.set_native_method_prefix("wrapped_")
        bound = Seen(
            lambda event: event.method.class_name == "Events$Native",
            lambda event: (event.method.name, event.address),
        )
        changed = made.to_bytes()
        with (
            vm.env.on(
                "ClassFileLoadHook",
                lambda event: changed if event.name == "Events$Native" else None,
            ),
            vm.env.on("NativeMethodBind", bound),
        ):
            program.ask(f"library {library}")
            assert program.ask("bind one") == "101"
            assert program.ask("bind two") == "2"
        name = "outer_inner_one" if several else "wrapped_one"
        assert bound == [
            (name, address_of(program, library, f"{PREFIX}one")),
            ("two", address_of(program, library, f"{PREFIX}two")),
        ]
        assert vm.handler_errors == []


# Machine code ---------------------------------------------------------------------------------


def jcmd(jdk: Path, program: programs.JavaProgram, *words: str) -> str:
    command = [str(jdk / "bin" / "jcmd"), str(program.pid), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def wait_until(condition: Any, what: Any, timeout: float = 60) -> None:
    """Ask again and again: the compiler's threads answer to nobody."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_a_compiled_method_is_where_jcmd_says(
    program: programs.JavaProgram,
    vm: jvmti.VM,
    code: Code,
    jdk: Path,
    jvm: jvms.Jvm,
    evidence: Evidence,
) -> None:
    if jvm.name == "zero":
        evidence.lacks(f"{EVENT}CompiledMethodLoad", "compiled code")
        assert vm.properties["java.vm.info"].startswith("interpreted mode")
        return
    evidence.shows("CompiledMethodLoad")
    evidence.proves("generate_events")
    seen = Seen(lambda event: event.method == code["hot"])
    with vm.env.on("CompiledMethodLoad", seen):

        def compiled() -> bool:
            program.ask("heat")
            return len(seen) > 0

        wait_until(compiled, seen)
        listed = jcmd(jdk, program, "Compiler.codelist")
        mine = [line for line in listed.splitlines() if "Events.hot(" in line]
        seen.clear()
        vm.env.generate_events(Event.COMPILED_METHOD_LOAD)
    begins = {int(at, 16) for line in mine for at in re.findall(r"0x[0-9a-f]+", line)}
    again = [event for event in seen if event.code_addr in begins]
    assert again, (listed, seen)
    for event in again:
        assert event.code_size > 0
        # The addresses that belong to bytecodes of the method lie within its code.
        for item in event.map:
            assert 0 <= item.start_address - event.code_addr <= event.code_size
        for info in event.compile_info:
            assert info.methods[-1] == code["hot"]
            assert len(info.methods) == len(info.bcis)


def test_inlined_methods_are_told_with_the_code(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, jvm: jvms.Jvm
) -> None:
    if jvm.name == "zero":
        pytest.skip("this VM compiles nothing")
    stacks: list[list[str]] = []

    def note(event: Any) -> None:
        if event.method == code["heat"]:
            stacks.extend([[m.name for m in info.methods] for info in event.compile_info])

    with vm.env.on("CompiledMethodLoad", note):

        def found() -> bool:
            program.ask("heat")
            vm.env.generate_events(Event.COMPILED_METHOD_LOAD)
            return ["hot", "heat"] in stacks

        wait_until(found, stacks)


def test_the_code_of_a_class_that_goes_is_unloaded(
    program: programs.JavaProgram, vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    if jvm.name == "zero":
        evidence.lacks(f"{EVENT}CompiledMethodUnload", "compiled code")
        assert vm.properties["java.vm.info"].startswith("interpreted mode")
        return
    evidence.shows("CompiledMethodUnload")
    # A place may have other code by the time that its former code is reported.
    loaded: dict[int, list[Any]] = {}
    unloaded: dict[int, Any] = {}

    def load(event: Any) -> None:
        if vm.env.get_method_name(event.method).name == "passing":
            loaded.setdefault(event.code_addr, []).append(event.method)

    def unload(event: Any) -> None:
        if event.code_addr in loaded:
            unloaded[event.code_addr] = event.method

    with (
        vm.env.on("CompiledMethodLoad", load),
        vm.env.on("CompiledMethodUnload", unload),
    ):

        def gone() -> bool:
            program.ask("pass")
            program.ask("collect")
            return len(unloaded) > 0

        wait_until(gone, (loaded, unloaded))
    for address, method in unloaded.items():
        assert method in loaded[address]


def test_code_that_the_vm_makes_for_itself_lies_in_executable_memory(
    program: programs.JavaProgram, vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    evidence.proves("generate_events")
    seen = Seen()
    with vm.env.on("DynamicCodeGenerated", seen):
        vm.env.generate_events(Event.DYNAMIC_CODE_GENERATED)
    if jvm.name == "zero" and not seen:
        evidence.lacks(f"{EVENT}DynamicCodeGenerated", "generated code")
        pytest.skip("this VM generates nothing")
    evidence.shows("DynamicCodeGenerated")
    maps = Path(f"/proc/{program.pid}/maps").read_text()
    executable = [
        (int(begin, 16), int(end, 16))
        for begin, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) ..x", maps, re.M)
    ]
    for event in seen:
        assert event.length > 0 or jvm.name == "zero"  # whose interpreter is no generated code
        assert any(begin <= event.address < end for begin, end in executable), event.name
    if jvm.name != "zero":
        assert any("Interpreter" in event.name for event in seen)
        assert len(seen) > 50
