"""Capabilities that only one environment can hold: the model never keeps others from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.capabilities import SOLO, Capabilities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from programs import JavaProgram

SUSPEND = Capabilities.can_suspend


@pytest.fixture
def attached(witness: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=30) as vm:
        yield vm


@pytest.mark.parametrize("other", [False, True], ids=["vm.env", "another environment"])
def test_who_asks_after_the_model_gets_it_and_the_model_goes_on(
    attached: jvmti.VM, witness: JavaProgram, *, other: bool
) -> None:
    vm = attached
    env = vm.new_env() if other else vm.env
    thread = vm.threads["waiting"]
    with thread.suspended():
        assert thread.is_suspended
    assert env.get_potential_capabilities() & SUSPEND
    assert "can_suspend" in vm.capabilities.status().available.names()
    env.add_capabilities({"can_suspend", "can_tag_objects"})
    assert env.get_capabilities() & SUSPEND
    # The model goes on, by the one that has it now.
    with thread.suspended():
        assert thread.is_suspended
    assert not thread.is_suspended
    env.suspend_thread(thread)
    env.resume_thread(thread)
    # And takes it again, when that one has given it up.
    env.relinquish_capabilities({"can_suspend"})
    with thread.suspended():
        assert thread.is_suspended
    assert witness.ask("state waiting") == "WAITING"


def test_the_model_stays_with_its_environment_when_another_has_as_much(attached: jvmti.VM) -> None:
    own = attached.env_with("can_tag_objects", "can_get_line_numbers")
    assert own is not attached.env
    attached.env.add_capabilities({"can_tag_objects", "can_get_line_numbers"})
    assert attached.env_with("can_tag_objects") is own


def by_map(env: jvmti.Env) -> None:
    columns = env.map.add_capabilities([SUSPEND])
    assert list(columns.status) == [0]


def by_batch(env: jvmti.Env) -> None:
    with env.batch() as batch:
        potential = batch.get_potential_capabilities()
        added = batch.add_capabilities({"can_suspend"})
    assert potential.result() & SUSPEND
    added.result()


FORMS = {
    "call": lambda env: env.add_capabilities({"can_suspend"}),
    "limited": lambda env: env.with_timeout(30).add_capabilities({"can_suspend"}),
    "map": by_map,
    "batch": by_batch,
}


@pytest.mark.parametrize("form", FORMS)
def test_the_model_gives_way_to_every_form_of_the_call(form: str, attached: jvmti.VM) -> None:
    thread = attached.threads["waiting"]
    with thread.suspended():
        FORMS[form](attached.env)
        assert attached.env.get_capabilities() & SUSPEND
        assert thread.is_suspended
    assert not thread.is_suspended


def test_threads_that_the_model_suspended_resume_for_any_holder_of_the_capability(
    attached: jvmti.VM,
) -> None:
    vm = attached
    thread, other = vm.threads["waiting"], vm.threads["sleeping"]
    first = vm.new_env()
    with vm.threads.suspended():
        first.add_capabilities({"can_suspend"})
        assert thread.is_suspended
        with other.suspended():
            assert other.is_suspended
        assert other.is_suspended  # by the outer one
    assert not thread.is_suspended
    assert not other.is_suspended
    with thread.suspended():
        first.dispose_environment()
    assert not thread.is_suspended


def test_who_asks_before_the_model_is_who_the_model_works_by(
    attached: jvmti.VM,
) -> None:
    vm = attached
    env = vm.new_env()
    env.add_capabilities({"can_suspend"})
    thread = vm.threads["waiting"]
    with thread.suspended():
        assert thread.is_suspended
    assert not thread.is_suspended
    # Two of the program's own do not give way to each other.
    assert not vm.env.get_potential_capabilities() & SUSPEND
    with pytest.raises(jvmti.errors.NotAvailable, match="can_suspend"):
        vm.env.add_capabilities({"can_suspend"})


def test_no_solo_capability_is_kept_from_an_environment_by_what_the_model_has_done(
    jvm: Jvm,
) -> None:
    command = [jvm.java, *jvm.args, "-XX:+UseSerialGC", "-version"]
    with jvmti.launch(command, hold=True) as vm:
        potential = vm.env.get_potential_capabilities() & SOLO
        assert potential
        made = vm.breakpoint("com.example.NoSuch", "method")
        held = vm.breakpoints.could_give
        made.cancel()
        assert vm.breakpoints.could_give == potential & Capabilities.can_generate_breakpoint_events
        assert not held, "a breakpoint is there"
        for one in potential:
            vm.env.add_capabilities(one)
        assert vm.env.get_capabilities() & SOLO == potential
        # Breakpoints go on, in the environment that has the capability.
        vm.breakpoint("com.example.NoSuch", "method").cancel()
        vm.env.relinquish_capabilities(potential)
        vm.breakpoint("com.example.NoSuch", "method").cancel()
    assert vm.popen is not None
    assert vm.popen.wait(60) == 0
