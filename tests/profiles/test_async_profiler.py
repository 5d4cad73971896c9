"""Recordings and other files of async-profiler; its own converter is the witness."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import async_profiler
import jvms
import jvmti
from jvmti.profile import Kind, NotAProfile, Profile, State

pytestmark = [
    pytest.mark.on("17"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the library's processor"),
]

SEVERAL = "event=ctimer,interval=2ms,alloc=100k,lock=10us,wall=20ms"
ALSO_ALIVE = f"{SEVERAL},live"
MILLISECOND = 1_000_000

Record = Callable[..., Path]


@pytest.fixture(scope="module")
def record(
    jvm: jvms.Jvm, java_classes: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Record:
    """A file of Recorded that async-profiler writes, made once."""
    if shutil.which("mvn") is None:
        pytest.skip("there is no mvn to fetch async-profiler with")
    folder = tmp_path_factory.mktemp("async-profiler")
    try:
        async_profiler.library(folder)
    except subprocess.CalledProcessError:
        pytest.skip("async-profiler cannot be fetched here")

    @cache
    def made(version: str, options: str) -> Path:
        library = async_profiler.library(folder, version)
        suffix = "jfr" if ",jfr" in options else "collapsed"
        path = folder / f"{version}-{abs(hash(options))}.{suffix}"
        subprocess.run(
            [
                *(jvm.java, "-Xmx128m", f"-agentpath:{library}=start,{options},file={path}"),
                *("-cp", str(java_classes("Recorded")), "Recorded", "1.2"),
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )
        return path

    return made


def converted(jvm: jvms.Jvm, path: Path, kind: str, *options: str) -> Profile:
    """What async-profiler's converter makes of a recording."""
    out = path.with_name(f"{path.stem}-{kind}{''.join(options)}.collapsed")
    command: list[str | Path] = [
        jvm.java,
        "-cp",
        async_profiler.jar(),
        "one.convert.Main",
        f"--{kind}",
        *options,
    ]
    subprocess.run(
        [*command, "-o", "collapsed", path, out], check=True, capture_output=True, timeout=60
    )
    return jvmti.profile.open(out)


