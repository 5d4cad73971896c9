"""Measures files of profiles: how long a million samples take to write, and a recording to read.

    python benchmarks/profiling/formats.py [--jvm 25] [--megabytes 100 | --recording many.jfr]

The recording, unless one is given, is made by the JVM's Flight Recorder from a program that
allocates and parks on thousands of stacks. `jfr print --json` of the same JDK and `jfrconv` of
async-profiler read the same file. All times are medians; those of reading are of whole processes,
from start to end. The first writes some 300 bytes for each byte of the recording, which nobody
keeps, and is ended after a while.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]
ROOT = BENCHMARKS.parent
# The tests first: their package profiles is meant, not the benchmark of that name.
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts"), str(BENCHMARKS)]

from run import compile_program, machine  # noqa: E402

import async_profiler  # noqa: E402
import jvms  # noqa: E402
from jvmti.profile import Profile  # noqa: E402
from profiles.made import large  # noqa: E402
from real_programs import jdk  # noqa: E402

WRITTEN = {".html": 0.15, ".pb.gz": 0.3, ".parquet": 0.2}
"""The seconds that each may take."""
OTHERS = (".collapsed", ".speedscope.json", ".json", ".perfetto-trace", ".otlp")
EVENTS = (
    "jdk.ObjectAllocationSample#enabled=true",
    "jdk.ObjectAllocationSample#throttle=off",
    "jdk.ThreadPark#threshold=0ms",
    "jdk.ExecutionSample#period=1ms",
    "jdk.GCPhaseParallel#enabled=false",
)
PATIENCE = 300.0
"""Seconds that a reader may take."""
OURS = "import sys, jvmti.profile; print(len(jvmti.profile.open(sys.argv[1])))"


def timed(rounds: int, action: Callable[[], object]) -> float:
    """The median of the seconds that an action takes."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def written(folder: Path) -> None:
    """Print how long a million samples take to write."""
    profile = large()
    print(f"\n### {len(profile):,} samples, {len(profile.stacks):,} stacks\n")
    print("| file | seconds | asked | MB |\n| --- | --- | --- | --- |")
    for suffix in (*WRITTEN, *OTHERS):
        path = folder / f"profile{suffix}"

        def save(path: Path = path) -> None:
            # A new profile, so that nothing is known from the time before.
            Profile(
                *(profile.samples, profile.stacks, profile.frames, profile.threads),
                profile.limits,
            ).save(path)

        save()
        seconds = timed(5, save)
        limit = WRITTEN.get(suffix)
        asked = "" if limit is None else f"{limit}"
        print(f"| {suffix} | {seconds:.3f} | {asked} | {path.stat().st_size / 1e6:.1f} |")


def recording(jvm: jvms.Jvm, folder: Path, megabytes: float) -> Path:
    """A recording of about this size."""
    compile_program(jdk(), "ManySamples", folder)
    settings = folder / "many.jfc"
    run_jfr = [jvm.home / "bin" / "jfr", "configure", "--input", "profile", "--output", settings]
    subprocess.run([*run_jfr, *EVENTS], check=True, stdout=subprocess.DEVNULL)
    path = folder / "many.jfr"
    seconds = 4.0
    while True:
        subprocess.run(
            [
                jvm.java,
                *("-Xmx256m", "-XX:+UseParallelGC", "-XX:TLABSize=4k", "-XX:MinTLABSize=2k"),
                *("-XX:-ResizeTLAB", "-Xlog:disable", "-Xlog:all=off"),
                f"-XX:StartFlightRecording:settings={settings},filename={path}",
                *("-cp", str(folder), "ManySamples", str(seconds)),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        size = path.stat().st_size / 1e6
        if size >= 0.9 * megabytes or seconds > 120:
            return path
        seconds *= min(1.1 * megabytes / max(size, 1), 10)


def read(jvm: jvms.Jvm, folder: Path, path: Path) -> None:
    """Print how long a recording takes to read."""
    jar = async_profiler.jar()

    def ours() -> None:
        run([sys.executable, "-c", OURS, path])

    def printed() -> None:
        run([jvm.home / "bin" / "jfr", "print", "--json", path])

    def converted() -> None:
        out = folder / "out.collapsed"
        run([jvm.java, "-cp", jar, "one.convert.Main", "--alloc", "-o", "collapsed", path, out])

    def run(command: list[object]) -> None:
        try:
            subprocess.run(
                list(map(str, command)),
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            print(f"{command[0]} was ended after {PATIENCE:.0f} s, which counts as its time")

    command = [sys.executable, "-c", OURS, str(path)]
    count = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"\n### A recording of {path.stat().st_size / 1e6:.0f} MB, {count:,} samples\n")
    mine = timed(3, ours)
    theirs = timed(3, converted)
    whole = timed(1, printed)
    print("| | seconds | of jvmti's |\n| --- | --- | --- |")
    for name, seconds in (
        ("jvmti.profile.open", mine),
        ("jfrconv to collapsed", theirs),
        ("jfr print --json", whole),
    ):
        print(f"| {name} | {seconds:.2f} | {seconds / mine:.1f} |")


def main() -> int:
    """Write and read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="25", help="the JVM that makes the recording")
    parser.add_argument("--megabytes", type=float, default=100.0, help="of the recording")
    parser.add_argument("--recording", type=Path, help="one that is there already")
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder, jvm = Path(name), jvms.named(given.jvm)
        written(folder)
        read(jvm, folder, given.recording or recording(jvm, folder, given.megabytes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
