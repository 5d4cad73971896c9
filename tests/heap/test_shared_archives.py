"""Dumps of a JVM with an archive of shared classes (CDS), as every full JDK has one.

The archive has objects of its own.  Some arrays among them refer to the classes that it has, also
to those that the program has not loaded: their class objects are in the heap, but in no dump of
HotSpot's.  A snapshot takes these references for null.
"""

from __future__ import annotations

from collections import Counter
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
pytestmark = pytest.mark.file_in_turn

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
    # The JVM counts all class objects, and the dump has those of the loaded classes.
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


@pytest.fixture(scope="module")
def archive(jvm: jvms.Jvm, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a JVM needs to run with archived objects."""
    options = [
        "-XX:+UseG1GC",
        f"-XX:SharedArchiveFile={tmp_path_factory.mktemp('archive') / 'classes.jsa'}",
    ]
    jvm.run("-Xshare:dump", *options, timeout=60)
    return ["-Xshare:on", *options]


def test_only_class_objects_are_missing_in_a_dump(
    archive: list[str], dump_of: Callable[..., Dumped]
) -> None:
    dumped = dump_of(*archive)
    snapshot = jvmti.heap.open(dumped.path, unreachable="keep")
    assert (snapshot.fault, snapshot._dump.summary.misshapen) == (None, 0)
    sizes: Counter[str] = Counter()
    for row in snapshot.histogram():
        sizes[row.name] += row.bytes
    class_objects, size = dumped.histogram.pop("java.lang.Class")
    missing = class_objects - len(snapshot.objects("java.lang.Class"))
    assert missing > 100
    assert snapshot._dump.summary.dangling <= missing * 1.1
    assert size - sizes.pop("java.lang.Class") == pytest.approx(
        missing * size / class_objects, rel=0.1
    )
    counted = sum(size for _, size in dumped.histogram.values())
    assert sizes.total() == pytest.approx(counted, rel=0.005)


def test_a_saved_snapshot_has_the_leak_alone(
    archive: list[str], java_program: programs.JavaPrograms, tmp_path: Path
) -> None:
    program = java_program("Leaking", jvm_args=archive)
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        live = vm.heap.snapshot()
        live.save(tmp_path / "leaking.hprof")
    saved = jvmti.heap.open(tmp_path / "leaking.hprof", unreachable="keep")
    assert (saved.fault, saved.unreachable_count, len(saved)) == (None, 0, len(live))
    for snapshot in (live, saved):
        first, *others = snapshot.leaks().suspects
        assert first.children_class == "Leaking$Entry"
        assert [reference for reference, _ in first.path][1:] == ["static LEAK", "elementData"]
        assert not [one for one in others if "JNI global" in one.owner]


def test_classes_of_an_archive_that_are_not_loaded_cannot_be_used(
    archive: list[str], java_program: programs.JavaPrograms
) -> None:
    """HotSpot crashes when it is asked for the loader of one."""
    program = java_program("Leaking", jvm_args=archive)
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.env.add_capabilities(jvmti.Capabilities.can_retransform_classes)
        kind = vm.find_class("java.lang.Class")
        loaded = vm.env.get_loaded_classes()
        instances = kind.instances()
        assert len(loaded) <= len(instances) <= len(loaded) + 60
        assert len(kind.instances(limit=10)) == 10
        assert all(cls.loader is None or cls.loader.cls for cls in instances)
        every = vm.heap.scan("java.lang.Class")["java.lang.Class"].live()
        refused = [cls for cls in every if cls not in set(instances)]
        assert len(refused) > 100
        for cls in refused[:50]:
            for call in (
                lambda: vm.env.get_class_loader(cls),  # noqa: B023
                lambda: vm.env.retransform_classes([cls]),  # noqa: B023
                lambda: vm.jni.alloc_object(cls),  # noqa: B023
                lambda: vm.jni.new_object_array(1, cls, None),  # noqa: B023
                lambda: vm.jni.get_method_id(cls, "<init>", "()V"),  # noqa: B023
                lambda: vm.jni.get_static_method_id(cls, "of", "()V"),  # noqa: B023
                lambda: vm.jni.get_field_id(cls, "it", "I"),  # noqa: B023
                lambda: vm.jni.get_static_field_id(cls, "it", "I"),  # noqa: B023
            ):
                with pytest.raises(jvmti.errors.InvalidClass):
                    call()


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
