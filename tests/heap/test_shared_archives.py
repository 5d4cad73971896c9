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
import jvmti.heap
from heap.conftest import Dumped
from heap.test_other_readers import differing_retained

pytestmark = pytest.mark.on("17")  # making an archive takes a few seconds

OBJECT_ARRAY_HEAD = 25
"""Bytes of the record of an array of objects before its elements."""


@pytest.fixture
def dumped(jvm: jvms.Jvm, tmp_path: Path, dump_of: Callable[..., Dumped]) -> Dumped:
    """Archived objects are for G1 only, which a small machine would not choose."""
    archive = ["-XX:+UseG1GC", f"-XX:SharedArchiveFile={tmp_path / 'classes.jsa'}"]
    jvm.run("-Xshare:dump", *archive, timeout=60)
    return dump_of("-Xshare:on", *archive)


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
