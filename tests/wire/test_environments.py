"""Environments: many to a session, each with its own capabilities, tags and storage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvmti
import programs
from jvmti import Capabilities

errors = jvmti.errors


@pytest.fixture(scope="module")
def vm(witness: programs.JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=60) as attached:
        yield attached


def environments(vm: jvmti.VM) -> int:
    agent = vm.stats.agent
    assert agent is not None
    return agent.environments


def test_each_environment_has_its_own_tags(vm: jvmti.VM) -> None:
    before = environments(vm)
    cls = vm.jni.find_class("java/lang/String")
    several = [vm.new_env() for _ in range(10)]
    assert environments(vm) == before + 10
    for number, env in enumerate(several):
        env.add_capabilities(Capabilities.of("can_tag_objects"))
        env.set_tag(cls, number + 1)
    for number, env in enumerate(several):
        assert env.get_tag(cls) == number + 1
        assert env.get_objects_with_tags([number + 1])[0] == [cls]
        assert env.get_objects_with_tags([number + 2])[0] == []
    for env in several:
        env.dispose_environment()
    assert environments(vm) == before


def test_each_environment_has_its_own_capabilities(vm: jvmti.VM) -> None:
    able, unable = vm.new_env(), vm.new_env()
    able.add_capabilities(Capabilities.of("can_get_bytecodes"))
    string = vm.jni.find_class("java/lang/String")
    method = vm.jni.get_method_id(string, "length", "()I")
    assert able.get_bytecodes(method)
    with pytest.raises(errors.MustPossessCapability, match="can_get_bytecodes"):
        unable.get_bytecodes(method)
    able.relinquish_capabilities(Capabilities.of("can_get_bytecodes"))
    with pytest.raises(errors.MustPossessCapability):
        able.get_bytecodes(method)
    able.dispose_environment()
    unable.dispose_environment()


def test_each_environment_keeps_its_own_python_objects(vm: jvmti.VM) -> None:
    one, other = vm.new_env(), vm.new_env()
    thread = one.get_all_threads()[0]
    mine, theirs = {"kept": [1, 2]}, object()
    one.set_environment_local_storage(mine)
    other.set_environment_local_storage(theirs)
    one.set_thread_local_storage(thread, mine)
    assert one.get_environment_local_storage() is mine
    assert other.get_environment_local_storage() is theirs
    assert one.get_thread_local_storage(thread) is mine
    assert other.get_thread_local_storage(thread) is None
    one.set_environment_local_storage(None)
    assert one.get_environment_local_storage() is None
    one.dispose_environment()
    other.dispose_environment()


def test_a_solo_capability_has_one_holder(vm: jvmti.VM, witness: programs.JavaProgram) -> None:
    solo = Capabilities.of("can_suspend")
    holder = vm.new_env()
    holder.add_capabilities(solo)
    with jvmti.attach(witness.pid, timeout=60) as other:
        with pytest.raises(errors.NotAvailable):
            other.env.add_capabilities(solo)
        holder.dispose_environment()
        other.env.add_capabilities(solo)
    vm.env.add_capabilities(solo)
    vm.env.relinquish_capabilities(solo)


def test_a_disposed_environment_answers_nothing_and_the_others_go_on(vm: jvmti.VM) -> None:
    gone, other = vm.new_env(), vm.new_env()
    gone.dispose_environment()
    for call in (gone.get_all_threads, gone.get_capabilities, gone.dispose_environment):
        with pytest.raises(errors.InvalidEnvironment):
            call()
    with pytest.raises(errors.InvalidEnvironment):
        gone.map.get_class_signature([vm.jni.find_class("java/lang/String")])
    assert other.get_all_threads()
    assert gone != other
    other.dispose_environment()


def test_an_unknown_version_of_the_interface_is_refused(vm: jvmti.VM) -> None:
    older = vm.new_env(0x30010200)
    assert older.get_version_number()
    older.dispose_environment()
    # Not one that is to come, nor of JNI, whose environments GetEnv gives out too.
    for version in (0x30630000, 0x10001, 0x00010008, 0x00150000, -1, 1, -(2**31)):
        wanted = f"new_env: .*this VM has JVM TI 0x[0-9a-f]+, .*{version & 0xFFFFFFFF:#x}"
        with pytest.raises(errors.UnsupportedVersion, match=wanted):
            vm.new_env(version)


def test_environments_go_with_the_session(witness: programs.JavaProgram, vm: jvmti.VM) -> None:
    with jvmti.attach(witness.pid, timeout=60) as other:
        for _ in range(20):
            other.new_env().add_capabilities(Capabilities.of("can_tag_objects"))
        assert environments(other) == 21
    with jvmti.attach(witness.pid, timeout=60) as another:
        assert environments(another) == 1
