"""Dumps of real JVMs, against what another reader finds in them: that of the NetBeans profiler.

It was written by others, in another language, and goes about it in another way. Where the two
are known to mean different things by a question, the dump is changed until they do not, and then
the answers have to be equal, for every object:

- It follows what an object and what the static fields of a class refer to. This package also
  follows the superclass, the loader and the protection domain of a class, has the classes of the
  VM's own loaders for roots, and a class of another loader is held by its objects.
- It does not follow weak and soft references. This package does, unless you ask otherwise.
- It takes what garbage refers to for shared with that. This package leaves garbage out.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy
import pytest

import compiler
import jvms
import jvmti.heap
from jvmti.heap.library import Dump

if TYPE_CHECKING:
    from pathlib import Path

    from heap.conftest import Dumped
    from jvmti.heap import Object, Snapshot

pytestmark = [pytest.mark.oldest_and_newest, pytest.mark.file_in_turn]

#: Of a record of 8-byte identifiers: where its length and its contents begin.
INSTANCE, OBJECT_ARRAY, ARRAY_LENGTH, INSTANCE_LENGTH, CONTENTS = 0x21, 0x22, 13, 21, 25
#: Loader, signers, protection domain and two reserved words in the record of a class.
LOADER, DOMAIN_END = 21, 61
STICKY_CLASS, SEGMENT, END = 0x05, 0x1C, 0x2C
KINDS = {"sticky class": 0x05, "JNI global": 0x01, "JNI local": 0x02, "Java frame": 0x03,
         "native stack": 0x04, "thread block": 0x06, "monitor used": 0x07, "thread object": 0x08,
         "unknown": 0xFF}  # fmt: skip


class Found(NamedTuple):
    """An object as the other reader sees it."""

    name: str
    size: int
    retained: int
    is_reachable: bool
    references: Counter[int]
    values: dict[str, str]


class Other(NamedTuple):
    """What the other reader finds in a dump, by address."""

    roots: Counter[tuple[int, int]]
    classes: dict[int, tuple[str, int, Counter[int]]]
    objects: dict[int, Found]


def addresses(text: str) -> Counter[int]:
    return Counter(map(int, text.split()))


def read(path: Path) -> Other:
    """Have the other reader read a dump, on whichever JVM there is."""
    jar = jvms.INSTALLED / "netbeans" / "heap.jar"
    if not jar.exists():
        pytest.skip("the NetBeans profiler is not installed; `make java` does")
    jvm = next(one for one in map(jvms.named, ("17", "21", "25", "11")) if not one.missing)
    classes = compiler.classes("readers.NetBeans", library=jar)
    done = jvm.run(
        *(*jvms.QUICK, "-Xmx1g", f"-Djava.io.tmpdir={path.parent}", "-cp", f"{jar}:{classes}"),
        *("readers.NetBeans", path, "Dumped"),
        timeout=120,
    )
    found = Other(Counter(), {}, {})
    for line in done.stdout.splitlines():
        kind, address, name, *more = line.split("\t")
        if kind == "root":
            found.roots[int(address), KINDS[name]] += 1
        elif kind == "class":
            found.classes[int(address)] = (name, int(more[0]), addresses(more[1]))
        else:
            size, retained, reachable, references, *values = more
            found.objects[int(address)] = Found(
                *(name, int(size), int(retained), reachable == "true", addresses(references)),
                dict(value.split("=", 1) for value in values if value),
            )
    return found


@pytest.fixture(scope="module")
def other(shared_dump: Dumped) -> Other:
    return read(shared_dump.path)


@pytest.fixture(scope="module")
def snapshot(shared_dump: Dumped) -> Snapshot:
    return jvmti.heap.open(shared_dump.path, unreachable="keep")


def references_of(snapshot: Snapshot) -> dict[int, Counter[int]]:
    """The addresses that each object refers to."""
    dump = snapshot._dump
    every = dump.addresses()
    targets, rows = every[dump.targets].tolist(), dump.rows.tolist()
    return {
        address: Counter(targets[rows[at] : rows[at + 1]])
        for at, address in enumerate(every.tolist())
    }


def classes_named(snapshot: Snapshot, name: str) -> Object:
    [found] = [one for one in snapshot.classes[name] if one.is_dumped]
    assert found.object is not None
    return found.object


def test_it_finds_the_same_objects_of_the_same_classes(snapshot: Snapshot, other: Other) -> None:
    classes = {one.object: one for one in snapshot.classes if one.object is not None}
    every = snapshot._dump.addresses().tolist()
    mine = {every[one.index]: (cls.name, len(cls.objects)) for one, cls in classes.items()}
    # The one reader counts class objects among those of java.lang.Class, the other does not.
    theirs = {at: (name, count) for at, (name, count, _) in other.classes.items()}
    assert {at: name for at, (name, _) in mine.items()} == {
        at: name for at, (name, _) in theirs.items()
    }
    differing = {
        name: (mine[at][1], count) for at, (name, count) in theirs.items() if mine[at][1] != count
    }
    extra = mine[every[classes_named(snapshot, "java.lang.Class").index]][1]
    assert differing in ({}, {"java.lang.Class": (extra, extra - len(mine))})
    objects = {
        address: snapshot.classes.names[of]
        for address, of in zip(every, snapshot._dump.class_of.tolist(), strict=True)
        if address not in mine
    }
    assert len(objects) > 60_000
    assert objects == {at: found.name for at, found in other.objects.items()}


def test_it_finds_the_same_references_and_roots(snapshot: Snapshot, other: Other) -> None:
    mine = references_of(snapshot)
    differing = {
        address: mine[address] - found.references
        for address, found in other.objects.items()
        if mine[address] != found.references
    }
    # An object of another loader holds its class.
    [foreign] = differing
    cls = snapshot.at(foreign)
    assert cls is not None
    assert cls["name"].text == "foreign"
    assert [snapshot.at(address) for address in differing[foreign]] == [cls.cls.object]
    for address, (name, _, references) in other.classes.items():
        assert references <= mine[address], name
    roots: Counter[tuple[int, int]] = Counter()
    every = snapshot._dump.addresses(snapshot.roots.objects.indices).tolist()
    for address, kind in zip(every, snapshot.roots.kinds.tolist(), strict=True):
        if kind < 0x100:
            roots[address, kind] += 1
    assert set(roots) == set(other.roots)


def test_it_finds_the_same_values(snapshot: Snapshot, other: Other) -> None:
    compared = 0
    for address, found in other.objects.items():
        if not found.values or (found.name == "Dumped$Order" and address % 7):
            continue
        obj = snapshot.at(address)
        assert obj is not None
        for field, value in obj.field_values():
            if field.type == "object":
                continue
            text = found.values[field.name]
            if field.type == "boolean":
                assert text == ("true" if value else "false")
            elif field.type == "char":
                assert ord(text) == value
            else:
                assert float(text) == value
            compared += 1
    assert compared > 10_000


def comparable(path: Path, to: Path) -> None:
    """Write a dump in which both readers mean the same by what an object retains."""
    data = bytearray(path.read_bytes())

    def opened() -> Snapshot:
        return jvmti.heap.Snapshot(
            Dump(numpy.frombuffer(bytes(data), numpy.uint8)), unreachable="keep"
        )

    snapshot = opened()
    dump = snapshot._dump
    # All classes are roots, and refer to what is in their fields only.
    classes = dump.positions[(dump.extent >> 31) != 0].tolist()
    for at in classes:
        data[at + LOADER : at + DOMAIN_END] = bytes(DOMAIN_END - LOADER)
    roots = b"".join(bytes([STICKY_CLASS]) + data[at + 1 : at + 9] for at in classes)
    # No reference object refers to anything.
    for obj in snapshot.objects("java.lang.ref.Reference", subclasses=True):
        assert obj is not None
        place = obj.cls.field("referent")
        assert place is not None
        at = int(dump.positions[obj.index]) + CONTENTS + place[1]
        data[at : at + 8] = bytes(8)
    # And garbage to nothing either.
    snapshot = opened()
    for index in numpy.flatnonzero(~snapshot.reachable).tolist():
        at = int(snapshot._dump.positions[index])
        size = 0
        if data[at] == INSTANCE:
            (size,) = struct.unpack_from(">I", data, at + INSTANCE_LENGTH)
        elif data[at] == OBJECT_ARRAY:
            size = 8 * struct.unpack_from(">I", data, at + ARRAY_LENGTH)[0]
        data[at + CONTENTS : at + CONTENTS + size] = bytes(size)
    assert data[-9] == END
    data[-9:-9] = struct.pack(">BII", SEGMENT, 0, len(roots)) + roots
    to.write_bytes(data)


def differing_retained(dump: Path, path: Path) -> tuple[dict[int, tuple[Found, int]], int]:
    """Objects that retain something else for one reader than for the other; how many retain any.

    Args:
        dump: the dump.
        path: where to write a comparable one.
    """
    comparable(dump, path)
    other = read(path)
    snapshot = jvmti.heap.open(path, unreachable="keep")
    every = snapshot._dump.addresses().tolist()
    # Sizes are another matter: the other reader takes them from the dump, this one finds out what
    # the VM's are. So its sizes are added up over this one's dominator tree.
    sums = [other.objects[at].size if at in other.objects else 0 for at in every]
    tree = snapshot.dominators()
    rows, children = (column.tolist() for column in snapshot._dump.children(tree.idom))
    order = [len(every)]
    for node in order:
        order += children[rows[node] : rows[node + 1]]
    for node in reversed(order[1:]):
        above = int(tree.idom[node])
        if above < len(every):
            sums[above] += sums[node]
    reached = tree.idom != jvmti.heap.library.NONE
    differing = {
        address: (found, sums[at])
        for at, address in enumerate(every)
        if (found := other.objects.get(address)) is not None
        and (found.is_reachable, found.retained) != (reached[at], sums[at] if reached[at] else 0)
    }
    return differing, sum(found.retained > found.size for found in other.objects.values())


def test_every_object_retains_the_same(shared_dump: Dumped, tmp_path: Path) -> None:
    differing, retaining = differing_retained(shared_dump.path, tmp_path / "comparable.hprof")
    assert differing == {}
    # Not because there was nothing to retain.
    assert retaining > 10_000
