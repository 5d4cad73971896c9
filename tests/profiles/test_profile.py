"""The tables of a profile, and what they say."""

from __future__ import annotations

import datetime
import multiprocessing
import pickle
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy
import pyarrow
import pytest

from jvmti.profile import (
    Frames,
    Kind,
    Limits,
    Profile,
    ProfileError,
    Samples,
    SeveralKinds,
    Stacks,
    Threads,
)
from jvmti.stacks.tree import StackNode, StackTree
from jvmti.text.pools import pool_of
from profiles import made


def test_the_methods_with_the_most_own_weight_come_first():
    top = made.shop().top()
    assert [(one.name, one.own, one.total) for one in top] == [
        ("com.acme.Order.add", 60_000_000, 80_000_000),
        ("java.util.HashMap.put", 30_000_000, 30_000_000),
        ("(no stack)", 10_000_000, 10_000_000),
        ("com.acme.Server.run", 0, 70_000_000),
    ]
    assert top[0].share == 0.8
    assert top[0].own_share == 0.6
    assert str(top).splitlines()[1] == "    60 ms  60.0%     80 ms  80.0%  com.acme.Order.add"
    with pytest.raises(ValueError, match="most=-1 is not positive"):
        made.shop().top(-1)


@pytest.mark.parametrize("by", ["method", "line", "class", "package", "kind"])
def test_the_rows_add_up_to_the_whole(by: str):
    profile = made.shop()
    assert sum(one.own for one in profile.top(None, by)) == profile.weight
    tree = profile.tree()
    assert len(tree) == sum(node.ends for _, node in tree.walk()) == profile.weight


def test_threads_of_a_pool_differ_in_a_number():
    task = "Executor task launch worker for task {} in stage {} (TID {})"
    for name, pool in {
        "pool-1-thread-12": "pool-1-thread-*",
        task.format("0.0", "11.1", 7): task.format("*", "*", "*"),
        "C2 CompilerThre": "C2 CompilerThre",
        "G1 Conc#0": "G1 Conc#*",
        "T1": "T*",
    }.items():
        assert pool_of(name) == pool


def test_a_share_counts_each_sample_once_also_in_recursion():
    profile = made.shop()
    assert profile.share("com.acme.Order.add") == 0.8
    assert profile.share("com.acme.*") == 0.9
    assert profile.share("com.acme.Cart.*") == 0.0


def test_parts_by_time_take_seconds_and_moments():
    profile = made.shop()
    moment = datetime.datetime.fromtimestamp(made.BEGAN / 1e9 + 2, datetime.timezone.utc)
    for part in (
        profile.between(2, 4),
        profile.between(moment, moment + datetime.timedelta(seconds=2)),
        profile.between(
            numpy.datetime64(made.BEGAN + 2 * made.SECOND, "ns"),
            numpy.datetime64(made.BEGAN + 4 * made.SECOND, "ns"),
        ),
    ):
        assert part.samples.time.tolist() == [
            made.BEGAN + 2 * made.SECOND,
            made.BEGAN + 3 * made.SECOND,
        ]
    assert len(profile.between(None, None)) == 10


def test_samples_of_several_kinds_do_not_add_up():
    profile = made.shop()
    profile = type(profile)(
        Samples(**profile.samples.columns() | {"kind": [Kind.CPU] * 4 + [Kind.ALLOC] * 6}),
        profile.stacks,
        profile.frames,
        profile.threads,
        labels=profile.labels,
    )
    assert profile.kinds == (Kind.CPU, Kind.ALLOC)
    with pytest.raises(SeveralKinds, match=r"profile\['cpu'\]"):
        profile.top()
    assert len(profile["alloc"]) == 6
    with pytest.raises(KeyError, match="cpu, alloc"):
        profile["wall"]


def test_without_a_frame_nothing_has_a_stack() -> None:
    rows = numpy.zeros(1, numpy.int64)
    profile = Profile(
        Samples(rows, rows, rows, rows + 5, Kind.LIVE),
        Stacks([0, 0], []),
        Frames([], []),
        Threads([1], ["main"]),
        [Limits(Kind.LIVE)],
    )
    for by in ("method", "kind"):
        assert [one[:3] for one in profile.top(None, by=by)] == [("(no stack)", 5, 5)]
    assert list(profile.top(None, by="type")) == []


