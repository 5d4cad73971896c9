"""Every command line of the documentation is executed as it stands on its page.

A shell executes it, or the test itself where a shell would only split it into words: that saves a
Python that starts and imports the package.  Pages that are followed step by step have their own
test (`test_documentation`).  The lines of the others find what they name: programs that run, dumps,
scripts and jars.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import command_line
import compiler
import jvms
import jvmti
import prepared
import programs
from command_line import here
from pages.test_documentation import STEP_BY_STEP

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.newest,
    pytest.mark.slow,
    pytest.mark.timeout(300),
]

PAGES = [
    page
    for page in [jvms.ROOT / "README.md", *sorted((jvms.ROOT / "docs").rglob("*.md"))]
    if page not in STEP_BY_STEP and "reference" not in page.parts
]
FENCED = re.compile(r"^```.*?^```", re.M | re.S)
IN_A_FENCE = re.compile(r"^(?:\$ )?((?:export |eval |JAVA_TOOL_OPTIONS=|jvmti ).*)$", re.M)
IN_A_SENTENCE = re.compile(r"`(jvmti [a-z][^`]*)`")

TARGETS = (
    "MyServer",
    "4711",
    "Server",
    "Workload",
    "SparkSubmit",
    "Till",
    "Booth",
    "Report",
    "Querying",
)
"""What the documentation calls programs that run."""
SHOWN_ELSEWHERE = {"jvmti channel": "the name of threads of the agent, no command"}
"""Text that looks like a command line and is none."""
FOR_EVER = re.compile(
    r"--watch|jvmti attach|Workload|stay|"
    r"jvmti top (?!.*--(?:once|duration))|"
    r"jvmti (?:events|trace|logpoint|change) (?!.*--(?:duration|count|times))"
)
"""Lines that go on until Ctrl-C."""
FOR_A_SHELL = re.compile(r"[][$`|&;<>(){}*?~]")
"""Lines that need a shell: what is in single quotes or a comment is not looked at."""
ON_ITS_OWN = re.compile(r"jvmti (?:attach|debug|run|shell)\b")
"""Lines that need a process of their own, as those do that go on until Ctrl-C."""
LOOK = 2
"""Seconds until Ctrl-C comes, and that a line goes on which names more."""


@dataclass(frozen=True)
class Line:
    """A command line, and the page that has it, or the last of them."""

    page: str
    text: str


def is_synopsis(text: str) -> bool:
    """Whether the text shows what can be written, rather than what is."""
    return bool(re.search(r"\[options\]|\((?:\w+ \| )+\w+\)|\bVERB\b", text))


def lines_of(page: Path) -> Iterator[Line]:
    """Every command line of a page, once."""
    text = page.read_text()
    found = [line for fence in FENCED.findall(text) for line in IN_A_FENCE.findall(fence)]
    found = [line for line in found if "jvmti" in line]
    found += IN_A_SENTENCE.findall(FENCED.sub("", text))
    name = str(page.relative_to(jvms.ROOT))
    for line in dict.fromkeys(" ".join(one.split()) for one in found):
        if not is_synopsis(line) and line not in SHOWN_ELSEWHERE:
            yield Line(name, line)


LINES = list({line.text: line for page in PAGES for line in lines_of(page)}.values())


@pytest.fixture(scope="module")
def server(shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    """The program that the lines look into, able to do what the documentation shows."""
    options = jvmti.AgentOptions(reserve=())
    program = shared_java_program(
        "com.acme.Server", env={"JAVA_TOOL_OPTIONS": jvmti.java_tool_options(options)}
    )
    program.expect("ready", timeout=60)
    return program


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="module")
def there(
    server: programs.JavaProgram, jvm: jvms.Jvm, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A directory in which everything is that the lines name."""
    there = tmp_path_factory.mktemp("documented")
    commands = there / "bin"
    commands.mkdir()
    script(commands / "jvmti", f'#!/bin/sh\nexec {sys.executable} -m jvmti "$@"\n')
    script(commands / "java", f'#!/bin/sh\nexec {jvm.java} {" ".join(jvm.args)} "$@"\n')
    script(there / "start-server.sh", "#!/bin/sh\nexec java -jar app.jar </dev/null\n")
    idle = f"{jvm.java} {' '.join(jvm.args)} -cp classes Idle </dev/null\n"
    for path in (there / "build.sh", commands / "spark-submit"):
        script(path, f"#!/bin/sh\n{idle}{idle}")
    classes = there / "classes"
    for name in ("Workload", "Deadlock", "Idle", "com.acme.Server"):
        shutil.copytree(compiler.classes(name), classes, dirs_exist_ok=True)
    with zipfile.ZipFile(there / "app.jar", "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Main-Class: com.acme.Server\n")
        for file in (classes / "com").rglob("*.class"):
            archive.write(file, file.relative_to(classes))
    agent = "def agent_onload(vm, options):\n    pass\n\n\nagent_onattach = agent_onload\n"
    for name in ("agent.py", "one.py", "two.py", "thrown.py", "out_of_bread.py"):
        (there / name).write_text(agent)
    (there / "look.py").write_text("print(len(vm.threads))\n")
    (there / "examples").symlink_to(jvms.ROOT / "examples")
    (there / "hprof.py").symlink_to(jvms.ROOT / "examples" / "agents" / "hprof.py")
    (there / ".config" / "fish" / "completions").mkdir(parents=True)
    with jvmti.attach(server.pid, timeout=60) as vm:
        vm.heap.snapshot().save(there / "dump.hprof")
        with vm.profile("cpu") as profile:
            time.sleep(0.5)
        for name in ("before", "after"):
            profile.save(there / f"{name}.parquet")
    shutil.copy(there / "dump.hprof", there / "spark.hprof")
    return there


