"""Recordings of the JDK's Flight Recorder; its own `jfr print` is the witness."""

from __future__ import annotations

import datetime
import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import jvms
import jvmti
from jvmti.profile import FrameKind, Kind, NotAProfile, Profile
from jvmti.profile.formats.class_names import class_name

SECONDS = 2.0


@pytest.fixture(scope="module")
def recording(
    java_classes: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[jvms.Jvm], Path]:
    """A recording of Recorded by a JVM, made once."""

    @cache
    def made(jvm: jvms.Jvm) -> Path:
        if not (jvm.home / "bin" / "jfr").exists():
            pytest.skip(f"{jvm} has no Flight Recorder")
        path = tmp_path_factory.mktemp("recordings") / f"{jvm}.jfr"
        more = "jdk.CPUTimeSample#enabled=true," if jvm.feature >= 25 else ""
        command = [
            jvm.java,
            "-Xmx128m",
            "-Xlog:disable",
            f"-XX:StartFlightRecording:settings=profile,{more}filename={path}"
            if jvm.feature >= 17
            else f"-XX:StartFlightRecording=settings=profile,filename={path}",
            *("-cp", str(java_classes("Recorded")), "Recorded", str(SECONDS)),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return path

    return made


@pytest.fixture(scope="module")
def late(
    java_classes: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[jvms.Jvm], Path]:
    """A recording of two chunks by RecordedLate in a JVM, made once."""

    @cache
    def made(jvm: jvms.Jvm) -> Path:
        if not (jvm.home / "bin" / "jfr").exists():
            pytest.skip(f"{jvm} has no Flight Recorder")
        path = tmp_path_factory.mktemp("late") / f"{jvm}.jfr"
        classes = java_classes("RecordedLate")
        command = [jvm.java, "-Xmx128m", "-Xlog:disable", "-cp", classes, "RecordedLate", path]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return path

    return made


def printed(jvm: jvms.Jvm, path: Path, *events: str) -> list[dict[str, Any]]:
    """The events as the JDK prints them."""
    command = [str(jvm.home / "bin" / "jfr"), "print", "--json", "--stack-depth", "64"]
    shown = subprocess.run(
        [*command, "--events", ",".join(events), str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [one["values"] for one in json.loads(shown.stdout)["recording"]["events"]]


def frames(trace: dict[str, Any] | None) -> tuple[tuple[str, str, int], ...]:
    if trace is None:
        return ()
    return tuple(
        (
            f"{class_name(one['method']['type']['name'])}.{one['method']['name']}",
            one["method"]["descriptor"],
            one["lineNumber"] if one["lineNumber"] > 0 else -1,
        )
        for one in trace["frames"]
    )


def name_of(thread: dict[str, Any] | None) -> str:
    return "" if thread is None else thread["javaName"] or thread["osName"]


def ours(profile: Profile) -> Counter[Any]:
    """The samples of a profile by thread and stack, without classes."""
    found: Counter[Any] = Counter()
    for thread, stack in zip(
        profile.samples.thread.tolist(), profile.samples.stack.tolist(), strict=True
    ):
        rows = [profile.frames[row] for row in profile.stacks[stack].tolist()]
        found[
            profile.threads[thread].name,
            tuple(
                (one.name, one.descriptor, one.line) for one in rows if one.kind != FrameKind.TYPE
            ),
        ] += 1
    return found


def test_samples_are_those_that_the_jdk_prints(jvm: jvms.Jvm, recording: Any):
    path = recording(jvm)
    profile = jvmti.profile.open(path)
    event = "jdk.CPUTimeSample" if jvm.feature >= 25 else "jdk.ExecutionSample"
    thread = "eventThread" if jvm.feature >= 25 else "sampledThread"
    wanted = Counter(
        (name_of(one[thread]), frames(one["stackTrace"])) for one in printed(jvm, path, event)
    )
    assert ours(profile["cpu"]) == wanted
    assert profile["cpu"].share("Recorded.burn") > 0.3


def test_allocations_have_their_bytes_and_classes(jvm: jvms.Jvm, recording: Any):
    path = recording(jvm)
    profile = jvmti.profile.open(path)["alloc"]
    fields = {
        "jdk.ObjectAllocationSample": "weight",
        "jdk.ObjectAllocationInNewTLAB": "tlabSize",
        "jdk.ObjectAllocationOutsideTLAB": "allocationSize",
    }
    events = list(fields)[:1] if jvm.feature >= 17 else list(fields)[1:]
    # The first sample of a thread that is older than the recording has more in the file.
    profile = profile.by("thread")["filler"]
    wanted = Counter[str]()
    weight = 0
    for event in events:
        for one in printed(jvm, path, event):
            if name_of(one["eventThread"]) == "filler":
                weight += one[fields[event]]
                wanted[one["objectClass"]["name"]] += one[fields[event]]
    assert profile.weight == weight
    types = {one.name: one.own for one in profile.top(None, by="type")}
    assert types["byte[]"] == wanted["[B"]
    assert profile.share("Recorded.fill") > 0.8
    assert profile.top(1)[0].name == "Recorded.fill"


def test_waiting_for_locks_has_times_classes_and_owners(jvm: jvms.Jvm, recording: Any):
    path = recording(jvm)
    profile = jvmti.profile.open(path)["lock"]
    wanted = Counter[tuple[str, str, str]]()
    seconds = 0.0
    for one in printed(jvm, path, "jdk.JavaMonitorEnter", "jdk.ThreadPark"):
        lock = one.get("monitorClass") or one.get("parkedClass")
        owner = name_of(one.get("previousOwner"))
        name = lock["name"].replace("/", ".") if lock else ""
        wanted[name_of(one["eventThread"]), name, owner] += 1
        seconds += float(one["duration"].removeprefix("PT").removesuffix("S"))
    found = Counter[tuple[str, str, str]]()
    samples = profile.samples
    for thread, stack, owner in zip(
        samples.thread.tolist(), samples.stack.tolist(), samples.owner.tolist(), strict=True
    ):
        inner = profile.frames[int(profile.stacks[stack][0])]
        found[
            profile.threads[thread].name,
            inner.method if inner.kind == FrameKind.TYPE else "",
            profile.threads[owner].name if owner >= 0 else "",
        ] += 1
    assert found == wanted
    assert profile.weight / 1e9 == pytest.approx(seconds, rel=1e-6)
    assert {"contender-1", "contender-2"} & {*profile.by("owner")}


@pytest.mark.since(17)
def test_what_a_thread_has_allocated_before_is_none_of_the_recordings(
    jvm: jvms.Jvm, late: Callable[[jvms.Jvm], Path]
):
    worker = jvmti.profile.open(late(jvm))["alloc"].by("thread")["worker"]
    assert 100_000_000 < worker.weight < 300_000_000
    assert worker.samples.weight.min() >= 0
    printed_weight = sum(
        one["weight"]
        for one in printed(jvm, late(jvm), "jdk.ObjectAllocationSample")
        if name_of(one["eventThread"]) == "worker"
    )
    assert printed_weight > 400_000_000


@pytest.mark.since(17)
def test_stacks_and_classes_of_all_chunks_are_those_that_the_jdk_prints(
    jvm: jvms.Jvm, late: Callable[[jvms.Jvm], Path]
):
    profile = jvmti.profile.open(late(jvm))
    for kind, event, field in (
        ("alloc", "jdk.ObjectAllocationSample", "objectClass"),
        ("lock", "jdk.ThreadPark", "parkedClass"),
    ):
        wanted = Counter(
            (name_of(one["eventThread"]), frames(one["stackTrace"]))
            for one in printed(jvm, late(jvm), event)
        )
        part = profile[kind]
        if kind == "lock":
            part = part.by("state")["parked"]
        assert ours(part) == wanted
        classes = Counter(
            class_name(one[field]["name"]) if one[field] else ""
            for one in printed(jvm, late(jvm), event)
        )
        innermost = [part.frames[int(part.stacks[row][0])] for row in part.samples.stack.tolist()]
        assert classes == Counter(
            one.method if one.kind == FrameKind.TYPE else "" for one in innermost
        )
    waits = profile["lock"].by("thread")["main"].top(1, by="type")[0]
    assert waits.name == "java.util.concurrent.CountDownLatch$Sync"


def test_moments_are_those_of_the_events(jvm: jvms.Jvm, recording: Any):
    path = recording(jvm)
    profile = jvmti.profile.open(path)["lock"]
    moments = sorted(
        datetime.datetime.fromisoformat(
            one["startTime"][:26].rstrip("Z") + one["startTime"][29:].replace("Z", "+00:00")
        ).timestamp()
        for one in printed(jvm, path, "jdk.JavaMonitorEnter", "jdk.ThreadPark")
    )
    found = sorted((profile.samples.time / 1e9).tolist())
    assert found == pytest.approx(moments, abs=1e-5)
    assert 0 < profile.limits[0].duration < 60


def test_a_recording_says_what_it_lacks(jvm: jvms.Jvm, recording: Any):
    profile = jvmti.profile.open(recording(jvm))
    assert {Kind.CPU, Kind.ALLOC, Kind.LOCK} <= {*profile.kinds}
    limits = {one.kind: one for one in profile.limits}
    if jvm.feature < 25:
        assert limits[Kind.CPU].interval == 0.01
        assert "only a few" in str(limits[Kind.CPU])
    else:
        assert limits[Kind.CPU].engine == "JFR (CPUTimeSample)"


@pytest.mark.oldest_and_newest
@pytest.mark.since(17)
def test_a_recording_that_was_not_ended_has_the_samples_of_its_complete_chunks(
    jvm: jvms.Jvm, late: Callable[[jvms.Jvm], Path], tmp_path: Path
):
    data = late(jvm).read_bytes()
    first = int.from_bytes(data[8:16], "big")
    assert 0 < first < len(data)
    whole, path = tmp_path / "first.jfr", tmp_path / "cut.jfr"
    whole.write_bytes(data[:first])
    wanted = jvmti.profile.open(whole)
    for end in (first + 10, first + 1000, len(data) - 1):
        path.write_bytes(data[:end])
        profile = jvmti.profile.open(path)
        assert ours(profile) == ours(wanted)
        what = f"The last {end - first:,} bytes of the file are not read: it is cut off"
        assert what in "".join(map(str, profile.limits))
    # One that its JVM has flushed, but not ended, says so in its header.
    path.write_bytes(data[:64] + b"\1" + data[65:])
    profile = jvmti.profile.open(path)
    assert ours(profile) == ours(jvmti.profile.open(late(jvm)))
    assert "was not ended" in "".join(map(str, profile.limits))


@pytest.mark.on("25")
def test_chunks_that_were_sampled_in_different_ways_all_have_their_samples(
    jvm: jvms.Jvm, recording: Any, tmp_path: Path
):
    # Recordings one after the other are one, as `jfr assemble` makes it.
    parts = [recording(jvms.named("17")), recording(jvm)]
    path = tmp_path / "both.jfr"
    path.write_bytes(b"".join(one.read_bytes() for one in parts))
    wanted = [jvmti.profile.open(one) for one in parts]
    profile = jvmti.profile.open(path)
    for kind in ("cpu", "alloc", "lock"):
        assert len(profile[kind]) == sum(len(one[kind]) for one in wanted)
    (limits,) = (one for one in profile.limits if one.kind == Kind.CPU)
    assert limits.engine == "JFR (ExecutionSample, CPUTimeSample)"


@pytest.mark.since(17)
def test_objects_beside_the_buffers_alone_do_not_replace_samples_of_all(
    jvm: jvms.Jvm, java_classes: Callable[..., Path], tmp_path: Path
):
    path = tmp_path / "beside.jfr"
    beside = "jdk.ObjectAllocationOutsideTLAB"
    options = f"settings=profile,{beside}#enabled=true,filename={path}"
    command = [jvm.java, "-Xmx128m", "-Xlog:disable", f"-XX:StartFlightRecording:{options}"]
    # With the smallest buffers, arrays of a few KB go beside them.
    command += ["-XX:TLABSize=2k", "-XX:MinTLABSize=2k", "-XX:-ResizeTLAB"]
    command += ["-cp", str(java_classes("Recorded")), "Recorded", "1"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert printed(jvm, path, beside)
    samples = printed(jvm, path, "jdk.ObjectAllocationSample")
    profile = jvmti.profile.open(path)["alloc"]
    assert len(profile) == len(samples)
    assert profile.limits[0].engine == "JFR (ObjectAllocationSample)"


@pytest.mark.on("21")  # it has no such events of its own
def test_samples_of_processor_time_say_what_they_stand_for_and_lack(
    jvm: jvms.Jvm, java_classes: Callable[..., Path], tmp_path: Path
):
    if not (jvm.home / "bin" / "jfr").exists():
        pytest.skip(f"{jvm} has no Flight Recorder")
    path = tmp_path / "samples.jfr"
    classes = str(java_classes("RecordedSamples"))
    record = f"-XX:StartFlightRecording{':' if jvm.feature >= 17 else '='}filename={path}"
    command = [jvm.java, "-Xmx64m", "-Xlog:disable", record, "-cp", classes, "RecordedSamples"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    # Processors have other clocks than this one's: the chunk's header says how fast it is.
    data = bytearray(path.read_bytes())
    data[56:64] = (2_500_000_000).to_bytes(8, "big")
    path.write_bytes(data)
    profile = jvmti.profile.open(path)["cpu"]
    assert len(profile) == 100
    periods = {one["samplingPeriod"] for one in printed(jvm, path, "jdk.CPUTimeSample")}
    assert periods == {"PT0.004S"}
    assert set(profile.samples.weight.tolist()) == {4_000_000}
    (limits,) = profile.limits
    assert limits.lost == 18
    assert "7 samples of JFR were taken at a safepoint after their time" in str(limits)


@pytest.mark.oldest_and_newest
def test_damaged_recordings_give_a_clear_error_or_a_profile(
    jvm: jvms.Jvm, recording: Any, tmp_path: Path
):
    content = recording(jvm).read_bytes()
    chance = random.Random(7)
    refused = []
    for _ in range(60):
        data = bytearray(content)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        else:
            # Half of them at the end, where the types and the constants are.
            first = len(data) * 3 // 4 if chance.random() < 0.5 else 0
            for _ in range(chance.randint(1, 20)):
                data[chance.randrange(first, len(data))] = chance.randrange(256)
        path = tmp_path / "damaged.jfr"
        path.write_bytes(data)
        try:
            jvmti.profile.open(path)
        except NotAProfile as error:
            refused.append(str(error))
    assert len(refused) > 15
    assert all("damaged.jfr" in message for message in refused)


def test_what_is_no_recording_is_refused(tmp_path: Path):
    path = tmp_path / "no.jfr"
    path.write_bytes(b"FLR\0" + bytes(100))
    with pytest.raises(NotAProfile, match="format 0"):
        jvmti.profile.open(path)