def test_a_column_of_whole_numbers_has_no_others() -> None:
    rows = numpy.zeros(2, numpy.int64)
    for weight in ([1.0, float("nan")], [1.0, float("inf")], float("nan")):
        with pytest.raises(ProfileError, match="weight: a value is no int64"):
            Samples(rows, rows, rows, weight, Kind.CPU)


def test_of_a_kind_of_which_nothing_happened_there_are_no_samples() -> None:
    profile = made.shop()
    limits = [Limits(one) for one in (Kind.CPU, Kind.LOCK)]
    profile = type(profile)(
        profile.samples, profile.stacks, profile.frames, profile.threads, limits, profile.labels
    )
    assert profile.kinds == (Kind.CPU,)
    waits = profile["lock"]
    assert (len(waits), waits.kind, waits.limits) == (0, Kind.LOCK, (limits[1],))
    assert len(waits.top()) == 0
    assert profile.limits == tuple(limits)
    used = profile["cpu"]
    assert (len(used), used.limits) == (len(profile), (limits[0],))


@pytest.mark.parametrize(
    ("column", "number"), [("thread", 2), ("stack", 5), ("stack", -1), ("label", 2), ("owner", 2)]
)
def test_a_number_that_is_no_row_is_refused(column: str, number: int):
    profile = made.shop()
    wrong = Samples(**profile.samples.columns() | {column: [0] * 9 + [number]})
    with pytest.raises(ProfileError, match=column):
        type(profile)(wrong, profile.stacks, profile.frames, profile.threads, labels=profile.labels)


def test_tables_of_the_wrong_shape_are_refused():
    with pytest.raises(ProfileError, match="span"):
        Stacks([0, 3], [1])
    with pytest.raises(ProfileError, match="ascend"):
        Stacks([0, 2, 1, 3], [0, 0, 0])
    with pytest.raises(ProfileError, match="differ"):
        Frames(["A"], ["a", "b"])
    with pytest.raises(ProfileError, match="kind: 77"):
        Frames(["A"], ["a"], kind=77)
    with pytest.raises(ProfileError, match="differ"):
        Threads([1], ["main"], group=[])
    with pytest.raises(ProfileError, match="weight"):
        Samples([1, 2], 0, [0, 0], [1, 2, 3])


def test_own_and_total_weights_are_those_of_a_loop_over_all_samples():
    profile = made.large(samples=3000, stacks=300)
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for stack, weight in zip(
        profile.samples.stack.tolist(), profile.samples.weight.tolist(), strict=True
    ):
        names = [profile.frames[row].name for row in profile.stacks[stack].tolist()]
        own[names[0]] += weight
        for name in set(names):
            total[name] += weight
    top = profile.top(None)
    assert {one.name: one.total for one in top} == total
    assert {one.name: one.own for one in top if one.own} == own
    name, weight = total.most_common(5)[-1]
    assert profile.share(name) == pytest.approx(weight / profile.weight)


def test_the_tree_counts_weights():
    tree = made.shop().tree()
    assert tree.lines() == [
        " 70.0%   70 ms  com.acme.Server.run",
        " 60.0%   60 ms    com.acme.Order.add",
        " 20.0%   20 ms      java.util.HashMap.put",
        " 10.0%   10 ms    java.util.HashMap.put",
        " 20.0%   20 ms  com.acme.Order.add",
        " 20.0%   20 ms  · com.acme.Order.add",
        " 10.0%   10 ms  (no stack)",
    ]
    assert tree.root.ends == 0


def test_the_inverted_tree_begins_with_what_used_most():
    assert made.shop().tree(inverted=True).lines()[:2] == [
        " 60.0%   60 ms  com.acme.Order.add",
        " 40.0%   40 ms    com.acme.Server.run",
    ]


