"""Histograms against the VM's own, and against what the program says that it has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest

import jvmti
import programs
from jvmti.heap.errors import NoSuchClass
from jvmti.heap.histogram import Histogram, HistogramRow, inspected
from jvmti.interface.errors import ProtocolError

pytestmark = pytest.mark.oldest_and_newest

HOLDINGS = {
    "Holdings$Order": 1000,
    "Holdings$Item": 10_000,
    "Holdings$Item[]": 1000,
    "Holdings$Customer": 10,
    "Holdings$Link": 300,
    "Holdings$Safe": 1,
    "Holdings$Secret": 2,
}


def test_it_counts_what_the_program_holds(vm: jvmti.VM) -> None:
    found = vm.heap.histogram()
    assert {name: found[name].count for name in HOLDINGS} == HOLDINGS
    assert found["Holdings$Order"].bytes % 1000 == 0
    assert found.source == "attach"
    assert 0 < found.pause < 10
    assert found.total_count == sum(row.count for row in found)
    assert found.total_bytes == int(found.bytes.sum())
    assert (numpy.diff(found.bytes) <= 0).all()


def test_it_equals_what_jcmd_prints(vm: jvmti.VM, jdk: Path) -> None:
    def theirs() -> dict[str, tuple[int, int]]:
        printed = subprocess.run(
            [jdk / "bin" / "jcmd", str(vm.process.pid), "GC.class_histogram", "-all"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        rows = re.findall(r"^ *\d+: +(\d+) +(\d+) +(\S+)", printed, re.M)
        return {name: (int(count), int(size)) for count, size, name in rows}

    before = theirs()
    ours = vm.heap.histogram()
    after = theirs()
    # jcmd's own coming and going makes a few objects.
    steady = {name for name in before if before[name] == after.get(name) and name[0] != "["}
    assert len(steady) > 200
    assert {name: (ours[name].count, ours[name].bytes) for name in steady} == {
        name: before[name] for name in steady
    }


def test_classes_have_their_loaders_and_modules(vm: jvmti.VM) -> None:
    found = vm.heap.histogram()
    assert found["java.lang.String"].loader == "bootstrap"
    assert (found["java.lang.String"].module or "").startswith("java.base")
    assert found["Holdings$Order"].loader == "app"
    assert found["Holdings$Order"].module is None
    assert found["int[]"].loader == "bootstrap"
    assert vm.heap.histogram(loaders=False)["Holdings$Order"].loader is None


def test_only_live_objects_after_a_collection(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm:
        assert vm.heap.histogram()["Holdings$Safe"].count == 1
        assert changing.ask("drop") == "dropped"
        assert vm.heap.histogram()["Holdings$Safe"].count == 1  # not collected yet
        assert "Holdings$Safe" not in vm.heap.histogram(live=True)


def test_a_pattern_chooses_classes(vm: jvmti.VM) -> None:
    assert set(vm.heap.histogram(classes="Holdings$*").names) >= set(HOLDINGS) - {"Holdings$Item[]"}
    assert vm.heap.histogram(classes=["Holdings$Item[]", "int[]"]).names.count("int[]") == 1
    assert vm.heap.histogram(classes="*$Item[]").names == ["Holdings$Item[]"]


def test_a_pattern_that_matches_nothing_suggests_similar_names(vm: jvmti.VM) -> None:
    with pytest.raises(NoSuchClass, match=r"'Holdings\$Ordr'; similar: .*Holdings\$Order"):
        vm.heap.histogram(classes="Holdings$Ordr")
    with pytest.raises(NoSuchClass, match="similar: java.util.HashMap"):
        vm.heap.histogram(classes="java.lang.hashmap")
    with pytest.raises(NoSuchClass, match=r"similar: Holdings\$Order"):
        vm.heap.histogram()["Order"]
    with pytest.raises(ValueError):
        vm.heap.histogram(classes=[])
    with pytest.raises(TypeError):
        vm.heap.histogram(classes=[7])  # type: ignore[list-item]


def test_the_difference_of_two_shows_what_grew(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm:
        before = vm.heap.histogram()
        assert changing.ask("add 500") == "1500"
        changes = vm.heap.histogram().diff(before)
        assert changes["Holdings$Order"].count == 500
        assert changes["Holdings$Item"].count == 5000
        assert "Holdings$Customer" not in changes
        back = before.diff(vm.heap.histogram())
        assert back["Holdings$Order"].count == -500
        assert changes.top(1, by="count").names == ["Holdings$Item"]


def test_its_text_is_the_classes_that_take_most(vm: jvmti.VM) -> None:
    histogram = vm.heap.histogram()
    first, heading, *rows = str(histogram).splitlines()
    assert first == repr(histogram)
    assert heading.split() == ["objects", "bytes", "class"]
    assert [row.split()[-1] for row in rows[:20]] == [
        one.split()[-1] for one in histogram.names[:20]
    ]
    assert rows[0].split()[:2] == [f"{histogram[0].count:,}", f"{histogram[0].bytes:,}"]
    assert rows[20:] == [f"{'':31} … {len(histogram) - 20:,} more"]
    assert len(str(histogram.top(2)).splitlines()) == 4


def test_it_becomes_an_arrow_table(vm: jvmti.VM) -> None:
    found = vm.heap.histogram(classes="Holdings$*")
    table = found.to_arrow()
    assert table.column_names == ["name", "loader", "module", "count", "bytes"]
    assert table["count"].to_pylist() == found.count.tolist()
    assert table["name"].to_pylist() == found.names


def test_a_program_started_here_has_one_too(jvm: Any, java_classes: Any) -> None:
    command = [jvm.java, *jvm.args, "-cp", str(java_classes("Holdings")), "Holdings"]
    with jvmti.launch(command, hold=True, stdin=-1, stdout=-3) as vm:
        try:
            with pytest.raises(jvmti.errors.WrongPhase):
                vm.heap.histogram()
            vm.proceed()
            assert vm.heap.histogram()["java.lang.String"].count > 100
        finally:
            assert vm.popen is not None
            vm.popen.kill()
            vm.popen.wait()
            assert vm.popen.stdin is not None
            vm.popen.stdin.close()


TEXT = """
 num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:          1073         232632  [B (java.base@17.0.9)
   2:             5            120  [[Lcom.acme.Order;
   3:             1             16  com.acme.Main$$Lambda$14/0x0000000800c03000
   4:             1             16  odd name (x) (java.base@17.0.9)
Total          1080         232784
"""


def test_the_text_of_the_vm_is_read_with_care() -> None:
    found = inspected(TEXT)
    assert found.names == [
        "byte[]",
        "com.acme.Order[][]",
        "com.acme.Main$$Lambda$14/0x0000000800c03000",
        "odd name (x)",
    ]
    assert found.modules == ["java.base@17.0.9", None, None, "java.base@17.0.9"]
    assert found.bytes.tolist() == [232632, 120, 16, 16]
    for wrong in ("", "Total 7 7\n", TEXT.replace("1080", "1081"), "-1\n"):
        with pytest.raises(ProtocolError):
            inspected(wrong)


def test_two_loaders_classes_of_one_name_are_added_up() -> None:
    two = Histogram(
        ["A", "A"], [None, None], [None, None], numpy.array([1, 2]), numpy.array([16, 32])
    )
    assert two["A"] == HistogramRow("A", None, None, 3, 48)
