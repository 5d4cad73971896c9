"""The dominator tree, against its definition on random graphs, and on shapes that are hard."""

from __future__ import annotations

import ctypes
import gc
import itertools
import random
from pathlib import Path

import numpy
import pytest

import jvmti.heap
from heap.hprof import OBJECT, Writer
from heap.oracle import immediate, reachable
from interrupts import interrupt_in
from jvmti.heap import library

pytestmark = pytest.mark.oldest_and_newest

FIRST = 0x100000


def graph(path: Path, edges: list[list[int]], roots: list[int]) -> jvmti.heap.Snapshot:
    """A dump whose objects are arrays that refer to one another."""
    writer = Writer()
    java_object = writer.class_(0x1000, "java/lang/Object")
    array = writer.class_(0x1100, "[Ljava/lang/Object;", super_=java_object)
    for node, targets in enumerate(edges):
        # One null among them, so that elements and references differ.
        writer.object_array(FIRST + 64 * node, array, [0, *(FIRST + 64 * to for to in targets)])
    for root in roots:
        writer.root(0xFF, FIRST + 64 * root)
    path.write_bytes(writer.finish())
    return jvmti.heap.open(path, unreachable="keep")


def found(snapshot: jvmti.heap.Snapshot, nodes: int) -> list[int | None]:
    """What the library says, in the words of the oracle."""
    idom = snapshot.dominators().idom
    classes = len(idom) - nodes
    return [
        None if at == jvmti.heap.NONE else -1 if at == len(idom) else at - classes
        for at in idom[classes:].tolist()
    ]


def random_graph(seed: int) -> tuple[list[list[int]], list[int]]:
    chance = random.Random(seed)
    nodes = chance.randrange(1, 40)
    density = chance.choice([0.5, 1.0, 1.5, 3.0])
    edges: list[list[int]] = [[] for _ in range(nodes)]
    for _ in range(int(nodes * density)):
        edges[chance.randrange(nodes)].append(chance.randrange(nodes))
    if chance.random() < 0.3:
        # A long way, which random graphs seldom have.
        for node in range(nodes - 1):
            edges[node].append(node + 1)
    return edges, [chance.randrange(nodes) for _ in range(chance.randrange(0, 4))]


@pytest.mark.parametrize("block", range(8))
def test_the_tree_is_that_of_the_definition(tmp_path: Path, block: int) -> None:
    for seed in range(block * 50, block * 50 + 50):
        edges, roots = random_graph(seed)
        snapshot = graph(tmp_path / "dump", edges, roots)
        wanted = immediate(edges, roots)
        assert found(snapshot, len(edges)) == wanted, f"seed {seed}"
        classes = len(snapshot._dump.class_of) - len(edges)
        sizes = snapshot._dump.sizes().astype(int).tolist()[classes:]
        everything = reachable(edges, roots, set())
        for node in range(len(edges)):
            lost = everything - reachable(edges, roots, {node}) if node in everything else set()
            retained = int(snapshot.retained[classes + node])
            assert retained == sum(sizes[one] for one in lost), f"seed {seed}, node {node}"