def as_executed(line: str, pid: int) -> str:
    """The line with the process id in place of the name of the program that runs, for a while."""
    line = line.replace("h2.jar org.h2.tools.Server", "app.jar com.acme.Server")
    own, dashes, started = line.partition(" -- ")
    own = re.sub(rf"(?<![\w/.'*-])(?:{'|'.join(TARGETS)})(?![\w.])", str(pid), own)
    own = re.sub(r"\bTARGET\b", str(pid), own)
    started = started.replace("java …", "java -cp classes Idle").replace(
        "java -cp classes Orders", "java -cp classes com.acme.Server"
    )
    own = re.sub(r"--duration \d+", f"--duration {LOOK}", own)
    # Of short requests, and few of them where others have the processor.
    own = own.replace(" --by request", " --by request --interval 1ms")
    return own + dashes + started


def completed(line: str, pid: int) -> str:
    """The same for one that a sentence has cut short: `jvmti info` is of some program."""
    words = line.split()
    bare = ("attach", "conformance", "doctor", "info", "locks", "threads", "shell", "events")
    if len(words) == 2 and words[1] in bare:
        return f"{line} {pid}" + (" agent.py" if words[1] == "attach" else "")
    if words[1:2] == ["heap"] and len(words) <= 3:
        rest = {"query": "'len(snapshot)'", "dump": "again.hprof", "report": "-o again.html"}
        verb = words[2] if len(words) == 3 else "summary"
        return f"jvmti heap {verb} {pid} {rest.get(verb, '')}"
    cut_short = re.fullmatch(r"jvmti (?:events|threads) ('[^']*'|[A-Z]\w+|--\w+)(?: --\w+)*", line)
    if cut_short and cut_short[1] not in TARGETS:
        return line.replace(words[1], f"{words[1]} {pid}", 1)
    return {
        "jvmti trace": f"jvmti trace {pid} 'com.acme.*.*' --duration 1",
        "jvmti change": f"jvmti change {pid} com.acme.Order.add --return 1 --times 1",
        "jvmti logpoint": f"jvmti logpoint {pid} com.acme.Order:42 'n={{n}}' --count 1",
        "jvmti profile": f"jvmti profile {pid} --duration 1",
        "jvmti top": f"jvmti top {pid} --once",
        "jvmti run": "jvmti run agent.py -- java -cp classes Idle",
        "jvmti agent-options": "jvmti agent-options --reserve",
        "jvmti doctor --attach": f"jvmti doctor --attach {pid}",
    }.get(line, line)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.page}: {line.text}"[:100])
def test_a_command_line_does_what_it_says(
    line: Line, there: Path, server: programs.JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = as_executed(completed(line.text, server.pid), server.pid)
    for made in (
        "report.html",
        "flame.html",
        "orders.parquet",
        "calls.parquet",
        "calls.json",
        "spark.html",
        "again.html",
        "again.hprof",
    ):
        (there / made).unlink(missing_ok=True)
    for made in ("tables", "agents"):
        shutil.rmtree(there / made, ignore_errors=True)
    if line.text.startswith("jvmti heap dump"):
        for made in ("spark.hprof", "till.hprof"):
            (there / made).unlink(missing_ok=True)
    bare = re.sub(r"'[^']*'| #.*", "", text)
    is_command = bare.startswith("jvmti ") and not FOR_A_SHELL.search(bare)
    if is_command and not FOR_EVER.search(text) and not ON_ITS_OWN.search(text):
        monkeypatch.chdir(there)
        run = here(*shlex.split(text, comments=True)[1:])
        assert run.returncode == 0, f"{text}: status {run.returncode}\n{run.stderr}{run.stdout}"
        assert "Traceback" not in run.stderr, run.stderr
        assert server.running(), server.crash()
        return
    environment = {
        name: value for name, value in os.environ.items() if name not in programs.VARIABLES
    }
    environment |= {"PATH": f"{there / 'bin'}:{environment['PATH']}", "HOME": str(there)}
    shell = next((one for one in ("bash", "zsh") if f"completion {one}" in text), "sh")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    if shell == "zsh":
        text = f"autoload -U compinit && compinit -D && {text}"
    further: dict[str, Any] = {"cwd": there, "env": environment, "text": True}
    further |= {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if is_command:
        words = ["-m", *shlex.split(text, comments=True)]
        started: subprocess.Popen[str] = prepared.Prepared(
            words, command_line.imports(), own_group=True, **further
        )
    else:
        started = subprocess.Popen([shell, "-c", text], **programs.OWN_GROUP, **further)
    ended = False
    try:
        out, err = started.communicate(timeout=LOOK if FOR_EVER.search(text) else 120)
    except subprocess.TimeoutExpired:
        assert FOR_EVER.search(text), f"{text} goes on for ever"
        ended = True
        os.killpg(started.pid, signal.SIGINT)
        out, err = started.communicate(timeout=60)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        for pipe in (started.stdout, started.stderr):
            if pipe:
                pipe.close()  # left open, they fail a later test
    output = f"{text}: status {started.returncode}\n{err}{out}"
    assert "Traceback" not in err, output
    assert started.returncode in ((0, 130, -signal.SIGINT) if ended else (0,)), output
    assert server.running(), server.crash()


def test_every_kind_of_page_has_lines() -> None:
    assert {line.page for line in LINES} >= {"README.md", "docs/commands.md", "docs/heap_dumps.md"}
    assert len(LINES) > 60
