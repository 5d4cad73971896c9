"""Debugs a database with real editors under a virtual screen, and takes a picture of each.

apt-get install xvfb xdotool imagemagick openbox fonts-dejavu-core
apt-get install emacs-lucid elpa-dap-mode    # for emacs
apt-get install kate                         # for kate
apt-get install xterm                        # for neovim and helix, with nvim and hx on PATH
apt-get install chromium; npm install code-server@4.96.4 playwright-core  # for vscode
export CODE_SERVER=node_modules NVIM_DAP=…/nvim-dap
python tests/editors/pictures.py emacs kate vscode neovim helix --to docs/images

Each editor has the configuration of its page, and keys are pressed. It attaches to H2, a database
that nobody here wrote, while it runs; a breakpoint stops a query, its variables are shown, and it
is stepped and goes on. The messages between editor and adapter have to say so, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "scripts")]

import compiler  # noqa: E402
import jars  # noqa: E402
import jvms  # noqa: E402
import vscode_extension  # noqa: E402
from editors.configurations import configuration  # noqa: E402

SOURCE = "org/h2/command/query/Select.java"
LINE = 775
"""`int columnCount = expressions.size();`, in a method of that file which each query calls."""
SIZE = "1200x800"
PATIENCE = 180.0
"""Seconds for what an editor does at once on an idle machine."""

# Keeps what goes through `jvmti debug`, in both directions, and lists the picture's program alone.
RECORDER = """#!/bin/sh
[ "$1" = ps ] && exec {jvmti} ps | grep -E "^ *(PID|$SUBJECT) "
exec {python} {recorder} {log} {jvmti} "$@"
"""


class Scene:
    """A program that waits to be debugged, and a screen.

    Attributes:
        home: the editor's home directory.
        source: the file with the breakpoint.
        project: its folder.
        pid: the program.
    """

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.project = directory / "h2"
        self.source = self.project / SOURCE
        self._log = directory / "messages"
        self._screen: dict[str, str] = {}
        jar, sources = jars.with_sources(jars.DATABASE)
        with zipfile.ZipFile(sources) as archive:
            archive.extractall(self.project)
        (self.home / "bin").mkdir(parents=True)
        recorder = self.home / "bin" / "jvmti"
        jvmti = Path(sys.executable).with_name("jvmti")
        recorder.write_text(
            RECORDER.format(
                python=sys.executable,
                recorder=Path(__file__).with_name("recorder.py"),
                log=self._log,
                jvmti=jvmti,
            )
        )
        recorder.chmod(0o755)
        path = f"{self._with_names(jar, directory)}:{jar}:{compiler.classes('Querying')}"
        command = [jvms.named("25").java, "-cp", path, "Querying", "jdbc:h2:mem:orders", "1", "9"]
        self.program = subprocess.Popen(
            [*map(str, command), "hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.program.stdout is not None
        assert self.program.stdout.readline() == b"ready\n"

    def _with_names(self, jar: Path, directory: Path) -> Path:
        """The class with the breakpoint once more: H2's own jar has no names of variables."""
        home = compiler.javac_home(11)
        assert home is not None, "there is no javac"
        to = directory / "classes"
        command = [home / "bin" / "javac", "-g", "-nowarn", "-cp", jar, "-d", to, self.source]
        subprocess.run(list(map(str, command)), check=True)
        return to

    @property
    def pid(self) -> int:
        return self.program.pid

    def go(self) -> None:
        """Let the program begin with its queries."""
        assert self.program.stdin is not None
        self.program.stdin.write(b"\n")
        self.program.stdin.flush()

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        own = {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "SUBJECT": str(self.pid)}
        return {**kept, **self._screen, **own}

    @contextlib.contextmanager
    def screen(self) -> Iterator[None]:
        """A screen with a window manager."""
        read, write = os.pipe()
        words = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{SIZE}x24", "-nolisten", "tcp"]
        words.append("-noreset")  # when its first client goes before the second comes
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(words, pass_fds=[write], **quiet) as server:  # type: ignore[call-overload]
            os.close(write)
            with os.fdopen(read) as number:
                self._screen = {"DISPLAY": f":{number.readline().strip()}"}
            manager = subprocess.Popen(["openbox"], env=self.environment, **quiet)  # type: ignore[call-overload]
            try:
                # A window that comes before it is never shown.
                self.until("window manager", lambda: bool(self.xdotool("get_num_desktops")))
                yield
            finally:
                manager.terminate()
                manager.wait()
                server.terminate()

    @contextlib.contextmanager
    def editor(self, *command: str) -> Iterator[None]:
        """An editor, which ends with the block."""
        editor = subprocess.Popen(command, env=self.environment, cwd=self.project)
        try:
            yield
        finally:
            editor.terminate()
            editor.wait()

    def xdotool(self, *words: str) -> str:
        done = subprocess.run(
            ["xdotool", *words], env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def keys(self, *keys: str, pause: float = 0.7) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.xdotool("key", "--clearmodifiers", key)
            time.sleep(pause)

    def type(self, text: str) -> None:
        self.xdotool("type", "--delay", "30", text)
        time.sleep(0.5)

    def line(self, text: str) -> None:
        self.type(text)
        self.keys("Return")

    def terminal(self, *command: str) -> contextlib.AbstractContextManager[None]:
        """An editor in a terminal, as large as the screen."""
        look = ["-fa", "DejaVu Sans Mono", "-fs", "11", "-bg", "white", "-fg", "black", "+sb"]
        return self.editor("xterm", *look, "-T", "terminal", "-e", *command)

    def click(self, x: int, y: int) -> None:
        self.xdotool("mousemove", str(x), str(y), "click", "1")
        time.sleep(1)

    def window(self, name: str) -> None:
        """Wait for a window with a name, make it as large as the screen, and give it the keys."""
        self.until(
            f"window {name}", lambda: bool(self.xdotool("search", "--onlyvisible", "--name", name))
        )
        number = self.xdotool("search", "--onlyvisible", "--name", name).split()[0]
        width, height = SIZE.split("x")
        self.xdotool("windowsize", number, width, height)
        self.xdotool("windowmove", number, "0", "0")
        self.xdotool("windowactivate", number)
        time.sleep(2)

    def picture(self, to: Path) -> None:
        """Keep what the screen shows, with few colours."""
        # Without dithering, which makes a small picture large.
        few = ["+dither", "-colors", "32", f"png8:{to}"]
        command = ["import", "-window", "root", *few]
        subprocess.run(command, env=self.environment, check=True)

    def reduce(self, picture: Path) -> None:
        """Leave few colours in a picture, without dithering, which makes a small one large."""
        few = ["+dither", "-colors", "24", f"png8:{picture}"]
        subprocess.run(["convert", str(picture), *few], check=True)

    def until(self, what: str, test: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not test():
            if time.monotonic() > end:
                self.picture(Path(tempfile.gettempdir()) / "failed.png")
                raise SystemExit(f"it did not happen: {what}; {self.messages()[-3:]}")
            time.sleep(0.2)

    def messages(self) -> list[dict[str, object]]:
        """What client and adapter have said."""
        if not self._log.exists():
            return []
        lines = self._log.read_text().split("\n")[:-1]
        return [json.loads(one) for one in lines]

    def count(self, kind: str, name: str) -> int:
        """How many messages there were of a kind and name."""
        key = "event" if kind == "event" else "command"
        return sum(one["type"] == kind and one.get(key) == name for one in self.messages())

    def wait(self, kind: str, name: str, count: int = 1) -> None:
        """Wait until so many of these messages were there."""
        self.until(f"{count} {kind} {name}", lambda: self.count(kind, name) >= count)
        time.sleep(2)  # and is on the screen


def emacs(scene: Scene, to: Path) -> None:
    """Emacs with dap-mode: a user's commands."""
    settings = scene.home / ".emacs.d"
    settings.mkdir()
    (settings / "init.el").write_text(
        "(setq inhibit-startup-screen t make-backup-files nil create-lockfiles nil)\n"
        "(menu-bar-mode -1)\n(tool-bar-mode -1)\n(package-initialize)\n"
        # Debian's dap-mode is without the pictures of its buttons.
        "(setq dap-auto-configure-features '(sessions locals breakpoints))\n"
        + configuration("emacs", "jvmti.el")
        + "\n(dap-auto-configure-mode)\n"
    )
    with scene.editor("emacs", f"+{LINE}", str(scene.source)):
        scene.window("Select.java")

        def call(name: str) -> None:
            scene.keys("alt+x")
            scene.type(name)
            scene.keys("Return")

        call("dap-breakpoint-toggle")
        call("jvmti-attach")
        scene.type(str(scene.pid))
        scene.keys("Return")
        scene.wait("response", "configurationDone")
        scene.go()
        scene.wait("event", "stopped")
        scene.wait("response", "variables")
        scene.picture(to)
        call("dap-next")
        scene.wait("event", "stopped", 2)
        call("dap-breakpoint-delete-all")
        call("dap-continue")
        scene.wait("event", "terminated")


CONTINUE = 912, 38
"""Where Kate has the button, in a window of this size."""


def kate(scene: Scene, to: Path) -> None:
    """Kate with its plug-in for debuggers: keys, and a session as Kate writes it."""
    settings = scene.home / ".config" / "kate"
    for folder in ("gdbplugin", "debugger"):  # of this version and of later ones
        (settings / folder).mkdir(parents=True)
        (settings / folder / "dap.json").write_text(configuration("kate", "dap.json"))
    target = {
        "target": "H2",
        "debuggerKey": "jvmti",
        "debuggerProfile": "attach (pid)",
        "variables": {"workdir": str(scene.project), "pid": scene.pid},
    }
    session = f"""\
[Kate Plugins]
kategdbplugin=true
lspclientplugin=false

[MainWindow0]
Kate-MDI-ToolView-Debug View-Visible=true
Kate-MDI-ToolView-Locals and Stack-Visible=true
Kate-MDI-H-Splitter=0,700,430
Kate-MDI-V-Splitter=0,500,220

[Open MainWindows]
Count=1

[Plugin:kategdbplugin:MainWindow:0]
version=5
targetCount=1
lastTarget=0
target_0={json.dumps(target)}
"""
    sessions = scene.home / ".local" / "share" / "kate" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "h2.katesession").write_text(session)
    kate = ["kate", "--start", "h2", "--line", str(LINE), str(scene.source)]
    with scene.editor("dbus-run-session", "--", *kate):
        scene.window("Select.java|Kate")
        scene.keys("ctrl+F7")
        scene.wait("event", "initialized")
        scene.keys("shift+F11")
        scene.wait("response", "setBreakpoints")
        # Kate's key for it is the one that has begun, and Kate calls that ambiguous.
        scene.click(*CONTINUE)
        scene.wait("response", "configurationDone")
        scene.go()
        scene.wait("event", "stopped")
        scene.wait("response", "variables")
        scene.picture(to)
        scene.keys("F9")
        scene.wait("event", "stopped", 2)
        scene.click(*CONTINUE)
        scene.wait("response", "continue")


def vscode(scene: Scene, to: Path) -> None:
    """VS Code in a browser, from code-server, with the extension and its list of processes."""
    place = Path(os.environ["CODE_SERVER"])
    settings = scene.project / ".vscode"
    settings.mkdir()
    (settings / "launch.json").write_text(configuration("vscode", ".vscode/launch.json"))
    # The extension runs where the project is, with a path of its own.
    command = {"jvmti.command": str(scene.home / "bin" / "jvmti")}
    (settings / "settings.json").write_text(json.dumps(command))
    user = scene.home / ".local" / "share" / "code-server" / "User"
    user.mkdir(parents=True)
    quiet = {
        "workbench.startupEditor": "none",
        "workbench.colorTheme": "Default Light Modern",
        "security.workspace.trust.enabled": False,
        "editor.minimap.enabled": False,
        "window.commandCenter": False,
    }
    (user / "settings.json").write_text(json.dumps(quiet))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = ["node", str(place / "code-server" / "out" / "node" / "entry.js"), "--auth", "none"]
    extension = str(vscode_extension.packed(jvms.ROOT / "build" / "vscode"))
    subprocess.run([*server, "--install-extension", extension], env=scene.environment, check=True)
    with scene.editor(*server, "--bind-addr", address, "--disable-telemetry"):
        scene.until("code-server", lambda: _listens(address))
        driver = str(Path(__file__).with_name("browser.js"))
        opened = json.dumps([["openFile", f"vscode-remote://{address}{scene.source}"]])
        query = urllib.parse.urlencode({"folder": str(scene.project), "payload": opened})
        folder = f"http://{address}/?{query}"
        words = ["node", driver, str(place / "playwright-core"), folder, *SIZE.split("x")]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as browser:
            assert browser.stdin is not None
            assert browser.stdout is not None
            assert browser.stdout.readline() == "done\n"

            def do(what: str, text: str) -> None:
                assert browser.stdin is not None
                assert browser.stdout is not None
                print(json.dumps([what, text]), file=browser.stdin, flush=True)
                assert browser.stdout.readline() == "done\n", (what, text)

            do("wait", "Copyright 2004")
            time.sleep(5)
            do("press", "Control+g")
            do("type", str(LINE))
            do("press", "Enter")
            do("wait", "columnCount")
            do("press", "F9")
            do("press", "F5")
            do("wait", "the youngest is first")
            do("type", str(scene.pid))
            do("press", "Enter")
            scene.wait("response", "configurationDone")
            scene.go()
            scene.wait("event", "stopped")
            scene.wait("response", "variables")
            time.sleep(3)
            do("picture", str(to))
            scene.reduce(to)
            do("press", "F10")
            scene.wait("event", "stopped", 2)
            do("press", "F9")
            do("press", "F5")
            scene.wait("response", "continue")


def neovim(scene: Scene, to: Path) -> None:
    """Neovim with nvim-dap, whose folder NVIM_DAP names: the commands of its page."""
    settings = scene.home / ".config" / "nvim"
    plugins = settings / "pack" / "plugins" / "start"
    plugins.mkdir(parents=True)
    (plugins / "nvim-dap").symlink_to(Path(os.environ["NVIM_DAP"]).resolve())
    (settings / "after" / "plugin").mkdir(parents=True)
    (settings / "after" / "plugin" / "jvmti.lua").write_text(configuration("neovim", "jvmti.lua"))
    (settings / "init.lua").write_text("vim.o.background = 'light'\nvim.o.number = true\n")
    with scene.terminal("nvim", f"+{LINE}", str(scene.source)):
        scene.window("terminal")
        scene.line(":DapToggleBreakpoint")
        scene.line(":DapContinue")
        scene.line("1")  # attach
        time.sleep(3)  # until the programs are listed
        scene.line("1")  # the only one
        scene.wait("response", "configurationDone")
        scene.go()
        scene.wait("event", "stopped")
        scene.line(':lua w = require("dap.ui.widgets"); s = w.sidebar(w.scopes); s.open()')
        scene.line(":DapToggleRepl")
        scene.keys("ctrl+w", "j", "i")
        scene.line("expressions.size() + expressions.get(0).getSQL(0)")
        scene.wait("response", "evaluate")
        scene.keys("Escape")
        scene.line(":resize 8")
        scene.picture(to)
        scene.line(":DapToggleRepl")
        scene.line(":DapStepOver")
        scene.wait("event", "stopped", 2)
        scene.line(':lua require("dap").clear_breakpoints()')
        scene.line(":DapContinue")
        scene.wait("event", "terminated")


def helix(scene: Scene, to: Path) -> None:
    """Helix, by the keys of its page."""
    settings = scene.home / ".config" / "helix"
    settings.mkdir(parents=True)
    (settings / "languages.toml").write_text(configuration("helix", "languages.toml"))
    (settings / "config.toml").write_text('theme = "onelight"\neditor.true-color = true\n')
    with scene.terminal("hx", f"{scene.source}:{LINE}"):
        scene.window("terminal")
        scene.keys("space", "G", "b", "l", "Return")
        scene.line(str(scene.pid))
        scene.wait("response", "configurationDone")
        scene.go()
        scene.wait("event", "stopped")
        scene.keys("v")
        scene.wait("response", "variables")
        scene.picture(to)
        scene.keys("Escape", "space", "G", "b", "n")
        scene.wait("event", "stopped", 2)
        scene.keys("c")
        scene.wait("event", "terminated")


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.socket() as asked:
        return asked.connect_ex((host, int(port))) == 0


EDITORS = {"emacs": emacs, "kate": kate, "vscode": vscode, "neovim": neovim, "helix": helix}


def main() -> None:
    """Take the pictures that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editors", nargs="+", choices=EDITORS)
    parser.add_argument("--to", type=Path, default=jvms.ROOT / "docs" / "images")
    chosen = parser.parse_args()
    for name in chosen.editors:
        directory = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        scene = Scene(directory)
        try:
            with scene.screen():
                EDITORS[name](scene, chosen.to / f"{name}.png")
            scene.program.wait(PATIENCE)
            asked = [str(one["command"]) for one in scene.messages() if one["type"] == "request"]
            print(f"{name}: {', '.join(asked)}", flush=True)
        finally:
            scene.program.kill()
            scene.program.wait()
            shutil.rmtree(directory)


if __name__ == "__main__":
    main()