@pytest.mark.parametrize("seed", range(20))
def test_what_a_set_retains_is_exact(tmp_path: Path, seed: int) -> None:
    edges, roots = random_graph(seed + 1000)
    snapshot = graph(tmp_path / "dump", edges, roots)
    chosen = set(random.Random(seed).sample(range(len(edges)), len(edges) // 2))
    classes = len(snapshot._dump.class_of) - len(edges)
    sizes = snapshot._dump.sizes().astype(int).tolist()[classes:]
    lost = reachable(edges, roots, set()) - reachable(edges, roots, chosen)
    column = snapshot.column(classes + node for node in chosen)
    assert column.retained_size() == sum(sizes[one] for one in lost)


@pytest.mark.parametrize("seed", range(20))
def test_ways_to_the_roots_are_shortest(tmp_path: Path, seed: int) -> None:
    edges, roots = random_graph(seed + 2000)
    snapshot = graph(tmp_path / "dump", edges, roots)
    classes = len(snapshot._dump.class_of) - len(edges)
    distance = dict.fromkeys(roots, 1)
    level = list(distance)
    while level:
        level = [to for node in level for to in edges[node] if to not in distance
                 and not distance.update({to: distance[node] + 1})]  # fmt: skip
    column = snapshot.column(range(classes, classes + len(edges)))
    tree = snapshot.paths_to_roots(column)
    for node in range(len(edges)):
        assert len(tree.path(snapshot.object(classes + node))) == distance.get(node, 0)
    assert sum(node.count for node in tree) == len(distance)
    assert len(tree.unreached) == len(edges) - len(distance)


@pytest.mark.parametrize("seed", range(20))
def test_ways_that_are_asked_for_later_are_the_same(tmp_path: Path, seed: int) -> None:
    """The walk ends where it has come to what was asked for, and goes on for what comes next."""
    edges, roots = random_graph(seed + 3000)
    snapshot = graph(tmp_path / "dump", edges, roots)
    classes = len(snapshot._dump.class_of) - len(edges)
    reached = reachable(edges, roots, set())
    chance = random.Random(seed)
    for _ in range(6):
        some = chance.sample(range(len(edges)), chance.randrange(1, min(5, len(edges) + 1)))
        column = snapshot.column(classes + node for node in some)
        tree = snapshot.paths_to_roots(column)
        # The first question to a snapshot, and the last after one that needs the whole walk.
        fresh = jvmti.heap.open(tmp_path / "dump", unreachable="keep")
        whole = jvmti.heap.open(tmp_path / "dump", unreachable="keep")
        whole.paths_to_roots(whole.column(range(len(whole._dump.class_of))))
        for other in (fresh, whole):
            same = other.paths_to_roots(other.column(column.indices.tolist()))
            assert tree.lines(depth=50, width=50) == same.lines(depth=50, width=50)
        assert {one.index - classes for one in tree.unreached if one} == set(some) - reached
        assert sum(node.count for node in tree) == len(reached & set(some))
        for node in range(len(edges)):
            way = [obj.index - classes for _, obj in tree.path(snapshot.object(classes + node))]
            assert bool(way) == (node in reached)
            assert not way or (way[0] in roots and way[-1] == node)
            assert all(to in edges[source] for source, to in itertools.pairwise(way))


def test_a_search_that_was_ended_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = graph(tmp_path / "dump", [[1, 2], [3], [3], []], [0])
    last = snapshot.object(len(snapshot._dump.class_of) - 1)
    with monkeypatch.context() as patch:
        ended = library._Progress(cancel=1)
        patch.setattr(library, "_watched", lambda call, report: call(ctypes.addressof(ended)))
        with pytest.raises(jvmti.heap.Cancelled):
            snapshot.paths_to_roots(last)
    assert [name for name, _ in snapshot.paths_to_roots(last).path(last)] == [
        "<other>",
        "[1]",
        "[1]",
    ]


def test_the_children_that_lead_to_most_come_first(tmp_path: Path) -> None:
    sizes = [3, 1, 5, 1, 4]
    edges: list[list[int]] = [[1 + at for at in range(len(sizes))], *[[] for _ in sizes]]
    for at, size in enumerate(sizes):
        edges[1 + at] = list(range(len(edges), len(edges) + size))
        edges += [[] for _ in range(size)]
    snapshot = graph(tmp_path / "dump", edges, [0])
    every = snapshot.objects("java.lang.Object[]")
    for limit, wanted in [(2, [6, 5]), (4, [6, 5, 4, 2]), (9, [6, 5, 4, 2, 2])]:
        [top] = snapshot.paths_to_roots(every, limit=limit)
        assert [node.count for node in top.children] == wanted


def test_the_way_through_a_long_list_names_every_step(tmp_path: Path) -> None:
    """The steps are asked for together: one by one, a million take a minute."""
    nodes = 100_000
    writer = Writer()
    java_object = writer.class_(0x1000, "java/lang/Object")
    node = writer.class_(
        0x1100, "Node", super_=java_object, fields=[("value", 10), ("next", OBJECT)]
    )
    for at in range(nodes):
        writer.instance(FIRST + 64 * at, node, at, FIRST + 64 * (at + 1) if at + 1 < nodes else 0)
    writer.root(0xFF, FIRST)
    (tmp_path / "dump").write_bytes(writer.finish())
    snapshot = jvmti.heap.open(tmp_path / "dump")
    last = snapshot.object(int(snapshot.objects("Node").indices[-1]))
    way = snapshot.paths_to_roots(last).path(last)
    assert [obj["value"] for _, obj in way[::10_000]] == list(range(0, nodes, 10_000))
    assert [name for name, _ in way] == ["<other>"] + ["next"] * (nodes - 1)


def test_a_linked_list_whose_nodes_share_values_takes_no_time(tmp_path: Path) -> None:
    """Climbing from value to value would be a square of a million here."""
    nodes, values = 200_000, 2_000
    edges = [[node + 1] if node + 1 < nodes else [] for node in range(nodes)]
    edges[-1] = list(range(nodes, nodes + values))
    edges += [[] for _ in range(values)]
    for value in range(values):
        edges[value * 50].append(nodes + value)
    edges[0] += range(nodes, nodes + values)
    snapshot = graph(tmp_path / "dump", edges, [0])
    idom = found(snapshot, len(edges))
    assert idom[1:nodes] == list(range(nodes - 1))
    assert set(idom[nodes:]) == {0}


def test_the_tree_can_be_walked_down(tmp_path: Path) -> None:
    snapshot = graph(tmp_path / "dump", [[1, 2], [3], [3], [4], []], [0])
    tree = snapshot.dominators()
    [top] = [obj for obj in tree.children() if obj is not None and obj.as_class is None]
    assert len(tree.children(top)) == 3
    assert tree.total == int(tree.retained[-1])
    names = [obj.index - top.index for obj in tree.children(top) if obj is not None]
    assert names[0] == 3  # retains 4 as well, so it comes first
    assert [obj.index - top.index for obj in tree.dominators(snapshot.object(top.index + 4))] == [
        3,
        0,
    ]
    by_class = tree.retained_by_class()
    [arrays] = snapshot.classes.indices("java.lang.Object[]")
    assert by_class[arrays] == top.retained
    assert numpy.count_nonzero(tree.idom == jvmti.heap.NONE) == snapshot.unreachable_count


def test_what_is_only_weakly_held_can_be_left_out(tmp_path: Path) -> None:
    writer = Writer()
    java_object = writer.class_(0x1000, "java/lang/Object")
    reference = writer.class_(
        0x1100, "java/lang/ref/Reference", [("referent", OBJECT), ("next", OBJECT)],
        super_=java_object,
    )  # fmt: skip
    soft = writer.class_(0x1200, "java/lang/ref/SoftReference", super_=reference)
    cache = writer.class_(0x1300, "Cache", [("key", OBJECT)], super_=soft)
    for address in (0x2000, 0x2010, 0x2020):
        writer.instance(address, java_object)
    writer.instance(0x3000, cache, 0x2000, 0x2010, 0x2020)
    writer.instance(0x3040, cache, 0, 0, 0x2020)
    writer.root(0xFF, 0x3000)
    writer.root(0xFF, 0x3040)
    (tmp_path / "dump").write_bytes(writer.finish())
    snapshot = jvmti.heap.open(tmp_path / "dump")
    referent = snapshot.at(0x2010)
    assert referent is not None
    assert snapshot.dominators().dominator(referent) == snapshot.at(0x3000)
    assert snapshot.dominators(weak=False).idom[referent.index] == jvmti.heap.NONE
    assert snapshot.paths_to_roots(referent).path(referent) == []
    [root, way] = snapshot.paths_to_roots(referent, weak=True).path(referent)
    assert (root[0], way[0]) == ("<other>", "referent")


def test_ctrl_c_is_not_lost_where_a_dump_is_closed(tmp_path: Path) -> None:
    for _ in range(5):
        # The finalizers of what other tests have left must not get the interrupt.
        gc.collect()
        snapshots = [graph(tmp_path / "dump", [[0]], [0])]
        with pytest.raises(KeyboardInterrupt):
            interrupt_in(snapshots.clear)
        with pytest.raises(KeyboardInterrupt):
            interrupt_in(gc.collect)
