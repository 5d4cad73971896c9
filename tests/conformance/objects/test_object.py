"""The chapter "Object": size, hash code and monitor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.finding import kept, loaded_class


def names(env: jvmti.Env, threads: list[jvmti.refs.Thread]) -> list[str]:
    return [env.get_thread_info(thread).name for thread in threads]


def static_object(vm: jvmti.VM, name: str) -> jvmti.refs.Object:
    """A static field of the Witness that holds an object."""
    jni = vm.jni
    witness = loaded_class(vm.env, "Witness")
    field = jni.get_static_field_id(witness, name, "Ljava/lang/Object;")
    found = jni.get_static_object_field(witness, field)
    assert found is not None
    return found


def test_the_size_is_that_of_the_class_histogram(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram, jdk: Path, evidence: Evidence
) -> None:
    evidence.proves("get_object_size")
    command = [str(jdk / "bin" / "jcmd"), str(witness.pid), "GC.class_histogram", "-all"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = {
        row[3]: (int(row[1]), int(row[2]))
        for row in map(str.split, printed.splitlines())
        if len(row) >= 4 and row[0].endswith(":")
    }
    for name, klass in (("derived", "Witness$Derived"), ("everything", "Witness$Everything")):
        instances, size = rows[klass]
        assert env.get_object_size(kept(vm, name)) * instances == size


def test_the_hash_code_is_the_identity_hash_code(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_object_hash_code")
    for name in ("derived", "array", "lambda", "everything"):
        assert env.get_object_hash_code(kept(vm, name)) == int(witness.ask(f"hash {name}"))


def test_a_monitor_has_an_owner_and_threads_that_want_it(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_object_monitor_usage")
    contended = env.get_object_monitor_usage(static_object(vm, "contended"))
    assert contended.owner is not None
    assert env.get_thread_info(contended.owner).name == witness.ask("owner blocked")
    assert contended.entry_count == 1
    assert names(env, contended.waiters) == ["blocked"]
    assert contended.notify_waiters == []


def test_a_monitor_that_is_waited_for_has_no_owner(vm: jvmti.VM, env: jvmti.Env) -> None:
    waited_for = env.get_object_monitor_usage(static_object(vm, "waitedFor"))
    assert waited_for.owner is None
    assert waited_for.entry_count == 0
    assert names(env, waited_for.notify_waiters) == ["waiting"]
    assert env.get_object_monitor_usage(static_object(vm, "unused")).notify_waiters == []
