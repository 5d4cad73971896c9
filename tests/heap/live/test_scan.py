"""Scans against what the program says that it has, and against the VM's own histogram."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import jvmti
import programs
from jvmti.heap.errors import NoSuchClass
from jvmti.interface.errors import CallTimeout
from jvmti.liveheap.passes import PassOverran
from jvmti.liveheap.pauses import PauseTooLong


def test_a_scan_of_everything_equals_the_histogram(vm: jvmti.VM) -> None:
    scan = vm.heap.scan()
    histogram = vm.heap.histogram(loaders=False)
    found = scan.by_class()
    assert scan.missed == 0
    assert 0 < scan.pause < 10
    same = 0
    for row in histogram:
        # On 11 JVM TI does not list the classes of lambdas.
        if "$$Lambda" not in row.name and row.name.startswith(("Holdings", "java.util.")):
            assert found[row.name] == (row.count, row.bytes), row
            same += 1
    assert same > 20
    assert abs(len(scan) - histogram.total_count) < 1000
    assert int(scan.size.sum()) == sum(size for _, size in found.values())


def test_the_agent_counts_its_passes_and_how_long_they_took(vm: jvmti.VM) -> None:
    before = vm.stats.agent
    scan = vm.heap.scan("Holdings$*")
    after = vm.stats.agent
    assert before is not None
    assert after is not None
    assert after.heap_passes > before.heap_passes
    took = after.heap_nanoseconds - before.heap_nanoseconds
    assert took / 1e9 == pytest.approx(scan.pause, abs=1e-6)


def test_a_pattern_leaves_the_other_classes_out(vm: jvmti.VM) -> None:
    scan = vm.heap.scan("Holdings$*")
    found = scan.by_class()
    assert found["Holdings$Order"][0] == 1000
    assert found["Holdings$Item"][0] == 10_000
    assert found["Holdings$Item[]"][0] == 1000
    assert "java.lang.String" not in found
    arrays = scan["Holdings$Item[]"]
    assert len(arrays) == 1000
    assert (arrays.length == 10).all()
    assert (scan["Holdings$Order"].length == -1).all()
    assert set(scan["*$Order"].class_names) == {"Holdings$Order"}


def test_primitive_fields_are_columns(vm: jvmti.VM) -> None:
    orders = vm.heap.scan("Holdings$Order", fields=True)["Holdings$Order"]
    assert set(orders.fields) == {
        "kind",
        "price",
        "number",
        "total",
        "paid",
        "letter",
        "half",
        "rate",
    }
    order = numpy.argsort(orders["number"])
    numbers = orders["number"][order]
    assert numbers.tolist() == list(range(1000))
    assert orders["total"][order].tolist() == [n * 10_000_000_000 for n in range(1000)]
    assert orders["paid"][order].tolist() == [n % 2 == 0 for n in range(1000)]
    assert orders["letter"][order].tolist() == [ord("a") + n % 26 for n in range(1000)]
    assert orders["half"][order].tolist() == [-n for n in range(1000)]
    assert orders["rate"][order].tolist() == [n / 4 for n in range(1000)]
    assert orders["price"][order].tolist() == [n / 8 for n in range(1000)]
    assert set(orders["kind"].tolist()) == {7}
    with pytest.raises(KeyError, match="no primitive field 'name'; it has .*total"):
        orders["name"]


def test_fields_of_several_classes_are_one_column(vm: jvmti.VM) -> None:
    scan = vm.heap.scan(["Holdings$Order", "Holdings$Item", "Holdings$Link"], fields=True)
    both = scan[["Holdings$Order", "Holdings$Link"]]
    assert both.fields == ["number"]
    assert sorted(both["number"].tolist()) == sorted([*range(1000), *range(300)])
    assert scan["Holdings$Item"]["number"].sum() == 45_000


def test_texts_of_strings_are_there(vm: jvmti.VM) -> None:
    strings = vm.heap.scan("java.lang.String", strings=True).strings
    texts = list(strings)
    for number in range(1000):
        assert f"order-{number}" in texts
    assert "日本 😀" in texts
    astral = texts.index("日本 😀")
    assert strings.characters[astral] == 5
    assert [strings[i] for i in numpy.flatnonzero(strings.containing("本 😀"))].count(
        "日本 😀"
    ) == 1
    found = {strings[int(at)] for at in numpy.flatnonzero(strings.containing("order-99"))}
    assert found >= {"order-99", *(f"order-{number}" for number in range(990, 1000))}
    assert all("order-99" in text for text in found)
    assert [text is not None and "e" in text for text in texts] == strings.containing("e").tolist()


def test_elements_of_primitive_arrays_are_there(vm: jvmti.VM) -> None:
    scan = vm.heap.scan(["int[]", "byte[]", "long[]"], arrays=True)
    assert any(
        one.tolist() == [3, 1, 4, 1, 5] for one in scan.arrays if one.dtype == numpy.dtype("<i4")
    )
    large = [one for one in scan.arrays if one.dtype == numpy.int8 and len(one) == 100_000]
    assert len(large) == 1
    assert not large[0].any()
    assert [len(one) for one in scan.arrays] == scan.arrays.length.tolist()


def test_what_was_not_asked_for_is_not_there(vm: jvmti.VM) -> None:
    scan = vm.heap.scan("Holdings$Order")
    for wish in ("strings", "arrays"):
        with pytest.raises(ValueError, match=f"{wish}=True"):
            getattr(scan, wish)
    with pytest.raises(ValueError, match="fields=True"):
        scan["Holdings$Order"]["number"]


def test_rows_are_live_objects_again(vm: jvmti.VM) -> None:
    orders = vm.heap.scan("Holdings$Order", fields=True)["Holdings$Order"]
    wanted = orders.where(orders["number"] % 100 == 17)
    live = wanted.live()
    assert live.coverage == 1
    assert live.collections == 0
    assert len(live) == 10
    cls = vm.find_class("Holdings$Order")
    field = vm.jni.get_field_id(cls, "number", "I")
    # Each is the object of its row.
    assert [vm.jni.get_int_field(one, field) for one in live.objects] == wanted["number"].tolist()
    assert all(one.cls == cls for one in live)


def test_classes_are_objects_that_can_be_found_too(vm: jvmti.VM) -> None:
    scan = vm.heap.scan(["java.lang.Class", "Holdings$Link"])
    rows = numpy.concatenate([scan["java.lang.Class"].row[:200], scan["Holdings$Link"].row[:3]])
    live = scan.live(rows)
    assert live.coverage > 0.99
    names = [one.name for one in live if hasattr(one, "name")]
    assert len(set(names)) >= 195


def test_objects_that_are_no_more_are_not_found(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm:
        scan = vm.heap.scan("Holdings$Safe")
        changing.ask("drop")
        vm.env.force_garbage_collection()
        live = scan.live([0])
        assert live.objects == [None]
        assert live.coverage == 0
        assert live.collections is None or live.collections > 0


def test_instances_of_a_class(vm: jvmti.VM) -> None:
    cls = vm.find_class("Holdings$Order")
    assert len(cls.instances()) == 1000
    assert len(set(cls.instances(limit=7))) == 7
    assert cls.instances(limit=0) == []
    paid = cls.instances(where=lambda them: them["paid"] & (them["number"] < 100))
    assert len(paid) == 50
    assert len(cls.instances(where=lambda them: them["paid"], limit=3)) == 3
    name = vm.jni.get_field_id(cls, "name", "Ljava/lang/String;")
    assert str(vm.jni.get_object_field(paid[0], name)).startswith("order-")
    string = vm.find_class("java.lang.String")
    (found,) = string.instances(where=lambda them: [t == "secret of the map" for t in them.text])
    assert str(found) == "secret of the map"
    assert vm.find_class("java.util.Map").instances() == []


def test_more_instances_than_one_pass_looks_for(changing: programs.JavaProgram) -> None:
    changing.ask("add 3000")
    with jvmti.attach(changing.pid) as vm:
        items = vm.find_class("Holdings$Item")
        assert len(items.instances()) == 40_000
        even = items.instances(where=lambda them: them["number"] % 2 == 0)
        assert len(even) == 20_000


def test_tags_of_others_stay_and_nothing_is_left(vm: jvmti.VM) -> None:
    vm.env.add_capabilities({"can_tag_objects"})
    cls = vm.find_class("Holdings$Order")
    vm.env.set_tag(cls, 77)
    one = cls.instances(limit=1)[0]
    vm.env.set_tag(one, 78)
    before = vm.stats.agent
    scan = vm.heap.scan("Holdings$*", fields=True)
    scan.live(scan["Holdings$Order"].row[:5])
    assert vm.env.get_tag(cls) == 77
    assert vm.env.get_tag(one) == 78
    assert sorted(vm.env.get_objects_with_tags([77, 78]).tags) == [77, 78]
    scan.close()
    after = vm.stats.agent
    assert before is not None
    assert after is not None
    assert after.environments == before.environments
    assert not [line for line in maps(vm) if "memfd:jvmti" in line]


def maps(vm: jvmti.VM) -> list[str]:
    return Path(f"/proc/{vm.process.pid}/maps").read_text().splitlines()


def test_a_pattern_that_matches_nothing_is_an_error(vm: jvmti.VM) -> None:
    with pytest.raises(NoSuchClass, match=r"similar: .*Holdings\$Order"):
        vm.heap.scan("Holdings$Oder")
    scan = vm.heap.scan("Holdings$Order")
    with pytest.raises(NoSuchClass):
        scan["Holdings$Item"]
    with pytest.raises(IndexError):
        scan.live([1000])
    with pytest.raises(IndexError):
        scan.live(numpy.ones(3, bool))
    scan.close()
    with pytest.raises(ValueError, match="closed"):
        scan.live([0])


def test_what_would_stop_the_program_for_too_long_is_refused(vm: jvmti.VM) -> None:
    for ask in (vm.heap.scan, vm.heap.histogram, vm.find_class("Holdings$Order").instances):
        with pytest.raises(PauseTooLong, match="the limit is 0 s"):
            ask(max_pause=0)
        with pytest.raises(ValueError):
            ask(max_pause=-1)
    assert len(vm.heap.scan(max_pause=60)) > 1000


def test_a_time_limit_ends_the_pass(vm: jvmti.VM) -> None:
    with pytest.raises(PassOverran):
        vm.heap.scan(timeout=0)
    with pytest.raises(CallTimeout):
        vm.find_class("Holdings$Order").instances(timeout=0)
    assert len(vm.heap.scan("Holdings$Order")) == 1000


def test_a_program_that_makes_objects_is_scanned_all_the_same(
    changing: programs.JavaProgram, rounds: Callable[[int, int], int]
) -> None:
    assert changing.ask("busy 1000") == "busy"
    with jvmti.attach(changing.pid) as vm:
        for _ in range(rounds(2, 5)):
            scan = vm.heap.scan(strings=True, fields=True, arrays=True)
            assert scan.missed == 0
            assert scan.by_class()["Holdings$Order"][0] == 1000
            orders = scan["Holdings$Order"]
            assert sorted(orders["number"].tolist()) == list(range(1000))
            assert sum(text is not None for text in scan.strings) > 1000
            live = orders.live()
            assert live.coverage > 0.9


def test_progress_is_reported(changing: programs.JavaProgram) -> None:
    changing.ask("fill 500000")
    reported: list[int] = []
    with jvmti.attach(changing.pid) as vm:
        scan = vm.heap.scan(strings=True, progress=reported.append)
    assert reported[-1] == len(scan)
    assert reported == sorted(reported)


def test_two_scans_at_once(vm: jvmti.VM) -> None:
    found: list[int] = []

    def scan() -> None:
        found.append(len(vm.heap.scan("Holdings$Order")))

    threads = [threading.Thread(target=scan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [1000] * 4


def test_a_vm_that_takes_no_attach_commands_is_walked_over(jvm: Any, java_classes: Any) -> None:
    command = [jvm.java, *jvm.args, "-XX:+DisableAttachMechanism"]
    command += ["-cp", str(java_classes("Holdings")), "Holdings"]
    vm = jvmti.launch(command, stdin=-1, stdout=-1)
    assert vm.popen is not None
    assert vm.popen.stdin is not None
    assert vm.popen.stdout is not None
    try:
        with vm:
            assert vm.popen.stdout.readline() == b"ready\n"
            found = vm.heap.histogram()
            assert found.source == "walk"
            assert found["Holdings$Order"].count == 1000
            assert found["Holdings$Order"].loader == "app"
            assert len(vm.heap.scan("Holdings$Order")) == 1000
            assert vm.heap.histogram(live=True)["Holdings$Item"].count == 10_000
    finally:
        vm.popen.kill()
        vm.popen.wait()
        vm.popen.stdin.close()
        vm.popen.stdout.close()
