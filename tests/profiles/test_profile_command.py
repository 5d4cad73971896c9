"""`jvmti profile` on files; `tests/profiling` has what it does with a JVM."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import jvmti
from command_line import here
from jvmti.profile import Kind, Limits, Profile, Samples
from profiles import made


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.parquet"
    made.shop().save(path)
    return path


@pytest.fixture
def two_kinds(tmp_path: Path) -> Path:
    one = made.shop()
    kind = numpy.array([Kind.CPU] * 6 + [Kind.ALLOC] * 4)
    path = tmp_path / "two.parquet"
    Profile(
        Samples(**one.samples.columns() | {"kind": kind}),
        one.stacks,
        one.frames,
        one.threads,
        [*one.limits, Limits(Kind.ALLOC, "jvmti")],
        one.labels,
    ).save(path)
    return path


def test_the_methods_that_used_most_come_first(shop: Path):
    done = here("profile", shop)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "10 cpu samples of 2 threads in 10.0 s"
    assert lines[2].split() == ["60", "ms", "60.0%", "80", "ms", "80.0%", "com.acme.Order.add"]
    assert "the kernel does not allow perf events" in done.stderr


def test_rows_can_be_lines_and_packages(shop: Path):
    lines = here("profile", shop, "--by", "line", "--top", 1).stdout.splitlines()
    assert lines[-1].endswith("com.acme.Order.add:20")
    assert here("profile", shop, "--by", "package").stdout.splitlines()[2].endswith("com.acme")


def test_a_tree_and_callers(shop: Path):
    assert "70.0%   70 ms  com.acme.Server.run" in here("profile", shop, "--tree").stdout
    done = here("profile", shop, "--callers", "java.util.HashMap.put")
    assert "100.0%   30 ms  java.util.HashMap.put" in done.stdout
    assert "no stack has it" in here("profile", shop, "--callers", "x.Y.z").stdout


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("thread", ["60 ms 60.0% worker-1", "40 ms 40.0% worker-2"]),
        ("group", ["60 ms 60.0% main", "40 ms 40.0% workers"]),
        ("pool", ["100 ms 100.0% worker-*"]),
        ("state", ["70 ms 70.0% running", "30 ms 30.0% native"]),
        ("request", ["40 ms 40.0% (none)", "30 ms 30.0% /buy", "30 ms 30.0% /look"]),
    ],
)
def test_rows_can_be_whose_samples_they_are(shop: Path, by: str, rows: list[str]):
    lines = here("profile", shop, "--by", by).stdout.splitlines()
    assert lines[1].split() == ["TIME", "%", by.upper()]
    assert [" ".join(line.split()) for line in lines[2:]] == rows
    top = json.loads(here("profile", shop, "--by", by, "--json").stdout)["kinds"]["cpu"]["top"]
    assert [f"{one['share']:.1%}" for one in top] == [row.split()[2] for row in rows]


def test_parts_are_the_outermost_frames_of_trees_and_files(shop: Path, tmp_path: Path):
    tree = here("profile", shop, "--tree", "--by", "thread").stdout.splitlines()[1:]
    assert tree[:2] == [
        " 60.0%   60 ms  worker-1",
        " 60.0%   60 ms  · com.acme.Server.run",
    ]
    target = tmp_path / "shop.collapsed"
    assert here("profile", shop, "--by", "state", "-o", target).returncode == 0
    stacks = dict(line.rsplit(" ", 1) for line in target.read_text().splitlines())
    assert sum(int(n) for stack, n in stacks.items() if stack.startswith("running;")) == 70_000_000
    # One sample has no other frame.
    assert stacks["native"] == "10000000"
    page = tmp_path / "shop.html"
    assert here("profile", shop, "--by", "pool", "-o", page).returncode == 0
    assert "worker-*" in page.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "owner"], "--by owner is for --lock: cpu samples have no owner"),
        (["--by", "type"], "--by type is for --alloc and --live and --lock: cpu samples"),
        (["--by", "process"], "--by process: no sample has a process"),
        (["--by", "class", "--tree"], "--by class is for the table: with --tree it takes one of"),
        (["--by", "thread", "-o", "other.parquet"], "Parquet keeps all columns"),
    ],
)
def test_parts_that_a_profile_does_not_have_are_refused(shop: Path, words: list[str], message: str):
    done = here("profile", shop, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_threads_and_times_can_be_chosen(shop: Path):
    one = json.loads(here("profile", shop, "--thread", "*-2", "--json").stdout)
    assert (one["kinds"]["cpu"]["samples"], one["threads"]) == (4, 1)
    part = json.loads(here("profile", shop, "--from", 2, "--to", 4, "--json").stdout)
    assert part["kinds"]["cpu"]["samples"] == 2
    done = here("profile", shop, "--thread", "nobody")
    assert (done.returncode, done.stderr) == (1, "jvmti: no thread is called nobody\n")


def test_a_profile_as_json_has_its_limits(shop: Path):
    data = json.loads(here("profile", shop, "--json").stdout)
    assert data["limits"][0]["engine"] == "timer"
    assert data["kinds"]["cpu"]["top"][0] == {
        "name": "com.acme.Order.add",
        "own": 60_000_000,
        "total": 80_000_000,
        "own_share": 0.6,
        "share": 0.8,
    }


def test_collapsed_stacks_may_have_types(tmp_path: Path):
    file = tmp_path / "p.collapsed"
    file.write_text("com.acme.Order.add;java.lang.Object[] 3\n")
    done = here("profile", file, "--by", "type")
    assert done.stdout.splitlines()[-1].endswith("java.lang.Object[]"), done


def test_a_file_is_converted(shop: Path, tmp_path: Path):
    target = tmp_path / "shop.pb.gz"
    done = here("profile", shop, "-o", target)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{target}: 10 cpu samples" in done.stderr
    assert jvmti.profile.open(target).top()[0].name == "com.acme.Order.add"
    again = here("profile", shop, "-o", target)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert here("profile", shop, "-o", target, "--force").returncode == 0


def test_every_kind_has_its_table(two_kinds: Path, tmp_path: Path):
    shown = here("profile", two_kinds).stdout
    assert "6 cpu samples" in shown
    assert "4 alloc samples" in shown
    assert "alloc" not in here("profile", two_kinds, "--cpu").stdout
    done = here("profile", two_kinds, "-o", tmp_path / "x.collapsed")
    assert done.returncode == 2
    assert "choose one: --cpu or --alloc" in done.stderr
    assert here("profile", two_kinds, "--alloc", "-o", tmp_path / "x.collapsed").returncode == 0
    assert "no samples of 'lock'" in here("profile", two_kinds, "--lock").stderr


def test_two_profiles_are_compared(shop: Path, tmp_path: Path):
    for name, begin, end in (("a", 0, 4), ("b", 4, 10)):
        made.shop().between(begin, end).save(tmp_path / f"{name}.parquet")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    lines = here("profile", "diff", *files).stdout.splitlines()
    assert lines[0] == "what methods use themselves, in ms per second"
    assert lines[2].split() == ["-6.7", "10.0", "3.3", "10.0", "6.7", "com.acme.Order.add"]
    data = json.loads(here("profile", "diff", *files, "--json").stdout)
    assert data["changes"][0]["own_before"] == pytest.approx(0.01)
    before, after = files
    for words in (["diff", "--json", before, after], ["diff", before, "--json", after]):
        assert json.loads(here("profile", *words).stdout) == data
    page = tmp_path / "diff.html"
    assert here("profile", "diff", *files, "-o", page).returncode == 0
    assert "red has grown" in page.read_text()
    assert here("profile", "diff", *files, "-o", tmp_path / "d.pprof").returncode == 2


def test_a_profile_without_samples_is_compared_with_numbers(shop: Path, tmp_path: Path):
    nothing, numbers = tmp_path / "nothing.parquet", tmp_path / "numbers.collapsed"
    jvmti.profile.open(shop).where(slice(0)).save(nothing)
    numbers.write_text("A.b 1\n")
    for files in ((nothing, numbers), (numbers, nothing)):
        done = here("profile", "diff", *files)
        assert done.returncode == 0, done.stderr
        assert "100.0%" in done.stdout


def test_profiles_of_different_kinds_are_not_compared(shop: Path, two_kinds: Path):
    done = here("profile", "diff", two_kinds, shop)
    assert done.returncode == 2
    assert f"{two_kinds} has samples of " in done.stderr
    assert "choose --" in done.stderr
    assert "--cpu" in done.stderr
    assert here("profile", "diff", two_kinds, shop, "--cpu").returncode == 0


def test_a_directory_without_permission_is_refused_at_once(
    shop: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    done = here("profile", shop, "-o", shop.parent / "y.html")
    assert done.returncode == 2
    assert "you may not write there" in done.stderr


def test_an_empty_part_is_no_table(shop: Path, tmp_path: Path):
    done = here("profile", shop, "--from", "60")
    assert done.returncode == 1
    assert "no sample is between --from and --to; all have 10.0 s" in done.stderr
    made.shop().between(50, 60).save(tmp_path / "empty.parquet")
    assert here("profile", tmp_path / "empty.parquet").stdout == "0 cpu samples of 0 threads\n"


def test_a_tree_that_is_cut_says_so(shop: Path):
    names = [f"a.B.m{number};a.B.m{number} {number}" for number in range(1, 12)]
    (shop.parent / "many.collapsed").write_text("\n".join(names))
    done = here("profile", shop.parent / "many.collapsed", "--tree", "--top", 1)
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("… and ")
    assert lines[-1].endswith(" more lines; --top 2 has more")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nothing.parquet"], 3, "nothing.parquet: no such file"),
        (["diff", "nothing.jfr", "other.jfr"], 3, "no such file"),
        ([__file__], 1, "not a stack, a space and a number"),
        (["x.parquet", "-o", "y.png"], 2, "must end in one of"),
        (["x.parquet", "-o", "/nowhere/y.html"], 2, "no such directory"),
        (["x.parquet", "-o", "y.html", "--json"], 2, "either --json or a file"),
        (["x.parquet", "y.parquet"], 2, "diff compares two"),
        (["diff", "x.parquet", "y.parquet", "--tree"], 2, "leave out --tree"),
        (["diff", "x.parquet", "y.parquet", "--", "java", "X"], 2, "leave out what follows --"),
        (["diff", "x.parquet", "y.parquet", "--interval", "1ms"], 2, "leave out --interval"),
        (["x.parquet", "--engine", "perf"], 2, "leave out --engine: samples are taken of a"),
        (["x.parquet", "--source", "jfr"], 2, "leave out --source"),
        (["x.parquet", "--duration", "1"], 2, "leave out --duration"),
        (["x.parquet", "--from", "2", "--to", "1"], 2, "--to is not after --from"),
        (["4711", "--loop", "60"], 2, "--loop needs a name"),
        (["4711", "--interval", "much"], 2, "--interval"),
        (["4711", "--alloc", "--interval", "10ms"], 2, "number of bytes"),
    ],
)
def test_a_mistake_is_one_sentence(words: list[str], code: int, message: str, tmp_path: Path):
    done = here("profile", *words)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