def uses(profile: Profile, unit: int = 1, by: str = "method") -> dict[str, tuple[int, int]]:
    """What methods use, in a unit."""
    return {one.name: (one.own // unit, one.total // unit) for one in profile.top(None, by)}


@pytest.mark.parametrize(
    ("version", "options"), [("4.5", ALSO_ALIVE), ("3.0", SEVERAL)], ids=["4.5", "3.0"]
)
def test_a_recording_of_several_kinds_is_as_its_converter_says(
    version: str, options: str, jvm: jvms.Jvm, record: Record
):
    path = record(version, f"{options},jfr")
    profile = jvmti.profile.open(path)
    assert set(profile.kinds) >= {Kind.CPU, Kind.WALL, Kind.ALLOC, Kind.LOCK}
    for kind, unit in (("cpu", 2 * MILLISECOND), ("wall", 20 * MILLISECOND)):
        theirs = converted(jvm, path, kind)
        assert uses(profile[kind], unit) == uses(theirs)
        assert profile[kind].weight == theirs.weight * unit
    theirs = converted(jvm, path, "alloc", "--total")
    assert uses(profile["alloc"]) == uses(theirs)
    assert uses(profile["alloc"], by="type") == uses(theirs, by="type")
    assert profile["lock"].weight == pytest.approx(
        converted(jvm, path, "lock", "--total").weight, rel=1e-6
    )
    if "live" in options:
        # Their weight is that of the objects alone; ours that of what they stand for.
        assert profile["live"].weight == converted(jvm, path, "live").weight * 102_400
        assert 2_000_000 < profile["live"].weight <= profile["alloc"].weight
        assert profile["live"].share("Recorded.hold") > 0


def test_a_recording_says_its_intervals_and_engines(record: Record):
    limits = {
        one.kind: one for one in jvmti.profile.open(record("4.5", f"{ALSO_ALIVE},jfr")).limits
    }
    assert limits[Kind.CPU].engine == "async-profiler 4.5 (ctimer)"
    assert limits[Kind.CPU].interval == 0.002
    assert limits[Kind.WALL].interval == 0.02
    assert limits[Kind.ALLOC].interval == limits[Kind.LIVE].interval == 102_400
    assert "Virtual threads appear as their carriers." in limits[Kind.WALL].complaints()


@pytest.mark.parametrize("version", ["4.5", "3.0"])
def test_wall_clock_time_is_no_processor_time(version: str, jvm: jvms.Jvm, record: Record):
    path = record(version, "event=wall,interval=5ms,jfr")
    profile = jvmti.profile.open(path)
    assert profile.kinds == (Kind.WALL,)
    assert uses(profile, 5 * MILLISECOND) == uses(converted(jvm, path, "wall"))
    # Of threads that run one at a time half of the time, and of one that never waits.
    by_thread = profile.by("thread")
    assert by_thread["burner"].by("state").shares["runnable"] > 0.5
    assert by_thread["parker"].by("state").shares["sleeping"] > 0.8


def test_what_is_no_time_is_a_number(record: Record):
    profile = jvmti.profile.open(record("4.5", "event=Recorded.burn,jfr"))
    assert profile.kinds == (Kind.COUNT,)
    assert profile.weight == 1
    assert "'Recorded.burn'" in str(profile.limits[0])
    assert str(profile.top(1)[0].name) == "Recorded.burn"


def test_a_recording_of_both_recorders_has_the_samples_of_each(jvm: jvms.Jvm, record: Record):
    path = record("4.5", "jfrsync=profile,event=ctimer,interval=2ms,wall=20ms,jfr")
    profile = jvmti.profile.open(path)
    assert profile["cpu"].weight == converted(jvm, path, "cpu").weight * 2 * MILLISECOND
    assert profile["cpu"].limits[0].engine == "async-profiler 4.5 (ctimer)"
    assert profile["wall"].limits[0].interval == 0.02
    assert profile["lock"].limits[0].engine.startswith("JFR (")
    states = State(profile["cpu"].samples.state[0])
    assert states == State.RUNNING


def test_a_recording_without_samples_that_are_read_says_what_it_has(record: Record):
    path = record("4.5", "event=nativemem,nativemem=1k,jfr")
    with pytest.raises(NotAProfile, match=r"only profiler\.Malloc"):
        jvmti.profile.open(path)


def test_collapsed_stacks_have_threads_and_no_kind(record: Record):
    path = record("4.5", "event=ctimer,interval=2ms,collapsed,threads,total")
    profile = jvmti.profile.open(path)
    assert profile.kinds == (Kind.COUNT,)
    assert profile.by("thread")["burner"].share("Recorded.burn") > 0.9
    assert str(profile.top(1)).splitlines()[1].split()[0] == f"{profile.top(1)[0].own:,}"
    timed = jvmti.profile.open(path, kind="cpu")
    assert timed.kinds == (Kind.CPU,)
    assert timed.weight == profile.weight
    with pytest.raises(ValueError, match="none of cpu"):
        jvmti.profile.open(path, kind="cup")
    # Numbers may be of any kind, so only shares can be compared.
    assert profile.diff(timed).per == "share"


def test_pprof_of_the_converter_is_not_compressed(jvm: jvms.Jvm, record: Record):
    path = record("4.5", f"{ALSO_ALIVE},jfr")
    out = path.with_suffix(".pprof")
    command: list[str | Path] = [
        jvm.java,
        "-cp",
        async_profiler.jar(),
        "one.convert.Main",
        "--alloc",
        "--total",
    ]
    subprocess.run(
        [*command, "-o", "pprof", path, out], check=True, capture_output=True, timeout=60
    )
    profile = jvmti.profile.open(out)
    whole = jvmti.profile.open(path)
    assert profile.kinds == (Kind.ALLOC,)
    assert profile.weight == whole["alloc"].weight
    with pytest.raises(ValueError, match="has samples of alloc, not of cpu"):
        jvmti.profile.open(out, kind="cpu")
