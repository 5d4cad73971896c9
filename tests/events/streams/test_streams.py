"""Streams: nothing is lost that is not counted, and every name is there before its first use."""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import jvmti
from events.streams.streamed import rest_of
from jvmti.env.events import EVENTS
from jvmti.env.services import STREAMS
from jvmti.events.streams.layout import record_fields, record_size
from jvmti.events.streams.recording import Streams
from jvmti.interface.errors import IllegalArgument, MustPossessCapability, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from events.streams.streamed import Streamed
    from jvms import Jvm

WORK: dict[str, Any] = {"classes": "Streamed", "methods": "work"}


def read_while(streams: list[Any], work: Callable[[], Any]) -> list[int]:
    """Read streams while something is done; how many events each has brought."""
    done = threading.Event()
    counts = [0] * len(streams)

    def read(i: int) -> None:
        ended = False
        while not ended:
            ended = done.is_set()
            while records := streams[i].read(0.05 if not ended else 0):
                counts[i] += len(records)

    readers = [threading.Thread(target=read, args=(i,)) for i in range(len(streams))]
    for reader in readers:
        reader.start()
    try:
        work()
    finally:
        done.set()
    for reader in readers:
        reader.join()
    return counts


@pytest.mark.parametrize("timestamps", [True, False])
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_stream_that_waits_loses_nothing(streamed: Streamed, timestamps: bool, size: int) -> None:
    threads, calls = 3, 20_000 if size > 1000 else 1000
    env = streamed.vm.env
    with env.stream("MethodEntry", **WORK, policy="wait", timestamps=timestamps, size=size) as it:
        counts = read_while([it], lambda: streamed.ask(f"call {calls} {threads}"))
        assert (counts, it.dropped, it.recorded) == (
            [threads * calls],
            0,
            threads * calls,
        )


def test_a_stream_that_drops_counts_what_it_drops(streamed: Streamed) -> None:
    with streamed.vm.env.stream("MethodEntry", **WORK, size=4096) as it:
        assert streamed.ask("call 10000 2") == "called 20000"
        assert it.dropped > 0
        records = it.read(0)
        assert len(records) == it.recorded
        assert it.recorded + it.dropped == 20_000
        # With room again the next ones are recorded.
        streamed.ask("call 10 1")
        assert len(it.read(0)) == 10


def test_many_threads_share_what_lanes_there_are(streamed: Streamed) -> None:
    with streamed.vm.env.stream("MethodEntry", **WORK, policy="wait", size=4096) as it:
        counts = read_while([it], lambda: streamed.ask("call 500 150"))
        assert counts == [150 * 500]


def test_the_agents_books_say_what_was_streamed_and_dropped(streamed: Streamed) -> None:
    before = streamed.vm.stats.agent
    assert before is not None
    with streamed.vm.env.stream("MethodEntry", **WORK, size=4096) as it:
        streamed.ask("call 1000 1")
        during = streamed.vm.stats.agent
        assert during is not None
        assert during.streams == before.streams + 1
        kept = it.recorded
    after = streamed.vm.stats.agent
    assert after is not None
    assert after.streams == before.streams
    assert after.events_streamed - before.events_streamed == kept
    assert after.events_dropped - before.events_dropped == 1000 - kept


def test_threads_methods_and_times_are_those_of_the_program(streamed: Streamed) -> None:
    begun = time.monotonic_ns()
    with streamed.vm.env.stream("MethodEntry", **WORK) as it:
        streamed.ask("call 5 2")
    records = it.read(0)
    assert records["thread"].counts() == {"worker-0": 5, "worker-1": 5}
    assert records["method"].counts() == {"work": 10}
    assert records["method_class"].counts() == {"Streamed": 10}
    assert records["method_signature"].counts() == {"(I)I": 10}
    assert records["method_file"].counts() == {"Streamed.java": 10}
    times = records["time"]
    assert begun < times.min()
    assert times.max() < time.monotonic_ns()
    for name in ("worker-0", "worker-1"):
        mine = times[[thread == name for thread in records["thread"]]]
        assert (numpy.diff(mine) >= 0).all()
    assert (numpy.diff(records.sorted_by_time()["time"]) >= 0).all()