def test_callers_and_callees_begin_at_the_outermost_call():
    profile = made.shop()
    assert profile.callers("java.util.HashMap.put").lines() == [
        "100.0%   30 ms  java.util.HashMap.put",
        " 66.7%   20 ms    com.acme.Order.add",
        " 66.7%   20 ms    · com.acme.Server.run",
        " 33.3%   10 ms    com.acme.Server.run",
    ]
    assert profile.callees("*.Order.add").lines() == [
        "100.0%   80 ms  com.acme.Order.add",
        " 25.0%   20 ms    com.acme.Order.add",
        " 25.0%   20 ms    java.util.HashMap.put",
    ]
    assert len(profile.callers("com.acme.Cart.*")) == 0


@pytest.mark.parametrize(
    ("by", "weights"),
    [
        ("thread", {"worker-1": 60, "worker-2": 40}),
        ("group", {"main": 60, "workers": 40}),
        ("pool", {"worker-*": 100}),
        ("state", {"running": 70, "native": 30}),
        ("label", {"": 40, "/buy": 30, "/look": 30}),
        ("kind", {"cpu": 100}),
        ("owner", {"": 100}),
    ],
)
def test_a_profile_falls_apart_by(by: str, weights: dict[str, int]):
    parts = made.shop().by(by)
    assert parts.weights == {name: weight * 1_000_000 for name, weight in weights.items()}
    assert {name: part.weight for name, part in parts.items()} == parts.weights


def test_a_split_by_something_else_is_refused():
    with pytest.raises(ValueError, match="thread, group, pool"):
        made.shop().by("moon")
    with pytest.raises(KeyError):
        made.shop().by("thread")["worker-3"]


def test_parts_of_several_kinds_have_no_sum():
    one = made.shop()
    columns = one.samples.columns() | {"kind": [Kind.CPU] * 4 + [Kind.ALLOC] * 6}
    both = type(one)(Samples(**columns), one.stacks, one.frames, one.threads, (), one.labels)
    assert both.by("kind").weights == {"alloc": 60_000_000, "cpu": 40_000_000}
    assert both.by("thread").counts == {"worker-1": 6, "worker-2": 4}
    with pytest.raises(SeveralKinds, match=r"profile\['cpu'\]"):
        both.by("thread").weights  # noqa: B018 - it raises
    assert str(one.by("owner")).splitlines()[1] == "100.0%  (unknown)"


def test_profiles_of_several_jvms_become_one():
    one, other = made.shop(), made.large(500, 20)
    both = one.merge(other, processes=["shop", "batch"])
    assert {name: part.weight for name, part in both.by("process").items()} == {
        "shop": one.weight,
        "batch": other.weight,
    }
    assert both.by("process")["batch"].top(None)[0][:3] == other.top(None)[0][:3]
    assert [limit.process for limit in both.limits] == ["shop", "batch"]
    with pytest.raises(ValueError, match="1 names for 2 profiles"):
        one.merge(other, processes=["shop"])
    again = both.merge(both)
    assert (len(again.frames), len(again.stacks)) == (len(both.frames), len(both.stacks))


def test_a_difference_is_of_amounts_per_second_of_each_part():
    profile = made.shop()
    before, after = profile.between(0, 4), profile.between(4, 10)
    difference = before.diff(after)
    rows = {one.name: one for one in difference.top()}
    put = rows["java.util.HashMap.put"]
    assert (put.own_before, put.own_after) == (0.0, pytest.approx(0.005))
    assert rows["com.acme.Order.add"].own_change == pytest.approx(0.02 / 6 - 0.01)
    shares = {one.name: one for one in before.diff(after, per="share").top()}
    assert shares["com.acme.Order.add"].own_before == pytest.approx(1)
    assert shares["com.acme.Order.add"].own_after == pytest.approx(1 / 3)


def test_only_profiles_of_one_kind_can_be_compared():
    profile = made.shop()
    memory = Samples(**profile.samples.columns() | {"kind": Kind.ALLOC})
    other = type(profile)(
        memory, profile.stacks, profile.frames, profile.threads, labels=profile.labels
    )
    with pytest.raises(ValueError, match="cpu and alloc"):
        profile.diff(other)


def test_limits_say_what_to_know():
    text = str(made.shop().limits[0])
    assert "the kernel does not allow perf events" in text
    assert "could not be walked: 1." in text
    assert "without their outermost callers, where the walk lost its way: 2." in text


