"""The report of a heap: what it says is what the functions say, and nothing in it can do harm."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import os
import re
import resource
import stat
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

import jvmti.heap
from heap.browser import browser, chromium
from heap.conftest import attach_command
from heap.hprof import BYTE, OBJECT, Writer
from jvmti.heap.html import report
from jvmti.heap.html.treemap import Area, squarified, treemap

if TYPE_CHECKING:
    from collections.abc import Iterator

    import programs
from command_line import here

pytestmark = pytest.mark.oldest_and_newest

COMMAND = [sys.executable, "-m", "jvmti", "heap", "report"]
EVIL = [
    "</script><script>document.title='broken'</script>",
    '"><img src=x onerror="document.title=1">',
    "</title></style><b>bold</b>",
    "&lt;b&gt; &amp; $title $$ ${main}",
    "turned \u202e around\x1b[31m \x00 \ud800",
]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return here("heap", "report", *words)


def run_in_a_process(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


@pytest.fixture(scope="module")
def file(
    leaking_program: programs.JavaProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("dump") / "leaking.hprof"
    attach_command(leaking_program.pid, "dumpheap", str(path), "-all")
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def snapshot(file: Path) -> jvmti.heap.Snapshot:
    return jvmti.heap.open(file)


class Page:
    """The elements of a page, as an HTML parser finds them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._tree = ElementTree.TreeBuilder()
        parser = HTMLParser()
        parser.handle_starttag = self._start  # type: ignore[assignment, method-assign]
        parser.handle_endtag = self._tree.end  # type: ignore[assignment, method-assign]
        parser.handle_data = self._tree.data  # type: ignore[assignment, method-assign]
        parser.feed(text)
        parser.close()
        [self.main] = self._tree.close().iter("main")

    def _start(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(given)))
        self._tree.start(tag, {name: value or "" for name, value in given})
        if tag in ("meta", "img", "input", "br", "link"):
            self._tree.end(tag)

    def section(self, name: str) -> ElementTree.Element:
        [found] = [one for one in self.main if one.get("id") == name]
        return found

    def tables(self, name: str) -> list[list[list[Any]]]:
        """The cells of a section's tables: numbers, parts as text, or text."""
        return [
            [[cell_of(cell) for cell in row] for row in table.iter("tr") if row[0].tag == "td"]
            for table in self.section(name).iter("table")
        ]


