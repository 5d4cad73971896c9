"""The verbs of ``jvmti heap`` that look at snapshots, of a file and of a running JVM."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jvmti.heap
import programs
from command_line import here
from heap.live.test_live_snapshot import left_behind

pytestmark = pytest.mark.oldest_and_newest

COMMAND = [sys.executable, "-m", "jvmti", "heap"]


def run(*words: str | int | Path) -> subprocess.CompletedProcess[str]:
    return here("heap", *words)


def printed(*words: str | int | Path) -> str:
    ended = run(*words)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return ended.stdout


def found(*words: str | int | Path) -> Any:
    return json.loads(printed(*words, "--json"))


@pytest.fixture(scope="module")
def file(
    leaking_program: programs.JavaProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("dump") / "leaking.hprof"
    assert "written to" in printed("dump", leaking_program.pid, path)
    assert path.stat().st_mode & 0o777 == 0o600
    yield path
    path.unlink()


@pytest.fixture(params=["file", "live"])
def source(
    request: pytest.FixtureRequest, leaking_program: programs.JavaProgram, file: Path
) -> str | int | Path:
    return file if request.param == "file" else leaking_program.pid


def test_the_summary_has_the_classes_with_what_they_retain(source: int | Path) -> None:
    summary = found("summary", source, "--top", 1000)
    [entry] = [one for one in summary["classes"] if one["name"] == "Leaking$Entry"]
    assert entry["count"] == 2000
    assert entry["retained"] >= 2000 * 1000
    assert summary["fault"] is None
    assert "Leaking$Entry" in printed("summary", source)


def test_the_summary_counts_packages_and_loaders_too(file: Path) -> None:
    packages = {row["name"]: row for row in found("summary", file, "--by", "package")["packages"]}
    assert packages["(none)"]["retained"] >= 2000 * 1000
    loaders = found("summary", file, "--by", "loader")["class_loaders"]
    assert {"bootstrap", "app"} <= {row["name"] for row in loaders}
    assert "LOADER" in printed("summary", file, "--by", "loader")


def test_what_holds_much_is_found(
    source: int | Path, leaking_program: programs.JavaProgram
) -> None:
    points = found("dominators", source)
    assert points["accumulation_points"][0]["class"] == "java.lang.Object[]"
    assert points["accumulation_points"][0]["retained"] > points["total"] / 2
    suspect = found("leaks", source)["suspects"][0]
    assert suspect["children_class"] == "Leaking$Entry"
    assert [one["reference"] for one in suspect["path"]][1:] == ["static LEAK", "elementData"]
    assert "static LEAK" in printed("leaks", source)
    assert left_behind(leaking_program.pid) == []


def test_the_path_to_a_class_is_shown(source: int | Path) -> None:
    tree = found("gc-roots", source, "Leaking$Entry")
    assert tree["objects"] == 2000
    [root] = tree["paths"]
    [leak] = root["children"]
    assert (leak["reference"], leak["count"]) == ("static LEAK", 2000)
    assert "static LEAK" in printed("gc-roots", source, "Leaking$Entry")


def led(line: str) -> int:
    """How many objects a place leads to, as its line says."""
    return int(line.rpartition("(")[2][:-1].replace(",", ""))


def test_of_many_paths_the_places_that_lead_to_most_are_shown(file: Path) -> None:
    lines = printed("gc-roots", file, "*").splitlines()
    [head] = [at for at, line in enumerate(lines) if line.endswith("objects match")]
    *shown, note = lines[head + 1 :]
    assert len(shown) == 40
    assert re.match(r"40 of [\d,]+ places; --top 400 shows more", note), note
    # The same tree without a limit, and with so many lines that none is needed.
    snapshot = jvmti.heap.open(file)
    tree = snapshot.paths_to_roots(snapshot.objects(), limit=5)
    whole = tree.lines()
    assert len(whole) > 400
    assert len(printed("gc-roots", file, "*", "--top", 100_000).splitlines()) > len(whole)
    at = [whole.index(line) for line in shown if whole.count(line) == 1]
    assert at == sorted(at)
    counts = sorted((led(line) for line in whole), reverse=True)
    assert sorted((led(line) for line in shown), reverse=True) == counts[:40]
    assert len(json.dumps(found("gc-roots", file, "*"))) > 40 * 100
    few = printed("gc-roots", file, "Leaking", "--top", 100)
    assert "places;" not in few


def test_repeated_texts_and_wasted_room_are_shown(source: int | Path) -> None:
    [text] = [one for one in found("duplicate-strings", source) if "again and again" in one["text"]]
    assert text["count"] > 100
    rows = {one["class"]: one for one in found("collections", source)}
    assert rows["java.util.ArrayList"]["empty"] >= 300
    assert "ArrayList" in printed("collections", source)
    assert "again and again" in printed("duplicate-strings", source)


def test_growth_is_shown(file: Path, leaking_program: programs.JavaProgram, tmp_path: Path) -> None:
    same = found("diff", file, file)
    assert same["classes"] == same["places"] == []
    assert "objects" in printed("diff", leaking_program.pid, "--duration", "0.2")


@pytest.mark.parametrize("how", [("--redact-arrays", "byte[]"), ("--redact-fields", "*.value")])
def test_each_of_the_options_that_redact_does_so_alone(
    how: tuple[str, str], file: Path, tmp_path: Path
) -> None:
    redacted = tmp_path / "redacted.hprof"
    printed("dump", file, redacted, *how)
    assert b"again and again" not in redacted.read_bytes()


def test_a_redacted_dump_has_no_texts(file: Path, tmp_path: Path) -> None:
    redacted = tmp_path / "redacted.hprof"
    printed("dump", file, redacted, "--redact")
    assert b"again and again" in file.read_bytes()
    assert b"again and again" not in redacted.read_bytes()
    summary = found("summary", file)
    assert found("summary", redacted)["objects"] == summary["objects"]
    tables = tmp_path / "tables"
    printed("dump", file, tables, "--redact", "--parquet")
    assert found("summary", tables) == found("summary", redacted)
    assert not any("again" in one["text"] for one in found("duplicate-strings", tables))


def test_nothing_is_written_over(file: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("precious")
    ended = run("dump", file, there)
    assert ended.returncode == 1
    assert "--force" in ended.stderr
    assert there.read_text() == "precious"
    printed("dump", file, there, "--force")
    assert there.read_bytes() == file.read_bytes()


def test_tables_can_be_opened_again(file: Path, tmp_path: Path) -> None:
    printed("dump", file, tmp_path / "tables", "--parquet")
    assert (tmp_path / "tables" / "objects.parquet").exists()
    assert found("summary", tmp_path / "tables")["objects"] == found("summary", file)["objects"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["summary", "/etc/hostname"], 1, "not a heap dump"),
        (["summary", "/no/such.hprof"], 3, "no such file"),
        (["gc-roots", "FILE"], 2, "one class or pattern"),
        (["gc-roots", "FILE", "Leakin"], 1, "Leaking"),
        (["dominators", "FILE", "--threshold", "-1"], 2, "positive"),
        (["dump", "FILE"], 2, "one name"),
        (["dump", "FILE", "/no/where/x.hprof"], 1, "No such file"),
    ],
)
def test_what_cannot_be_done_is_said(words: list[str], code: int, said: str, file: Path) -> None:
    ended = run(*[str(file) if word == "FILE" else word for word in words])
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
