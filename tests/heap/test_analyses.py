"""What the analyses find in a program that wastes and leaks in known ways."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, NamedTuple

import numpy
import pytest

import jvmti.heap
from heap.conftest import attach_command
from heap.hprof import small
from jvmti.heap.reference_names import reference_names

if TYPE_CHECKING:
    from pathlib import Path

    import programs

pytestmark = pytest.mark.oldest_and_newest


class Leaking(NamedTuple):
    before: jvmti.heap.Snapshot
    after: jvmti.heap.Snapshot


@pytest.fixture(scope="module")
def leaking(
    shared_java_program: programs.JavaPrograms, tmp_path_factory: pytest.TempPathFactory
) -> Leaking:
    """Two snapshots of Leaking, 1,000 entries later."""
    program = shared_java_program("Leaking")
    program.expect("ready")
    directory = tmp_path_factory.mktemp("leaking")
    attach_command(program.pid, "dumpheap", str(directory / "before"), "-live")
    program.send("g")
    program.expect("grown")
    attach_command(program.pid, "dumpheap", str(directory / "after"), "-live")
    return Leaking(
        jvmti.heap.open(directory / "before"),
        jvmti.heap.open(directory / "after"),
    )


def test_the_leak_is_the_first_suspect(leaking: Leaking) -> None:
    [suspect, *_] = jvmti.heap.leak_suspects(leaking.after)
    assert suspect.object.cls.name == "java.lang.Object[]"
    assert suspect.children_class == "Leaking$Entry"
    assert suspect.children == 3000
    assert suspect.part > 0.3
    assert [name for name, _ in suspect.path][1:] == ["static LEAK", "elementData"]


def test_growth_names_what_grew(leaking: Leaking) -> None:
    rows = {row.name: row for row in jvmti.heap.growth(leaking.before, leaking.after)}
    assert rows["Leaking$Entry"].count == 1000
    assert rows["Leaking$Entry"].count_after == 3000
    assert rows["byte[]"].bytes >= 1000 * 1016
    places = jvmti.heap.path_growth(leaking.before, leaking.after)
    assert any(
        place.name.endswith(
            "class Leaking.LEAK → java.util.ArrayList.elementData → "
            "java.lang.Object[] → Leaking$Entry"
        )
        and place.bytes >= 1000 * 1016
        for place in places
    )


def test_names_of_references_are_the_same_one_by_one_and_together(leaking: Leaking) -> None:
    snapshot = leaking.after
    tree = snapshot.dominators()
    below = numpy.flatnonzero(tree.idom < len(tree.idom))[::5].astype(numpy.uint32)
    above = tree.idom[below]
    alone = [
        snapshot.reference_name(snapshot.object(source), snapshot.object(target))
        for source, target in zip(above.tolist(), below.tolist(), strict=True)
    ]
    assert reference_names(snapshot, above, below) == alone
    # Fields, statics, elements, several at once, and what is held in another way.
    arrays = numpy.array([name.startswith("[") for name in alone])
    statics = numpy.array([name.startswith("static ") for name in alone])
    assert arrays.any()
    assert statics.any()
    assert sum(name.isidentifier() for name in alone) > 100
    assert "?" in alone
    without = reference_names(snapshot, above, below, elements=False)
    assert {without[row] for row in numpy.flatnonzero(arrays)} == {"?"}


def test_duplicates_are_counted(leaking: Leaking) -> None:
    [strings, *_] = [
        one
        for one in jvmti.heap.duplicate_strings(leaking.after)
        if one.text == "the same text again and again"
    ]
    assert len(strings.objects) in (300, 301)
    # They are made of one literal, and share its array.
    assert strings.wasted == (len(strings.objects) - 1) * 24
    arrays = jvmti.heap.duplicate_arrays(leaking.after)
    [numbers] = [
        one for one in arrays if one.objects.class_names[0] == "int[]" and len(one.objects) == 300
    ]
    assert numbers.wasted == 299 * 56
    assert len(arrays[0].objects) == 3000


def test_collections_are_known_by_size_and_fill(leaking: Leaking) -> None:
    found = {one.class_name: one for one in jvmti.heap.collections(leaking.after)}
    lists = found["java.util.ArrayList"]
    roomy = lists.capacities == 100
    assert numpy.count_nonzero(roomy) == 300
    assert (lists.sizes[roomy] == 0).all()
    assert len(lists.empty) >= 300
    assert lists.wasted >= 300 * 400
    maps = found["java.util.HashMap"]
    [at] = numpy.flatnonzero(maps.capacities == 8192).tolist()
    assert maps.sizes[at] == 10
    assert maps.fill[at] == pytest.approx(10 / 8192)
    concurrent = found["java.util.concurrent.ConcurrentHashMap"]
    assert 10 in concurrent.sizes
    identity = found["java.util.IdentityHashMap"]
    assert 10 in identity.sizes
    assert sum(lists.by_size().values()) == len(lists.objects)


def test_thread_locals_have_their_thread_and_value(leaking: Leaking) -> None:
    [value, *_] = jvmti.heap.thread_locals(leaking.after)
    assert value.value.cls.name == "long[]"
    assert value.value.length == 54321
    assert value.thread["name"].text == "main"
    assert value.variable is not None
    assert value.retained == value.value.size


def test_buffers_outside_the_heap_are_found(leaking: Leaking) -> None:
    found = jvmti.heap.direct_buffers(leaking.after)
    assert found.capacities[:2].tolist() == [1 << 20, 1 << 16]
    assert 12345 in found.capacities
    assert found.total >= (1 << 20) + (1 << 16) + 12345


def test_references_that_nobody_takes_from_a_queue_are_found(leaking: Leaking) -> None:
    found = jvmti.heap.reference_queues(leaking.after)
    assert 1 in found.values()
    assert len(jvmti.heap.finalizer_queue(leaking.after)) >= 0


def test_loaders_of_the_same_classes_are_suspect(leaking: Leaking) -> None:
    suspects = [
        one
        for one in jvmti.heap.class_loader_leaks(leaking.after)
        if [cls.name for cls in one.loader.classes] == ["Leaking$Marker"]
    ]
    assert [one.twins for one in suspects] == [2, 2, 2]
    assert all(one.path and one.retained > 0 for one in suspects)


def test_a_redacted_dump_has_the_same_structure_without_contents(
    leaking: Leaking, tmp_path: Path
) -> None:
    path = tmp_path / "redacted"
    jvmti.heap.redact(leaking.after, path, fields=["java.lang.Integer.value"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        jvmti.heap.redact(leaking.after, path)
    snapshot = jvmti.heap.open(path)
    assert snapshot.fault is None
    assert list(snapshot.histogram()) == list(leaking.after.histogram())
    # Garbage is not written.
    kept = [one.retained[one.reachable] for one in (snapshot, leaking.after)]
    assert (kept[0] == kept[1]).all()
    texts = snapshot.objects("java.lang.String").strings()
    assert {letter for text in texts for letter in text or ""} <= {"\0"}
    assert not snapshot.objects("java.lang.Integer")["value"].any()
    assert b"the same text again" not in path.read_bytes()
    with pytest.raises(jvmti.heap.HeapError, match="no primitive field"):
        jvmti.heap.redact(snapshot, tmp_path / "other", fields=["no.such.Field"])
    assert not (tmp_path / "other").exists()


def test_fields_are_blanked_in_subclasses_and_classes(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(small())
    snapshot = jvmti.heap.open(tmp_path / "dump")
    fields = ["com.acme.Person.age", "com.acme.Customer.LIMIT"]
    jvmti.heap.redact(snapshot, tmp_path / "redacted", arrays=None, fields=fields)
    redacted = jvmti.heap.open(tmp_path / "redacted")
    customers = redacted.objects("com.acme.Customer")
    assert customers["age"].tolist() == [0, 0, 0]
    assert customers["credit"].tolist() == [2.5, -1.0, 0.0]
    assert customers["name"].strings()[0] == "Ada"
    [cls] = redacted.classes["com.acme.Customer"]
    assert (cls["LIMIT"], cls["OPEN"]) == (0, True)