def test_field_modifications_have_their_values_and_lines(streamed: Streamed) -> None:
    env = streamed.vm.env
    klass = streamed.vm.find_class("Streamed")
    fields = [
        field
        for field in klass.fields
        if field.name in ("number", "wide", "truth", "fraction", "single", "text", "own")
    ]
    for field in fields:
        env.set_field_modification_watch(klass, field)
    try:
        with env.stream("FieldModification", objects=True) as it:
            streamed.ask("set 3")
    finally:
        for field in fields:
            env.clear_field_modification_watch(klass, field)
    rows = rest_of(it)
    assert len(rows) == 3 * 7
    # In the order of the program's text, from one line to the next.
    assert [row["field"] for row in rows[:7]] == [
        "number", "wide", "truth", "fraction", "single", "text", "own",
    ]  # fmt: skip
    lines = [row["line"] for row in rows[:7]]
    assert lines == list(range(lines[0], lines[0] + 7))
    last = {row["field"]: row for row in rows[14:]}
    assert {name: row["signature_type"] for name, row in last.items()} == {
        "number": "I", "wide": "J", "truth": "Z", "fraction": "D", "single": "F", "text": "L",
        "own": "I",
    }  # fmt: skip
    assert [last[name]["new_value"] for name in ("number", "wide", "truth", "own")] == [2, -2, 1, 2]
    assert [last[name]["new_value"] for name in ("fraction", "single")] == [1.0, 0.5]
    assert last["text"]["new_value_class"] == "java.lang.String"
    assert rows[7 + 5]["new_value_class"] is None
    assert last["own"]["object"] == "Streamed"
    assert last["number"]["object"] is None
    assert {row["field_class"] for row in rows} == {"Streamed"}
    assert {row["method"] for row in rows} == {"write"}


def watch(streamed: Streamed, stack: ExitStack, *names: str) -> None:
    env = streamed.vm.env
    klass = streamed.vm.find_class("Streamed")
    for field in klass.fields:
        if field.name in names:
            env.set_field_modification_watch(klass, field)
            stack.callback(env.clear_field_modification_watch, klass, field)


@pytest.mark.parametrize("timestamps", [True, False])
def test_values_of_every_type_are_those_written(streamed: Streamed, timestamps: bool) -> None:
    names = ["tiny", "letter", "small", "number", "wide", "truth", "single"]
    with ExitStack() as stack:
        watch(streamed, stack, *names)
        with streamed.vm.env.stream("FieldModification", timestamps=timestamps) as it:
            streamed.ask("below 1000")
    records = it.read(0)
    # The first and those that follow take different ways through the agent.
    assert list(records["field"]) == names * 1000
    assert set(records["method"]) == {"writeBelowZero"}
    values = records["new_value"].reshape(1000, len(names)).T
    written = numpy.arange(1000)
    assert (values[0] == (-written).astype(numpy.int8)).all()
    assert (values[1] == (-written).astype(numpy.uint16)).all()
    assert (values[2] == -written).all()
    assert (values[3] == -written).all()
    assert (values[4] == -written).all()
    assert (values[5] == (written != 0)).all()
    single = records["new_value_float"].reshape(1000, len(names))[:, 6]
    assert (single == -written / 4).all()


@pytest.mark.parametrize("timestamps", [True, False])
def test_fields_written_elsewhere_are_left_out(streamed: Streamed, timestamps: bool) -> None:
    env = streamed.vm.env
    options = {"timestamps": timestamps}
    with ExitStack() as stack:
        watch(streamed, stack, "number", "wide")
        with (
            env.stream("FieldModification", **options) as both,
            env.stream("FieldModification", methods="write", **options) as some,
        ):
            streamed.ask("set 500")
            streamed.ask("below 500")
        with env.stream("FieldModification", methods="write", **options) as alone:
            for _ in range(5):
                streamed.ask("below 100")
                streamed.ask("set 100")
    assert both.read(0)["method"].counts() == {"write": 1000, "writeBelowZero": 1000}
    for it in (some, alone):
        records = it.read(0)
        assert records["method"].counts() == {"write": 1000}
        assert records["field"].counts() == {"number": 500, "wide": 500}
        assert it.recorded == 1000
        assert it.dropped == 0


