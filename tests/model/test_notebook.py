"""What a notebook shows, and the notebook among the examples."""

from __future__ import annotations

import dataclasses
import os
import pty
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

import compiler
import jvms
import jvmti
from jvmti.display import Rows
from jvmti.stacks.tree import StackTree
from profiles import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.oldest_and_newest

HARMFUL = "<img src=x onerror=alert(1)>&lt;\x1b[2J\u202e\ud800</div></style>"
NOTEBOOK = jvms.ROOT / "examples" / "notebooks" / "leak_and_deadlock.ipynb"


@pytest.fixture(scope="module")
def vm(witness: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=30) as attached:
        yield attached


class Rendered(HTMLParser):
    """The text of HTML, its elements, and what points at them says."""

    VOID = ("img", "br", "link", "meta", "input")

    def __init__(self, thing: Any) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.titles: list[str] = []
        self.text = ""
        html = thing._repr_html_()
        assert html is not None
        self.feed(html)
        self.close()
        assert not self.open
        # Nothing is loaded, nothing runs, and nothing that a terminal or a page obeys is left.
        assert self.tags.isdisjoint({"script", "img", "iframe", "link", "a", "object"})
        assert "url(" not in html
        assert "@import" not in html
        assert "\x1b" not in html
        assert "\u202e" not in html
        html.encode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.titles += [text or "" for name, text in attrs if name == "title"]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += f"{data}\n"
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def test_the_threads_are_a_table_with_their_stacks(vm: jvmti.VM, witness: JavaProgram) -> None:
    head, *rows = Rendered(vm.threads).rows
    assert head == ["id", "thread", "state", "processor", "stack"]
    blocked = next(row for row in rows if row[1] == "blocked")
    assert blocked[0] == witness.ask("id blocked")
    assert blocked[2] == witness.ask("state blocked") == "BLOCKED"
    assert blocked[4].startswith("Witness.block(Witness.java:")
    assert len(rows) == len(vm.threads)
    assert [row[1] for row in Rendered(vm.threads.snapshot()).rows] == [
        "thread",
        *(r[1] for r in rows),
    ]


def test_a_table_of_threads_takes_few_messages_and_changes_nothing(vm: jvmti.VM) -> None:
    Rendered(vm.threads)
    before = vm.stats.messages
    Rendered(vm.threads)
    assert vm.stats.messages - before <= 14
    assert not vm.env.get_capabilities()


def test_a_thread_is_shown_with_its_stack(vm: jvmti.VM, witness: JavaProgram) -> None:
    thread = vm.threads["deep"]
    shown = Rendered(thread).text
    assert f"#{witness.ask('id deep')}" in shown
    assert witness.ask("state deep") in shown
    assert shown.count("Witness.descend(Witness.java:") == 20
    assert Rendered(thread.frames).text.count("Witness.descend(") == 20
    snapshot = next(one for one in vm.threads.snapshot() if one.name == "deep")
    assert Rendered(snapshot).text.count("Witness.descend(") == 20
    frame = next(one for one in thread.frames if one.method.name == "descend")
    assert f"Witness.java:{frame.line}" in Rendered(frame).text


def test_a_class_is_shown_with_its_members(vm: jvmti.VM) -> None:
    cls = vm.find_class("java.util.concurrent.locks.ReentrantLock")
    shown = Rendered(cls)
    assert "java.util.concurrent.locks.Lock, java.io.Serializable" in shown.text
    assert ["java.util.concurrent.locks.ReentrantLock$Sync", "sync"] in shown.rows
    assert ["tryLock", "long, java.util.concurrent.TimeUnit"] in shown.rows
    method = next(one for one in cls.methods if one.name == "tryLock" and one.parameter_types)
    assert "long, java.util.concurrent.TimeUnit" in Rendered(method).text
    assert "java.util.concurrent.locks.ReentrantLock$Sync" in Rendered(cls.fields["sync"]).text


def test_annotations_and_source_are_shown_where_they_are_found(vm: jvmti.VM) -> None:
    cls = vm.find_class("Witness$Derived")
    annotations = ", ".join(map(str, cls.annotations))
    marked = next(one for one in cls.methods if one.annotations)
    of_marked = ", ".join(map(str, marked.annotations))
    shown = Rendered(cls)
    assert annotations in shown.text
    assert of_marked in next(row for row in shown.rows if row[0] == marked.name)[-1]
    assert of_marked in Rendered(marked).text
    assert "source: " not in shown.text
    vm.source_path.append(compiler.SOURCES)
    try:
        lines = (compiler.SOURCES / "Witness.java").read_text().splitlines()
        first = next(at for at, line in enumerate(lines) if f"class {cls.name[8:]} " in line)
        last = max(entry.line_number for method in cls.methods for entry in method.lines)
        text = Rendered(cls).text
        assert f"{compiler.SOURCES}/Witness.java" in text
        assert f"{first + 1}  {lines[first]}" in text
        assert f"{last}  {lines[last - 1]}" in text
        assert f"{first}  " not in text
        body = marked.lines[0].line_number
        assert f"{body}  {lines[body - 1]}" in Rendered(marked).text
    finally:
        vm.source_path.remove(compiler.SOURCES)
    hidden = next(one for one in vm.classes() if one.is_hidden and one.name.startswith("Witness"))
    for other in (vm.find_class("int[]"), hidden):
        assert "annotations" not in Rendered(other).text


