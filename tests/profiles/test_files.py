"""Files of profiles: written, read again, and read by other programs."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy
import pyarrow.parquet
import pytest

import jvmti
from jvmti.profile import (
    FrameKind,
    Frames,
    Kind,
    Limits,
    NotAProfile,
    Profile,
    Samples,
    Stacks,
    Threads,
)
from jvmti.profile.files import SUFFIXES
from profiles import made
from profiles.readers import packages


def saved(profile: Profile, path: Path) -> Path:
    profile.save(path)
    return path


def several() -> Profile:
    """Processor time and memory in one profile."""
    one = made.shop()
    columns = one.samples.columns()
    kinds = numpy.array([Kind.CPU] * 5 + [Kind.ALLOC] * 5)
    return Profile(
        Samples(**columns | {"kind": kinds, "owner": [1, *[-1] * 9]}),
        one.stacks,
        one.frames,
        one.threads,
        [*one.limits, Limits(Kind.ALLOC, "jvmti", interval=524288, notes=("A note.",))],
        one.labels,
    )


@pytest.mark.parametrize("make", [made.shop, several, lambda: made.large(2000, 50)])
def test_parquet_keeps_everything(make: Any, tmp_path: Path):
    profile = make()
    again = jvmti.profile.open(saved(profile, tmp_path / "p.parquet"))
    for name, column in profile.samples.columns().items():
        assert numpy.array_equal(again.samples.columns()[name], column), name
    assert list(again.frames) == list(profile.frames)
    assert list(again.threads) == list(profile.threads)
    assert [one.tolist() for one in again.stacks] == [one.tolist() for one in profile.stacks]
    assert again.limits == profile.limits
    assert again.labels == profile.labels


def test_other_programs_read_the_names_of_samples(tmp_path: Path):
    table = pyarrow.parquet.read_table(saved(made.shop(), tmp_path / "p.parquet"))
    row = table.slice(4, 1).to_pylist()[0]
    assert row["thread"] == "worker-1"
    assert row["method"] == "java.util.HashMap.put"
    assert (row["state"], row["weight"], row["label"]) == ("running", 10_000_000, "/look")
    assert table["method"].to_pylist()[9] is None
    assert pyarrow.table(made.shop()).num_rows == 10


def test_slashes_are_of_packages_but_in_names_of_hidden_classes(tmp_path: Path):
    path = tmp_path / "p.collapsed"
    path.write_text(
        "com/acme/Order$$Lambda/0x00000008040210.run;java/util/HashMap.put 3\n"
        "com/acme/Order$$Lambda$7.0x00000008040220.run 2\n"
        "com/acme/Order$$Lambda$8+0x00000008040230/741669172.run 1\n"
    )
    names = [frame.name for frame in jvmti.profile.open(path).frames]
    assert set(names) == {
        "com.acme.Order$$Lambda/0x00000008040210.run",
        "com.acme.Order$$Lambda$7/0x00000008040220.run",
        "com.acme.Order$$Lambda$8/0x00000008040230.run",
        "java.util.HashMap.put",
    }


@pytest.mark.parametrize("suffix", [".pb.gz", ".collapsed"])
def test_files_without_times_have_the_same_stacks(suffix: str, tmp_path: Path):
    profile = made.large(2000, 50)
    again = jvmti.profile.open(saved(profile, tmp_path / f"p{suffix}"), kind="cpu")
    assert {one.name: one for one in again.top(None)} == {
        one.name: one for one in profile.top(None)
    }
    assert again.tree().lines() == profile.tree().lines()


@pytest.mark.parametrize("suffix", [".pb.gz", ".collapsed"])
def test_what_was_allocated_is_no_method_in_a_file_either(suffix: str, tmp_path: Path):
    frames = Frames(
        ["", "", "com.acme.Order", "java.util.HashMap"],
        ["byte[]", "com.acme.Order$Item", "add", "put"],
        kind=[FrameKind.TYPE, FrameKind.TYPE, FrameKind.COMPILED, FrameKind.COMPILED],
    )
    stacks = Stacks([0, 2, 5], [0, 2, 1, 3, 2])
    samples = Samples(made.BEGAN, [0, 0], [0, 1], [1024, 2048], Kind.ALLOC)
    profile = Profile(samples, stacks, frames, Threads([1], ["main"]), [Limits(Kind.ALLOC)])
    again = jvmti.profile.open(saved(profile, tmp_path / f"p{suffix}"))
    assert [(one.name, one.own) for one in again.top()][:2] == [
        ("java.util.HashMap.put", 2048),
        ("com.acme.Order.add", 1024),
    ]
    assert again.top(by="type") == profile.top(by="type")


def test_a_hidden_class_without_a_package_ends_collapsed_stacks_too(tmp_path: Path):
    path = tmp_path / "a.collapsed"
    path.write_text(
        "Main.run;Main$$Lambda$9.0x00007fb174002440_[i] 3\nMain.run;Main.hold;byte[]_[i] 4\n"
    )
    profile = jvmti.profile.open(path)
    own = {one.name: one.own for one in profile.top() if one.own}
    assert own == {"Main.hold": 4, "Main.run": 3}
    types = {one.name: one.own for one in profile.top(None, by="type")}
    assert types == {"byte[]": 4, "Main$$Lambda$9/0x00007fb174002440": 3}


def test_classes_end_collapsed_stacks_of_async_profiler(tmp_path: Path):
    path = tmp_path / "p.collapsed"
    path.write_text("com/acme/Order.add_[j];java/util/HashMap$Node[]_[i] 3\n")
    profile = jvmti.profile.open(path)
    assert profile.top(1)[0][:2] == ("com.acme.Order.add", 3)
    assert profile.top(by="type")[0].name == "java.util.HashMap$Node[]"


def test_pprof_has_threads_labels_lines_and_all_kinds(tmp_path: Path):
    profile = several()
    again = jvmti.profile.open(saved(profile, tmp_path / "p.pb.gz"))
    for kind in ("cpu", "alloc"):
        assert again[kind].by("thread").weights == profile[kind].by("thread").weights
        assert again[kind].top(by="line") == profile[kind].top(by="line")
    assert (again.began, again.ended) == (profile.began, profile.ended)


def test_pprof_keeps_states_and_requests(tmp_path: Path):
    shop = made.shop()
    again = jvmti.profile.open(saved(shop, tmp_path / "p.pb.gz"))
    for by in ("state", "label", "thread"):
        assert again.by(by).weights == shop.by(by).weights
    assert set(again.labels) == set(shop.labels)
    owners = several()
    again = jvmti.profile.open(saved(owners, tmp_path / "q.pb.gz"))
    assert again["alloc"].by("state").weights == owners["alloc"].by("state").weights


def test_pprof_of_other_writers_has_packed_and_single_numbers(tmp_path: Path):
    def text(number: int, *fields: bytes) -> bytes:
        content = b"".join(fields)
        return bytes([number << 3 | 2, len(content)]) + content

    def value(number: int, one: int) -> bytes:
        return bytes([number << 3, one])

    strings = ["", "samples", "count", "cpu", "milliseconds", "github.com/a/b.Run", "a/B$1.run"]
    content = b"".join(
        [
            text(1, value(1, 1), value(2, 2)),
            text(1, value(1, 3), value(2, 4)),
            # Locations 1 and 2; 7 ms packed, then 5 ms as single fields, and a sample of nothing.
            text(2, text(1, bytes([2, 1])), text(2, bytes([1, 7]))),
            text(2, value(1, 1), value(1, 3), value(2, 2), value(2, 5)),
            text(2, value(2, 0), value(2, 0)),
            # Two functions are inlined at location 2; nothing is known of 3 but its address.
            text(4, value(1, 1), text(4, value(1, 9), value(2, 30))),
            text(4, value(1, 2), text(4, value(1, 8)), text(4, value(1, 9), value(2, 31))),
            text(4, value(1, 3), value(3, 64)),
            text(5, value(1, 9), value(2, 5)),
            text(5, value(1, 8), value(2, 6)),
            *(text(6, one.encode()) for one in strings),
        ]
    )
    path = tmp_path / "p.pb"
    path.write_bytes(content)
    profile = jvmti.profile.open(path)
    assert profile.kinds == (Kind.CPU,)
    stacks = [
        [str(profile.frames[row]) for row in profile.stacks[stack].tolist()]
        for stack in profile.samples.stack.tolist()
    ]
    run = "github.com/a/b.Run"
    assert stacks == [["a.B$1.run", f"{run}:31", f"{run}:30"], [f"{run}:30", "0x40"]]
    assert profile.samples.weight.tolist() == [7_000_000, 5_000_000]


def test_opentelemetrys_schema_reads_it(tmp_path: Path):
    from opentelemetry.proto.profiles.v1development import profiles_pb2

    profile = several()
    data = profiles_pb2.ProfilesData()
    data.ParseFromString(saved(profile, tmp_path / "p.otlp").read_bytes())
    tables = data.dictionary
    texts = tables.string_table
    profiles = data.resource_profiles[0].scope_profiles[0].profiles
    assert [
        (texts[one.sample_type.type_strindex], texts[one.sample_type.unit_strindex])
        for one in profiles
    ] == [("cpu", "nanoseconds"), ("alloc", "bytes")]
    sample = profiles[0].samples[4]
    names = [
        texts[
            tables.function_table[tables.location_table[row].lines[0].function_index].name_strindex
        ]
        for row in tables.stack_table[sample.stack_index].location_indices
    ]
    assert names == ["java.util.HashMap.put", "com.acme.Order.add", "com.acme.Server.run"]
    assert list(sample.timestamps_unix_nano) == [made.BEGAN + 4 * made.SECOND]
    assert list(sample.values) == [10_000_000]
    attributes = [tables.attribute_table[row] for row in sample.attribute_indices]
    assert {texts[one.key_strindex]: one.value.string_value for one in attributes} == {
        "thread.name": "worker-1",
        "thread.state": "running",
        "label": "/look",
    }
    counts = Counter(
        tables.attribute_table[row].value.string_value
        for one in profiles
        for each in one.samples
        for row in each.attribute_indices
    )
    assert (counts["/buy"], counts["native"], counts["worker-2"]) == (3, 3, 4)
    assert profiles[0].time_unix_nano == made.BEGAN


def test_perfettos_schema_reads_it(tmp_path: Path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    profile = made.shop()
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(saved(profile, tmp_path / "p.pftrace").read_bytes())
    interned = trace.packet[0].interned_data
    names = {one.iid: one.str.decode() for one in interned.function_names}
    frames = {one.iid: names[one.function_name_id] for one in interned.frames}
    stacks = {one.iid: [frames[row] for row in one.frame_ids] for one in interned.callstacks}
    samples = [one for one in trace.packet if one.HasField("perf_sample")]
    assert [one.timestamp for one in samples] == profile.samples.time.tolist()
    assert stacks[samples[4].perf_sample.callstack_iid] == [
        "com.acme.Server.run",
        "com.acme.Order.add",
        "java.util.HashMap.put",
    ]
    threads = {one.tid: one.name for one in trace.packet[1].process_tree.threads}
    assert threads[samples[9].perf_sample.tid] == "worker-2"
    assert samples[0].perf_sample.timebase_count == 10_000_000


def test_speedscope_gets_a_profile_for_each_thread(tmp_path: Path):
    data = json.loads(saved(made.shop(), tmp_path / "p.speedscope.json").read_text())
    frames = [one["name"] for one in data["shared"]["frames"]]
    first = data["profiles"][0]
    assert first["name"] == "worker-1 (cpu)"
    assert [[frames[row] for row in stack] for stack in first["samples"]] == [
        ["com.acme.Server.run", "com.acme.Order.add"],
        ["com.acme.Server.run", "com.acme.Order.add", "java.util.HashMap.put"],
    ]
    assert first["weights"] == [40_000_000, 20_000_000]
    assert first["endValue"] == sum(first["weights"])


@pytest.fixture(scope="session")
def speedscopes_schema() -> Any:
    """The schema of speedscope's own package."""
    folder = packages.package(*packages.SPEEDSCOPE)
    return json.loads((folder / "dist" / "release" / "file-format-schema.json").read_text())


