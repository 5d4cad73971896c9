"""The chapter "System Properties": those of the VM, which Java's are made from."""

from __future__ import annotations

import contextlib
import subprocess

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence


def test_the_vms_properties_are_those_that_java_sees(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_system_properties", "get_system_property")
    names = env.get_system_properties()
    seen_by_java = set(witness.ask("properties").split())
    assert "java.class.path" in names
    assert len(set(names) & seen_by_java) >= 5
    for name in set(names) & seen_by_java:
        written = witness.ask(f"property {name}").encode().decode("unicode_escape")
        assert env.get_system_property(name) == written


def test_what_java_sets_later_does_not_show(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.provokes("get_system_property", "NOT_AVAILABLE")
    assert witness.ask("set-property set.by.java yes") == "ok"
    for name in ("set.by.java", "no.such.property", ""):
        with pytest.raises(jvmti.errors.NotAvailable):
            env.get_system_property(name)


def test_java_starts_with_a_property_that_was_set_before(jvm: jvms.Jvm, evidence: Evidence) -> None:
    evidence.proves("set_system_property")
    evidence.provokes("set_system_property", "NOT_AVAILABLE")
    command = [jvm.java, *jvm.args, "-Dchosen=before", "-XshowSettings:properties", "-version"]
    vm = jvmti.launch(
        command,
        hold=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    try:
        assert vm.env.get_system_property("chosen") == "before"
        vm.env.set_system_property("chosen", "in OnLoad é")
        assert vm.env.get_system_property("chosen") == "in OnLoad é"
        with pytest.raises(jvmti.errors.NotAvailable):
            vm.env.set_system_property("no.such.property", "value")
    finally:
        vm.detach()
    assert vm.popen is not None
    _, printed = vm.popen.communicate(timeout=60)
    assert b"chosen = in OnLoad " in printed


def test_no_value_asks_whether_a_property_can_be_written(jvm: jvms.Jvm, evidence: Evidence) -> None:
    """The VM itself would follow the null."""
    evidence.proves("set_system_property")
    command = [jvm.java, *jvm.args, "-Dchosen=before", "-version"]
    output = subprocess.DEVNULL
    vm = jvmti.launch(command, hold=True, stdout=output, stderr=output, stdin=output)
    writable = set()
    try:
        for name in [*vm.env.get_system_properties(), "no.such.property"]:
            try:
                before = vm.env.get_system_property(name)
            except jvmti.errors.NotAvailable:
                with pytest.raises(jvmti.errors.NotAvailable):
                    vm.env.set_system_property(name)
                continue
            with contextlib.suppress(jvmti.errors.NotAvailable):
                vm.env.set_system_property(name)
                vm.env.set_system_property(name, before)
                writable.add(name)
            assert vm.env.get_system_property(name) == before
        with pytest.raises(jvmti.errors.NotAvailable):
            vm.env.set_system_property("java.vm.name")
    finally:
        vm.detach()
    assert vm.popen is not None
    assert vm.popen.wait(60) == 0
    assert {"java.home", "java.class.path", "java.library.path"} <= writable