def test_an_object_is_shown_with_its_fields_or_what_it_holds(vm: jvmti.VM) -> None:
    jni = vm.jni
    lock = vm.find_class("java.util.concurrent.locks.ReentrantLock").instances(limit=1)[0]
    assert ["java.util.concurrent.locks.ReentrantLock$Sync", "sync"] in [
        row[:2] for row in Rendered(lock).rows
    ]
    text = jni.new_string(f"{HARMFUL} and more")
    assert "and more" in Rendered(text).text
    array = jni.new_object_array(2, jni.find_class("java/lang/String"), text)
    assert Rendered(array).text.count("and more") >= 2
    numbers = jni.new_int_array(3)
    assert "0 0 0" in Rendered(numbers).text


def test_the_heap_is_shown_as_tables(vm: jvmti.VM) -> None:
    histogram = vm.heap.histogram()
    rows = Rendered(histogram).rows
    assert rows[0] == ["objects", "bytes", "of all", "name", "loader"]
    assert rows[1][:2] == [f"{histogram.count[0]:,}", f"{histogram.bytes[0]:,}"]
    assert len(rows) == 21
    assert "in all" in Rendered(vm.find_class("Witness").referrers()).text
    path = vm.find_class("java.util.concurrent.locks.ReentrantLock").instances(limit=1)[0]
    way = path.path_to_root()
    assert all(str(step) in Rendered(way).text for step in way)


def test_a_snapshot_is_shown_with_what_holds_most(vm: jvmti.VM) -> None:
    snapshot = vm.heap.snapshot()
    shown = Rendered(snapshot).text
    assert f"{len(snapshot):,}" in shown
    assert "What holds most" in shown
    threads = snapshot.objects("java.lang.Thread")
    assert len(Rendered(threads).rows) == min(len(threads), 20) + 1
    assert "java.lang.Thread" in Rendered(snapshot.paths_to_roots(threads)).text
    suspects = jvmti.heap.leak_suspects(snapshot, threshold=0.001)
    assert Rendered(suspects).text.count(" holds ") == len(suspects) > 0
    assert " holds " in Rendered(suspects[0]).text


def test_a_vm_is_shown_with_what_it_allows(vm: jvmti.VM, witness: JavaProgram) -> None:
    shown = Rendered(vm).text
    assert str(witness.pid) in shown
    assert "can_get_bytecodes" in shown
    assert "can_get_bytecodes" in Rendered(vm.env.get_potential_capabilities()).text
    assert "none" in Rendered(vm.env.get_capabilities()).text


def test_events_are_a_table_of_what_they_have(vm: jvmti.VM) -> None:
    with vm.env.stream("ClassPrepare", stack=3, own=True) as stream:
        vm.jni.find_class("java/util/IllformedLocaleException")
        records = stream.read(timeout=30)
    rows = Rendered(records).rows
    assert rows[0][:2] == ["event", "time"]
    assert {"thread", "klass"} <= set(rows[0])
    assert "java.util.IllformedLocaleException" in [row[rows[0].index("klass")] for row in rows]


def test_nothing_of_a_name_becomes_a_part_of_the_page(vm: jvmti.VM) -> None:
    snapshot = dataclasses.replace(vm.threads.snapshot()[0], name=HARMFUL)
    for shown in (Rendered(snapshot), Rendered(Rows([snapshot]))):
        assert "<img src=x onerror=alert(1)>" in shown.text
        assert "\\x1b[2J\\u202e\\ud800" in shown.text
    tree = StackTree()
    tree.add([f'{HARMFUL}"', "a.b.C.run"])
    shown = Rendered(tree)
    assert any("onerror" in title for title in shown.titles)


def test_flames_have_a_place_for_each_frame_and_say_what_it_is(vm: jvmti.VM) -> None:
    tree = vm.threads.stack_tree()
    shown = Rendered(tree)
    descend = [title for title in shown.titles if title.startswith("Witness.descend: on 1 stack")]
    assert len(descend) == 20
    deep = StackTree()
    deep.add([f"C.m{at}" for at in range(1000)])
    assert len(Rendered(deep).titles) == 1000  # none inside of another, which browsers end at 512
    assert "nothing to show" in Rendered(StackTree()).text


def test_what_is_over_says_so_and_raises_nothing(
    java_program: JavaPrograms,
) -> None:
    program = java_program("Idle")
    with jvmti.attach(program.pid, timeout=30) as vm:
        threads, main = vm.threads, vm.threads["main"]
    assert "closed" in Rendered(vm).text
    for thing in (threads, main):
        assert Rendered(thing).text


