"""Agents that are Python files: by `jvmti run`, by the JVM's own options, by `jvmti attach`."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pytest

import jvmti
from jvmti.target.agent_library import own_library
from jvmti.target.hotspot import load_agent
from jvmti.target.options import AgentOptions
from jvmti.target.processes.search import inspect
from jvmti.target.tool_options import split_tool_options
from running import RECORDING, gone

if TYPE_CHECKING:
    from programs import JavaPrograms
    from running import Notes, Runner

pytestmark = pytest.mark.oldest_and_newest

ENDINGS = {"return": 0, "exit": 3, "halt": 4, "throw": 1}


def lines_of(program: subprocess.Popen[str], wanted: str) -> None:
    assert program.stdout is not None
    for line in program.stdout:
        if line.strip() == wanted:
            return
    raise AssertionError(f"{wanted!r} was not printed")


# the beginning and the end ---------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_script_is_loaded_before_the_vm_starts_and_unloaded_at_its_death(
    runner: Runner, notes: Notes, ending: str
) -> None:
    script = f"{RECORDING}={notes.options()}"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Endings", ending)))
    assert done.returncode == ENDINGS[ending], done.stderr
    assert notes.steps() == ["onload", "init", "onunload"]
    assert notes.of("onload")["phase"] == "ONLOAD"
    assert notes.of("init")["thread"] == "main"
    # Calls still work at the end, and what was printed there arrives.
    assert notes.of("onunload")["phase"] == "LIVE"
    assert "Finalizer" in notes.of("onunload")["threads"]
    assert done.stdout.splitlines() == ["runs", "the last word"]
    [process] = notes.processes()
    assert gone(process)


def test_the_script_is_a_process_of_its_own_with_a_socket_and_nothing_else(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options()}"
    words = runner.jvmti("run", script, "--", *runner.java("Endings", "return"))
    with open("/etc/hostname") as held:
        started = runner.start(*words, pass_fds=[held.fileno()])
        _, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    loaded = notes.of("onload")
    assert loaded["jvm"] == loaded["parent"] == started.pid
    assert loaded["process"] != loaded["jvm"]
    others = {number: what for number, what in loaded["descriptors"].items() if int(number) > 2}
    assert list(others) == ["3"]
    assert others["3"].startswith("socket:")


def test_a_failing_agent_onload_keeps_the_vm_from_starting(runner: Runner, notes: Notes) -> None:
    script = f"{RECORDING}={notes.options(onload='raise')}"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Endings", "return")))
    assert done.returncode == 1
    assert "runs" not in done.stdout
    assert "RuntimeError: onload does not want to" in done.stderr
    assert "recording.py" in done.stderr
    assert "jvmti/agents" not in done.stderr
    assert notes.steps() == ["onload"]


@pytest.mark.parametrize("result", [7, -3, 1 << 31, True])
def test_a_result_of_agent_onload_that_is_not_0_is_that_of_the_agent_and_ends_the_start(
    runner: Runner, notes: Notes, result: int
) -> None:
    log = runner.directory / "log"
    script = f"{RECORDING}={notes.options(result=result)}"
    words = runner.jvmti("run", script, "--", *runner.java("Endings", "return"))
    done = runner(*words, env={"JVMTI_LOG": str(log)})
    assert done.returncode == 1
    assert "runs" not in done.stdout
    assert f"recording.py returned {result!r}; the VM does not start" in done.stderr
    # What HotSpot makes of it is the same for all numbers.
    returned = -1 if result >= 1 << 31 else int(result)
    assert f"Agent_OnLoad returns {returned}\n" in log.read_text()
    # The specification lets a VM leave the end out where the beginning has failed.
    assert notes.steps() == ["onload"]


def test_a_result_of_0_is_that_of_an_agent_that_has_loaded(runner: Runner, notes: Notes) -> None:
    script = f"{RECORDING}={notes.options(result=0)}"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Endings", "return")))
    assert done.returncode == 0, done.stderr
    assert notes.steps() == ["onload", "init", "onunload"]


def test_a_result_of_agent_onload_that_is_no_number_is_said_to_be_wrong(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options(result='done')}"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Endings", "return")))
    assert done.returncode == 1
    assert "recording.py returned 'done', which is neither None nor a number" in done.stderr


def test_a_result_of_agent_onattach_that_is_not_0_ends_the_agent_and_not_the_program(
    runner: Runner, notes: Notes, java_program: JavaPrograms
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    script = f"{RECORDING}={notes.options(result=5)}"
    done = runner(*runner.jvmti("attach", str(program.pid), script))
    assert done.returncode == 1
    assert "recording.py returned 5; the agent leaves" in done.stderr
    assert program.stop() == 0


FAILING_STARTS = {
    "a module that is not there": ("--add-modules", "no.such"),
    "a class loader that is not there": ("-Djava.system.class.loader=no.Such",),
}


@pytest.mark.parametrize("options", FAILING_STARTS.values(), ids=FAILING_STARTS)
def test_a_start_that_fails_after_agent_onload_unloads_the_script_though_nothing_can_be_called(
    runner: Runner, notes: Notes, options: tuple[str, ...]
) -> None:
    """HotSpot never calls Agent_OnUnload then: the process has gone when the script is notified."""
    java, *words = runner.java("Endings", "return")
    script = f"{RECORDING}={notes.options()}"
    done = runner(*runner.jvmti("run", script, "--", java, *options, *words))
    assert done.returncode == 1
    assert "Error occurred during initialization" in done.stdout + done.stderr
    [process] = notes.processes()
    assert gone(process)
    assert notes.steps() == ["onload", "onunload"]
    assert notes.of("onunload")["closed"]
    assert "Traceback" not in done.stderr


def test_a_start_that_another_agent_refuses_unloads_the_scripts_that_have_let_it_go(
    runner: Runner, notes: Notes, tmp_path: Path
) -> None:
    (tmp_path / "second.py").write_text("def agent_onload(vm, options):\n    return 4\n")
    script = f"{RECORDING}={notes.options()}"
    words = runner.jvmti("run", script, "second.py", "--", *runner.java("Endings", "return"))
    done = runner(*words)
    assert done.returncode == 1
    assert "second.py returned 4" in done.stderr
    [process] = notes.processes()
    assert gone(process)
    assert notes.steps() == ["onload", "onunload"]
    assert notes.of("onunload")["closed"]


@pytest.mark.parametrize(
    ("todo", "message"),
    [("exit", "SystemExit: 5"), ("die", "ended with status 6; the VM does not start")],
)
def test_a_script_that_ends_while_it_is_loaded_keeps_the_vm_from_starting(
    runner: Runner, notes: Notes, todo: str, message: str
) -> None:
    script = f"{RECORDING}={notes.options(onload=todo)}"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Endings", "return")))
    assert done.returncode == 1
    assert "runs" not in done.stdout
    assert message in done.stderr


def test_a_script_that_takes_too_long_to_be_loaded_keeps_the_vm_from_starting(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options(onload='sleep')}"
    before = time.monotonic()
    words = runner.jvmti("run", "--start-timeout", "3", script, "--")
    done = runner(*words, *runner.java("Endings", "return"))
    assert time.monotonic() - before < 20
    assert done.returncode == 1
    assert "has not let the VM start within 3 s" in done.stderr
    assert all(map(gone, notes.processes()))


def test_the_end_of_the_vm_waits_for_agent_onunload_for_the_given_time(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options(onunload='sleep')}"
    before = time.monotonic()
    words = runner.jvmti("run", "--unload-timeout", "1", script, "--")
    done = runner(*words, *runner.java("Endings", "exit"))
    assert time.monotonic() - before < 20
    assert done.returncode == 3
    assert notes.steps() == ["onload", "init", "onunload"]
    assert all(map(gone, notes.processes()))


def test_a_failing_agent_onunload_is_printed_and_changes_nothing(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options(onunload='raise')}"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Endings", "exit")))
    assert done.returncode == 3
    assert "RuntimeError: onunload does not want to" in done.stderr


def test_a_vm_that_is_killed_unloads_the_script_too_though_nothing_can_be_called(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options()}"
    started = runner.start(*runner.jvmti("run", script, "--", *runner.java("Idle")))
    lines_of(started, "ready")
    started.kill()
    out, _ = started.communicate(timeout=30)
    assert started.returncode == -signal.SIGKILL
    assert out.splitlines() == ["the last word"]
    assert notes.of("onunload")["closed"]
    assert all(map(gone, notes.processes()))


def test_a_script_whose_process_is_killed_leaves_the_program_alone(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options()}"
    started = runner.start(*runner.jvmti("run", script, "--", *runner.java("Idle")))
    lines_of(started, "ready")
    [process] = notes.processes()
    os.kill(process, signal.SIGKILL)
    # Nothing is left of it, not even a process that has ended.
    until = time.monotonic() + 10
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    out, _ = started.communicate("", timeout=30)
    assert started.returncode == 0
    assert out.splitlines() == ["done"]


def test_a_script_that_is_asked_to_end_leaves_the_vm_and_is_unloaded(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options()}"
    started = runner.start(*runner.jvmti("run", script, "--", *runner.java("Idle")))
    lines_of(started, "ready")
    [process] = notes.processes()
    os.kill(process, signal.SIGTERM)
    assert gone(process)
    assert notes.of("onunload")["phase"] == "LIVE"
    assert started.communicate("", timeout=30)[0].splitlines() == ["the last word", "done"]


def test_failing_handlers_are_reported_once_for_each_place_and_counted_at_the_end(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options(handler='raise')}"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Endings", "return")))
    assert done.returncode == 0
    assert done.stderr.count("Traceback") == 1
    assert "handlers of recording.py failed, " in done.stderr
    [summary] = [line for line in done.stderr.splitlines() if " times)" in line]
    assert "ThreadStart handler, " in summary
    assert "LookupError: not\\x1b[31m there (" in summary
    assert "\x1b" not in done.stderr


def test_several_scripts_work_on_one_vm(runner: Runner, tmp_path: Path) -> None:
    scripts = []
    for number in range(3):
        copy = tmp_path / f"agent{number}.py"
        copy.write_text(
            "def agent_onload(vm, options):\n"
            "    vm.env.on('VMInit', lambda event: print(options, 'init', flush=True))\n"
            "def agent_onunload(vm):\n"
            "    print('end', vm.env.get_phase().name, flush=True)\n"
        )
        scripts.append(f"{copy}=number {number}, and \"more\" = 'ü'")
    done = runner(*runner.jvmti("run", *scripts, "--", *runner.java("Endings", "return")))
    assert done.returncode == 0, done.stderr
    lines = [f"number {number}, and \"more\" = 'ü' init" for number in range(3)]
    assert sorted(done.stdout.splitlines()) == sorted(["runs", *lines, *["end LIVE"] * 3])


SOLO = """
import jvmti

