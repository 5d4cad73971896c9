"""Dumps that real JVMs write, against what the JVM says of itself and what the program made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
import pytest

import jvmti
import jvmti.heap

if TYPE_CHECKING:
    from collections.abc import Callable

    import jvms
    from heap.conftest import Dumped

SHAPES = {
    "Serial": ["-XX:+UseSerialGC"],
    "Parallel": ["-XX:+UseParallelGC"],
    "G1": ["-XX:+UseG1GC"],
    "Z": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
    "Shenandoah": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
    "wide references": ["-XX:+UseSerialGC", "-XX:-UseCompressedOops"],
    "wide headers": ["-XX:+UseSerialGC", "-XX:-UseCompressedClassPointers"],
    "no archive": ["-XX:+UseSerialGC", "-Xshare:off"],
    "compact headers": ["-XX:+UseSerialGC", "-XX:+UseCompactObjectHeaders"],
}

# The JVM's own threads make a few of these between the dump and the histogram, and fillers and
# class objects are counted differently.
BUSY = {"java.lang.Class", "byte[]", "int[]", "jdk.internal.vm.FillerElement[]"}


@pytest.fixture(params=SHAPES, ids=str)
def shape(request: pytest.FixtureRequest, jvm: jvms.Jvm) -> list[str]:
    options = SHAPES[request.param]
    reported = jvm.run(*options, "-Xlog:disable", "-version", check=False)
    if reported.returncode or "ignoring option" in reported.stderr + reported.stdout:
        pytest.skip(f"{jvm} does not have {options[-1]}")
    return options


def test_counts_and_sizes_are_the_jvms_own(
    dump_of: Callable[..., Dumped], shape: list[str], jvm: jvms.Jvm
) -> None:
    dumped = dump_of(*shape)
    snapshot = jvmti.heap.open(dumped.path, unreachable="keep")
    assert snapshot.fault is None
    has_archive = jvm.has_archive and "-Xshare:off" not in shape
    # HotSpot writes no class objects of classes of its archive that are not loaded.
    missing = dumped.histogram["java.lang.Class"][0] - len(snapshot.objects("java.lang.Class"))
    # A few have two references.
    allowed = missing * 1.1 if has_archive else 0
    assert snapshot._dump.summary.dangling <= allowed
    assert snapshot._dump.summary.misshapen == 0
    rows: dict[str, tuple[int, int]] = {}
    for row in snapshot.histogram():
        count, size = rows.get(row.name, (0, 0))
        rows[row.name] = (count + row.count, size + row.bytes)
    for name in ("Dumped$Order", "Dumped$Wide", "Dumped$Customer", "java.util.HashMap$Node"):
        assert rows[name] == dumped.histogram[name], name
    # A class that has few objects may be taken for a little larger or smaller than it is.
    # With an archive, all of the difference is in class objects.
    apart = {"java.lang.Class"} if has_archive else set()
    assert sum(size for name, (_, size) in rows.items() if name not in apart) == pytest.approx(
        sum(size for name, (_, size) in dumped.histogram.items() if name not in apart), rel=0.01
    )
    differing = [
        (name, rows.get(name), (count, size))
        for name, (count, size) in dumped.histogram.items()
        if name not in BUSY and count >= 100 and rows.get(name) != (count, size)
    ]
    assert len(differing) <= 3, differing
    for _, mine, (count, _) in differing:
        assert mine is not None
        assert mine[0] == pytest.approx(count, abs=50)


def test_objects_are_what_the_program_made(shared_dump: Dumped) -> None:
    snapshot = jvmti.heap.open(shared_dump.path)
    orders = snapshot.objects("Dumped$Order")
    assert len(orders) == 20000
    numbers = orders["number"]
    order = numpy.argsort(numbers)
    orders, numbers = orders[order], numbers[order]
    assert numbers.tolist() == list(range(20000))
    assert orders["customer"][:4]["name"].strings() == ["Ada", "Grüße 🌍", None, "Ada"]
    assert orders["customer"]["age"][:3].tolist() == [36, 41, 7]
    assert (orders["paid"] == (numbers % 2 == 0)).all()
    assert (orders["small"] == numbers.astype("i1")).all()
    assert (orders["letter"] == ord("a") + numbers % 26).all()
    assert (orders["middle"] == (-numbers).astype("i2")).all()
    assert (orders["rate"] == numbers / 4).all()
    assert (orders["price"] == numbers * 1.5).all()
    assert (orders["amounts"].lengths == numbers % 7).all()
    assert (orders["previous"].nulls == (numbers % 100 == 0)).all()
    assert orders["previous"][1:100]["number"].tolist() == list(range(99))
    every = snapshot.objects("Dumped$Order", subclasses=True)
    assert len(every) == 20100
    assert every.of_class("Dumped$Wide")["one"].tolist() == [1] * 100
    assert numpy.ma.count_masked(every["two"]) == 20000
    program = next(cls for cls in snapshot.classes["Dumped"] if cls.is_dumped)
    assert program["LIMIT"] == -17
    assert program["ORDERS"]["size"] == 20100


def test_classes_of_other_loaders_are_held_by_their_objects(shared_dump: Dumped) -> None:
    snapshot = jvmti.heap.open(shared_dump.path)
    own, foreign = sorted(
        snapshot.classes["Dumped$Customer"], key=lambda cls: cls.is_held_by_vm, reverse=True
    )
    assert own.is_held_by_vm
    assert not foreign.is_held_by_vm
    assert foreign.loader is not None
    assert foreign.loader.cls.name == "java.net.URLClassLoader"
    [customer] = foreign.objects
    assert customer is not None
    assert customer["name"].text == "foreign"
    assert customer.cls is foreign
    assert foreign.object is not None
    assert snapshot.reference_name(customer, foreign.object) == "<class>"
    owners = [one for one in snapshot.loaders if one.object == foreign.loader]
    assert [cls for one in owners for cls in one.classes] == [foreign]


def test_ways_to_the_roots_name_fields(shared_dump: Dumped) -> None:
    snapshot = jvmti.heap.open(shared_dump.path)
    orders = snapshot.objects("Dumped$Wide")
    tree = snapshot.paths_to_roots(orders)
    first = orders[0]
    assert first is not None
    names = [name for name, _ in tree.path(first)]
    assert names[0] == "<class of a loader of the VM>"
    assert names[1:3] == ["static ORDERS", "elementData"]
    assert [node.count for node in tree] == [100]
    assert "static ORDERS" in "\n".join(tree.lines())
    # The soft and the weak reference's objects are held by nothing else.
    [program] = [cls for cls in snapshot.classes["Dumped"] if cls.is_dumped]
    buffer = program["soft"]["referent"]
    assert buffer.length == 12345
    assert snapshot.paths_to_roots(buffer).path(buffer) == []
    assert snapshot.paths_to_roots(buffer, weak=True).path(buffer)[-1][0] == "referent"


def test_threads_have_their_stacks(shared_dump: Dumped, jvm: jvms.Jvm) -> None:
    snapshot = jvmti.heap.open(shared_dump.path)
    [main] = [thread for thread in snapshot.threads if thread.name == "main"]
    methods = [frame.method for frame in main.frames]
    assert methods[-2:] == ["work", "main"]
    frame = main.frames[-2]
    assert frame.class_name == "Dumped"
    assert frame.source == "Dumped.java"
    assert frame.line is not None
    texts = [numpy.asarray(obj.array).tobytes().decode("utf-16-be") for obj in frame.locals
             if obj is not None and obj.cls.name == "char[]"]  # fmt: skip
    assert texts == ["local"]


def test_a_parallel_or_compressed_dump_is_the_same_heap(
    dump_of: Callable[..., Dumped],
) -> None:
    for option in ("-gz=1", "-parallel=2"):
        try:
            dumped = dump_of(command=("GC.heap_dump", "-all", "-overwrite", option))
        except jvmti.AttachError as refused:
            # Older releases do not have it, and say so.
            if "Unknown argument" not in str(refused):
                raise
            continue
        snapshot = jvmti.heap.open(dumped.path)
        assert snapshot.fault is None
        assert len(snapshot.objects("Dumped$Order")) == 20000
        assert sorted(snapshot.objects("Dumped$Order")["number"].tolist()) == list(range(20000))
