"""Leaks as programs have them: named by what accumulates and by its owner, each once.

`Leaks` makes them: a static collection, a cache that several threads fill, thread-local variables,
listeners that nobody removes, and an application that is deployed again and again.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
import jvmti.heap
from jvmti.heap import Snapshot
from jvmti.liveheap.pauses import PauseTooLong

if TYPE_CHECKING:
    import programs
from command_line import here

pytestmark = pytest.mark.oldest_and_newest

QUICK = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
OWNERS = {
    "Leaks$Cart": (8000, "static Leaks$CartStore.abandoned"),
    "Leaks$Page": (6000, "Leaks$Catalog.pages of static Leaks$Catalog.INSTANCE"),
    "Leaks$Request": (16, "thread-local static Leaks$RequestContext.CURRENT"),
    "Leaks$Panel$1": (500, "Leaks$EventBus.listeners of static Leaks$Application.bus"),
    "Leaks$Shop": (4, "static Leaks$Server.shutdownHooks"),
}


def jvmti_heap(*words: object) -> subprocess.CompletedProcess[str]:
    return here("heap", *words)


def started(start: programs.JavaPrograms, *leaks: str) -> programs.JavaProgram:
    program = start("Leaks", *leaks, jvm_args=QUICK)
    program.expect("ready", timeout=120)
    return program


def snapshot_of(start: programs.JavaPrograms, leak: str) -> Snapshot:
    """What a program with this leak alone holds."""
    with jvmti.attach(started(start, leak).pid) as vm:
        return vm.heap.snapshot()


@pytest.fixture(scope="module")
def all_of_them(shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    names = ("static", "cache", "threadlocal", "listeners", "loaders", "reflection")
    return started(shared_java_program, *names)


@pytest.fixture(scope="module")
def snapshot(all_of_them: programs.JavaProgram) -> Snapshot:
    with jvmti.attach(all_of_them.pid) as vm:
        return vm.heap.snapshot()


@pytest.fixture(scope="module")
def file(snapshot: Snapshot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("leaks") / "leaks.hprof"
    snapshot.save(path)
    return path


def test_each_leak_is_named_by_what_accumulates_and_its_owner(snapshot: Snapshot) -> None:
    leaks = snapshot.leaks()
    assert {one.children_class: (one.children, one.owner) for one in leaks.suspects} == OWNERS
    assert len(leaks.suspects) == len(OWNERS)
    assert all(one.part >= 0.05 for one in leaks.suspects)
    text = repr(leaks)
    assert re.search(
        r"^8,000 Leaks\$Cart \([\d.]+ MB, \d+%\) in static Leaks\$CartStore\.abandoned$", text, re.M
    )
    assert leaks.suspects == jvmti.heap.leak_suspects(snapshot)


def test_the_old_loaders_are_distinguished_from_the_new_one(snapshot: Snapshot) -> None:
    leaks = snapshot.leaks()
    assert {one.age for one in leaks.loaders} == {"3rd of 4", "2nd of 4", "oldest of 4"}
    for one in leaks.loaders:
        assert one.stopped == "closed"
        assert one.owner == "static Leaks$Server.shutdownHooks"
        assert one.retained > 1_000_000
        assert one.loader.name.startswith("Leaks$Deployment @")
    assert leaks.smaller_loaders == []
    current = snapshot.static("Leaks$Server.current")
    [newest] = [one for one in jvmti.heap.class_loader_leaks(snapshot) if one.age == "newest of 4"]
    assert newest.loader.object == current
    assert not newest.is_replaced
    # Loaders that the VM of older releases makes for reflection are expected.
    assert "reflect" not in repr(leaks)


def test_a_leaking_application_alone_is_one_suspect_of_all_its_loaders(
    java_program: programs.JavaPrograms,
) -> None:
    leaks = snapshot_of(java_program, "loaders").leaks()
    [suspect] = leaks.suspects
    assert suspect.children_class == "byte[]"
    assert suspect.children == 2400
    assert suspect.owner == "static Leaks$Shop.goods"
    assert len(suspect.loaders) == 4
    assert len(leaks.loaders) == 3


def test_threads_that_hold_much_each_are_named_by_the_variable(
    java_program: programs.JavaPrograms,
) -> None:
    [suspect] = snapshot_of(java_program, "threadlocal").leaks().suspects
    assert suspect.places == 16
    assert suspect.owner.endswith("thread-local static Leaks$RequestContext.CURRENT")


def test_a_healthy_program_has_no_suspects(java_program: programs.JavaPrograms) -> None:
    snapshot = snapshot_of(java_program, "reflection")
    # What it is made of holds 6% of this very small heap.
    leaks = snapshot.leaks(threshold=0.1)
    assert leaks.suspects == leaks.loaders == leaks.smaller_loaders == []
    assert repr(leaks) == "no class that accumulates holds 10% of the heap"


def test_what_all_classes_of_a_loader_hold_is_no_suspect(
    java_program: programs.JavaPrograms,
) -> None:
    """Most of the heap is below the list that the loader keeps of its classes."""
    snapshot = snapshot_of(java_program, "classes")
    [loader] = snapshot.objects("Leaks$Copying")
    assert loader is not None
    assert loader.retained > 0.3 * snapshot.dominators().total
    assert snapshot.leaks(threshold=0.15).suspects == []


def test_a_large_object_of_many_parts_is_not_named_by_a_few_of_them(
    java_program: programs.JavaPrograms,
) -> None:
    snapshot = snapshot_of(java_program, "engine")
    [engine] = snapshot.objects("Leaks$Engine")
    assert engine is not None
    threshold = 0.7 * engine.retained / snapshot.dominators().total
    [suspect] = [
        one for one in snapshot.leaks(threshold=threshold).suspects if "Engine" in one.text
    ]
    assert suspect.object == engine
    assert (suspect.children, suspect.children_class) == (0, "")
    assert "Leaks$Engine> (" in suspect.text
    assert suspect.owner == "static Leaks$Engine.INSTANCE"


def test_the_command_says_what_python_says(file: Path) -> None:
    ended = jvmti_heap("leaks", file)
    assert (ended.returncode, ended.stderr) == (0, "")
    leaks = jvmti.heap.open(file).leaks()
    assert ended.stdout.split("\n", 1)[1].strip() == repr(leaks)
    rows = json.loads(jvmti_heap("leaks", file, "--json").stdout)
    assert [one["text"] for one in rows["suspects"]] == [one.text for one in leaks.suspects]
    assert [one["name"] for one in rows["loaders"]] == [one.loader.name for one in leaks.loaders]
    report = file.with_suffix(".html")
    assert jvmti_heap("report", file, "-o", report).returncode == 0
    page = report.read_text()
    assert "static Leaks$CartStore.abandoned holds" in page
    for loader in leaks.loaders:
        assert loader.loader.name in page


def test_a_loader_has_one_name_everywhere(
    all_of_them: programs.JavaProgram, snapshot: Snapshot, file: Path
) -> None:
    """By its identity hash, which a dump has in a field of the loader."""
    in_snapshot = {cls.loader_name for cls in snapshot.classes["Leaks$Shop"]}
    assert len(in_snapshot) == 4
    with jvmti.attach(all_of_them.pid) as vm:
        by_model = {cls.loader.description: cls.loader for cls in vm.classes("Leaks$Shop")}
        assert set(by_model) == in_snapshot
        hashes = {f"{one.identity_hash:x}" for one in by_model.values()}
        assert {name.rpartition("@")[2] for name in in_snapshot} == hashes
        counted = vm.heap.histogram(classes="Leaks$Shop")
        assert {row.loader for row in counted} == {None}
        reported = vm.heap.with_loaders(counted)
        assert {row.loader for row in reported} == in_snapshot
        ages = {row.loader: row.age for row in reported}
        current = vm.find_class("Leaks$Server")["current"]
        assert ages[current.description] == "newest of 4"
        with pytest.raises(PauseTooLong):
            vm.heap.with_loaders(counted, max_pause=1e-9)
    of_file = {row.loader: row.age for row in snapshot.objects("Leaks$Shop").histogram()}
    assert of_file == ages
    for source in (all_of_them.pid, file):
        ended = jvmti_heap("histogram", source, "Leaks$Shop", "--json")
        rows = json.loads(ended.stdout)["classes"]
        assert {row["loader"]: row["age"] for row in rows} == ages
        text = jvmti_heap("histogram", source, "Leaks$Shop").stdout
        for loader, age in ages.items():
            assert f"{loader} ({age})" in text
    shown = {repr(one) for one in snapshot.objects("Leaks$Deployment")}
    assert {text.partition(": ")[2].rstrip(">") for text in shown} == in_snapshot


def test_a_growth_is_reported_once(java_program: programs.JavaPrograms, tmp_path: Path) -> None:
    program = started(java_program, "static", "cache")
    files = [tmp_path / "before.hprof", tmp_path / "after.hprof"]
    with jvmti.attach(program.pid) as vm:
        before = vm.heap.snapshot()
        program.send("g")
        program.expect("grown")
        after = vm.heap.snapshot()
    [only] = [one for one in jvmti.heap.grown(before, after) if one.bytes > 100_000]
    assert only.name.startswith("class Leaks$CartStore.abandoned → ")
    assert only.name.endswith(" → Leaks$Cart")
    assert only.count == 1000
    before.save(files[0])
    after.save(files[1])
    printed = jvmti_heap("diff", *files).stdout
    assert printed.count("class Leaks$CartStore") == 1


def test_one_dump_answers_many_questions(file: Path, all_of_them: programs.JavaProgram) -> None:
    code = (
        "print(len(snapshot.objects('Leaks$Cart'))); print(heap.thread_locals(snapshot)[0].value)"
    )
    for source in (file, all_of_them.pid):
        ended = jvmti_heap("shell", source, "-c", code)
        assert (ended.returncode, ended.stderr) == (0, "")
        first, second = ended.stdout.splitlines()
        assert first == "8000"
        assert "Leaks$Request" in second
    assert jvmti_heap("shell", file, "-c", "raise SystemExit(7)").returncode == 7
    script = file.with_suffix(".py")
    script.write_text("import sys\nprint(sys.argv[1], snapshot.leaks().suspects[0].children)\n")
    reported = jvmti_heap("shell", file, script, "word")
    assert reported.stdout.split()[0] == "word"


@pytest.mark.parametrize("plain", [True, False])
def test_a_prompt_has_the_snapshot(file: Path, plain: bool) -> None:
    if not plain:
        pytest.importorskip("IPython")
    from terminals import Terminal

    words = ["-m", "jvmti", "heap", "shell", str(file)]
    with Terminal([*words, "--plain"] if plain else words, {}) as terminal:
        terminal.wait_for(r"objects of(?s:.*)^(In \[\d+\]:|>>>) *\Z")
        terminal.type("len(snapshot.objects('Leaks$Cart'))\r")
        terminal.wait_for(r"\b8000$")
        terminal.type("snapshot.leaks().suspects[0]\r")
        terminal.wait_for("<Suspect ")
        terminal.type("exit()\r")
        assert terminal.end() == 0


def test_a_missing_file_says_so(all_of_them: programs.JavaProgram) -> None:
    for words in (
        ("leaks", "gone.hprof"),
        ("histogram", "gone.hprof"),
        ("shell", "gone.hprof.gz"),
        ("summary", "./Leaks"),
        ("diff", "gone.hprof", "other.hprof"),
    ):
        ended = jvmti_heap(*words)
        assert ended.returncode == 3, words
        assert ended.stderr == f"jvmti: {words[1]}: no such file\n"
    ended = jvmti_heap("leaks", "Nobody")
    assert ended.returncode == 3
    assert "no such file" in ended.stderr
    assert "no JVM has 'Nobody'" in ended.stderr
    file = jvmti_heap("histogram", __file__)
    assert (file.returncode, "not a heap dump" in file.stderr) == (1, True)


def test_every_verb_that_stops_the_program_takes_a_limit(
    all_of_them: programs.JavaProgram, tmp_path: Path
) -> None:
    from jvmti.commands.heap import VERBS

    words: dict[str, list[Any]] = {
        "scan": ["Leaks$Cart"],
        "query": ["java.lang.String"],
        "gc-roots": ["Leaks$Cart"],
        "dump": [tmp_path / "refused.hprof"],
        "report": ["-o", tmp_path / "refused.html"],
        "shell": ["-c", "print(snapshot)"],
    }
    for verb in VERBS:
        ended = jvmti_heap(verb, "--max-pause", "0.000001", all_of_them.pid, *words.get(verb, []))
        assert ended.returncode == 1, (verb, ended.stderr)
        assert "would stop the program for about" in ended.stderr, verb
        assert ended.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_long_pause_is_announced(
    all_of_them: programs.JavaProgram, caplog: pytest.LogCaptureFixture
) -> None:
    with jvmti.attach(all_of_them.pid) as vm, caplog.at_level(logging.WARNING, "jvmti"):
        vm.heap.pauses._rates["dump"] = 1e5  # as if each object took a tenth of a millisecond
        before = len(caplog.records)
        vm.heap.snapshot()
        assert "a heap dump will stop the program for about" in caplog.records[before].message
        vm.heap.pauses._rates["dump"] = 1
        caplog.clear()
        vm.heap.snapshot()
        assert caplog.records == []