def agent_onload(vm, options):
    try:
        vm.env.add_capabilities(set(options.split("+")))
        print("had", flush=True)
    except jvmti.errors.NotAvailable as error:
        print(error, flush=True)
"""


@pytest.mark.parametrize(
    "capability",
    [
        "can_generate_breakpoint_events",
        "can_generate_field_access_events",
        "can_generate_field_modification_events",
        "can_suspend",
    ],
)
def test_the_second_script_that_wants_a_solo_capability_learns_its_holder(
    runner: Runner, tmp_path: Path, capability: str
) -> None:
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(SOLO)
    scripts = [f"first.py={capability}", f"second.py={capability}+can_tag_objects"]
    done = runner(*runner.jvmti("run", *scripts, "--", *runner.java("Endings", "return")))
    assert done.returncode == 0, done.stderr
    had, refused, runs = done.stdout.splitlines()
    assert (had, runs) == ("had", "runs")
    assert re.search(rf"{capability}: held by controller \d+ \(first\.py\)", refused), refused
    assert "can_tag_objects" not in refused


# what cannot be an agent -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "has no agent_onload(vm, options)"),
        ("def agent_onload(vm, options:", "SyntaxError"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
    ],
)
def test_a_file_that_is_no_agent_keeps_the_vm_from_starting(
    runner: Runner, tmp_path: Path, source: str, message: str
) -> None:
    (tmp_path / "bad.py").write_text(source)
    done = runner(*runner.jvmti("run", "bad.py", "--", *runner.java("Endings", "return")))
    assert done.returncode == 1
    assert message in done.stderr
    assert "runs" not in done.stdout


def test_a_script_that_is_not_there_is_noticed_before_anything_is_started(runner: Runner) -> None:
    done = runner(*runner.jvmti("run", "nowhere.py", "--", "/nonexistent/java"))
    assert done.returncode == 2
    assert "nowhere.py" in done.stderr


def test_an_interpreter_that_cannot_be_started_is_named_and_the_vm_does_not_start(
    runner: Runner, notes: Notes
) -> None:
    words = runner.jvmti("run", "--python", "/nonexistent/python", str(RECORDING), "--")
    done = runner(*words, *runner.java("Endings", "return"))
    assert done.returncode == 1
    assert "/nonexistent/python: No such file or directory" in done.stderr
    assert "runs" not in done.stdout


# started by others -------------------------------------------------------------------------------


def test_a_script_comes_by_the_agents_options_alone(runner: Runner, notes: Notes) -> None:
    options = AgentOptions(script=str(RECORDING), options=notes.options(), python=sys.executable)
    java, *words = runner.java("Endings", "exit")
    done = runner(java, f"-agentpath:{own_library()}={options}", *words)
    assert done.returncode == 3, done.stderr
    assert notes.steps() == ["onload", "init", "onunload"]
    assert notes.of("onload")["options"] == notes.options()


def test_a_script_finds_the_python_of_its_package_by_itself(runner: Runner, notes: Notes) -> None:
    options = AgentOptions(script=str(RECORDING), options=notes.options())
    java, *words = runner.java("Endings", "return")
    done = runner(java, f"-agentpath:{own_library()}={options}", *words, env={"PATH": "/nowhere"})
    assert done.returncode == 0, done.stderr
    assert notes.steps() == ["onload", "init", "onunload"]


SAYING = """
import sys
import jvmti

