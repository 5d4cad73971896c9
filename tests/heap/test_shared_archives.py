"""Dumps of a JVM with an archive of shared classes (CDS), as every full JDK has one.

The archive has objects of its own.  Some arrays among them refer to the classes that it has, also
to those that the program has not loaded: their mirrors are in the heap, but HotSpot writes them to
no dump.  A snapshot takes these references for null.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

import jvms
import jvmti
import jvmti.heap
import programs
from heap.conftest import Dumped
from heap.test_other_readers import differing_retained

# Making an archive takes a few seconds.

OBJECT_ARRAY_HEAD = 25
"""Bytes of the record of an array of objects before its elements."""


@pytest.fixture
def dumped(jvm: jvms.Jvm, tmp_path: Path, dump_of: Callable[..., Dumped]) -> Dumped:
    """Archived objects are for G1 only, which a small machine would not choose."""
    archive = ["-XX:+UseG1GC", f"-XX:SharedArchiveFile={tmp_path / 'classes.jsa'}"]
    jvm.run("-Xshare:dump", *archive, timeout=60)
    return dump_of("-Xshare:on", *archive)


@pytest.mark.on("17")
def test_classes_of_an_archive_that_are_not_loaded_are_null(dumped: Dumped, tmp_path: Path) -> None:
    snapshot = jvmti.heap.open(dumped.path, unreachable="keep")
    assert snapshot.fault is None
    summary = snapshot._dump.summary
    assert (summary.misshapen, summary.duplicates) == (0, 0)
    # The JVM counts all mirrors, and the dump has those of the loaded classes.
    missing = dumped.histogram["java.lang.Class"][0] - len(snapshot.objects("java.lang.Class"))
    assert summary.dangling == pytest.approx(missing, abs=5)
    assert missing > 100
    # All of them are elements of arrays, and read as null.
    nulls = 0
    for array in snapshot.objects("java.lang.Object[]"):
        assert array is not None
        begin = int(snapshot._dump.positions[array.index]) + OBJECT_ARRAY_HEAD
        in_file = snapshot._dump.file[begin : begin + 8 * len(array.array)].view(">u8")
        nulls += int(numpy.count_nonzero((in_file != 0) & array.array.nulls))
    assert nulls == summary.dangling
    for name in ("Dumped$Order", "java.lang.String", "java.lang.Object[]", "byte[]"):
        found = [row for row in snapshot.histogram() if row.name == name]
        count, size = dumped.histogram[name]
        assert sum(row.count for row in found) == pytest.approx(count, abs=50), name
        assert sum(row.bytes for row in found) == pytest.approx(size, rel=0.01), name
    differing, retaining = differing_retained(dumped.path, tmp_path / "comparable.hprof")
    assert differing == {}
    assert retaining > 10_000


@pytest.mark.on("25")
def test_tables_of_the_archive_are_no_leak(
    jvm: jvms.Jvm, tmp_path: Path, java_program: programs.JavaPrograms
) -> None:
    archive = ["-XX:+UseSerialGC", f"-XX:SharedArchiveFile={tmp_path / 'classes.jsa'}"]
    jvm.run("-Xshare:dump", *archive, timeout=60)
    program = java_program("Leaks", "reflection", jvm_args=["-Xshare:on", *archive, "-Xmx256m"])
    program.expect("ready", timeout=120)
    with jvmti.attach(program.pid, timeout=30) as vm:
        snapshot = vm.heap.snapshot()
    roots = {root.object.cls.name for root in snapshot.roots if root.kind == "JNI global"}
    assert "java.lang.Object[]" in roots, "the archive's table of strings is a root"
    assert snapshot.leaks(threshold=0.1).suspects == []


def test_what_one_suspect_holds_is_not_counted_above_it(
    jvm: jvms.Jvm, java_program: programs.JavaPrograms
) -> None:
    program = java_program("Leaking")
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        snapshot = vm.heap.snapshot()
    total = snapshot.dominators().total
    for threshold in (0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.045, 0.05, 0.06, 0.1, 0.3):
        suspects = snapshot.leaks(threshold=threshold).suspects
        first = suspects[0]
        assert (first.owner, first.children) == ("static Leaking.LEAK", 2000), threshold
        assert sum(one.retained for one in suspects) <= total, threshold
