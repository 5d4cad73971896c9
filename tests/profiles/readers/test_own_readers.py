"""Files of profiles, opened by the programs that they are written for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from profiles import made
from profiles.readers import packages, perfetto_engine
from profiles.test_files import saved, several


def test_perfettos_trace_processor_has_the_samples(tmp_path: Path) -> None:
    trace = saved(made.shop(), tmp_path / "p.pftrace")
    wrong, samples, threads = perfetto_engine.rows(
        *(packages.tool("node"), trace, tmp_path),
        "select name from stats where value > 0 and severity = 'error'",
        "select ts, tid, (select group_concat(f.name, ' > ') from "
        "(select frame_id, depth from stack_profile_callsite where id = callsite_id "
        "union all select c.frame_id, c.depth from experimental_ancestor_stack_profile_callsite"
        "(callsite_id) c order by depth) s join stack_profile_frame f on s.frame_id = f.id"
        ") stack from perf_sample join thread using (utid) order by ts",
        "select tid, name from thread where name like 'worker%' order by tid",
    )
    assert wrong == []
    assert [row["name"] for row in threads] == ["worker-1", "worker-2"]
    numbers = {row["name"]: row["tid"] for row in threads}
    assert [row["ts"] for row in samples] == [made.BEGAN + n * made.SECOND for n in range(10)]
    first = {"tid": numbers["worker-1"], "stack": "com.acme.Server.run > com.acme.Order.add"}
    assert samples[0] == first | {"ts": made.BEGAN}
    put = "com.acme.Server.run > com.acme.Order.add > java.util.HashMap.put"
    assert samples[4]["stack"] == put
    assert samples[9]["tid"] == numbers["worker-2"]
    assert samples[9]["stack"] is None


def imported(path: Path) -> dict[str, Any]:
    """A file as speedscope's importer sees it."""
    release = packages.package(*packages.SPEEDSCOPE) / "dist" / "release"
    (bundle,) = release.glob("speedscope-*.js")
    script = Path(__file__).with_name("speedscope_importer.js")
    command = [packages.tool("node"), str(script), str(bundle), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_speedscopes_importer_has_a_tree_of_each_thread(tmp_path: Path) -> None:
    first, second = imported(saved(made.shop(), tmp_path / "p.speedscope.json"))["profiles"]
    assert (first["name"], second["name"]) == ("worker-1 (cpu)", "worker-2 (cpu)")
    assert (first["unit"], first["total"], second["total"]) == ("nanoseconds", 60e6, 40e6)
    (run,) = first["tree"]
    assert (run["name"], run["line"], run["total"], run["own"]) == (
        *("com.acme.Server.run", 10),
        *(60e6, 0),
    )
    assert {(one["name"], one["line"], one["own"]) for one in run["children"]} == {
        ("com.acme.Order.add", 20, 40e6),
        ("com.acme.Order.add", 21, 0),
    }
    kinds = imported(saved(several(), tmp_path / "q.speedscope.json"))["profiles"]
    assert {one["unit"] for one in kinds} == {"nanoseconds", "bytes"}


def test_speedscope_reads_pprof_and_stacks_in_lines_too(tmp_path: Path) -> None:
    (one,) = imported(saved(made.shop(), tmp_path / "p.pb.gz"))["profiles"]
    assert (one["unit"], one["total"]) == ("nanoseconds", 100e6)
    (one,) = imported(saved(made.shop(), tmp_path / "p.collapsed"))["profiles"]
    assert {top["name"] for top in one["tree"]} >= {"com.acme.Server.run", "com.acme.Order.add"}


@contextmanager
def firefox_profiler(path: Path, folder: Path) -> Iterator[Any]:
    """The Firefox profiler's own program with a file open: what it answers as JSON."""
    program = packages.package(*packages.FIREFOX_PROFILER) / "dist" / "profiler-cli.js"
    environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": str(folder)}

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        command = [packages.tool("node"), str(program), *words]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    def answer(*words: str) -> Any:
        done = ask(*words, "--json")
        assert done.returncode == 0, (done.stdout, done.stderr[-2000:])
        return json.loads(done.stdout)

    ask("load", str(path))
    # On a busy machine it takes longer to load than it waits.
    until = time.monotonic() + 60
    while ask("profile", "info").returncode != 0 and time.monotonic() < until:
        time.sleep(0.2)
    try:
        yield answer
    finally:
        ask("stop")


def test_the_firefox_profiler_has_the_tree_of_a_thread(tmp_path: Path) -> None:
    path = saved(made.shop(), tmp_path / "p.json")
    with firefox_profiler(path, tmp_path) as answer:
        found = answer("thread", "samples-top-down", "--thread", "t-0", "--include-idle")
    assert found["friendlyThreadName"] == "worker-1"
    assert found["weightType"] == "tracing-ms"
    root = found["regularCallTree"]
    assert root["totalSamples"] == 60
    (run,) = root["children"]
    (add,) = run["children"]
    (put,) = add["children"]
    assert [(one["name"], one["totalSamples"], one["selfSamples"]) for one in (run, add, put)] == [
        ("com.acme.Server.run", 60, 0),
        ("com.acme.Order.add", 60, 40),
        ("java.util.HashMap.put", 20, 20),
    ]
    assert found["context"]["rootRange"] == {"start": 0, "end": 10_000}


def test_pprof_has_the_methods_and_the_tags(tmp_path: Path) -> None:
    program = shutil.which("pprof")
    if program is None:
        pytest.skip("no pprof here; `go install github.com/google/pprof@latest` has it")
    path = saved(made.shop(), tmp_path / "p.pb.gz")
    command = [program, "-top", "-nodecount=9", str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    assert any(line.split()[:4] == ["60ms", "60.00%", "60.00%", "80ms"] for line in lines), lines
    command = [program, "-tags", str(path)]
    tags = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "worker-1" in tags.stdout
    assert "/buy" in tags.stdout