def agent_onload(vm, options):
    expected = (sys.executable, sys.prefix == sys.base_prefix, jvmti.__file__)
    print("\\n".join(map(str, expected)), flush=True)
"""


def unpacked(root: Path) -> Path:
    """The package as an installer leaves it in a directory, without a note of its Python."""
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(jvmti.__file__).parent, root / "jvmti", ignore=left_out)
    library = Path(own_library()).relative_to(Path(jvmti.__file__).parent)
    (root / "jvmti" / "_native" / "python").unlink(missing_ok=True)
    return root / "jvmti" / library


@pytest.mark.parametrize("where", ["target", "prefix"])
def test_a_script_finds_a_python_without_a_virtual_environment(
    runner: Runner, tmp_path: Path, where: str
) -> None:
    """That of the prefix that the package lies in, or else the first on PATH."""
    (tmp_path / "saying.py").write_text(SAYING)
    programs = tmp_path / "prefix" / "bin"
    programs.mkdir(parents=True)
    plain = programs / "python3"
    plain.symlink_to(os.path.realpath(sys.executable))
    needs = tmp_path / "needs"
    needs.mkdir()
    for one in Path(numpy.__file__).parent.parent.glob("numpy*"):
        (needs / one.name).symlink_to(one)
    root = tmp_path / ("target" if where == "target" else "prefix/lib/python3/site-packages")
    library = unpacked(root)
    java, *words = runner.java("Endings", "return")
    env = {
        "PATH": str(programs) if where == "target" else "/nowhere",
        "PYTHONPATH": str(needs),
    }
    done = runner(java, f"-agentpath:{library}=script={tmp_path / 'saying.py'}", *words, env=env)
    assert done.returncode == 0, done.stderr
    executable, is_plain, package, runs = done.stdout.splitlines()
    assert os.path.realpath(executable) == os.path.realpath(plain)
    assert (is_plain, runs) == ("True", "runs")
    assert Path(package) == root / "jvmti" / "__init__.py"


def test_where_there_is_no_python_the_vm_does_not_start_and_says_what_to_do(
    runner: Runner, tmp_path: Path
) -> None:
    library = unpacked(tmp_path / "target")
    java, *words = runner.java("Endings", "return")
    script = f"-agentpath:{library}=script={RECORDING}"
    done = runner(java, script, *words, env={"PATH": "/nowhere"})
    assert done.returncode == 1
    assert "python3: No such file or directory; the option python= names another" in done.stderr
    assert "runs" not in done.stdout


def test_a_script_comes_by_java_tool_options(runner: Runner, notes: Notes) -> None:
    options = AgentOptions(script=str(RECORDING), options=notes.options())
    text = jvmti.java_tool_options(options)
    done = runner(*runner.java("Endings", "exit"), env={"JAVA_TOOL_OPTIONS": text})
    assert done.returncode == 3, done.stderr
    assert notes.steps() == ["onload", "init", "onunload"]


def test_the_command_options_prints_what_starts_a_script(runner: Runner, notes: Notes) -> None:
    words = ["--script", str(RECORDING), "--script-options", notes.options()]
    printed = runner(*runner.jvmti("agent-options", *words))
    assert printed.returncode == 0, printed.stderr
    [argument] = split_tool_options(printed.stdout)
    options = AgentOptions.parse(argument.partition("=")[2])
    assert options.script == str(RECORDING)
    assert options.options == notes.options()
    done = runner(*runner.java("Endings", "halt"), env={"JAVA_TOOL_OPTIONS": printed.stdout})
    assert done.returncode == 4, done.stderr
    assert notes.steps() == ["onload", "init", "onunload"]


@pytest.mark.parametrize("follow", [False, True])
def test_a_child_jvm_runs_without_the_script_unless_it_follows(
    runner: Runner, notes: Notes, follow: bool
) -> None:
    options = AgentOptions(script=str(RECORDING), options=notes.options(), follow=follow)
    env = {"JAVA_TOOL_OPTIONS": jvmti.java_tool_options(options)}
    words = runner.java("Parent", *runner.java("Endings", "exit"))
    started = runner.start(*words, env=env)
    out, errors = started.communicate("run\nrun\n", timeout=60)
    assert started.returncode == 0, errors
    assert [line for line in out.splitlines() if line != "the last word"] == ["ready", "3", "3"]
    assert len(notes.processes()) == (3 if follow else 1)
    for process in notes.processes():
        assert notes.steps(process) == ["onload", "init", "onunload"]
        assert gone(process)


def test_the_command_run_follows_child_jvms(runner: Runner, notes: Notes) -> None:
    script = f"{RECORDING}={notes.options()}"
    words = runner.jvmti("run", "--follow", script, "--", *runner.java("Parent"))
    started = runner.start(*words, *runner.java("Endings", "exit"))
    out, errors = started.communicate("run\n", timeout=60)
    assert started.returncode == 0, errors
    assert "3" in out.splitlines()
    assert len(notes.processes()) == 2


def test_jvms_that_a_script_starts_one_after_the_other_each_have_the_agent(
    runner: Runner, notes: Notes
) -> None:
    script = f"{RECORDING}={notes.options()}"
    java = " ".join(runner.java("Endings", "return"))
    done = runner(*runner.jvmti("run", script, "--", "sh", "-c", f"{java}; {java}; exit 7"))
    assert done.returncode == 7, done.stderr
    assert len(notes.processes()) == 2


# attached ----------------------------------------------------------------------------------------


def test_an_attached_script_stays_until_it_is_interrupted(
    runner: Runner, notes: Notes, java_program: JavaPrograms
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    script = f"{RECORDING}={notes.options()}"
    started = runner.start(*runner.jvmti("attach", str(program.pid), script))
    while "onattach" not in notes.steps():
        assert started.poll() is None, started.communicate()
        time.sleep(0.02)
    assert notes.of("onattach")["phase"] == "LIVE"
    time.sleep(0.3)
    started.send_signal(signal.SIGINT)
    out, errors = started.communicate(timeout=30)
    assert started.returncode == 0, errors
    assert notes.steps() == ["onattach", "onunload"]
    assert notes.of("onunload")["phase"] == "LIVE"
    assert out.splitlines() == ["the last word"]
    assert program.running()
    assert program.stop() == 0


def test_attached_scripts_are_unloaded_at_the_death_of_the_vm(
    runner: Runner, notes: Notes, java_program: JavaPrograms
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    script = f"{RECORDING}={notes.options()}"
    started = runner.start(*runner.jvmti("attach", str(program.pid), script, script))
    while notes.steps() != ["onattach", "onattach"]:
        assert started.poll() is None, started.communicate()
        time.sleep(0.02)
    time.sleep(0.5)
    assert program.stop() == 0
    _, errors = started.communicate(timeout=30)
    assert started.returncode == 0, errors
    assert notes.steps() == ["onattach", "onattach", "onunload", "onunload"]
    assert [one.get("phase") for one in notes.all()] == ["LIVE"] * 4


def test_a_failing_agent_onattach_leaves_the_jvm(
    runner: Runner, notes: Notes, java_program: JavaPrograms
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    script = f"{RECORDING}={notes.options(onattach='raise')}"
    done = runner(*runner.jvmti("attach", str(program.pid), script))
    assert done.returncode == 1
    assert "RuntimeError: onattach does not want to" in done.stderr
    assert notes.steps() == ["onattach"]
    assert program.running()


def test_a_script_without_agent_onattach_is_loaded_late(
    runner: Runner, tmp_path: Path, java_program: JavaPrograms
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    (tmp_path / "late.py").write_text(
        "def agent_onload(vm, options):\n    print(vm.phase.name, flush=True)\n    vm.detach()\n"
    )
    done = runner(*runner.jvmti("attach", str(program.pid), "late.py"))
    assert done.stdout.splitlines() == ["LIVE"], done.stderr


def test_a_running_jvm_starts_a_script_when_the_agent_is_loaded_with_one(
    notes: Notes, java_program: JavaPrograms
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    options = AgentOptions(script=str(RECORDING), options=notes.options())
    load_agent(inspect(program.pid), own_library(), str(options))
    until = time.monotonic() + 20
    while "onattach" not in notes.steps():
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(0.5)
    assert program.stop() == 0
    assert notes.steps() == ["onattach", "onunload"]
    assert all(map(gone, notes.processes()))


# for controllers too -----------------------------------------------------------------------------


def test_a_controller_can_refuse_the_start_of_a_vm_that_it_holds(runner: Runner) -> None:
    vm = jvmti.launch(runner.java("Endings", "return"), hold=True, stdout=subprocess.PIPE)
    assert vm.popen is not None
    assert not vm.wait(0.1)
    vm.refuse()
    assert vm.closed
    out, _ = vm.popen.communicate(timeout=30)
    assert vm.popen.returncode == 1
    assert b"runs" not in out


def test_a_vm_that_runs_cannot_be_refused_its_start(runner: Runner) -> None:
    vm = jvmti.launch(
        runner.java("Idle"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert vm.popen is not None
    with vm:
        with pytest.raises(jvmti.errors.WrongPhase):
            vm.refuse()
        assert not vm.closed
        assert not vm.wait(0)
        assert vm.phase.name == "LIVE"
        out, _ = vm.popen.communicate(b"", timeout=30)
    assert vm.popen.returncode == 0
    assert out.split() == [b"ready", b"done"]


def test_waiting_threads_learn_that_the_vm_is_killed_or_the_session_left(
    runner: Runner,
) -> None:
    for ends in ("killed", "left"):
        vm = jvmti.launch(runner.java("Idle"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert vm.popen is not None
        waited: list[bool] = []
        waiting = [
            threading.Thread(
                target=lambda vm=vm, waited=waited: waited.append(vm.wait(60)), daemon=True
            )
            for _ in range(3)
        ]
        for thread in waiting:
            thread.start()
        assert vm.phase.name == "LIVE"  # calls go on meanwhile
        if ends == "killed":
            vm.popen.kill()
        else:
            vm.detach()
        for thread in waiting:
            thread.join(30)
        assert waited == [True] * 3
        assert vm.closed
        assert vm.wait(0)
        vm.detach()
        with vm.popen:
            vm.popen.kill()


def test_a_controller_can_wait_for_the_end_of_a_vm(runner: Runner) -> None:
    vm = jvmti.launch(runner.java("Endings", "exit"), stdout=subprocess.DEVNULL)
    with vm:
        assert vm.wait(30)
        assert vm.closed
    assert vm.popen is not None
    assert vm.popen.wait(10) == 3


def test_a_script_of_a_jvm_that_is_gone_already_ends_without_a_message(tmp_path: Path) -> None:
    """Ctrl-C ends both while the script's process begins."""
    script = tmp_path / "agent.py"
    script.write_text("raise AssertionError('nobody is there to look at')\n")
    place = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen()
        connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        subprocess.run([sys.executable, "-c", connect, str(place)], check=True)
        connected, _ = listening.accept()
    with connected:
        program = "from jvmti.agents.process import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, "", str(connected.fileno()), str(script), "1", ""],
            pass_fds=[connected.fileno()],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
