"""What this package holds in a VM is nothing of the program's: not in dumps, not as a holder.

Each way in which the agent keeps an object has a line in `ways`, and no other place in the agent
may make a global reference for itself.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
import jvmti.heap

if TYPE_CHECKING:
    import jvms
    import programs
    from jvmti.heap import Snapshot

AGENT = Path(__file__).parents[3] / "native" / "agent"
BY_JNI = "JNI global"


def safe_of(vm: jvmti.VM) -> Any:
    return vm.find_class("Holdings")["vault"]


def throw(vm: jvmti.VM) -> None:
    with pytest.raises(jvmti.JavaException):
        vm.jni.throw_new(vm.jni.find_class("java/lang/IllegalStateException"), "pending")


def ways(vm: jvmti.VM, stack: ExitStack) -> dict[str, Any]:
    """Holds objects of the program in every way that there is; what is held, by a name."""
    jni = vm.jni
    safe = safe_of(vm)
    keeper = vm.threads["keeper"]
    jni.monitor_enter(safe)
    stack.callback(jni.monitor_exit, safe)
    # An exception stays pending for the Python thread that met it.
    apart = stack.enter_context(ThreadPoolExecutor(1))
    apart.submit(throw, vm).result()
    stack.callback(lambda: apart.submit(jni.exception_clear).result())
    stack.enter_context(keeper.suspended())
    stack.enter_context(vm.env.stream("ThreadEnd", thread=keeper))
    return {
        "handle": safe,
        "global reference": jni.new_global_ref(safe),
        "weak reference": jni.new_weak_global_ref(safe),
        "thread": keeper,
    }


def roots_by_jni(snapshot: Snapshot, name: str) -> list[object]:
    return [
        root
        for root in snapshot.roots
        if root.kind == BY_JNI and root.object.cls.name == name and root.object.as_class is None
    ]


def test_what_any_session_holds_is_no_root(vm: jvmti.VM, program: programs.JavaProgram) -> None:
    before = vm.heap.snapshot()
    with jvmti.attach(program.pid) as other, ExitStack() as stack:
        orders = other.find_class("Holdings$Order").instances()
        held = ways(other, stack)
        mine = vm.find_class("Holdings$Customer").instances()
        snapshot = vm.heap.snapshot()
        assert len(orders) == 1000
        assert len(mine) == 10
        for name in ("Holdings$Order", "Holdings$Customer", "Holdings$Safe"):
            assert roots_by_jni(snapshot, name) == []
        assert roots_by_jni(snapshot, "java.lang.IllegalStateException") == []
        [safe] = snapshot.objects("Holdings$Safe")
        [(kind, owner), (reference, found)] = snapshot.paths_to_roots(safe).path(safe)
        assert (reference, found) == ("static vault", safe)
        assert owner.as_class is not None
        assert "JNI" not in kind
        assert snapshot.retained_size(safe) == before.retained_size(before.objects("Holdings$Safe"))
        jni_roots = [sum(root.kind == BY_JNI for root in one.roots) for one in (before, snapshot)]
        assert jni_roots[0] == jni_roots[1]
        # The same by walks over the heap.
        assert {str(one) for one in held["handle"].referrers()} == {"static Holdings.vault"}
        assert [str(one) for one in held["handle"].path_to_root()] == ["static Holdings.vault"]
        assert BY_JNI not in {str(one) for one in held["thread"].referrers()}
        kinds = [one.kind.name for one in vm.threads["keeper"].referrers()]
        assert "JNI_GLOBAL" not in kinds
        del orders, held, mine


def test_what_only_the_tool_holds_is_garbage(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm, jvmti.attach(changing.pid) as other:
        [safe] = other.find_class("Holdings$Safe").instances()
        assert len(vm.heap.snapshot().objects("Holdings$Safe")) == 1
        changing.send("drop")
        changing.expect("dropped")
        assert len(vm.heap.snapshot().objects("Holdings$Safe")) == 0
        kept = vm.heap.snapshot(unreachable="keep").objects("Holdings$Safe")
        assert len(kept) == 1
        assert not kept[0].retained
        assert safe.referrers() is not None


def test_our_threads_are_not_the_programs(vm: jvmti.VM) -> None:
    names = {thread.name for thread in vm.heap.snapshot().threads}
    assert {"main", "keeper"} <= names
    assert not [name for name in names if name and "jvmti" in name.lower()]


def test_a_saved_dump_has_neither_garbage_nor_what_is_ours(
    vm: jvmti.VM, program: programs.JavaProgram, jvm: jvms.Jvm, tmp_path: Path
) -> None:
    with jvmti.attach(program.pid) as other:
        orders = other.find_class("Holdings$Order").instances()
        snapshot = vm.heap.snapshot()
        whole = vm.heap.snapshot(unreachable="keep")
    assert len(orders) == 1000
    snapshot.save(tmp_path / "part.hprof")
    whole.save(tmp_path / "whole.hprof")
    part = jvmti.heap.open(tmp_path / "part.hprof", unreachable="keep")
    assert part.fault is None
    assert part.unreachable_count == 0
    assert part._dump.summary.dangling == (whole._dump.summary.dangling if jvm.has_archive else 0)
    assert len(part) == len(snapshot)
    assert roots_by_jni(part, "Holdings$Order") == []
    for name in ("Holdings$Order", "Holdings$Item", "java.lang.String"):
        assert len(part.objects(name)) == len(snapshot.objects(name))
    texts = sorted(snapshot.objects("Holdings$Order")["name"].strings())
    assert sorted(part.objects("Holdings$Order")["name"].strings()) == texts
    again = jvmti.heap.open(tmp_path / "whole.hprof", unreachable="keep")
    assert len(again) == len(whole) > len(part)
    assert again.unreachable_count == whole.unreachable_count > 0
    assert roots_by_jni(again, "Holdings$Order") == []


def test_the_agent_makes_its_references_in_one_place() -> None:
    """The list is whole only if nothing else in the agent calls the VM for a global reference."""
    call = re.compile(r"->\s*(?:NewGlobalRef|DeleteGlobalRef)\s*\(")
    found = {
        path.name
        for path in AGENT.rglob("*")
        if path.suffix in (".cpp", ".h", ".py") and call.search(path.read_text())
    }
    # What a JNI function of the program's own answers is the program's.
    assert found == {"agent_references.cpp", "jni_interception.cpp"}
