"""The chapter "JNI Function Interception"."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from jvmti.events.jni_interception import COUNTED, SLOTS
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS

WRAPPED = [
    name
    for name, declaration in ((name, JNI_FUNCTIONS[method]) for name, (_, method) in SLOTS.items())
    if "Critical" not in name and declaration.since in ("1.1", "1.2", "1.4", "1.6")
]


def ask_natively(witness: programs.JavaProgram) -> int:
    """Let the program make JNI calls: the threads of a group come from native code."""
    assert witness.ask("threads")
    return 42


def test_the_table_leads_into_the_vms_own_library(
    env: jvmti.Env, jvm: jvms.Jvm, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_jni_function_table")
    code, generated = [], []
    for line in Path(f"/proc/{witness.pid}/maps").read_text().splitlines():
        addresses, permissions, _, _, inode, *path = line.split()
        start, end = (int(address, 16) for address in addresses.split("-"))
        if "x" in permissions and path and path[0].endswith("libjvm.so"):
            code.append(range(start, end))
        elif "x" in permissions and inode == "0":
            generated.append(range(start, end))
    table = env.get_jni_function_table()
    assert table[:4] == [0, 0, 0, 0], "the reserved entries"
    newest = max(
        declaration.slot
        for declaration in JNI_FUNCTIONS.values()
        if int(declaration.since.split(".")[0]) <= jvm.feature
    )
    assert len(table) == newest + 1
    elsewhere = {
        slot
        for slot, address in enumerate(table)
        if slot >= 4 and not any(address in one for one in code)
    }
    # HotSpot generates machine code for reading primitive fields.
    readers = {
        declaration.slot
        for name, declaration in JNI_FUNCTIONS.items()
        if name.startswith("get_") and name.endswith("_field") and "static" not in name
    }
    assert elsewhere <= readers
    assert all(any(table[slot] in one for one in generated) for slot in elsewhere)


def test_a_python_function_takes_the_place_of_a_jni_function(
    env: jvmti.Env, vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("set_jni_function_table")
    tables = env.get_jni_function_table()
    calls: list[tuple[str, Any, Any]] = []

    def wrapper(name: str) -> Any:
        def call(original: Any, *arguments: Any) -> Any:
            result = original()
            calls.append((name, arguments, result))
            return result

        return call

    env.set_jni_function_table({name: wrapper(name) for name in WRAPPED})
    try:
        changed = env.get_jni_function_table()
        slots = {SLOTS[name][0] for name in WRAPPED}
        assert {slot for slot, address in enumerate(changed) if address != tables[slot]} == slots
        assert ask_natively(witness) == 42
        assert vm.jni.get_version() > 0, "our own calls are not reported"
    finally:
        env.set_jni_function_table({})
    assert env.get_jni_function_table() == tables
    seen = {name for name, _, _ in calls}
    assert seen & {"GetArrayLength", "GetObjectArrayElement", "NewObjectArray"}
    known = -1
    while known != len(calls):  # of other threads, some were under way
        known = len(calls)
        time.sleep(0.1)
    assert ask_natively(witness) == 42
    assert len(calls) == known


def test_a_result_can_be_replaced_and_a_failing_function_is_passed_over(
    env: jvmti.Env, vm: jvmti.VM, witness: programs.JavaProgram
) -> None:
    def fails(original: Any, *arguments: Any) -> Any:
        raise LookupError("on purpose")

    env.set_jni_function_table(
        {"GetArrayLength": fails, "GetObjectArrayElement": fails, "NewObjectArray": fails}
    )
    try:
        assert ask_natively(witness) == 42
    finally:
        env.set_jni_function_table({})
    assert any(isinstance(one, LookupError) for one in vm._callbacks.jni.errors)
    with pytest.raises(ValueError, match="no JNI function"):
        env.set_jni_function_table({"NoSuchFunction": fails})
    with pytest.raises(ValueError, match="did you mean 'NewGlobalRef'"):
        vm.jni.count("NewGlobalReff")
    # What a thread waits for in a critical region the collector may wait for, too.
    critical = [
        f"{do}{what}Critical" for do in ("Get", "Release") for what in ("PrimitiveArray", "String")
    ]
    for name in critical:
        with pytest.raises(ValueError, match=f'critical region.* count.*jni.count."{name}"'):
            env.set_jni_function_table({name: fails})
        with pytest.raises(jvmti.errors.IllegalArgument, match="critical region"):
            vm._session.call(env.set_jni_function_table.declaration, 1, ([COUNTED[name]],))
    with pytest.raises(ValueError, match="counterpart returns a copy.* count its calls"):
        env.set_jni_function_table({"ReleaseStringUTFChars": fails})
    with pytest.raises(TypeError, match="must be callable"):
        env.set_jni_function_table({"FindClass": 5})  # type: ignore[dict-item]


def test_calls_are_counted_in_the_agent_for_one_session_at_a_time(
    vm: jvmti.VM, witness: programs.JavaProgram
) -> None:
    with vm.jni.count() as counting:
        for _ in range(3):
            assert ask_natively(witness) == 42
        counts = counting.read()
        assert counts
        assert all(one.calls > 0 for one in counts.values())
        assert "GetVersion" not in counts
        vm.jni.get_version()
        assert "GetVersion" not in counting.read(), "our own calls are left out"
        with (
            jvmti.attach(witness.pid) as other,
            pytest.raises(jvmti.errors.NotAvailable, match="held by"),
        ):
            other.jni.count()
    counted = counting.read()
    assert ask_natively(witness) == 42
    assert counting.read() == counted


def test_the_table_goes_back_with_the_session(
    env: jvmti.Env, witness: programs.JavaProgram
) -> None:
    before = env.get_jni_function_table()
    with jvmti.attach(witness.pid) as other:
        other.env.set_jni_function_table({"GetArrayLength": lambda original, *rest: original()})
        assert env.get_jni_function_table() != before
        assert ask_natively(witness) == 42
    assert env.get_jni_function_table() == before
    assert ask_natively(witness) == 42