def text_of(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def cell_of(cell: ElementTree.Element) -> Any:
    text = text_of(cell)
    number = text.replace(",", "")
    if cell.get("class") == "n" and number.isdigit():
        return int(number)
    return text


def number_of(element: ElementTree.Element) -> int:
    """The index of the object that an element names."""
    return int(text_of(next(iter(element.iter("small")))).strip(" #"))


@pytest.fixture(scope="module")
def page(snapshot: jvmti.heap.Snapshot, tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("report") / "report.html"
    snapshot.report(path, title="Leaking")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return Page(path.read_text())


def written(data: bytes, directory: Path, title: str = "Heap") -> Page:
    (directory / "dump").write_bytes(data)
    jvmti.heap.open(directory / "dump").report(directory / "report.html", title=title)
    return Page((directory / "report.html").read_text())


def test_classes_have_the_figures_of_the_histogram(
    page: Page, snapshot: jvmti.heap.Snapshot
) -> None:
    histogram = snapshot.histogram(retained=True)
    rows = histogram.top(500, by="retained")
    [table] = page.tables("classes")
    assert [row[:4] for row in table] == [
        [row.count, row.bytes, row.retained, row.name] for row in rows
    ]
    [packages] = page.tables("packages")
    sums = {row.name: [row.count, row.bytes] for row in snapshot.histogram().by_package()}
    # One that has none of the objects may have classes whose static fields hold some.
    assert all(row[:2] == sums.get(row[3], [0, 0]) for row in packages)
    [own] = [row for row in packages if row[3] == "(none)"]
    assert own[2] >= snapshot.objects("Leaking$Entry").retained.sum()
    assert page.text.count(f"<dd>{len(snapshot):,}</dd>") == 1
    assert f"<dd>{snapshot.size:,}</dd>" in page.text


def test_what_has_no_row_is_summed(
    snapshot: jvmti.heap.Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_CLASSES", 20)
    snapshot.report(tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    histogram = snapshot.histogram(retained=True)
    shown = histogram.top(20, by="retained")
    assert len(page.tables("classes")[0]) == 20
    rest = text_of(page.section("classes"))
    assert f"and {len(histogram) - 20:,} more classes" in rest
    assert f"{histogram.total_count - shown.total_count:,} objects" in rest
    assert f"{histogram.total_bytes - shown.total_bytes:,} bytes" in rest


def test_the_tree_adds_up(page: Page, snapshot: jvmti.heap.Snapshot) -> None:
    tree = snapshot.dominators()
    shown = 0

    def check(above: jvmti.heap.Object | None, branches: ElementTree.Element) -> None:
        nonlocal shown
        summed = 0
        for item in branches:
            size = int(next(item.iter("data")).get("value", ""))
            summed += size
            if item.get("class") == "others":
                continue
            shown += 1
            obj = snapshot.object(number_of(item))
            assert obj.retained == size
            assert tree.dominator(obj) == above
            for below in item.iterfind("details/ul"):
                check(obj, below)
        whole, own = (tree.total, 0) if above is None else (above.retained, above.size)
        assert summed + own == whole

    [top] = page.section("tree").iterfind("ul")
    check(None, top)
    assert 200 < shown < 4000
    opened = [one for one in page.section("tree").iter("details") if one.get("open") is not None]
    assert any("static LEAK" in text_of(one[0]) for one in opened)


def test_suspects_and_their_ways_are_those_of_the_function(
    page: Page, snapshot: jvmti.heap.Snapshot
) -> None:
    suspects = jvmti.heap.leak_suspects(snapshot)
    articles = list(page.section("suspects").iter("article"))
    assert [(one.get("data-object"), one.get("data-retained")) for one in articles] == [
        (str(one.object.index), str(one.retained)) for one in suspects
    ]
    assert suspects[0].children_class == "Leaking$Entry"
    assert "in 2,000 of Leaking$Entry" in text_of(articles[0])
    for article, suspect in zip(articles, suspects, strict=True):
        steps = list(article.iter("li"))
        assert [number_of(step) for step in steps] == [one.index for _, one in suspect.path]
        assert [text_of(next(step.iter("code"))) for step in steps] == [
            name for name, _ in suspect.path
        ]
    [points] = page.tables("accumulation-points")
    assert [row[0] for row in points] == [
        one.retained for one in snapshot.dominators().accumulation_points(limit=50)
    ]


def test_waste_has_the_figures_of_the_functions(page: Page, snapshot: jvmti.heap.Snapshot) -> None:
    [strings] = page.tables("strings")
    assert [row[:2] for row in strings] == [
        [one.wasted, len(one.objects)] for one in jvmti.heap.duplicate_strings(snapshot)[:50]
    ]
    assert "the same text again and again" in [row[2] for row in strings]
    [arrays] = page.tables("arrays")
    assert [row[:2] for row in arrays] == [
        [one.wasted, len(one.objects)] for one in jvmti.heap.duplicate_arrays(snapshot)[:50]
    ]
    [collections] = page.tables("collections")
    assert [[*row[:5], row[7]] for row in collections] == [
        [one.wasted, len(one.objects), len(one.empty), one.sizes.sum(), one.capacities.sum(),
         one.class_name]
        for one in jvmti.heap.collections(snapshot)
    ]  # fmt: skip


def test_what_the_vm_holds_has_the_figures_of_the_functions(
    page: Page, snapshot: jvmti.heap.Snapshot
) -> None:
    [values] = page.tables("thread-locals")
    assert [row[0] for row in values] == [
        one.retained for one in jvmti.heap.thread_locals(snapshot)[:50]
    ]
    assert any(row[1] == "main" and "long[54321]" in row[3] for row in values)
    loaders, permanent = page.tables("loaders")
    assert [row[:4] for row in loaders] == [
        [one.retained, one.twins, len(one.loader.classes), one.instances]
        for one in jvmti.heap.class_loader_leaks(snapshot)[:50]
    ]
    assert [row[1] for row in loaders[:3]] == [2, 2, 2]
    assert len(permanent) == sum(
        one.object is None or one.is_held_by_vm for one in snapshot.loaders
    )
    waiting = Counter(jvmti.heap.finalizer_queue(snapshot).class_names)
    queues = jvmti.heap.reference_queues(snapshot)
    rows = [[count, name] for name, count in waiting.most_common()]
    lengths = [[length] for length in queues.values()]
    # What is empty has no table.
    assert [
        [row if wanted is rows else row[:1] for row in table]
        for table, wanted in zip(page.tables("queues"), [one for one in (rows, lengths) if one],
                                 strict=True)
    ] == [one for one in (rows, lengths) if one]  # fmt: skip
    [buffers] = page.tables("buffers")
    found = jvmti.heap.direct_buffers(snapshot)
    assert [row[0] for row in buffers] == found.capacities.tolist()
    assert f"{found.total:,} bytes" in text_of(page.section("buffers"))
    [threads] = page.tables("threads")
    assert {row[3] for row in threads} == {one.name for one in snapshot.threads}
    assert {row[0] for row in threads} == {one.object.retained for one in snapshot.threads}


def test_every_analysis_of_a_snapshot_is_in_the_report() -> None:
    source = inspect.getsource(report)
    for name in jvmti.heap.__all__:
        function = getattr(jvmti.heap, name)
        if not inspect.isfunction(function):
            continue
        needed = [
            one.name
            for one in inspect.signature(function).parameters.values()
            if one.default is inspect.Parameter.empty
        ]
        if name in ("deployments", "leak_suspects"):
            assert "find_leaks(snapshot)" in source  # they are parts of that
        elif needed == ["snapshot"]:
            assert f" {name}(snapshot)" in source or f"({name}(snapshot)" in source, name


def test_areas_inside_of_others_have_room_there(snapshot: jvmti.heap.Snapshot) -> None:
    whole = treemap(snapshot)
    assert whole.retained == snapshot.dominators().total

    def check(area: Area) -> int:
        inside = sum(one.retained for one in area.areas)
        assert inside <= area.retained
        return 1 + sum(map(check, area.areas))

    assert 50 < check(whole) < 2000
    # But for what is too small to be an area, all of the heap is in a package.
    assert sum(one.retained for one in whole.areas) > whole.retained * 0.998
    [own] = [one for one in whole.areas if one.name == "(none)"]
    assert own.areas[0].name.startswith("class Leaking → ")


@pytest.mark.parametrize("sizes", [[1], [6, 6, 4, 3, 2, 2, 1], [1000, 1, 1], [1] * 100, []])
def test_rectangles_fill_the_room_in_proportion(sizes: list[float]) -> None:
    made = squarified(sizes, 600, 400)
    assert len(made) == len(sizes)
    for one, size in zip(made, sizes, strict=True):
        assert one.width * one.height == pytest.approx(600 * 400 * size / sum(sizes))
        assert one.left >= 0
        assert one.top >= 0
        assert one.left + one.width <= 600.001
        assert one.top + one.height <= 400.001
    for at, one in enumerate(made):
        for other in made[:at]:
            assert (
                one.left >= other.left + other.width - 0.001
                or other.left >= one.left + one.width - 0.001
                or one.top >= other.top + other.height - 0.001
                or other.top >= one.top + one.height - 0.001
            )


def assert_harmless(page: Page) -> None:
    tags = Counter(tag for tag, _ in page.elements)
    assert tags["script"] == tags["style"] == tags["title"] == tags["main"] == 1
    assert not tags.keys() & {"link", "img", "iframe", "object", "embed", "base", "form", "b2"}
    identifiers = [given["id"] for _, given in page.elements if "id" in given]
    assert len(identifiers) == len(set(identifiers))
    for _, given in page.elements:
        assert not [name for name in given if name.startswith("on")]
        assert "src" not in given
        if "href" in given:
            assert given["href"] is not None
            assert given["href"].startswith("#")
            assert given["href"][1:] in identifiers
    [policy] = [
        given["content"] for _, given in page.elements
        if given.get("http-equiv") == "Content-Security-Policy"
    ]  # fmt: skip
    script = page.text[page.text.index("<script>") + 8 : page.text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    style = page.text[page.text.index("<style>") : page.text.index("</style>")]
    assert not re.search(r"url\(|@import|//", style)
    assert not re.search(r"https?:|fetch|import\b|XMLHttp|innerHTML|eval", script)


def test_nothing_outside_of_the_file_is_needed(page: Page) -> None:
    assert_harmless(page)


def hostile() -> bytes:
    """A dump in which everything that has a name has one of those above."""
    writer = Writer()
    names = [name.encode("utf-8", "surrogatepass").decode("utf-8", "ignore") for name in EVIL]
    java_object = writer.class_(0x1000, "java/lang/Object")
    writer.class_(0x1100, "java/lang/Class", super_=java_object)
    string = writer.class_(
        0x1200, "java/lang/String", [("value", OBJECT), ("coder", BYTE)], super_=java_object
    )
    thread = writer.class_(0x1300, "java/lang/Thread", [("name", OBJECT)], super_=java_object)
    at = 0x10000

    def text(of: str) -> int:
        nonlocal at
        at += 0x1000
        data = of.encode("utf-16-le", "surrogatepass")
        writer.primitive_array(at, BYTE, [b - 256 if b > 127 else b for b in data])
        return writer.instance(at + 0x800, string, at, 1)

    held = []
    for number, (name, content) in enumerate(zip(names, EVIL, strict=True)):
        # A slash separates packages, so it is shown as a dot, and a dot as a slash.
        cls = writer.class_(0x2000 + 0x100 * number, name, [(name, OBJECT)], super_=java_object)
        held += [writer.instance(0x8000 + 0x100 * number, cls, text(content)), text(content)]
        holder = writer.instance(0x9000 + 0x100 * number, thread, text(content))
        writer.root(0x08, holder, number + 1, 77)
    objects = writer.class_(0x1400, "[Ljava/lang/Object;", super_=java_object)
    writer.object_array(0x5000, objects, held)
    writer.root(0x01, 0x5000)
    writer.stack(77, 1, [(names[0], names[1], names[2], 1, 5)])
    return writer.finish()


@pytest.fixture
def harmful(tmp_path: Path) -> Page:
    return written(hostile(), tmp_path, title=EVIL[0])


def test_names_of_the_heap_are_only_shown(harmful: Page) -> None:
    assert_harmless(harmful)
    assert all(re.fullmatch(r"[\d.]+%", text_of(one)) for one in harmful.main.iter("b"))
    for text in EVIL[:4]:
        [strings] = harmful.tables("strings")
        assert text in [row[2] for row in strings]
        threads = [row[3] for row in harmful.tables("threads")[0]]
        assert text in threads
        [classes] = harmful.tables("classes")
        assert text.translate({47: ".", 46: "/"}) in [row[3] for row in classes]
    assert "turned \\u202e around\\x1b[31m \\x00 \\ud800" in text_of(harmful.main)
    assert not [one for one in "\u202e\x1b\x00" if one in harmful.text]


def test_long_and_wide_heaps_have_short_reports(tmp_path: Path) -> None:
    writer = Writer()
    java_object = writer.class_(0x1000, "java/lang/Object")
    link = writer.class_(0x1100, "Link", [("next", OBJECT)], super_=java_object)
    objects = writer.class_(0x1200, "[Ljava/lang/Object;", super_=java_object)
    count = 5_000
    for number in range(count):
        following = 0x100000 + 16 * (number + 1) if number + 1 < count else 0x6000
        writer.instance(0x100000 + 16 * number, link, following)
    wide = [writer.instance(0x1000000 + 16 * number, link, 0) for number in range(count)]
    writer.object_array(0x5000, objects, wide)
    writer.primitive_array(0x6000, BYTE, [0] * 100_000)
    writer.root(0x01, 0x5000)
    writer.root(0x01, 0x100000)
    page = written(writer.finish(), tmp_path)
    assert len(page.text) < 200_000
    assert f"others: {count - 3:,} objects of class Link" in text_of(page.section("tree"))
    ways = [one for one in page.section("suspects").iter("article") if "byte[" in text_of(one[0])]
    assert [len(list(one.iter("li"))) for one in ways] == [36]
    assert f"… {count + 1 - 35:,} steps …" in text_of(ways[0])

    def depth(element: ElementTree.Element) -> int:
        return 1 + max(map(depth, element), default=0)

    assert depth(page.main) < 300  # browsers stop at 512


def shown_by_a_browser(path: Path, directory: Path) -> str:
    done = subprocess.run(
        [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={directory / 'browser'}", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )  # fmt: skip
    if "</html>" not in done.stdout:
        pytest.skip(f"Chromium cannot run here: {done.stderr[-500:]}")
    assert ":CONSOLE" not in done.stderr
    return done.stdout


def test_a_browser_shows_it(snapshot: jvmti.heap.Snapshot, tmp_path: Path) -> None:
    chromium()
    snapshot.report(tmp_path / "report.html")
    shown = shown_by_a_browser(tmp_path / "report.html", tmp_path)
    # The script has run: headings are buttons, the list of classes has a filter.
    assert shown.count('<button type="button">retained</button>') >= 5
    assert "Show only rows with" in shown
    assert 'tabindex="0" role="group"' in shown


AREAS = "[...document.querySelectorAll('#treemap .area')]"
IN_VIEW = """(() => {
    const opened = [...document.querySelectorAll('#treemap .opened')].pop();
    return opened ? opened.querySelector(':scope > .inside') : document.getElementById('treemap');
})()"""
BOX = "(({x, y, width, height}) => [x, y, width, height])({}.getBoundingClientRect())"


def test_the_map_is_walked_through_by_mouse(snapshot: jvmti.heap.Snapshot, tmp_path: Path) -> None:
    snapshot.report(tmp_path / "report.html")
    whole = treemap(snapshot)
    # The largest package, and in it the largest place that has any inside.
    package = whole.areas[0]
    place = package.areas[0]
    assert place.areas
    with browser(tmp_path / "browser") as page:
        page.open(tmp_path / "report.html")
        everything = page.js("document.getElementById('area').textContent")
        page.js("document.getElementById('treemap').scrollIntoView({block: 'center'})")
        frame = page.js(BOX.replace("{}", "document.getElementById('treemap')", 1))

        def box(area: Area) -> list[float]:
            """Where an area is that is in view, as large as it is."""
            number = page.js(
                f"{AREAS}.findIndex(one => one.parentElement === {IN_VIEW} && "
                f"one.dataset.what.startsWith({json.dumps(area.name + ': ')}))"
            )
            assert number >= 0, area.name
            found: list[float] = page.js(BOX.replace("{}", f"{AREAS}[{number}]", 1))
            return found

        def said() -> str:
            return str(page.js("document.getElementById('area').textContent"))

        def opened() -> list[str]:
            return [str(one).split(": ")[0] for one in page.js(
                f"{AREAS}.filter(one => one.classList.contains('opened'))"
                ".map(one => one.dataset.what)"
            )]  # fmt: skip

        def upper_left(where: list[float]) -> tuple[float, float]:
            return where[0] + 5, where[1] + 8

        # Its name is there to be pointed at, and what it is stands above the map.
        at = upper_left(box(package))
        page.move(*at)
        assert said().startswith(f"{package.name}: ")
        assert f"{package.count:,} objects" in said()
        assert opened() == []
        small = box(package)
        page.click(*at)
        assert opened() == [package.name]
        [large] = page.js(
            f"{AREAS}.filter(one => one.classList.contains('opened'))"
            f".map(one => {BOX.replace('{}', 'one', 1)})"
        )
        assert large[2] * large[3] > small[2] * small[3] or small == large
        assert large[2] == pytest.approx(frame[2], abs=3)
        assert large[3] == pytest.approx(frame[3], abs=3)
        # One step further in, and what is on top there is the place that was clicked.
        at = upper_left(box(place))
        page.click(*at)
        assert opened() == [package.name, place.name]
        top = page.js(
            f"document.elementFromPoint({at[0]}, {frame[1] + frame[3] / 2})"
            ".closest('.opened:not(:has(.opened))')?.dataset.what"
        )
        assert top is not None
        assert top.startswith(f"{place.name}: ")
        # Back by the keyboard, a step at a time; in again; and out at once.
        page.press("Escape")
        assert opened() == [package.name]
        page.press("Enter")
        assert opened() == [package.name, place.name]
        out = page.js(BOX.replace("{}", "document.getElementById('out')", 1))
        assert out[2] > 0
        page.click(out[0] + out[2] / 2, out[1] + out[3] / 2)
        assert opened() == []
        assert said() == everything
        assert page.js("document.getElementById('out').hidden") is True
        assert page.complaints == []


def test_a_browser_runs_nothing_of_the_heap(harmful: Page, tmp_path: Path) -> None:
    shown = shown_by_a_browser(tmp_path / "report.html", tmp_path)
    assert "<title>broken" not in shown
    assert "<img" not in shown
    assert '<button type="button">retained</button>' in shown


@pytest.mark.parametrize("source", ["file", "live"])
def test_the_command_writes_it(
    source: str, file: Path, leaking_program: programs.JavaProgram, tmp_path: Path
) -> None:
    to = tmp_path / "report.html"
    done = run(file if source == "file" else leaking_program.pid, "-o", to, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    reported = json.loads(done.stdout)
    assert (reported["path"], reported["bytes"]) == (str(to), to.stat().st_size)
    assert (reported["pause"] > 0) == (source == "live")
    assert stat.S_IMODE(to.stat().st_mode) == 0o600
    page = Page(to.read_text())
    assert_harmless(page)
    assert "in 2,000 of Leaking$Entry" in text_of(page.section("suspects"))
    title = "leaking.hprof" if source == "file" else f"{leaking_program.pid} Leaking"
    assert f"<title>Heap of {title}</title>" in page.text
    assert ("program stopped" in page.text) == (source == "live")


def test_nothing_is_written_over(file: Path, tmp_path: Path) -> None:
    to = tmp_path / "report.html"
    to.write_text("precious")
    to.chmod(0o644)
    done = run(file, "-o", to)
    assert done.returncode == 1
    assert "--force" in done.stderr
    assert to.read_text() == "precious"
    with pytest.raises(FileExistsError):
        jvmti.heap.open(file).report(to)
    assert run(file, "-o", to, "--force", "--title", "Mine").returncode == 0
    assert "<h1>Mine</h1>" in to.read_text()
    assert stat.S_IMODE(to.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["FILE"], 2, "-o"),
        (["-o", "TO"], 2, "target"),
        (["/etc/hostname", "-o", "TO"], 1, "not a heap dump"),
        (["/no/such.hprof", "-o", "TO"], 3, "no such file"),
        (["no.such.Program", "-o", "TO"], 3, "no.such.Program"),
        (["FILE", "-o", "/no/where/report.html"], 1, "No such file"),
        (["FILE", "-o", "/"], 1, "exists"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: list[str], code: int, said: str, file: Path, tmp_path: Path
) -> None:
    to = tmp_path / "report.html"
    done = run(*[{"FILE": file, "TO": to}.get(word, word) for word in words])
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not to.exists()


def test_nothing_is_left_of_a_file_that_does_not_fit(file: Path, tmp_path: Path) -> None:
    to = tmp_path / "report.html"
    limit = (8192, 8192)
    done = run_in_a_process(
        file,
        "-o",
        to,
        # Python would cut its bytecode as well, and all that came later would read that.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_after_control_c(file: Path, tmp_path: Path) -> None:
    steps = []

    def interrupt(step: int, done: int, all_: int) -> None:
        if step == report.STEP:
            steps.append((done, all_))
            if done == 5:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jvmti.heap.open(file, report=interrupt).report(tmp_path / "report.html")
    assert steps == [(number, steps[0][1]) for number in range(6)]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_dump_is_called_so(file: Path, tmp_path: Path) -> None:
    page = written(file.read_bytes()[: file.stat().st_size * 3 // 4], tmp_path)
    assert "The dump is damaged" in page.text
    assert_harmless(page)


def test_missing_data_of_a_dump_is_named_in_its_place(tmp_path: Path) -> None:
    writer = Writer()
    java_object = writer.class_(0x1000, "java/lang/Object")
    name = "java/nio/DirectByteBuffer"
    buffer = writer.class_(0x1100, name, [("cleaner", OBJECT)], super_=java_object)
    writer.root(0x01, writer.instance(0x2000, buffer, 0x2000))
    page = written(writer.finish(), tmp_path)
    assert "Not available: java.nio.DirectByteBuffer" in text_of(page.section("buffers"))
    assert "java.nio.DirectByteBuffer" in [row[3] for row in page.tables("classes")[0]]
