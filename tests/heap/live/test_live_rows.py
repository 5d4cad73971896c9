"""Rows of a snapshot as live objects: along references first, by a walk for the rest."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import jvmti
import programs
from jvmti.heap.objects import Objects
from jvmti.interface.errors import CallTimeout
from jvmti.liveheap import live_contents


def numbers_of(vm: jvmti.VM, class_name: str, objects: list[Any]) -> list[int]:
    field = vm.jni.get_field_id(vm.find_class(class_name), "number", "I")
    return [vm.jni.get_int_field(one, field) for one in objects]


def test_what_a_class_holds_is_found_without_a_pause(vm: jvmti.VM) -> None:
    snapshot = vm.heap.snapshot()
    orders = snapshot.objects("Holdings$Order")
    found = snapshot.live(orders)
    assert found.coverage == 1
    assert found.pause == 0
    assert numbers_of(vm, "Holdings$Order", found.objects) == orders["number"].tolist()
    texts = snapshot.live(orders["name"])
    assert texts.pause == 0
    assert list(map(str, texts.objects)) == orders["name"].strings()


@pytest.mark.parametrize("collector", ["Serial", "Parallel", "G1"])
def test_objects_that_a_collector_has_moved_are_found(
    collector: str, java_program: programs.JavaPrograms
) -> None:
    started = java_program("Holdings", jvm_args=["-Xmx256m", f"-XX:+Use{collector}GC"])
    started.expect("ready")
    with jvmti.attach(started.pid) as vm:
        snapshot = vm.heap.snapshot()
        items = snapshot.objects("Holdings$Item")[::7]
        started.ask("fill 20000")  # garbage and more, and then all of it moves
        started.ask("gc")
        found = snapshot.live(items)
        assert found.collections is None or found.collections > 0
        assert (found.coverage, found.pause) == (1, 0)
        assert numbers_of(vm, "Holdings$Item", found.objects) == items["number"].tolist()


def test_what_are_no_objects_of_the_snapshot_is_said(vm: jvmti.VM) -> None:
    snapshot, other = vm.heap.snapshot(), vm.heap.snapshot()
    for wrong in ([3, 5], "Holdings$Item", None):
        for asked in (snapshot.live, snapshot.referrers, snapshot.paths_to_roots):
            with pytest.raises(
                TypeError, match=r"not .*; snapshot.column\(\[3, 5\]\) makes a column"
            ):
                asked(wrong)  # type: ignore[arg-type, operator]
    items = snapshot.objects("Holdings$Item")
    for asked in (other.live, other.retained_size, other.paths_to_roots):
        with pytest.raises(ValueError, match="of another snapshot"):
            asked(items)  # type: ignore[operator]
    numbers = items.indices.tolist()
    assert snapshot.live(snapshot.column(numbers[:3])).coverage == 1


def test_every_kind_of_step_leads_to_the_right_object(vm: jvmti.VM) -> None:
    snapshot = vm.heap.snapshot()
    # A static field, an array in arrays, a field of a superclass, a table of a map.
    for name in ("Holdings$Safe", "Holdings$Secret", "java.lang.Object[][]"):
        column = snapshot.objects(name)
        found = snapshot.live(column)
        assert found.coverage == 1, name
        assert [one.cls.name for one in found] == [name] * len(column)
    safe = snapshot.objects("Holdings$Safe")
    one = snapshot.live(safe["numbers"]).objects[0]
    assert numpy.array_equal(vm.jni.get_int_array_region(one, 0, 5), [3, 1, 4, 1, 5])
    threads = snapshot.objects("java.lang.Thread")
    names = [vm.env.get_thread_info(thread).name for thread in snapshot.live(threads)]
    assert names == threads["name"].strings()
    assert "keeper" in names


def test_what_no_class_holds_is_found_by_a_walk(vm: jvmti.VM) -> None:
    snapshot = vm.heap.snapshot()
    # A stack holds one, weak and soft references the others; the chain is deeper than is followed.
    for name in ("Holdings$Local", "Holdings$Weakly", "Holdings$Softly", "Holdings$Link"):
        column = snapshot.objects(name)
        found = snapshot.live(column)
        assert found.coverage == 1, name
        assert found.pause > 0, name
        assert [one.cls.name for one in found] == [name] * len(column)
        if name == "Holdings$Link":
            assert numbers_of(vm, name, found.objects) == column["number"].tolist()


def test_rows_come_in_the_order_asked_for(vm: jvmti.VM) -> None:
    snapshot = vm.heap.snapshot()
    orders = snapshot.objects("Holdings$Order")
    none = numpy.array([jvmti.heap.NONE], numpy.uint32)
    [last, first] = orders.indices[-1:], orders.indices[:1]
    column = Objects(snapshot, numpy.concatenate([last, none, first, last]))
    found = snapshot.live(column)
    assert found.objects[1] is None
    assert found.coverage == 0.75
    assert found.objects[0] is found.objects[3]
    wanted = orders["number"].tolist()
    assert numbers_of(vm, "Holdings$Order", list(found)) == [wanted[-1], wanted[0], wanted[-1]]
    assert snapshot.live(snapshot.object(int(first[0]))).objects == [found.objects[2]]
    assert snapshot.live(orders[:0]).coverage == 1


def test_what_was_put_in_the_place_of_another_is_noticed(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm:
        snapshot = vm.heap.snapshot()
        safe = snapshot.objects("Holdings$Safe")
        drawers = safe["drawers"]
        changing.ask("drop")
        vm.env.force_garbage_collection()
        assert snapshot.live(safe).objects == [None]
        assert snapshot.live(drawers).objects == [None]
        # The list of orders has another array from now on, of another length.
        changing.ask("add 3000")
        along = snapshot.live(snapshot.objects("Holdings$Order"))
        assert along.pause > 0


def test_handles_go_back(vm: jvmti.VM) -> None:
    snapshot = vm.heap.snapshot()
    orders = snapshot.objects("Holdings$Order")
    snapshot.live(orders)
    before = vm.stats.agent
    found = snapshot.live(orders)
    held = vm.stats.agent
    del found
    after = vm.stats.agent
    assert before is not None
    assert held is not None
    assert after is not None
    # Those of the result, and none of the objects that were passed on the way.
    assert held.objects - before.objects == len(orders)
    assert after.objects == before.objects


def test_more_rows_than_one_pass_looks_for(changing: programs.JavaProgram) -> None:
    changing.ask("add 3000")
    with jvmti.attach(changing.pid) as vm:
        scan = vm.heap.scan("Holdings$Item", fields=True)
        items = scan["Holdings$Item"]
        reported: list[int] = []
        live = items.live(progress=reported.append)
        assert live.coverage == 1
        assert reported == [20_000, 40_000]
        assert numbers_of(vm, "Holdings$Item", live.objects[::997]) == (
            items["number"][::997].tolist()
        )
        with pytest.raises(CallTimeout, match="time limit of 0 s"):
            items.live(timeout=0)
        snapshot = vm.heap.snapshot()
        column = snapshot.objects()
        assert len(column) > 60_000
        reported.clear()
        found = snapshot.live(column, progress=reported.append)
        classes = len(snapshot.objects("java.lang.Class"))
        assert sum(one is not None for one in found.objects) >= 0.95 * (len(column) - classes)
        assert reported
        assert reported == sorted(reported)
        at = numpy.flatnonzero(column.class_indices == items_class(snapshot))[::997]
        own = [found.objects[place] for place in at.tolist()]
        assert numbers_of(vm, "Holdings$Item", own) == column[at]["number"].tolist()


def items_class(snapshot: jvmti.heap.Snapshot) -> int:
    [index] = snapshot.classes.indices("Holdings$Item")
    return index


@pytest.mark.parametrize("part", [8 << 20, 1000])
def test_contents_are_compared_where_they_are_asked_for(
    vm: jvmti.VM, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_contents, "_PART", part)
    monkeypatch.setattr(live_contents, "_FIELDS", part)
    snapshot = vm.heap.snapshot()
    orders = snapshot.objects("Holdings$Order")
    safe = snapshot.objects("Holdings$Safe")
    astral = [snapshot.static("Holdings.ASTRAL")]
    for column in (
        orders,  # fields of all types, those of a superclass as well
        orders["name"],
        orders["name"]["value"],
        safe["contents"],
        safe["numbers"],
        snapshot.column(astral),
        snapshot.objects("Holdings$Link"),  # which a walk finds
        snapshot.objects("Holdings$Secret"),  # which have no contents
        orders["items"],
    ):
        found = snapshot.live(column, content=True)
        assert (found.coverage, list(found.changed)) == (1, [])
    assert snapshot.live(orders[:0], content=True).objects == []


def test_most_of_what_a_program_has_is_unchanged(vm: jvmti.VM) -> None:
    """All types that a VM itself has fields and arrays of; messages do not grow with objects."""
    snapshot = vm.heap.snapshot()
    every = snapshot.objects()
    classes = len(snapshot.objects("java.lang.Class"))
    found = snapshot.live(every, content=True)
    assert sum(one is not None for one in found.objects) >= 0.95 * (len(every) - classes)
    assert len(found.changed) < 0.01 * len(every)
    some = every[:: len(every) // 500]
    snapshot.live(some, content=True)
    before = vm.stats.messages
    plain = snapshot.live(some)
    between = vm.stats.messages
    snapshot.live(some, content=True)
    assert vm.stats.messages - between - (between - before) < 40
    assert len(plain.objects) == len(some)


def in_order(snapshot: jvmti.heap.Snapshot) -> Objects:
    orders = snapshot.objects("Holdings$Order")
    return orders[numpy.argsort(orders["number"])]


def test_other_contents_are_reported(
    changing: programs.JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    with jvmti.attach(changing.pid) as vm:
        jni = vm.jni
        snapshot = vm.heap.snapshot()
        orders, safe = in_order(snapshot), snapshot.objects("Holdings$Safe")
        first, second, third, fourth = snapshot.live(orders[:4]).objects
        cls = first.cls
        field = {
            name: jni.get_field_id(cls, name, signature)
            for name, signature in [("rate", "F"), ("price", "D"), ("name", "Ljava/lang/String;")]
        }
        # A field, one of a superclass, and a text in place of another.
        jni.set_float_field(first, field["rate"], float("nan"))
        jni.set_double_field(second, field["price"], -1.0)
        jni.set_object_field(third, field["name"], jni.new_string("order-x"))
        numbers = snapshot.live(safe["numbers"]).objects[0]
        jni.set_int_array_region(numbers, 4, [6])
        held = [first, second, third, fourth]
        found = snapshot.live(orders[:4], content=True)
        assert found.objects == [None, None, third, fourth]
        assert list(found.changed) == sorted(orders.indices[:2].tolist())
        assert found.coverage == 0.5
        # Without a question for contents all is as before.
        assert snapshot.live(orders[:4]).objects == held
        vm.env.force_garbage_collection()  # or a walk finds the text that nothing holds any more
        names = snapshot.live(orders[:4]["name"], content=True)
        assert [None if one is None else str(one) for one in names.objects] == [
            "order-0", "order-1", None, "order-3"
        ]  # fmt: skip
        assert list(names.changed) == [orders["name"].indices[2]]
        assert list(snapshot.live(safe["numbers"], content=True).changed) == (
            safe["numbers"].indices.tolist()
        )
        # A large array is compared in parts, and small ones together.
        monkeypatch.setattr(live_contents, "_PART", 1000)
        texts = orders[3:]["name"]["value"]
        arrays = snapshot.column([*texts.indices, *safe["contents"].indices])
        assert snapshot.live(arrays, content=True).coverage == 1
        jni.set_byte_array_region(snapshot.live(safe["contents"]).objects[0], 99_999, [1])
        assert list(snapshot.live(arrays, content=True).changed) == arrays.indices[-1:].tolist()
        # Not a number, in the dump and in the VM, is the same.
        later = vm.heap.snapshot()
        orders = in_order(later)
        assert numpy.isnan(orders["rate"][0])
        assert later.live(orders[:4], content=True).coverage == 1


def test_what_has_moved_on_in_a_list_is_found_by_its_contents(
    changing: programs.JavaProgram,
) -> None:
    """Each place of the array has another order now: one of the same class, and not the one."""
    with jvmti.attach(changing.pid) as vm:
        snapshot = vm.heap.snapshot()
        orders = in_order(snapshot)
        assert changing.ask("shift") == "999"
        shifted = numbers_of(vm, "Holdings$Order", snapshot.live(orders[1:9]).objects)
        assert shifted == list(range(2, 10))
        found = snapshot.live(orders[1:9], content=True)
        assert numbers_of(vm, "Holdings$Order", found.objects) == list(range(1, 9))
        assert (list(found.changed), found.pause > 0) == ([], True)
