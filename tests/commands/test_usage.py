"""The command line itself: what it imports, how it fails, and what completes it."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest

import jvms
from command_line import here, run
from jvmti.commands import VERBS, command, main, prepare
from jvmti.commands.agents.examples import examples
from jvmti.commands.heap import VERBS as HEAP_VERBS
from jvmti.commands.heap import verb_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.newest


@pytest.fixture(scope="module")
def idle(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Idle")
    program.expect("ready")
    return program


def run_here(capsys: pytest.CaptureFixture[str], *words: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, for what starts nothing and is over at once."""
    try:
        code = main(list(words))
    except SystemExit as end:
        code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, *capsys.readouterr())


# what is imported --------------------------------------------------------------------------


HEAVY = {"numpy", "rich", "pyarrow", "IPython", "asyncio"}


def imported_by(*words: str) -> set[str]:
    """The modules that a command imports in a process of its own."""
    program = (
        "import sys; sys.argv = ['jvmti', *sys.argv[1:]]\n"
        "from jvmti.commands import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('MODULES', *sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("MODULES ")[2].split())


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["evnts"], []])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    imported = imported_by(*words)
    ours = {name for name in imported if name.split(".")[0] == "jvmti"}
    assert not HEAVY & imported
    # One more module of ours is a mistake that the next one follows.
    assert ours <= {
        "jvmti",
        "jvmti.display",
        "jvmti.reexports",
        "jvmti.commands",
        "jvmti.commands.failure",
        "jvmti.commands.parsing",
        "jvmti.interruption",
    }


WITH_NUMBERS = {"events", "conformance"}
"""Verbs whose options are about columns, constants or functions; they import NumPy for them."""


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in WITH_NUMBERS])
def test_help_of_a_verb_imports_nothing_heavy(verb: str) -> None:
    imported = imported_by(verb, "--help")
    assert not HEAVY & imported


@pytest.mark.parametrize("verb", VERBS)
def test_the_overview_says_of_a_verb_what_the_verb_says_of_itself(verb: str) -> None:
    first = (type(command(verb)).__doc__ or "").splitlines()[0]
    assert first == f"{VERBS[verb]}."


@pytest.mark.parametrize("verb", HEAP_VERBS)
def test_the_overview_of_the_heap_says_of_a_verb_what_the_verb_says_of_itself(verb: str) -> None:
    first = (type(verb_command(verb)).__doc__ or "").splitlines()[0]
    assert first == f"{HEAP_VERBS[verb]}."


@pytest.mark.parametrize(
    ("line", "name", "values"),
    [
        ("trace Shop a.B.* --duration 1 a.C.* --summary", "patterns", ["a.B.*", "a.C.*"]),
        ("events Shop --duration 1 Exception", "events", ["Exception"]),
        ("attach Shop --timeout 1 agent.py", "scripts", ["agent.py"]),
        ("profile diff --json a.parquet b.parquet", "files", ["a.parquet", "b.parquet"]),
        ("heap diff a.hprof --json b.hprof", "later", "b.hprof"),
        ("heap histogram a.hprof --top 3 java.*", "patterns", ["java.*"]),
    ],
)
def test_options_may_stand_between_the_words(line: str, name: str, values: list[str]) -> None:
    given, unknown = prepare(line.split()).parse_known_args(line.split())
    assert (getattr(given, name), unknown) == (values, [])
    assert given.target in ("Shop", "diff", "a.hprof")


def test_a_mistyped_option_is_the_mistake_and_not_the_word_after_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = run_here(capsys, "trace", "Shop", "--sumary", "a.B.*")
    assert done.stderr.startswith("jvmti trace: there is no option '--sumary'; did you mean")


@pytest.mark.parametrize("module", ["argparse", "numpy", "jvmti.model.vm"])
def test_ctrl_c_while_modules_are_imported_ends_the_command(module: str, tmp_path: Path) -> None:
    # It comes as soon as the module is looked for.
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *more):\n"
        f"        if name == {module!r} and sys.argv[-1] == '--help':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "jvmti", "heap", "histogram", "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The options of a command and of its verbs."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from options(verb)
        elif action.option_strings:
            yield action


def test_a_time_has_one_name_whichever_verb_takes_it() -> None:
    meanings = {
        "--timeout": "until a session, or what is asked of it, is there",
        "--start-timeout": "until agents have started",
        "--unload-timeout": "until agents have ended",
        "--delay": "how long a program that we start runs before the command looks",
        "--duration": "for how long a JVM is watched",
        "--interval": "between two samples",
        "--watch": "between two pictures",
        "--max-pause": "how long the program may stand still",
        "--min-duration": "how long an event must have lasted",
    }
    names = [
        name
        for option in options(prepare())
        if option.metavar == "SECONDS"
        for name in option.option_strings
    ]
    # A further one needs a reason why none of these is it.
    assert set(names) == set(meanings)