def test_a_time_is_when_the_event_came_with_and_without_a_filter(streamed: Streamed) -> None:
    env = streamed.vm.env
    for filters in ({}, WORK):
        for _ in range(20):
            begun = time.monotonic_ns()
            with env.stream("MethodEntry", **filters) as it:
                streamed.ask("call 100 1")
                answered = time.monotonic_ns()
            records = it.read(0)
            times = records["time"][[method == "work" for method in records["method"]]]
            assert len(times) == 100
            assert (numpy.diff(times) >= 0).all()
            assert begun < times[0]
            assert times[-1] < answered


def test_return_values_have_their_types(streamed: Streamed) -> None:
    with streamed.vm.env.stream("MethodExit", classes="Streamed", methods=["work", "fail"]) as it:
        streamed.ask("call 3 1")
        streamed.ask("throw 1")
    rows = it.read(0).sorted_by_time().rows()
    returned = [
        (row["return_value"], row["return_value_type"], row["was_popped_by_exception"])
        for row in rows
    ]
    assert returned == [(i, "I", False) for i in (1, 2, 3)] + [(None, "V", True)] * 3


def test_a_read_that_finds_nothing_comes_back_in_time(streamed: Streamed) -> None:
    with streamed.vm.env.stream("MethodEntry", **WORK) as it:
        started = time.monotonic()
        assert not it.read(0.1)
        assert 0.09 < time.monotonic() - started < 20
        assert not it.read(0)


def test_several_events_come_in_one_stream(streamed: Streamed) -> None:
    env = streamed.vm.env
    with env.stream(["MethodEntry", "MethodExit"], **WORK, timestamps=False) as it:
        streamed.ask("call 4 1")
    records = it.read(0)
    assert records["event"][:] == ["MethodEntry", "MethodExit"] * 4
    assert records["return_value"].tolist() == [0, 1, 0, 2, 0, 3, 0, 4]
    rows = list(records.rows())
    assert "return_value" not in rows[0]
    assert rows[1]["return_value"] == 1


def test_batches_are_arrows(streamed: Streamed) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with streamed.vm.env.stream(["MethodEntry", "MethodExit"], **WORK) as it:
        streamed.ask("call 3 1")
    batches = list(it)
    assert [type(batch) for batch in batches] == [pyarrow.RecordBatch]
    table = pyarrow.Table.from_batches(batches)
    assert table["method"].to_pylist() == ["work"] * 6
    assert table["return_value"].to_pylist() == [None, 1, None, 2, None, 3]
    assert pyarrow.types.is_dictionary(table.schema.field("thread").type)


