"""Owned and contended monitors of a JVM that nobody prepared, as Java itself reports them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

import command_line
import jvmti
from jvmti.classfile.monitors import entered
from jvmti.interface.capabilities import Capabilities

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms

MONITORS = Capabilities.of(
    "can_get_owned_monitor_info",
    "can_get_owned_monitor_stack_depth_info",
    "can_get_current_contended_monitor",
)
OWN = ("nothing", "block", "method", "static", "nested", "again", "running", "array", "compiled")
WAIT = ("waits", "waits-awhile", "blocks", "enters", "enters-static")
_names = (f"owner-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def owners(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Owners")
    program.expect("ready", timeout=60)
    return program


@pytest.fixture(scope="module")
def vm(owners: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(owners.pid, timeout=30, emulate=True) as vm:
        vm.timeout = 60
        vm.env.add_capabilities(MONITORS)
        assert vm.emulation.held(vm.env) == MONITORS
        yield vm
        assert owners.ask("owned nobody").startswith("error")  # it lives


class Owner:
    """A thread of the program."""

    def __init__(self, owners: JavaProgram, vm: jvmti.VM, kind: str, virtual: bool) -> None:
        self.owners = owners
        self.name = next(_names)
        answer = owners.ask(f"{'virtual' if virtual else 'run'} {self.name} {kind}")
        if "NoSuchMethod" in answer:
            pytest.skip("this release has no virtual threads")
        assert answer == "stays", answer
        self.thread: Any = vm.find_class("Owners")["latest"]

    def ask(self, what: str) -> str:
        return self.owners.ask(f"{what} {self.name}")


@pytest.fixture
def run(owners: JavaProgram, vm: jvmti.VM) -> Iterator[Any]:
    started = []

    def start(kind: str, virtual: bool = False) -> Owner:
        started.append(Owner(owners, vm, kind, virtual))
        return started[-1]

    yield start
    owners.ask("release contended")
    for one in started:
        assert one.ask("end") == "ended"
    owners.ask("hold contended")


def described(vm: jvmti.VM, item: Any) -> str:
    """An object as the program writes it."""
    name = vm.env.get_class_signature(vm.jni.get_object_class(item)).signature
    name = name[1:-1].replace("/", ".") if name.startswith("L") else name
    return f"{name}@{vm.env.get_object_hash_code(item)}"


def youngest(owned: str) -> dict[str, int]:
    """The monitors of ThreadMXBean, each with the most recent frame that has locked it."""
    found: dict[str, int] = {}
    for one in owned.split():
        monitor, _, depth = one.rpartition(":")
        found[monitor] = min(int(depth), found.get(monitor, int(depth)))
    return found


@pytest.mark.parametrize("kind", [*OWN, *WAIT])
def test_a_thread_owns_and_waits_for_the_monitors_that_java_names(
    vm: jvmti.VM, run: Any, kind: str
) -> None:
    one = run(kind)
    owned = vm.env.get_owned_monitor_stack_depth_info(one.thread)
    reported = youngest(one.ask("owned"))
    assert {described(vm, info.monitor): info.stack_depth for info in owned} == reported
    plain = vm.env.get_owned_monitor_info(one.thread)
    assert {described(vm, item) for item in plain} == reported.keys()
    assert len(plain) == len(owned) == len(reported)
    contended = vm.env.get_current_contended_monitor(one.thread)
    if kind in WAIT:
        assert described(vm, contended) == one.ask("contended")
    else:
        assert contended is None
    assert not one.thread.is_suspended


@pytest.mark.parametrize("kind", [*OWN, *WAIT])
def test_a_virtual_thread_owns_what_it_says_that_it_has_locked(
    vm: jvmti.VM, jvm: Jvm, run: Any, kind: str
) -> None:
    if kind == "compiled" and jvm.feature < 25:
        pytest.skip("compiled code may keep the receiver in no variable, as the page says")
    one = run(kind, virtual=True)
    owned = vm.env.get_owned_monitor_stack_depth_info(one.thread)
    assert {described(vm, info.monitor) for info in owned} == {*one.ask("locked").split()}
    names = [frame.method.name for frame in one.thread.frames]
    locking = {
        "block": ["block"],
        "method": ["method"],
        "static": ["locksItsClass"],
        "nested": ["inner", "nested", "nested", "nested"],
        "again": ["oneMore"],
        "running": ["running"],
        "array": ["array"],
        "compiled": ["turn"],
        "waits": ["waits"],
        "blocks": ["blocks"],
    }
    assert [names[info.stack_depth] for info in owned] == locking.get(kind, [])
    contended = vm.env.get_current_contended_monitor(one.thread)
    assert (contended is not None) == (kind in WAIT)


def test_the_dump_of_jcmd_says_that_the_same_classes_are_locked(vm: jvmti.VM, run: Any) -> None:
    one = run("nested")
    dump = vm.diagnostic_command("Thread.print")
    its = dump[dump.index(f'"{one.name}"') :].split("\n\n")[0]
    found = vm.env.get_owned_monitor_info(one.thread)
    assert its.count("- locked <") == len(found) == 4
    for item in found:
        name = described(vm, item).partition("@")[0]
        assert f"(a {name}" in its


def test_a_monitor_entered_through_jni_has_no_frame(vm: jvmti.VM) -> None:
    held: Any = vm.jni.alloc_object(vm.find_class("Owners$Thing"))
    assert vm.env.get_owned_monitor_info() == []
    with held.locked():
        [info] = vm.env.get_owned_monitor_stack_depth_info()
        assert (info.monitor, info.stack_depth) == (held, -1)
    vm.jni.monitor_enter(held)
    assert vm.env.get_owned_monitor_info() == [held]
    vm.jni.monitor_exit(held)
    assert vm.env.get_owned_monitor_info() == []
    assert vm.env.get_current_contended_monitor() is None


def test_threads_that_are_none_are_refused_as_the_vm_does(vm: jvmti.VM, run: Any) -> None:
    one = run("nothing")
    unstarted: Any = vm.find_class("java.lang.Thread").new()
    for name in (
        "get_owned_monitor_info",
        "get_owned_monitor_stack_depth_info",
        "get_current_contended_monitor",
    ):
        function = getattr(vm.env, name)
        with pytest.raises(jvmti.errors.ThreadNotAlive) as refused:
            function(unstarted)
        assert refused.value.function == name
        with pytest.raises(jvmti.errors.InvalidThread) as refused:
            function(vm.string("no thread"))
        assert refused.value.function == name
        function(one.thread)


def test_an_environment_without_the_capability_is_refused(owners: JavaProgram) -> None:
    with jvmti.attach(owners.pid, timeout=30) as vm:
        with pytest.raises(jvmti.errors.NotAvailable, match="emulate=True"):
            vm.env.add_capabilities(MONITORS)
        with pytest.raises(jvmti.errors.MustPossessCapability):
            vm.env.get_owned_monitor_info(vm.threads["main"])


def test_the_model_uses_emulated_monitors_unasked(java_program: JavaPrograms) -> None:
    program = java_program("Owners")
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        one = Owner(program, vm, "nested", virtual=False)
        other = Owner(program, vm, "blocks", virtual=False)
        thread = vm.threads[one.name]
        names = {described(vm, item) for item in thread.owned_monitors}
        assert names == {*one.ask("locked").split()}
        [frame] = [frame for frame in thread.frames if frame.method.name == "inner"]
        assert frame.monitors == [vm.find_class("Owners")]
        waits = vm.threads[other.name].contended_monitor
        assert waits is not None
        assert described(vm, waits) == other.ask("contended")
        assert not vm.env.get_capabilities()


@pytest.mark.parametrize(
    ("location", "slots"),
    [(0, []), (3, []), (4, [1]), (7, [1]), (8, [1, 2]), (10, [1, 2]), (11, [1]), (14, [])],
)
def test_code_tells_which_monitors_are_entered_where(location: int, slots: list[int]) -> None:
    code = bytes.fromhex("2a594cc2 2a594dc2 002cc3 002bc3b1")
    assert entered(code, location) == slots


def test_a_script_has_emulated_capabilities_if_the_command_says_so(
    owners: JavaProgram, tmp_path: Path
) -> None:
    script = tmp_path / "monitors.py"
    script.write_text(
        "def agent_onattach(vm, options):\n"
        "    vm.env.add_capabilities({'can_get_owned_monitor_info'})\n"
        "    owned = vm.env.get_owned_monitor_info(vm.threads['holder'])\n"
        "    print(len(owned), 'monitors', flush=True)\n"
        "    raise ValueError('enough')\n"
    )
    refused = command_line.run("attach", owners.pid, script)
    assert "emulate=True" in refused.stderr
    given = command_line.run("attach", "--emulate", owners.pid, script)
    assert "3 monitors" in given.stdout