@pytest.mark.parametrize("make", [made.shop, several, lambda: made.large(2000, 50)])
def test_speedscopes_own_schema_takes_it(
    make: Callable[[], Profile], speedscopes_schema: Any, tmp_path: Path
):
    data = json.loads(saved(make(), tmp_path / "p.speedscope.json").read_text())
    jsonschema.validate(data, speedscopes_schema)
    # It refuses what is none.
    del data["profiles"][0]["weights"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, speedscopes_schema)


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_the_firefox_profiler_gets_times_and_stacks(suffix: str, tmp_path: Path):
    content = saved(made.shop(), tmp_path / f"p{suffix}").read_bytes()
    data = json.loads(gzip.decompress(content) if suffix.endswith("gz") else content)
    shared, first = data["shared"], data["threads"][0]

    def stack(row: int | None) -> list[str]:
        found = []
        while row is not None:
            frame = shared["stackTable"]["frame"][row]
            func = shared["frameTable"]["func"][frame]
            found.append(shared["stringArray"][shared["funcTable"]["name"][func]])
            row = shared["stackTable"]["prefix"][row]
        return found

    samples = first["samples"]
    assert first["name"] == "worker-1"
    assert samples["time"] == [0, 1000, 2000, 3000, 4000, 5000]
    assert samples["weight"] == [10] * 6
    assert stack(samples["stack"][4]) == [
        "java.util.HashMap.put",
        "com.acme.Order.add",
        "com.acme.Server.run",
    ]
    assert data["threads"][1]["samples"]["stack"][-1] is None


