"""Neovim and Helix debug a program on a terminal, by keys, as their pages have it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import compiler
from adapter.client import SOON, SOURCE, line
from editors.configurations import configuration
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from programs import JavaPrograms

pytestmark = [pytest.mark.newest, pytest.mark.slow]

NAME = "src/main/java/Debugged.java"
TOP = line("GROSS")


class Neovim:
    """Neovim with nvim-dap, by the commands of its page."""

    def __init__(self, home: Path, project: Path, environment: dict[str, str]) -> None:
        settings = home / ".config" / "nvim"
        plugins = settings / "pack" / "plugins" / "start"
        plugins.mkdir(parents=True)
        (plugins / "nvim-dap").symlink_to(Path(os.environ["NVIM_DAP"]).resolve())
        (settings / "after" / "plugin").mkdir(parents=True)
        code = configuration("neovim", "jvmti.lua")
        (settings / "after" / "plugin" / "jvmti.lua").write_text(code)
        self.screen = Terminal([f"+{TOP}", NAME], environment, "nvim", project)

    def command(self, text: str) -> None:
        self.screen.type(f":{text}\r")

    def begin(self) -> None:
        self.screen.wait_for("int gross")
        self.toggle()
        self.screen.wait_for("^B +int gross")

    def toggle(self) -> None:
        self.command("DapToggleBreakpoint")

    def attach(self, pid: int) -> None:
        self.command("DapContinue")
        self.screen.wait_for("^1: Attach to a JVM")
        self.screen.type("1\r")
        shown = self.screen.wait_for(rf"^\d+: +{pid} .*Debugged(.*\n)+Type number")
        chosen = re.search(rf"^(\d+): +{pid} ", shown, re.M)
        assert chosen
        self.screen.type(f"{chosen[1]}\r")

    def launch(self) -> None:
        self.command("DapContinue")
        self.screen.wait_for("^2: Launch a main class(.*\n)+Type number")
        self.screen.type("2\r")
        self.screen.wait_for("^Main class:")
        self.screen.type("Debugged\r")

    def stopped(self, code: str) -> None:
        self.screen.wait_for(f"^→ +{re.escape(code)}")

    def variables(self) -> dict[str, str]:
        self.command('lua w = require("dap.ui.widgets"); s = w.sidebar(w.scopes); s.open()')
        shown = self.screen.wait_for(r"^ +net: \d+")
        self.command("lua s.close()")
        return dict(re.findall(r"^ +(count|net): (\d+)", shown, re.M))

    def evaluate(self) -> None:
        self.command("DapToggleRepl")
        self.screen.type("\x17ji")
        self.screen.wait_for("INSERT")
        self.screen.type("square(12)\r")
        self.screen.wait_for("^144$")
        self.screen.type("\x1b")
        self.command("DapToggleRepl")

    def over(self) -> None:
        self.command("DapStepOver")

    def go_on(self) -> None:
        self.command("DapContinue")

    def leave(self) -> None:
        self.command('lua require("dap").disconnect()')

    def end(self) -> None:
        self.command("DapTerminate")

    def quit(self) -> None:
        self.command("qa!")


class Helix:
    """Helix, by the keys of its page."""

    def __init__(self, home: Path, project: Path, environment: dict[str, str]) -> None:
        settings = home / ".config" / "helix"
        settings.mkdir(parents=True)
        (settings / "languages.toml").write_text(configuration("helix", "languages.toml"))
        self.screen = Terminal([f"{NAME}:{TOP}"], environment, "hx", project)

    def key(self, key: str) -> None:
        """A key of the menu for the debugger, which stays until it is left."""
        if "Toggle breakpoint" not in self.screen.text:
            self.screen.type(" G")
            self.screen.wait_for("Toggle breakpoint")
        self.screen.type(key)

    def begin(self) -> None:
        self.screen.wait_for(f"^ *{TOP} +int gross")
        self.toggle()
        self.screen.wait_for(rf"^\S +{TOP} +int gross")

    def toggle(self) -> None:
        self.key("b")

    def choose(self, template: int, *answers: tuple[str, str]) -> None:
        self.key("l")
        self.screen.wait_for("> attach by pid")
        self.screen.type("\x0e" * template)
        self.screen.wait_for("> " + ("attach by pid", "attach by name", "launch")[template])
        self.screen.type("\r")
        for prompt, answer in answers:
            self.screen.wait_for(f"^{prompt}:")
            self.screen.type(f"{answer}\r")

    def attach(self, pid: int) -> None:
        self.choose(0, ("pid", str(pid)))

    def launch(self) -> None:
        self.choose(2, ("main class", "Debugged"), ("class path", ""))

    def stopped(self, code: str) -> None:
        self.screen.wait_for(rf"^▶ +\d+ +{re.escape(code)}")

    def variables(self) -> dict[str, str]:
        self.key("v")
        shown = self.screen.wait_for(r"(?s)Locals.*\bnet: int")
        self.screen.type("\x1b")
        self.gone("Locals")
        return dict(re.findall(r"\b(count|net): int = (\d+)", shown))

    def evaluate(self) -> None:
        self.command("debug-eval square(12)")
        self.screen.wait_for("^144$")

    def over(self) -> None:
        self.key("n")

    def go_on(self) -> None:
        self.key("c")

    def leave(self) -> None:
        self.key("t")

    end = leave

    def command(self, text: str) -> None:
        self.screen.type("\x1b")
        self.gone("Toggle breakpoint")
        self.screen.type(f":{text}\r")

    def gone(self, text: str) -> None:
        """Wait until the screen shows a text no more: two escapes at once are another key."""
        self.screen.wait_for(rf"(?s)\A(?!.*{text})")

    def quit(self) -> None:
        self.command("q!")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A program's folder, as Maven lays it out."""
    folder = tmp_path / "project"
    (folder / NAME).parent.mkdir(parents=True)
    shutil.copy(SOURCE, folder / NAME)
    (folder / "target").mkdir()
    shutil.copytree(compiler.classes("Debugged"), folder / "target" / "classes")
    return folder


