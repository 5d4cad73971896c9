"""Flame graphs, in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from heap.browser import Browser, browser
from jvmti.profile import Profile, Threads
from profiles import made

READY = "document.documentElement.dataset.ready"
INJECTION = "</script><img src=x onerror=window.injected=1><b>"


def profile() -> Profile:
    one = made.shop()
    return Profile(
        one.samples,
        one.stacks,
        one.frames,
        Threads([21, 22], ["worker-1", INJECTION]),
        one.limits,
        one.labels,
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory):
    with browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture
def page(shown: Browser, tmp_path: Path):
    def opened(html: str) -> Browser:
        path = tmp_path / "flame.html"
        path.write_text(html, "utf-8")
        shown.open(path)
        for _ in range(200):
            if shown.js(READY):
                return shown
            shown.js("new Promise(done => setTimeout(done, 20))")
        raise AssertionError(shown.complaints)

    yield opened
    assert shown.complaints == []
    shown.close()


def total(page: Browser, name: str) -> Any:
    """The weight of all frames of a name in milliseconds, as the view has it."""
    return page.js(
        "(() => { let sum = 0; for (let i = 1; i < view.name.length; i++)"
        f" if (nameOf(i) === {name!r}) sum += view.total[i]; return sum / 1e6; }})()"
    )


def test_frames_have_the_weights_of_the_profile(page: Any):
    shown = page(profile().flame().html)
    assert total(shown, "java.util.HashMap.put") == 30
    assert shown.js("view.total[0]") == 100_000_000
    assert "100 ms" in shown.js("document.getElementById('about').textContent")
    limits = shown.js("document.getElementById('limits').textContent")
    assert "perf events" in limits
    assert "without their outermost callers" in limits


def test_names_of_the_target_are_text(page: Any):
    shown = page(profile().flame(title=INJECTION).html)
    shown.js("document.getElementById('split').click()")
    assert shown.js("window.injected") is None
    assert shown.js("document.querySelectorAll('img, b').length") == 0
    assert shown.js("document.querySelector('h1').textContent") == INJECTION
    assert shown.js("document.getElementById('thread').options[2].textContent") == INJECTION


def test_a_thread_and_a_time_can_be_chosen(page: Any):
    shown = page(profile().flame().html)
    shown.js(
        "(() => { const box = document.getElementById('thread'); box.value = 0;"
        " box.dispatchEvent(new Event('change')); })()"
    )
    assert shown.js("view.total[0]") == 60_000_000
    # The mouse drags over the middle third of the time line.
    left, top, width = shown.js(
        "(() => { const at = document.getElementById('time').getBoundingClientRect();"
        " return [at.left, at.top + 10, at.width]; })()"
    )
    shown.move(left + width * 0.35, top)
    for kind, part in (("mousePressed", 0.35), ("mouseMoved", 0.5), ("mouseReleased", 0.65)):
        button = {"button": "left", "clickCount": 1, "buttons": 1}
        shown.ask("Input.dispatchMouseEvent", type=kind, x=left + width * part, y=top, **button)
    assert shown.js("view.total[0]") == 20_000_000  # of the samples at 4 and 5 s
    assert "From 3.46 s to 6.5" in shown.js("document.getElementById('found').textContent")
    shown.js("document.getElementById('reset').click()")
    assert shown.js("view.total[0]") == 100_000_000


def test_a_click_zooms_and_escape_goes_back(page: Any):
    shown = page(profile().flame().html)
    shown.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    x, y = shown.js(
        "(() => { drawNow(); const at = document.getElementById('flames').getBoundingClientRect();"
        " return [at.left + 20, at.top + 2.5 * ROW]; })()"
    )
    shown.click(x, y)
    assert shown.js("nameOf(state.zoom)") == "com.acme.Order.add"
    shown.press("Escape")
    assert shown.js("nameOf(state.zoom)") == "com.acme.Server.run"
    shown.js("document.getElementById('view').focus()")
    shown.js("move('ArrowDown')")
    shown.press("Enter")
    assert shown.js("nameOf(state.zoom)") == "com.acme.Order.add"


def test_the_inverted_graph_begins_with_what_used_most(page: Any):
    shown = page(profile().flame().html)
    shown.js("document.getElementById('invert').click()")
    assert shown.js("children(0).map((node) => [nameOf(node), view.total[node] / 1e6])") == [
        ["com.acme.Order.add", 60],
        ["java.util.HashMap.put", 30],
    ]
    shown.js("document.getElementById('split').click()")
    assert shown.js("children(0).map((node) => [nameOf(node), view.total[node] / 1e6])") == [
        ["worker-1", 60],
        [INJECTION, 40],
    ]


def test_a_search_counts_each_sample_once(page: Any):
    shown = page(profile().flame().html)
    for text, share in (("Order.add", "80.0 %"), ("/put$|^com/", "90.0 %"), ("nothing", "0.0 %")):
        shown.js(
            f"(() => {{ const box = document.getElementById('search'); box.value = {text!r};"
            " box.dispatchEvent(new Event('input')); })()"
        )
        assert share in shown.js("document.getElementById('found').textContent")


def test_the_table_has_the_numbers_of_top(page: Any):
    shown = page(profile().flame().html)
    shown.js("document.getElementById('top').click()")
    rows = shown.js(
        "[...document.querySelectorAll('tbody tr')].map((row) => [...row.cells]"
        ".map((cell) => cell.textContent))"
    )
    assert rows == [
        ["60.0 ms", "60.0 %", "80.0 ms", "80.0 %", "com.acme.Order.add"],
        ["30.0 ms", "30.0 %", "30.0 ms", "30.0 %", "java.util.HashMap.put"],
        ["0", "0.0 %", "70.0 ms", "70.0 %", "com.acme.Server.run"],
    ]


def test_a_difference_shows_both_sides(page: Any):
    one = made.shop()
    shown = page(one.between(0, 4).diff(one.between(4, 10), per="share").flame().html)
    shown.js(
        "(() => { const box = document.getElementById('kind'); box.value = 1;"
        " box.dispatchEvent(new Event('change')); })()"
    )
    text = shown.js("(() => { about(children(0)[0]); return $('about').textContent; })()")
    assert "before 100 %" in text
    assert "after 50.0 %" in text


BACK = "getComputedStyle(document.body).backgroundColor"
WIDE = (
    "[...document.querySelectorAll('body *')].filter(one => { const at ="
    " one.getBoundingClientRect(); return at.left < -1 || at.right > 391; })"
    ".map(one => `${one.id || one.tagName} ${one.getBoundingClientRect().right}`)"
)
"""What is not between the sides of a window 390 pixels wide."""
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(21, 24, 28)"


def test_the_colours_are_of_the_system_light_or_dark(page: Any):
    shown = page(profile().flame().html)

    def looks() -> tuple[str, str]:
        pixel = shown.js(
            "(() => { drawNow(); const copy = document.createElement('canvas').getContext('2d',"
            " { willReadFrequently: true });"
            " copy.drawImage(document.getElementById('flames'), 0, 0);"
            " return copy.getImageData(3, ROW + 3, 1, 1).data.join(' '); })()"
        )
        return shown.js(BACK), pixel

    def press() -> str:
        x, y = shown.js(
            "(() => { const at = document.getElementById('theme').getBoundingClientRect();"
            " return [at.left + 5, at.top + 5]; })()"
        )
        shown.click(x, y)
        return str(shown.js("document.getElementById('theme').textContent"))

    for system in ("light", "dark"):
        wanted = [{"name": "prefers-color-scheme", "value": system}]
        shown.ask("Emulation.setEmulatedMedia", features=wanted)
        of_system = looks()
        assert of_system[0] == (LIGHT if system == "light" else DARK)
        assert press() == "Theme: light"
        light = looks()
        assert press() == "Theme: dark"
        dark = looks()
        assert (light[0], dark[0]) == (LIGHT, DARK)
        assert light[1] != dark[1]
        assert press() == "Theme"
        assert looks() == of_system == (light if system == "light" else dark)


def test_a_narrow_window_scrolls_to_no_side(page: Any):
    shown = page(profile().flame(title="a.long.name.without.a.space" * 5).html)
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    shown.ask("Emulation.setDeviceMetricsOverride", **size)
    frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    for control in (None, "split", "top"):
        if control is not None:
            shown.js(f"document.getElementById('{control}').click()")
        shown.js(frame)
        assert shown.js("innerWidth") == 390
        wide = ["unknown"]
        for _ in range(50):
            if not wide:
                break
            shown.js(frame)
            wide = shown.js(WIDE)
        assert wide == [], control
        assert shown.js("document.documentElement.scrollWidth") <= 390
        assert shown.js("document.getElementById('view').scrollLeft = 9e9,"
                        " document.getElementById('view').scrollLeft") == 0  # fmt: skip


def test_large_profiles_have_a_page_of_few_megabytes():
    html = made.large(200_000, 2_000).flame().html
    assert len(html) < 3_000_000
    assert re.search(r"script-src 'sha256-[\w+/=]+'", html)
