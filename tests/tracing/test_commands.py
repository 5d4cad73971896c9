"""`jvmti trace` and `jvmti logpoint` that count, choose by conditions, and write files."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from command_line import begun, run
from jvmti.report.record_files import RecordFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from programs import JavaProgram, JavaPrograms

ORDER = "Traced$Order"


@pytest.fixture(scope="module")
def traced(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Traced", jvm_args=["-Xmx128m"])
    program.expect("ready")
    program.ask("add 1")
    program.ask("deep 1")
    return program


def watched(traced: JavaProgram, verb: str, words: Sequence[str], asked: Sequence[str]) -> str:
    """What the command prints while the program does something."""
    command = begun(verb, traced.pid, *words)
    assert command.stderr is not None
    line = command.stderr.readline()
    assert "ready in" in line, line + command.stderr.read()
    for one in asked:
        traced.ask(one)
    out, err = command.communicate(timeout=60)
    assert command.returncode == 0, err
    return out


def test_calls_are_counted_by_an_argument(traced: JavaProgram) -> None:
    words = [f"{ORDER}.add", "--by", "what", "--duration", "2", "--json"]
    found = json.loads(watched(traced, "trace", words, ["add 2", "random 5"]))
    counts = {one["name"]: one["calls"] for one in found["methods"]}
    assert counts == {"tea 0": 1, "tea 1": 1, "random": 5}
    words = [f"{ORDER}.add", "--by", "thread", "--duration", "2"]
    head, row = watched(traced, "trace", words, ["add 4"]).splitlines()
    assert head.split() == ["thread", "calls", "failed", "total", "mean", "p50", "p99", "longest"]
    assert row.split()[:3] == ["main", "4", "0"]


def test_calls_without_a_value_are_explained(traced: JavaProgram) -> None:
    traced.ask("send 1")
    words = ["Traced$Pack.send", "--by", "item.next.inside", "--duration", "1"]
    command = begun("trace", traced.pid, *words)
    assert command.stderr is not None
    assert "only some do: for all others it is unknown" in command.stderr.readline()
    assert "ready in" in command.stderr.readline()
    traced.ask("send 2")  # one of them has no item
    out, err = command.communicate(timeout=60)
    assert {line.split()[0] for line in out.splitlines()[1:]} == {"null", "?"}
    assert "? stands for calls where 'item.next' is of a class without a field 'inside'" in err
    assert "--by 'type(item.next)'" in err


def test_hits_are_counted_by_a_place(traced: JavaProgram) -> None:
    words = [f"write {ORDER}.total", "--by", "method", "--duration", "2"]
    head, row = watched(traced, "logpoint", words, ["add 3"]).splitlines()
    assert head.split() == ["method", "hits"]
    assert row.split() == [f"{ORDER}.total", "3"]


def test_each_second_call_of_one_caller(traced: JavaProgram) -> None:
    condition = f"caller == '{ORDER}.deep'"
    words = [f"{ORDER}.deep", "--every", "2", "--when", condition, "--count", "2", "--json"]
    lines = watched(traced, "trace", words, ["deep 4"]).splitlines()
    assert [json.loads(line)["value"] for line in lines] == [0, 2]


def test_a_place_needs_no_text(traced: JavaProgram) -> None:
    out = watched(traced, "logpoint", [f"write {ORDER}.total", "--count", "2"], ["add 2"])
    lines = out.splitlines()
    assert len(lines) == 2
    assert all(f"[main] {ORDER}.total = " in line for line in lines)


def trace_events(path: Path) -> list[dict[str, Any]]:
    """The events of a file, each of them as the format wants it."""
    whole = json.loads(path.read_text())
    assert whole["displayTimeUnit"] == "ns"
    kinds = {"X": {"ts", "dur", "args"}, "M": {"args"}, "i": {"ts", "s", "args"}}
    for event in whole["traceEvents"]:
        assert set(event) == {"name", "ph", "pid", "tid", "cat"} | kinds[event["ph"]]
        assert isinstance(event["name"], str)
        assert all(isinstance(event[name], int) for name in ("pid", "tid"))
        assert all(event[name] >= 0 for name in ("ts", "dur") if name in event)
        if event["ph"] == "M":
            assert event["name"] == "thread_name"
            assert isinstance(event["args"]["name"], str)
    return list(whole["traceEvents"])


def test_calls_are_written_for_perfetto(traced: JavaProgram, tmp_path: Path) -> None:
    path = tmp_path / "calls.json"
    words = [f"{ORDER}.deep", "--count", "4", "--record", str(path)]
    watched(traced, "trace", words, ["deep 3"])
    named, *calls = trace_events(path)
    assert (named["ph"], named["args"]) == ("M", {"name": "main"})
    assert {one["name"] for one in calls} == {f"{ORDER}.deep"}
    assert [one["args"]["value"] for one in calls] == [0, 1, 2, 3]
    # Each call lies within the one that made it.
    for inner, outer in itertools.pairwise(calls):
        assert outer["ts"] <= inner["ts"]
        assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-3


def test_hits_are_written_for_perfetto(traced: JavaProgram, tmp_path: Path) -> None:
    path = tmp_path / "hits.json"
    watched(traced, "logpoint", [f"{ORDER}.add", "x", "--count", "2", "-o", str(path)], ["add 2"])
    _, *hits = trace_events(path)
    assert [(one["ph"], one["args"]["text"]) for one in hits] == [("i", "x")] * 2


def test_a_tree_says_what_it_does_not_show(traced: JavaProgram) -> None:
    for method, count, asked, note in (
        ("deep", 12, "deep 11", "the tree has 2 more lines; --top 2 prints all"),
        ("add", 2, "add 2", "no traced method called another; a pattern for those"),
    ):
        words = [f"{ORDER}.{method}", "--tree", "--top", 1, "--count", count]
        command = begun("trace", traced.pid, *words)
        assert command.stderr is not None
        assert "ready in" in command.stderr.readline()
        traced.ask(asked)
        out, err = command.communicate(timeout=60)
        assert command.returncode == 0, err
        assert len(out.splitlines()) == (10 if method == "deep" else 1)
        assert note in err


def test_a_tree_as_json_is_complete(traced: JavaProgram) -> None:
    words = [f"{ORDER}.deep", "--tree", "--json", "--top", 1, "--count", 12]
    command = begun("trace", traced.pid, *words)
    assert command.stderr is not None
    assert "ready in" in command.stderr.readline()
    traced.ask("deep 11")
    out, err = command.communicate(timeout=60)
    assert command.returncode == 0, err
    tree = json.loads(out)["tree"]
    for depth in range(12):
        (node,) = tree
        assert node["calls"] == 1
        assert node["seconds"] >= node["own_seconds"] > 0
        tree = node["children"]
        assert bool(tree) == (depth < 11)


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_columns_of_several_reads_are_one_file(
    traced: JavaProgram, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"calls{suffix}"
    with jvmti.attach(traced.pid, timeout=30) as vm, vm.trace(f"{ORDER}.*") as trace:
        with RecordFile(str(path)) as file:
            for request in ("add 1", "deep 1"):
                traced.ask(request)
                file.write(trace.read(5.0), str)
    if suffix == ".arrow":
        table = pytest.importorskip("pyarrow.ipc").open_file(path).read_all()
    else:
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
    assert {"add", "deep"} <= set(table.column("method").to_pylist())


def test_options_that_do_not_go_together(traced: JavaProgram, tmp_path: Path) -> None:
    for words, message in (
        (["--watch"], "--watch is for what is counted"),
        (["--by", "method", "-o", str(tmp_path / "x.json")], "a file takes single records"),
        (["--by", "method", "--tree"], "a tree takes calls"),
        (["-o", str(tmp_path / "no" / "x.json")], "no/x.json: No such file or directory\n"),
        (["-o", str(tmp_path / "x.txt")], "must end in one of .parquet, .arrow, .jsonl, .json"),
        (["--by", "nothing"], "has a value 'nothing'"),
    ):
        ended = run("trace", traced.pid, f"{ORDER}.add", *words)
        assert ended.returncode != 0
        assert message in ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_notebook_shows_calls_hits_and_summaries(traced: JavaProgram) -> None:
    with jvmti.attach(traced.pid, timeout=30) as vm:
        with (
            vm.trace(f"{ORDER}.add", by="what") as counted,
            vm.trace(f"{ORDER}.add") as calls,
            vm.logpoint(f"{ORDER}.add", "<b>{what}</b>") as log,
        ):
            traced.ask("add 2")
            shown = counted.summary()._repr_html_()
            assert shown is not None
            assert "<table" in shown
            assert "tea 1" in shown
            shown = calls.read(5)._repr_html_()
            assert shown is not None
            assert "<table" in shown
            assert "tea 0" in shown
            shown = log.read(5)._repr_html_()
            assert shown is not None
            assert "&lt;b&gt;tea 0" in shown
            assert "<b>tea" not in shown
        for recorder in (counted, calls, log):
            shown = recorder._repr_html_()
            assert shown is not None
            assert ORDER in shown


def test_commands_choose_classes_by_loader_and_supertype(
    shared_java_program: JavaPrograms, tmp_path: Path
) -> None:
    matched = shared_java_program("Matched", jvm_args=["-Xmx128m"])
    matched.expect("ready")
    called = [f"{loader} Leaf {len(loader)}" for loader in ("first", "second", "app")]
    for one in called:
        matched.ask(one)
    pattern = "Matched*.apply* extends *Served loader second"
    out = watched(matched, "trace", [pattern, "--duration", "2"], called)
    assert "applyAsInt(6) = 8" in out
    assert len(out.splitlines()) == 1
    place = "Matched$Leaf.applyAsInt extends *Base loader first"
    assert "n=5" in watched(matched, "logpoint", [place, "n={n}", "--duration", "2"], called)
    ended = run("trace", matched.pid, "Matched$Leaf.* loader thrid")
    assert ended.returncode == 1
    assert "has the loader 'thrid'; their loaders are" in ended.stderr
    words = ["-o", tmp_path / "out", "--probe", "entry *.* loader second -> Hook.in(String method)"]
    ended = run("instrument", tmp_path, *words)
    assert ended.returncode == 2
    assert "a class file has no loader yet" in ended.stderr