_NO_NEOVIM = pytest.mark.skipif(
    shutil.which("nvim") is None or "NVIM_DAP" not in os.environ,
    reason="no Neovim, or NVIM_DAP does not name the folder of nvim-dap, of GitHub",
)
_NO_HELIX = pytest.mark.skipif(shutil.which("hx") is None, reason="no Helix: no hx on PATH")


@pytest.fixture(
    params=[pytest.param(Neovim, marks=_NO_NEOVIM), pytest.param(Helix, marks=_NO_HELIX)]
)
def editor(
    request: pytest.FixtureRequest, tmp_path: Path, project: Path, jvm: Jvm
) -> Iterator[Neovim | Helix]:
    """An editor at the line of a breakpoint."""
    folders = [Path(sys.executable).parent, Path(jvm.java).parent]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    environment = {**kept, "HOME": str(tmp_path), "PATH": path, "LANG": "C.UTF-8"}
    made = request.param(tmp_path, project, environment)
    with made.screen:
        made.begin()
        yield made
        made.quit()
        made.screen.end()


def debug(editor: Neovim | Helix) -> None:
    """Look at the variables of a stop, step, and let the thread go to the next stop."""
    editor.stopped("int gross")
    shown = {name: int(value) for name, value in editor.variables().items()}
    assert shown["net"] == 100 * shown["count"] > 0
    editor.evaluate()
    editor.over()
    editor.stopped("return gross")
    editor.go_on()
    editor.stopped("int gross")


def test_a_program_that_runs_is_debugged_and_runs_on(
    editor: Neovim | Helix, java_program: JavaPrograms
) -> None:
    """The editor attaches to it while it runs, and leaves it."""
    program = java_program("Debugged")
    program.expect("ready")
    editor.attach(program.pid)
    debug(editor)
    editor.leave()
    seen = len(program.lines)
    while len(program.lines) < seen + 2:
        program.read_line()


def test_a_program_that_is_launched_ends_with_its_session(
    editor: Neovim | Helix, project: Path
) -> None:
    """It waits for the editor's breakpoints, and is no more when the editor ends the session."""
    editor.launch()
    debug(editor)
    classes = str(project / "target" / "classes")
    assert _runs(classes)
    editor.end()
    until = time.monotonic() + SOON
    while _runs(classes):
        assert time.monotonic() < until, "the program goes on"
        time.sleep(0.1)


def _runs(word: str) -> bool:
    """Whether a process has the word in its command line."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in file.read_text(errors="replace").split("\0"):
                return True
        except OSError:
            continue  # it has ended
    return False