@pytest.mark.parametrize("views", [False, True])
def test_profiles_and_their_tables_are_equal_in_another_process(views: bool):
    shop = made.shop()
    if views:
        shop.tree()
        shop.top()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        again = pool.submit(Profile.between, shop, None, None).result()
    assert again == shop
    assert again.top() == shop.top()
    assert again.between(0, 5) != shop
    for name in ("samples", "stacks", "frames", "threads"):
        assert getattr(again, name) == getattr(shop, name)
        assert getattr(again, name) != getattr(made.large(10, 5), name)
    assert again != "a profile"
    parts = pickle.loads(pickle.dumps(shop.by("thread")))
    assert dict(parts) == dict(shop.by("thread"))


def test_a_copy_of_a_profile_has_no_more_than_its_tables():
    shop = made.shop()
    before = len(pickle.dumps(shop))
    shop.tree()
    shop.tree(inverted=True)
    assert len(pickle.dumps(shop)) == before


def test_nodes_of_a_tree_are_made_when_they_are_looked_at():
    profile = made.large(200_000, 20_000)
    tree = profile.tree()
    assert not tree.root._below
    assert sum(node.ends for _, node in tree.walk()) == profile.weight
    copy = pickle.loads(pickle.dumps(profile.tree()))
    assert copy.lines() == tree.lines()
    assert copy.amount(10**9) == tree.amount(10**9)


def test_each_view_of_a_profile_is_a_table():
    shop = made.shop()
    samples = pyarrow.table(shop.samples).to_pylist()
    assert samples[3]["state"] == "running"
    assert [one["label"] for one in samples] == [0, 0, 0, 1, 1, 1, None, None, None, None]
    assert sum(one["weight"] for one in samples) == shop.weight
    assert pyarrow.table(shop.stacks)["frames"].to_pylist() == [one.tolist() for one in shop.stacks]
    frames = pyarrow.table(shop.frames).to_pylist()
    assert [(one["class_name"], one["kind"]) for one in frames] == [
        (one.class_name, one.kind.name.lower()) for one in shop.frames
    ]
    threads = pyarrow.table(shop.threads).to_pylist()
    assert [tuple(one.values()) for one in threads] == list(shop.threads)
    for rows in (shop.top(), shop.diff(shop).top()):
        assert [tuple(one.values()) for one in rows.to_arrow().to_pylist()] == list(rows)
    assert not shop.between(100, 200).top().to_arrow().num_rows
    parts = pyarrow.table(shop.by("thread")).to_pylist()
    assert {one["name"]: one["weight"] for one in parts} == shop.by("thread").weights


@pytest.mark.parametrize("objects", [False, True])
def test_a_tree_is_a_table_of_its_nodes(objects: bool):
    shop = made.shop()
    tree = shop.tree()
    if objects:
        # One that was built stack by stack, as those of captures are.
        columns = tree
        tree = StackTree()
        for path, node in ends_of(columns):
            tree.add(path, node.ends)
    rows = pyarrow.table(tree).to_pylist()
    assert (rows[0]["parent"], rows[0]["name"], rows[0]["total"]) == (None, None, shop.weight)
    assert sum(one["own"] for one in rows) == shop.weight
    put = [one for one in rows if one["name"] == "java.util.HashMap.put"]
    above = {rows[one["parent"]]["name"]: one["total"] for one in put}
    assert above == {"com.acme.Order.add": 20_000_000, "com.acme.Server.run": 10_000_000}


def ends_of(tree: StackTree) -> Iterator[tuple[list[str], StackNode]]:
    """The path to each node in which stacks end, and the node."""
    path: list[str] = []
    for depth, node in tree.walk():
        path[depth:] = [node.name]
        if node.ends:
            yield list(path), node


def test_a_tree_without_a_sample_says_so():
    tree = made.shop().where(slice(0)).tree()
    assert repr(tree).startswith("<StackTree of 0 ms, 0 samples")


def test_a_part_of_a_profile_counts_the_threads_that_have_samples():
    shop = made.shop()
    part = shop.where(shop.samples.thread == shop.samples.thread[0])
    assert len(part.threads) > 1
    assert " of 1 thread " in repr(part)
    assert " of 1 thread " in part.flame().html