# how it fails ------------------------------------------------------------------------------


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that fails says, without its usage."""
    assert "Traceback" not in done.stderr, done.stderr
    said, _, usage = done.stderr.partition("usage: ")
    assert len(said.splitlines()) == 1, done.stderr
    assert said.startswith("jvmti")
    if usage:
        assert usage.startswith(said.partition(":")[0]), "the usage of another command"
    return said.strip()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evnts"], "there is no command 'evnts'; did you mean 'events'?"),
        (["lock"], "did you mean 'locks'"),
        (["heap", "histgram"], "there is no verb 'histgram'; did you mean 'histogram'?"),
        (["events", "--sumary", "1"], "there is no option '--sumary'; did you mean '--summary'"),
        (["conformance", "1", "--interface", "jvmto"], "did you mean 'jvmti'?"),
        (["ps", "Main"], "unexpected argument 'Main'"),
        (["--vresion"], "did you mean '--version'?"),
        (["run", "a.py", "java", "App"], "-- is missing before the program: jvmti run a.py -- ja"),
        (["run", "a.py", "/opt/jdk/bin/java", "-jar", "app.jar"], "jvmti run a.py -- /opt/jdk/b"),
        (["events", "Exception", "java", "-jar", "a.jar"], "jvmti events Exception -- java -jar a"),
        (["examples", "mtrase"], "did you mean 'mtrace'"),
        (["completion", "tcsh"], "there is no shell 'tcsh'"),
    ],
)
def test_a_typing_error_gets_a_suggestion(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_here(capsys, *words)
    assert done.returncode == 2, done.stderr
    assert said in one_sentence(done)


@pytest.mark.parametrize(
    "words", [*([verb] for verb in VERBS), *(["heap", verb] for verb in HEAP_VERBS)], ids=" ".join
)
def test_every_verb_says_in_its_own_usage_that_an_option_is_unknown(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_here(capsys, *words, "--no-such-option")
    assert done.returncode == 2
    assert one_sentence(done).startswith(f"jvmti {' '.join(words)}: ")


REFUSED = {
    "a capability that cannot be had": "vm.env.add_capabilities({'can_pop_frame'})",
    "a capability that is missing": "vm.env.get_tag(vm.find_class('java.lang.String'))",
    "a class that is not there": "vm.find_class('no.such.Class')",
    "a thread that is not there": "vm.threads['no such thread']",
    "an exception of Java's": "vm.find_class('java.lang.Integer').call('parseInt', 'x')",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_what_the_jvm_refuses_to_code_on_the_command_line_is_a_sentence(
    idle: JavaProgram, source: str
) -> None:
    done = here("shell", idle.pid, "-c", source)
    assert done.returncode == 1
    assert one_sentence(done).startswith("jvmti: -c, line 1: ")


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_an_agent_that_is_refused_late_says_so_in_a_sentence(
    idle: JavaProgram, tmp_path: Path, source: str
) -> None:
    (tmp_path / "late.py").write_text(f"def agent_onattach(vm, options):\n    {source}\n")
    done = run("attach", idle.pid, "late.py", cwd=tmp_path)
    assert done.returncode == 1
    assert one_sentence(done).startswith("jvmti: late.py, line 2, in agent_onattach: ")


def test_a_mistake_of_the_script_itself_keeps_its_traceback(idle: JavaProgram) -> None:
    done = here("shell", idle.pid, "-c", "def f():\n    return {}['x']\nf()")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert 'File "-c", line 2, in f' in done.stderr


TIMES = {
    "--delay": "how long a program started by -- runs before",
    "--duration": "for how long to watch|end after this time|between the two dumps",
    "--interval": "between two samples",
    "--watch": "every 2 seconds",
    "--timeout": "time limit of attaching",
    "--start-timeout": "how long the .*start waits",
    "--unload-timeout": "waits .*agent_onunload",
    "--max-pause": "if the program would stop for longer",
    "--min-duration": "only events that took at least this long",
}
"""The options that are seconds, and what each of them means, whatever the verb."""


def test_a_time_has_one_name_whatever_the_verb() -> None:
    heap = {
        one: import_module(f"jvmti.commands.heap.{one.replace('-', '_')}").Command()
        for one in HEAP_VERBS
    }
    met: set[str] = set()
    for verb, its in {**{one: command(one) for one in VERBS}, **heap}.items():
        parser = argparse.ArgumentParser()
        its.prepare_parser(parser)
        for option in parser._actions:
            if option.metavar == "SECONDS":
                (name,) = option.option_strings
                assert re.search(TIMES.get(name, "^$"), str(option.help)), (verb, name)
                met.add(name)
    assert met == set(TIMES)


# jcmd --------------------------------------------------------------------------------------


def test_jcmd_runs_diagnostic_commands_without_an_agent(java_program: JavaPrograms) -> None:
    idle = java_program("Idle")
    idle.expect("ready")
    names = here("jcmd", idle.pid).stdout.split()
    assert {"GC.heap_info", "Thread.print", "VM.flags"} <= set(names)
    assert "java.lang.Object" in here("jcmd", idle.pid, "GC.class_histogram", "-all").stdout
    assert '"output": ' in here("jcmd", "--json", idle.pid, "VM.uptime").stdout
    done = here("jcmd", idle.pid, "GC.heap_inf")
    assert done.returncode == 2
    assert "did you mean 'GC.heap_info'" in one_sentence(done)
    assert "libjvmti" not in Path(f"/proc/{idle.pid}/maps").read_text()


# examples ----------------------------------------------------------------------------------


def test_examples_are_listed_printed_and_copied(tmp_path: Path) -> None:
    there = {path.stem for path in (jvms.ROOT / "examples" / "agents").glob("*.py")}
    assert set(examples()) == there
    listed = here("examples").stdout
    assert all(re.search(rf"^{name} +\w", listed, re.M) for name in there)
    source = (jvms.ROOT / "examples" / "agents" / "mtrace.py").read_text()
    assert here("examples", "mtrace").stdout == source
    assert Path(here("examples", "--path", "mtrace").stdout.strip()).read_text() == source
    assert run("examples", "--copy", "here", cwd=tmp_path).returncode == 0
    assert {path.stem for path in (tmp_path / "here").iterdir()} == there
    again = run("examples", "--copy", "here", "mtrace", cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in one_sentence(again)


# completion --------------------------------------------------------------------------------

COMPLETED = {
    "jvmti ev": "events",
    "jvmti heap hist": "histogram",
    "jvmti events --summ": "--summary",
    "jvmti heap histogram --sort co": "count",
    "jvmti conformance --interface jvm": "jvmti",
    "jvmti events 1 MonitorContendedEntere": "MonitorContendedEntered",
    "jvmti completion ba": "bash",
}


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        done = here("completion", shell)
        assert done.returncode == 0, done.stderr
        (directory / shell).write_text(done.stdout)
    return directory


def test_bash_completes(shells: Path) -> None:
    lines = [f"source {shells / 'bash'}"]
    for line in COMPLETED:
        words = line.split()
        lines += [f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; COMPREPLY=(); _jvmti"]
        lines += ['echo "${COMPREPLY[*]}"']
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == list(COMPLETED.values())


def test_fish_completes(shells: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("there is no fish here")
    lines = [f"source {shells / 'fish'}"]
    lines += [f"complete -C '{line}' | cut -f1; echo ." for line in COMPLETED]
    done = subprocess.run(
        ["fish", "--no-config", "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    assert [part.split() for part in done.stdout.split("\n.\n")[:-1]] == [
        [word] for word in COMPLETED.values()
    ]


def test_zsh_completes(shells: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("there is no zsh here")
    environment = {**os.environ, "TERM": "dumb", "PS1": "$ "}
    shell = pexpect.spawn("zsh", ["-f"], encoding="utf-8", env=environment, timeout=60)
    shell.sendline("autoload -Uz compinit; compinit -u -D")
    shell.sendline(f"source {shells / 'zsh'}")
    shell.sendline('show() { print -r -- "<$BUFFER>"; BUFFER=""; }; zle -N show')
    shell.sendline("bindkey '^X' show; print rea''dy")
    shell.expect("ready")
    for line, word in COMPLETED.items():
        shell.send(f"{line}\t\x18")
        shell.expect(r"<([^>]*)>")
        assert shell.match[1].rstrip() == f"{line.rpartition(' ')[0]} {word}"
    shell.close(force=True)


def test_targets_of_completion_are_the_jvms_that_run(idle: JavaProgram) -> None:
    assert f"{idle.pid}\tIdle" in here("completion", "--targets").stdout.splitlines()


_LOST = """
import _thread
import time
from jvmti.commands.sigterm import end_at_sigterm

class Dropped:
    def __del__(self):
        _thread.interrupt_main()
        for _ in range(10):
            pass
        print("not interrupted", flush=True)

end_at_sigterm()
try:
    Dropped()
    time.sleep(50)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_that_python_drops_comes_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOST], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.parametrize("words", [("profile", "--duration", "1"), ("top", "--once"), ("info",)])
def test_a_jvm_that_is_stopped_is_named_in_a_sentence(
    java_program: JavaPrograms, words: tuple[str, ...]
) -> None:
    program = java_program("Idle", jvm_args=["-Xmx32m"])
    program.expect("ready")
    os.kill(program.pid, signal.SIGSTOP)
    try:
        refused = here(*words, program.pid, "--timeout", 0.5)
    finally:
        os.kill(program.pid, signal.SIGCONT)
    assert refused.returncode == 4
    (line,) = refused.stderr.splitlines()
    assert line.startswith(f"jvmti: process {program.pid} is stopped")