def test_an_ending_that_is_no_format_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"must end in one of .*\.pb\.gz"):
        made.shop().save(tmp_path / "p.png")


def test_a_file_that_cannot_be_written_leaves_the_earlier_one(tmp_path: Path):
    path = saved(made.shop(), tmp_path / "p.collapsed")
    before = path.read_text()
    with pytest.raises(jvmti.profile.SeveralKinds):
        several().save(path)
    assert path.read_text() == before
    assert [one.name for one in tmp_path.iterdir()] == ["p.collapsed"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_profile_without_samples_has_files_too(suffix: str, tmp_path: Path):
    nothing = made.shop().between(100, 200)
    saved(nothing, tmp_path / f"p{suffix}")
    empty = Profile(
        Samples([], [], [], []), Stacks([0], []), Frames([], []), Threads([], []), nothing.limits
    )
    saved(empty, tmp_path / f"q{suffix}")


@pytest.mark.parametrize("suffix", [".parquet", ".pb.gz", ".collapsed"])
def test_damaged_files_give_a_clear_error_or_a_profile(suffix: str, tmp_path: Path):
    content = saved(made.shop(), tmp_path / f"p{suffix}").read_bytes()
    plain = gzip.decompress(content) if suffix == ".pb.gz" else content
    chance = random.Random(5)
    refused = []
    for _ in range(200):
        data = bytearray(plain)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        path = tmp_path / f"damaged{suffix}"
        path.write_bytes(gzip.compress(data, 1) if suffix == ".pb.gz" else data)
        try:
            profile = jvmti.profile.open(path)
        except NotAProfile as error:
            refused.append(str(error))
        else:
            for kind in profile.kinds:
                assert profile.where(profile.samples.kind == kind).top() is not None
    assert len(refused) > 20
    assert all(str(path) in message for message in refused)


def test_names_may_have_numbers_without_a_sign(tmp_path: Path):
    path = tmp_path / "shop.parquet"
    shop = made.shop()
    shop.save(path)
    table = pyarrow.parquet.read_table(path)
    for name in ("kind", "label"):
        place = table.schema.get_field_index(name)
        unsigned = pyarrow.dictionary(pyarrow.uint32(), pyarrow.string())
        column = table[name].cast(pyarrow.string()).dictionary_encode().cast(unsigned)
        table = table.set_column(place, name, column)
    about = {
        key: value
        for key, value in pyarrow.parquet.read_metadata(path).metadata.items()
        if key != b"ARROW:schema"
    }
    pyarrow.parquet.write_table(table.replace_schema_metadata(about), path)
    assert pyarrow.types.is_unsigned_integer(
        pyarrow.parquet.read_table(path).schema.field("kind").type.index_type
    )
    opened = jvmti.profile.open(path)
    assert opened.samples.label.tolist() == shop.samples.label.tolist()
    assert opened.kinds == shop.kinds


def test_a_file_of_something_else_is_refused(tmp_path: Path):
    for name, content in {
        "text": b"hello world\n",
        "binary": bytes(range(256)),
        "nothing": b"",
        "gzip": gzip.compress(b"hello world"),
        "cut": gzip.compress(b"hello world")[:-4],
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(NotAProfile, match=name):
            jvmti.profile.open(path)
    table = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), table)
    with pytest.raises(NotAProfile, match="not of a profile"):
        jvmti.profile.open(table)