def test_parquet_takes_the_table_of_a_stream_as_it_is(streamed: Streamed, tmp_path: Path) -> None:
    """Batches whose names grow from one to the next, with nulls in every kind of column."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    env = streamed.vm.env
    klass = streamed.vm.find_class("Streamed")
    fields = [field for field in klass.fields if field.name in ("text", "fraction")]
    for field in fields:
        env.set_field_modification_watch(klass, field)
    rows, batches = [], []
    events = ["MethodEntry", "FieldModification", "MethodExit"]
    try:
        with env.stream(events, classes="Streamed", stack=2, objects=True) as it:
            for command in ("call 3 1", "set 2", "throw 1", "call 2 2"):
                streamed.ask(command)
                records = it.read(0)
                batches.append(records.to_arrow())
                rows += records.rows()
    finally:
        for field in fields:
            env.clear_field_modification_watch(klass, field)
    table = pyarrow.Table.from_batches(batches)
    parquet.write_table(table, tmp_path / "events.parquet")
    again = parquet.read_table(tmp_path / "events.parquet")
    assert again.to_pylist() == table.to_pylist()
    # The same as the rows tell, which have no Arrow in them.
    assert len(rows) == len(table) > 12
    for reported, row in zip(table.to_pylist(), rows, strict=True):
        for name, value in row.items():
            if f"{name}_float" in reported:  # a column for each kind of number, in a row the one
                wide = isinstance(value, float)
                assert value is None or reported[f"{name}_float" if wide else name] == value
            elif value is None or value == -1 or value != value:
                assert reported[name] is None or reported[name] == value
            else:
                assert reported[name] == (list(value) if name == "stack" else value), name
        left = set(reported) - set(row) - {f"{name}_float" for name in row}
        assert all(reported[name] is None for name in left)
    for column in table.columns:
        kind = column.type.value_type if pyarrow.types.is_list(column.type) else column.type
        if pyarrow.types.is_dictionary(kind):
            chunks = [getattr(chunk, "values", chunk) for chunk in column.chunks]
            assert not any(chunk.dictionary.null_count for chunk in chunks)


def test_a_stream_in_each_of_two_environments_sees_the_same(streamed: Streamed) -> None:
    other = streamed.vm.new_env()
    other.add_capabilities({"can_generate_method_entry_events"})
    try:
        with (
            streamed.vm.env.stream("MethodEntry", **WORK, policy="wait", size=8192) as one,
            other.stream("MethodEntry", classes="Streamed", policy="wait", size=8192) as two,
        ):
            counts = read_while([one, two], lambda: streamed.ask("call 2000 2"))
        assert counts[0] == 4000
        assert counts[1] >= 4000
    finally:
        other.dispose_environment()


def test_streams_of_one_event_join_and_leave_each_other(streamed: Streamed) -> None:
    other = streamed.vm.new_env()
    other.add_capabilities({"can_generate_method_entry_events"})
    calls = 2000  # of which all but the first are on the shortest way

    def reported(*streams: Any) -> list[int]:
        streamed.ask(f"call {calls} 1")
        return [len(it.read(0, 10 * calls)) for it in streams]

    with streamed.vm.env.stream("MethodEntry", **WORK) as alone:
        assert reported(alone) == [calls]
        with other.stream("MethodEntry", **WORK) as joined:
            assert reported(alone, joined) == [calls, calls]
            with streamed.vm.env.stream("MethodEntry", **WORK) as third:
                assert reported(alone, joined, third) == [calls] * 3
            assert reported(alone, joined) == [calls, calls]
            alone.close()
            assert reported(joined) == [calls]
            # An environment that goes takes its stream along, and another is alone again.
            other.dispose_environment()
        with streamed.vm.env.stream("MethodEntry", **WORK) as last:
            assert reported(last) == [calls]
        assert reported(alone, joined) == [0, 0]


def test_two_streams_of_one_environment_filter_each_for_itself(streamed: Streamed) -> None:
    env = streamed.vm.env
    with (
        env.stream("MethodEntry", classes="Streamed", methods="write") as one,
        env.stream("MethodEntry", **WORK) as two,
    ):
        streamed.ask("set 3")
        streamed.ask("call 5 1")
        assert len(one.read(0)) == 3
    # The other one goes first: the event stays enabled for this.
    assert len(two.read(0)) == 5


def test_handlers_and_streams_of_one_event_do_not_mind_each_other(streamed: Streamed) -> None:
    env = streamed.vm.env
    seen = []
    with env.on("Exception", lambda event: seen.append(event.method.name)):
        with env.stream("Exception", exceptions="java.io.IOException") as it:
            streamed.ask("throw 1")
        streamed.ask("throw 1")
    assert len(it.read(0)) == 1
    assert seen.count("fail") == 6
    with env.stream("Exception", exceptions="java.io.IOException") as it:
        with env.on("Exception", lambda event: None):
            streamed.ask("throw 1")
        streamed.ask("throw 1")
    assert len(it.read(0)) == 2


def test_a_closed_stream_is_read_to_its_end_and_not_further(streamed: Streamed) -> None:
    with streamed.vm.env.stream("MethodEntry", **WORK) as it:
        streamed.ask("call 5 1")
    streamed.ask("call 5 1")
    assert it.closed
    assert len(it.read()) == 5
    assert not it.read()
    it.close()
    assert list(it) == []


def test_a_disposed_environment_ends_its_streams(streamed: Streamed) -> None:
    other = streamed.vm.new_env()
    other.add_capabilities({"can_generate_method_entry_events"})
    it = other.stream("MethodEntry", **WORK)
    streamed.ask("call 5 1")
    other.dispose_environment()
    streamed.ask("call 5 1")
    assert len(it.read(0)) == 5
    it.close()
    stats = streamed.vm.stats.agent
    assert stats is not None
    assert stats.streams == 0


def test_garbage_collections_are_streamed(streamed: Streamed) -> None:
    before = int(streamed.ask("gc"))
    with streamed.vm.env.stream(["GarbageCollectionStart", "GarbageCollectionFinish"]) as it:
        for _ in range(3):
            after = int(streamed.ask("gc"))
    records = it.read(0)
    assert after - before >= 3
    names = records["event"][:]
    assert names[::2] == ["GarbageCollectionStart"] * (len(names) // 2)
    assert names[1::2] == ["GarbageCollectionFinish"] * (len(names) // 2)
    assert len(names) // 2 >= 3
    assert (numpy.diff(records["time"]) >= 0).all()


def test_freed_objects_are_reported_by_their_tags(streamed: Streamed) -> None:
    vm = streamed.vm
    streamed.ask("tagged 50")
    klass = vm.find_class("Streamed")
    field = vm.jni.get_static_field_id(klass, "kept", "[Ljava/lang/Object;")
    kept = vm.jni.get_static_object_field(klass, field)
    for i in range(50):
        item = vm.jni.get_object_array_element(kept, i)
        vm.env.set_tag(item, 1000 + i)
        item.release()
    kept.release()
    with vm.env.stream("ObjectFree", timestamps=False) as it:
        streamed.ask("forget")
        tags: set[int] = set()
        for _ in range(20):
            streamed.ask("gc")
            tags.update(it.read(0.2)["tag"].tolist())
            if len(tags) == 50:
                break
    assert tags == set(range(1000, 1050))


def test_names_of_unloaded_classes_are_known(streamed: Streamed) -> None:
    env = streamed.vm.env
    with env.stream("MethodEntry", classes="Streamed$Other", methods="call") as it:
        assert streamed.ask("load 300") == f"loaded {sum(range(1, 301))}"
        streamed.ask("gc")
        streamed.ask("gc")
        records = it.read(0)
    assert records["method_class"].counts() == {"Streamed$Other": 300}
    # They were three hundred different methods.
    assert len(set(records["method"].codes.tolist())) == 300


NAMING = {"classes": "Long*"}


def naming(streamed: Streamed, classes: int, threads: int) -> None:
    """Classes with names of some 15 MiB where there are 10,000: the ring of names has one."""
    letters = int(streamed.ask(f"names {classes // threads} {threads}"))
    assert letters > classes * 1480


@pytest.mark.parametrize("size", [4096, 1 << 20])
def test_more_names_than_there_is_room_for_are_waited_for(streamed: Streamed, size: int) -> None:
    """With room for all records too: then the names alone make the threads wait."""
    classes, threads = 10_000, 4
    names: set[str] = set()
    rows = 0
    done = threading.Event()
    with streamed.vm.env.stream("ClassLoad", **NAMING, policy="wait", size=size) as it:

        def read() -> None:
            nonlocal rows
            ended = False
            while not ended:
                ended = done.is_set()
                while records := it.read(0.05 if not ended else 0):
                    rows += len(records)
                    names.update(records["klass"][:])

        reader = threading.Thread(target=read)
        reader.start()
        try:
            naming(streamed, classes, threads)
        finally:
            done.set()
            reader.join()
        assert it.dropped == 0
        assert it.recorded == classes
    long = "Long" * 370
    each = classes // threads
    assert names == {f"{long}_{i}_{j}" for i in range(threads) for j in range(each)}
    assert rows == classes


def test_a_reader_that_sleeps_on_many_names_stops_the_threads_until_the_stream_is_closed(
    streamed: Streamed,
) -> None:
    with streamed.vm.env.stream("ClassLoad", **NAMING, policy="wait") as it:
        streamed.send("names 1000 4")
        until = time.monotonic() + 30
        before = -1
        # A MiB has room for some 700 of them; then nothing comes any more.
        while it.recorded < 600 or it.recorded != before:
            assert time.monotonic() < until
            before = it.recorded
            time.sleep(0.1)
        assert it.recorded < 1000
    assert int(streamed.read()) > 4000 * 1480
    assert it.recorded + it.dropped <= 4000
    assert it.dropped >= 1  # those that waited when it was closed
    assert len(it.read(0)) == it.recorded


def test_events_without_room_for_their_names_are_dropped_and_counted(streamed: Streamed) -> None:
    classes = 4000
    with streamed.vm.env.stream("ClassLoad", **NAMING, size=1 << 20) as it:
        naming(streamed, classes, 2)
        assert it.dropped > 0
        assert it.recorded + it.dropped == classes
        records = it.read(0)
        assert len(records) == it.recorded > 600
        assert len(set(records["klass"][:])) == len(records)
        # Read, so there is room again; what could not be named before is named now.
        kept = it.recorded
        naming(streamed, 100, 1)
        assert it.recorded == kept + 100
        assert len(set(it.read(0)["klass"][:])) == 100


def test_what_cannot_be_is_a_clear_error(streamed: Streamed) -> None:
    env = streamed.vm.env
    for wrong, words in [
        (lambda: env.stream("Nothing"), "no event 'Nothing'"),
        (lambda: env.stream([]), "needs an event"),
        (lambda: env.stream("GarbageCollectionStart", policy="wait"), 'policy "drop"'),
        (lambda: env.stream(["MethodEntry", "ObjectFree"], policy="wait"), 'policy "drop"'),
        (lambda: env.stream("ObjectFree", stack=3), "no stack"),
        (lambda: env.stream("MethodEntry", policy="sometimes"), "not 'sometimes'"),
        (lambda: env.stream("MethodEntry", min_duration=1), "MonitorWaited"),
        (lambda: env.stream("MethodExit", min_duration=-1), "not negative"),
        (lambda: env.stream("GarbageCollectionStart", classes="x"), "no class"),
        (lambda: env.stream("MonitorWait", methods="x"), "no method"),
        (lambda: env.stream("MethodEntry", exceptions="x"), "no exception"),
        (lambda: env.stream("MethodEntry", classes="a\nb"), "one line"),
        (lambda: env.stream("MethodEntry", size=8), "a record takes"),
        (lambda: env.stream("MethodEntry", stack=1000), "256"),
    ]:
        with pytest.raises(ValueError) as caught:
            wrong()
        assert words in str(caught.value), caught.value
    wrong_types: list[tuple[dict[str, Any], str]] = [
        ({"classes": 5}, "classes= takes patterns as text, not int"),
        ({"methods": ["x", None]}, "methods= takes patterns as text, not NoneType"),
        ({"thread": 5}, "thread= takes threads, not int"),
        ({"thread": ["main"]}, "thread= takes threads, not str"),
        ({"stack": "3"}, "stack= takes a whole number, not '3'"),
        ({"size": 1e6}, "size= takes a whole number, not 1000000.0"),
        ({"min_duration": "1"}, "min_duration= takes seconds, not '1'"),
    ]
    for options, words in wrong_types:
        with pytest.raises(TypeError) as refused:
            env.stream("MethodExit", **options)
        assert str(refused.value) == words
    with pytest.raises(IllegalArgument):
        env.stream("GarbageCollectionStart", thread=streamed.vm.threads["main"])
    bare = streamed.vm.new_env()
    with pytest.raises(MustPossessCapability):
        bare.stream("MethodEntry")
    bare.dispose_environment()
    stats = streamed.vm.stats.agent
    assert stats is not None
    assert stats.streams == 0


def test_there_may_be_thirty_two_streams(streamed: Streamed) -> None:
    env = streamed.vm.env
    many = [env.stream("MethodEntry", **WORK, size=1024) for _ in range(32)]
    with pytest.raises(jvmti.JvmtiError, match="32"):
        env.stream("MethodEntry", **WORK)
    streamed.ask("call 2 1")
    for one in many:
        one.close()
        assert len(one.read(0)) == 2
    env.stream("MethodEntry").close()


def test_garbage_from_the_controller_does_no_harm(streamed: Streamed) -> None:
    rng = numpy.random.default_rng(5)
    for policy in ("drop", "wait"):
        it = streamed.vm.env.stream("MethodEntry", **WORK, size=2048, policy=policy)
        done = threading.Event()

        def scribble(it: Any = it, done: threading.Event = done) -> None:
            memory = it._memory
            while not done.is_set():
                memory.tails[:] = rng.integers(0, 2**64, len(memory.tails), numpy.uint64)
                memory.names_tail[0] = rng.integers(0, 2**64, dtype=numpy.uint64)
                memory.heads[:] = rng.integers(0, 2**64, len(memory.heads), numpy.uint64)
                memory.names[:] = 0xFF
                memory.tails[:] = memory.heads

        scribbler = threading.Thread(target=scribble)
        scribbler.start()
        try:
            streamed.send("call 20000 2")
            time.sleep(0.5)
        finally:
            done.set()
            scribbler.join()
        it.close()
        assert streamed.read() == "called 40000"
    # And nothing else has suffered.
    with streamed.vm.env.stream("MethodEntry", **WORK) as it:
        streamed.ask("call 5 1")
        assert len(it.read(0)) == 5


def test_memory_that_is_not_as_it_should_be_is_refused(streamed: Streamed) -> None:
    offered: Any = streamed.vm._session.services[STREAMS]
    streams = Streams(offered._session, offered._enabling)
    env = streamed.vm.env
    arguments: Any = ([65], 0, 1, 4096, 0, 0, [], None, None, None)
    unsealed = os.memfd_create("unsealed")
    os.ftruncate(unsealed, 1 << 24)
    pipe = os.pipe()
    try:
        for descriptor in (unsealed, *pipe):
            with pytest.raises(IllegalArgument):
                streams._open(env, arguments, descriptor)
        # Too small, and shapes that cannot be.
        small = os.memfd_create("small", os.MFD_ALLOW_SEALING)
        os.ftruncate(small, 4096)
        fcntl.fcntl(small, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        for wrong in (
            arguments,
            ([65], 0, 1, 1 << 50, *arguments[4:]),
            ([65], 0, 255, 4096, *arguments[4:]),
            ([7], 0, 1, 4096, *arguments[4:]),
            ([81], 1, 1, 4096, *arguments[4:]),
            ([65], 0, 1, 4096, -1, *arguments[5:]),
            ([], 0, 1, 4096, *arguments[4:]),
        ):
            with pytest.raises(IllegalArgument):
                streams._open(env, wrong, small)
    finally:
        for descriptor in (unsealed, small, *pipe):
            os.close(descriptor)


def test_a_hostile_agent_is_seen_through(streamed: Streamed) -> None:
    it = streamed.vm.env.stream("MethodEntry", **WORK)
    streamed.ask("call 5 1")
    it._memory.heads[3] = 1 << 60
    with pytest.raises(ProtocolError):
        it.read(0)
    it.close()
    it = streamed.vm.env.stream("MethodEntry", **WORK)
    streamed.ask("call 5 1")
    it._memory.names[:4] = 255
    with pytest.raises(ProtocolError):
        it.read(0)
    it.close()


def test_every_event_has_a_record(jvm: Jvm) -> None:
    for event in EVENTS.values():
        fields = record_fields(event.declaration)
        size = struct.calcsize("<" + "".join(field.code for field in fields))
        assert record_size(event.declaration) in range(size, size + 8)
        assert record_size(event.declaration) % 8 == 0
        brought = {item.name for item in event.declaration.parameters}
        assert {field.name for field in fields} - brought <= {"return_value_type", "object_hash"}