def test_a_deadlock_is_a_table_of_who_waits_for_whom(java_program: JavaPrograms) -> None:
    program = java_program("Deadlock")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        found = vm.deadlocks()
        rows = [row for row in Rendered(found).rows if row[0] != "id"]
        assert {(row[1], row[3]) for row in rows} == {
            ("first", "second"),
            ("second", "first"),
            ("third", "fourth"),
            ("fourth", "third"),
        }
        assert len(Rendered(found[0]).rows) == 3
        assert "evil \\x1b[2J" in Rendered(vm.threads).text


SHOWING = """
import sys, jvmti
with jvmti.progress("counting \\x1b[2J sheep") as report:
    report(3)
    report(5, 10)
    report(0, 10, 10)
print("counted")
"""


def test_a_profile_is_a_table_and_flames() -> None:
    shown = Rendered(made.shop())
    assert "com.acme.Order.add" in {row[0] for row in shown.rows}
    assert "60.0%" in shown.text
    assert "The engine is timer: the kernel does not allow perf events." in shown.text
    assert any("com.acme.Server.run" in title for title in shown.titles)
    assert "0 cpu samples" in Rendered(made.shop().between(100, 200)).text


def test_what_a_profile_says_is_a_table() -> None:
    profile = made.shop()
    (first, *_) = Rendered(profile.top()).rows[1:]
    assert first == ["com.acme.Order.add", "60 ms", "60.0%", "80 ms", "80.0%"]
    assert ["worker-1", "60 ms", "60.0%"] in Rendered(profile.by("thread")).rows
    difference = profile.between(0, 4).diff(profile.between(4, 10))
    assert "in ms per second" in Rendered(difference).text
    for thing in (difference, difference.top()):
        row = ["java.util.HashMap.put", "+5.0", "0.0", "5.0", "0.0", "5.0"]
        assert row in Rendered(thing).rows


def test_a_profile_shows_itself_live(witness: JavaProgram, tmp_path: Path) -> None:
    cells = [
        f"import jvmti, time\nvm = jvmti.attach({witness.pid})",
        "with vm.profile('wall') as profile:\n    time.sleep(0.5)\nprofile",
        "running = vm.profile('wall')\nrunning",
        "time.sleep(3)",
        "vm.detach()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    nbformat.write(notebook, tmp_path / "live.ipynb")
    command = [sys.executable, RUN, tmp_path / "live.ipynb", tmp_path / "run.ipynb"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    run = nbformat.read(tmp_path / "run.ipynb", as_version=4)
    # The block shows it from its beginning on, and its end the whole, so that naming it is not
    # another output. The other one is never stopped: it was shown again while it ran.
    for cell in run.cells[1:3]:
        (output,) = cell.outputs
        # First it had next to nothing.
        assert "java.lang.Object.wait" in output.data["text/html"]
        assert "<code>&lt;Profile:" in output.data["text/html"]
        assert output.data["text/plain"].startswith("<Profile:")


def test_progress_is_a_bar_on_a_terminal_and_nothing_elsewhere() -> None:
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-c", SHOWING]
    quiet = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (quiet.stdout, quiet.stderr) == ("counted\n", "")
    ours, theirs = pty.openpty()
    with open(ours, "rb", closefd=True, buffering=0) as terminal:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=True, env=environment
        )
        os.close(theirs)
        shown = b""
        try:
            while piece := terminal.read(65536):
                shown += piece
        except OSError:  # how a terminal ends
            pass
    assert done.stdout == b"counted\n"
    assert b"counting \\x1b[2J sheep" in shown


RUN = Path(jvms.ROOT, "scripts", "run_notebook.py")


def test_the_notebook_of_the_examples_finds_the_leak_and_the_deadlock(tmp_path: Path) -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    done = subprocess.run(
        [sys.executable, RUN, NOTEBOOK, tmp_path / "run.ipynb"],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run = nbformat.read(tmp_path / "run.ipynb", as_version=4)
    for notebook in (stored, run):
        kinds = [[one.output_type for one in cell.get("outputs", [])] for cell in run.cells]
        assert kinds == [[o.output_type for o in c.get("outputs", [])] for c in notebook.cells]
        shown = {
            cell.source: "".join(
                one.get("text", "") + one.get("data", {}).get("text/html", "")
                for one in cell.outputs
            )
            for cell in notebook.cells
            if cell.cell_type == "code"
        }

        def of(part: str, shown: dict[str, str] = shown) -> str:
            [found] = [text for source, text in shown.items() if part in source]
            return found

        assert of("vm.deadlocks(").count("take-order") == 2
        assert "2 threads wait for each other" in of("vm.deadlocks(")
        assert "ReentrantLock.lock" in of("asked.lines")
        assert 'class="flames"' in of("vm.threads.sample(")
        assert "java.lang.String" in of("growth")
        assert "bindings" in of("vm.heap.snapshot(")
        assert "reading the heap" in of("vm.heap.snapshot(")
        assert "article" in of("instances(")
        assert "py4j.Gateway.bindings" in of("path_to_root()")
