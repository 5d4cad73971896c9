from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import command_line
import jvmti
import prepared
from jvmti.shell.completion import Completer
from jvmti.shell.descriptions import describe
from jvmti.shell.expressions import NotEvaluated, evaluate, last_primary, open_string
from jvmti.target.agent_library import library_for_executable
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.oldest_and_newest

SHELL = ["-m", "jvmti", "shell"]
WITHOUT_IPYTHON = [
    "-c",
    "import sys; sys.modules['IPython'] = None; import jvmti.commands as c; sys.exit(c.main())",
    "shell",
]

PROMPT = r"^In \[\d+\]:"
FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where IPython keeps its history, instead of the user's own."""
    return {"IPYTHONDIR": str(tmp_path_factory.mktemp("ipython"))}


@pytest.fixture(scope="module")
def vm(witness: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=30) as attached:
        yield attached
    assert witness.running()


def run(*words: str | int, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return prepared.run([*SHELL, *map(str, words)], command_line.imports(), input=stdin)


# at a prompt -------------------------------------------------------------------------------


def test_a_session_at_ipythons_prompt(witness: JavaProgram, home: dict[str, str], jvm: Jvm) -> None:
    with Terminal([*SHELL, str(witness.pid)], home) as terminal:
        first = terminal.wait_for(PROMPT)
        assert f"Witness, pid {witness.pid}: Java {jvm.feature}" in first
        assert re.search(r"^emulated +\d+: .*local variables in full", first, re.M)
        assert re.search(r"^missing +\d+: ", first, re.M)
        assert "HotSpot grants it only while the VM starts" in first.replace("\n           ", " ")
        assert re.search(r"^try +%threads", first, re.M)

        # The names that Tab finds.
        terminal.type('vm.find_class("java.util.concurrent.CountDownLat\t')
        terminal.wait_for(r"CountDownLatch\$Sync")
        terminal.type('").name\x03')
        terminal.wait_for(PROMPT + r" *\Z")
        terminal.type('vm.threads["bloc\t')
        terminal.wait_for(r'vm\.threads\["blocked')
        terminal.type('"].java_st\t')
        terminal.wait_for(r'"blocked"\]\.java_state')
        terminal.type("\r")
        terminal.wait_for(r"Out\[\d+\]: 'BLOCKED'")

        # The commands.
        assert "Witness.block(Witness.java:" in terminal.ask("%stack blocked", "Witness.block")
        table = terminal.ask("%threads 'bl*'", "blocked +BLOCKED")
        assert "parked" not in table
        assert "interface java.lang.Runnable" in terminal.ask("%class java.lang.Runnable", "run")
        terminal.ask("%heap java.lang.String", r"[\d,]+ objects of 1 class")
        terminal.ask("%props java.vm.name", r"java\.vm\.name +\S+")
        wrong = terminal.ask("%stack blocket", "UsageError")
        assert "did you mean 'blocked'" in wrong
        assert "Traceback" not in wrong
        assert "shell pattern" in terminal.ask("%threads?", "Docstring")
        found = terminal.ask("env.get_thread_state?", r"slot +17, since 1\.0")
        assert "JVM TI GetThreadState" in found

        # An error shows the line of the user, and nothing of this package's insides.
        error = terminal.ask("env.get_thread_state(vm)", "Error")
        assert "jvmti/wire" not in error

        # Ctrl-C in a call gives the prompt back, and the session works on.
        terminal.type("\x0c")
        terminal.type("vm.wait()\r")
        terminal.wait_for(r"vm\.wait\(\)\s*\Z")
        time.sleep(0.2)  # so that the call runs; the outcome is the same if it does not
        terminal.type("\x03")
        terminal.wait_for(rf"(?s)KeyboardInterrupt.*{PROMPT} *\Z")
        terminal.ask("vm.threads['deep'].java_state", "'WAITING'")

        terminal.type("\x04")
        assert terminal.end() == 0
        assert f"{witness.pid} keeps running." in terminal.text
    assert witness.running()


def test_the_end_of_the_jvm_is_reported_at_the_prompt(
    java_program: JavaPrograms, home: dict[str, str]
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    with Terminal([*SHELL, str(program.pid)], home) as terminal:
        terminal.wait_for(PROMPT)
        program.stop()
        terminal.wait_for(rf"The JVM {program.pid} Idle has ended\.")
        error = terminal.ask("env.get_all_threads()", "SessionClosed: the JVM")
        assert "<string>" not in error
        # That is what becomes of Ctrl-D while a message is printed: the terminal is not raw then.
        terminal.type("\x00")
        assert terminal.end() == 0


def test_a_started_program_has_everything_and_keys_do_not_reach_it(
    jvm: Jvm, java_classes: Any, home: dict[str, str]
) -> None:
    words = [jvm.java, *jvm.args, "-cp", str(java_classes("Witness")), "Witness"]
    options = ["--capabilities", "can_access_local_variables", "--no-banner"]
    with Terminal([*SHELL, *options, "--", *words], home) as terminal:
        terminal.wait_for(PROMPT)
        assert "available  " not in terminal.text
        terminal.ask("'can_access_local_variables' in env.get_capabilities()", "True")
        terminal.ask("vm.process.pid", r"Out\[\d+\]: \d+")
        found = re.search(r"Out\[\d+\]: (\d+)", terminal.text)
        assert found
        pid = int(found[1])
        terminal.type("\x03\x03")
        terminal.ask("vm.popen.poll() is None", "True")
        terminal.type("\x04")
        assert terminal.end() == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_held_program_runs_when_it_is_let_go(
    jvm: Jvm, java_classes: Any, home: dict[str, str]
) -> None:
    words = [jvm.java, *jvm.args, "-cp", str(java_classes("Witness")), "Witness"]
    with Terminal([*SHELL, "--hold", "--", *words], home) as terminal:
        first = terminal.wait_for(PROMPT)
        assert "held at its start: none of its code has run yet" in first
        assert re.search(
            r"^available +\d+: breakpoints, single steps, local variables in full", first, re.M
        )
        assert re.search(r"^try +%go", first, re.M)
        assert "ready" not in first  # which the program prints first of all
        terminal.ask("vm.held, vm.phase.name", r"\(True, 'ONLOAD'\)")
        assert "%go starts it" in terminal.ask("%threads", "UsageError")
        # A breakpoint before the class is loaded; what the program prints comes after it.
        terminal.ask("%tbreak Witness.main", "breakpoint 1: Witness.main, pending")
        terminal.type("\x0c")
        terminal.type("%go\r")
        shown = terminal.wait_for(r'"main" at Witness\.main\(Witness\.java:\d+\), breakpoint 1')
        assert "ready" not in shown
        terminal.ask("%locals", r"java\.lang\.String\[\] \w+ = ")
        terminal.type("%continue\r")
        terminal.wait_for("ready$")
        terminal.ask("vm.held, vm.phase.name", r"\(False, 'LIVE'\)")
        terminal.ask("%go", "UsageError: the program is not held")
        terminal.type("\x04")
        assert terminal.end() == 0
    with Terminal([*SHELL, "--no-banner", "--hold", "--plain", "--", *words], home) as terminal:
        terminal.wait_for("^>>>")
        terminal.type("%go\r")
        terminal.wait_for("ready")
        terminal.ask("vm.find_class('java.lang.String')", "^<Class java.lang.String")
        terminal.type("\x04")
        assert terminal.end() == 0


def test_a_held_program_that_is_not_let_go_never_runs(jvm: Jvm, tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = ["--hold", "-c", "print(vm.held, vm.process.pid)", "--"]
    done = run(*options, jvm.java, *jvm.args, f"-Xlog:class+init:file={log}", "NoSuchClass")
    assert (done.returncode, done.stderr) == (0, "")
    held, pid = done.stdout.split()
    assert held == "True"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
    assert not log.exists() or not log.read_text()
    refused = run("--hold", "Witness", "-c", "1")
    assert refused.returncode == 2
    assert "--hold is for a program that is started: -- java" in refused.stderr


def test_pythons_own_prompt_where_there_is_no_ipython(
    witness: JavaProgram, home: dict[str, str]
) -> None:
    with Terminal([*WITHOUT_IPYTHON, str(witness.pid)], home) as terminal:
        assert "pip install 'jvmti[shell]'" in terminal.wait_for("^>>>")
        terminal.type('vm.threads["bloc\t')
        terminal.wait_for(r'vm\.threads\["blocked"')  # readline closes what is whole
        terminal.type("].java_state\r")
        terminal.wait_for("^'BLOCKED'")
        assert "Witness.block(" in terminal.ask("%stack blocked", "Witness.block")
        assert "slot" in terminal.ask("env.get_thread_state?", "GetThreadState")
        assert "did you mean 'blocked'" in terminal.ask("%stack blocket", "UsageError")
        terminal.type("vm.wait()\r")
        terminal.wait_for(r"vm\.wait\(\)\s*\Z")
        time.sleep(0.2)  # so that the call runs; the outcome is the same if it does not
        terminal.type("\x03")
        terminal.wait_for(r"(?s)KeyboardInterrupt.*^>>> *\Z")
        terminal.ask("vm.threads['deep'].java_state", "'WAITING'")
        terminal.type("exit()\r")
        assert terminal.end() == 0
    assert witness.running()


# scripts -----------------------------------------------------------------------------------


def test_code_on_the_command_line(witness: JavaProgram) -> None:
    done = run(
        witness.pid, "-c", "import sys; print(vm.threads['blocked'].java_state, sys.argv)", "a"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "BLOCKED ['-c', 'a']\n"
    failed = run("-c", "def half(n):\n    return 1 / n\nhalf(0)", witness.pid)
    assert failed.returncode == 1
    assert failed.stderr.startswith("Traceback (most recent call last):\n")
    assert "return 1 / n" in failed.stderr
    assert "ZeroDivisionError" in failed.stderr
    assert "jvmti/shell" not in failed.stderr
    assert run(witness.pid, "-c", "import sys; sys.exit(7)").returncode == 7
    said = run(witness.pid, "-c", "raise SystemExit('enough')")
    assert (said.returncode, said.stderr) == (1, "enough\n")


def test_a_script_with_arguments_that_look_like_options(
    witness: JavaProgram, tmp_path: Path
) -> None:
    script = tmp_path / "look.py"
    (tmp_path / "beside.py").write_text("NAME = 'deep'\n")
    script.write_text(
        "import sys\nfrom beside import NAME\nprint(__name__, sys.argv[1:])\n"
        "if NAME:\n    %stack deep\nget_ipython().run_line_magic('threads', 'parked')\n"
    )
    done = run(witness.pid, script, "--json", "-c", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("__main__ ['--json', '-c', 'x']\n")
    assert done.stdout.count("Witness.descend(Witness.java:") == 20
    assert re.search(r"^ *\d+ +parked +WAITING", done.stdout, re.M)
    assert run(witness.pid, "--no-banner", script, "--json").stdout.startswith(
        "__main__ ['--json']"
    )
    missing = run(witness.pid, tmp_path / "nothing.py")
    assert missing.returncode == 2
    assert "No such file" in missing.stderr


def test_a_script_from_standard_input(witness: JavaProgram) -> None:
    done = run(witness.pid, stdin="print(len(vm.threads))\n%threads parked\n%catch?\n")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split("\n")[0]) > 5
    assert "parked" in done.stdout
    assert "Stop threads where exceptions are thrown." in done.stdout
    assert run(witness.pid, "-", "a", stdin="import sys; print(sys.argv)").stdout == "['-', 'a']\n"
    failed = run(witness.pid, stdin="%class nothing.like.it")
    assert failed.returncode == 1
    assert "nothing.like.it" in failed.stderr
    failed = run(witness.pid, stdin="%threads parked\n%treads main\n")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert "line 2" in failed.stderr
    assert "there is no %treads; did you mean %threads? There are %" in failed.stderr
    assert failed.stderr.count("SyntaxError") == 1


def test_capabilities_are_added_or_the_reason_is_reported(witness: JavaProgram) -> None:
    code = "print(sorted(env.get_capabilities().names()))"
    done = run(witness.pid, "--capabilities", "can_tag_objects,can_get_bytecodes", "-c", code)
    assert done.stdout == "['can_get_bytecodes', 'can_tag_objects']\n"
    refused = run(witness.pid, "--capabilities", "can_pop_frame", "-c", code)
    assert refused.returncode == 1
    assert "can_pop_frame" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert run("no such program", "-c", code).returncode == 3


def test_names_that_command_terminals_are_shown_harmlessly(java_program: JavaPrograms) -> None:
    program = java_program("Deadlock")
    program.expect("ready")
    done = run(program.pid, stdin="%threads evil\n%stack 'evil*'\n")
    assert done.stdout.count("evil") >= 2, done.stderr
    assert not FORBIDDEN.search(done.stdout)


# completion --------------------------------------------------------------------------------


def test_what_a_tab_finds(vm: jvmti.VM) -> None:
    names = {"vm": vm, "env": vm.env, "jni": vm.jni, "t": vm.threads["deep"]}
    completer = Completer(vm, names)

    def found(text: str) -> list[str]:
        answer = completer.find(text)
        assert answer is not None, text
        return answer.names

    assert "java.util.HashMap" in found('vm.find_class("java.util.HashM')
    assert "java.util." in found("vm.classes('java.")
    assert len(found("vm.classes('")) < 200
    assert "java/util/HashMap" in found('jni.find_class("java/util/HashM')
    assert found('vm.threads["slee') == ["sleeping"]
    assert found('x = [vm.threads["slee') == ["sleeping"]
    assert found("t.java_s") == ["java_state"]
    assert "frames" in found('vm.threads["deep"].fr')
    assert found('env.add_capabilities({"can_tag') == ["can_tag_objects"]
    assert found('env.on("Breakp') == ["Breakpoint"]
    assert found("%stack dee") == ["deep"]
    assert found("%props java.vm.n") == ["java.vm.name"]
    assert {"wait", "notify", "getName"} <= set(found('t.call("'))
    assert "currentThread" in found('vm.find_class("java.lang.Thread").call("')
    assert "currentThread" in found('vm.find_class("java.lang.Thread").methods["curr')
    assert "MAX_PRIORITY" in found('vm.find_class("java.lang.Thread")["MAX')
    assert "java.lang.Integer" in found("%class Integ")
    assert "java.lang.Integer" in found('vm.heap.histogram(classes="java.lang.Integ')
    # Of the arrays, those that there are classes of.
    assert "int[]" in found('vm.classes["int[')
    assert set(found('vm.find_class("java.lang.String[')) >= {"java.lang.String[]"}
    assert "java.lang.String[]" in found('vm.classes("Strin')
    assert "byte[]" in found("%heap by")
    assert not [one for one in found('vm.breakpoint("java.lang.Str') if "[" in one]
    assert not [one for one in found('jni.find_class("java/lang/Str') if "[" in one]
    for name in found('vm.classes["int['):
        assert vm.classes[name].name == name
    thread = vm.threads["busy"]
    names["t"] = thread
    assert set(found('t["')) >= {"name", "tid"}
    for text in ("print('", "nothing['", "1 + ", "f'{vm.threads["):
        assert completer.find(text) is None


def test_a_jvm_that_does_not_answer_costs_a_tab_a_moment(
    java_program: JavaPrograms, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "jvmti")
    program = java_program("Idle")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        completer = Completer(vm, {"vm": vm}, limit=0.3)
        os.kill(program.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            assert completer.complete('vm.threads["') is None
            assert completer.complete('vm.threads["') is None  # the first one is still at it
            assert time.monotonic() - began < 10
        finally:
            os.kill(program.pid, signal.SIGCONT)
        assert "was abandoned" in caplog.text
        deadline = time.monotonic() + 30
        while (found := completer.complete('vm.threads["')) is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert "main" in found.names


def test_what_goes_wrong_in_a_tab_is_logged_and_not_shown(
    vm: jvmti.VM, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "jvmti")
    completer = Completer(vm, {"vm": vm}, limit=30)
    assert completer.complete('vm.threads["nobody"].call("') is None
    assert "KeyError" in caplog.text


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ('a["b', 3),
        ('a["b"', None),
        ("a['b\\'c", 3),
        ("f'", None),
        ("'''a", None),
        ("# 'a", None),
        ("'a'\n'b", 5),
        ("'a\nb", None),
    ],
)
def test_the_string_that_is_still_open(text: str, start: int | None) -> None:
    assert open_string(text) == start


@pytest.mark.parametrize(
    ("text", "primary"),
    [
        ("vm.threads", "vm.threads"),
        ("x = vm.threads", "vm.threads"),
        ('print(vm.threads["a b"].frames[0]', 'vm.threads["a b"].frames[0]'),
        ("f(1).g[h(2)]", "f(1).g[h(2)]"),
        ("if a.b and c.d", "c.d"),
        ("1 +", ""),
        ("", ""),
    ],
)
def test_the_expression_before_the_cursor(text: str, primary: str) -> None:
    assert last_primary(text) == primary


def test_completion_evaluates_nothing_that_acts(vm: jvmti.VM) -> None:
    names = {"vm": vm, "list": [1], "os": os}
    assert evaluate("list[0]", names) == 1
    assert evaluate("vm.find_class('java.lang.Object').name", names) == "java.lang.Object"
    for text in ("vm.detach()", "os.getpid()", "os.environ", "list.pop()", "1 + 1", "x", "vm."):
        with pytest.raises(NotEvaluated):
            evaluate(text, names)


def test_facts_of_functions_and_of_java(vm: jvmti.VM) -> None:
    found = describe(vm.env.get_owned_monitor_info)
    assert found is not None
    assert "slot        10, since 1.0" in found
    assert "capability  can_get_owned_monitor_info" in found
    assert "JNI GetStringLength" in (describe(vm.jni.get_string_length) or "")
    cls = vm.find_class("java.lang.Thread")
    current = describe(cls.methods["currentThread"]) or ""
    # `javap java.lang.Thread` writes it so.
    assert current.startswith("public static native java.lang.Thread currentThread()\n")
    assert "signature   ()Ljava/lang/Thread;" in current
    assert "public class java.lang.Thread implements java.lang.Runnable" in (describe(cls) or "")
    assert describe(print) is None


def test_the_variables_of_a_frame_are_completed(java_program: JavaPrograms, jvm: Jvm) -> None:
    library = library_for_executable(jvm.java)
    program = java_program("Witness", jvm_args=[f"-agentpath:{library}=reserve"])
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        thread = vm.threads["deep"]
        frame = next(one for one in thread.frames if one.method.name == "descend")
        found = Completer(vm, {"frame": frame}).find('frame.locals["')
        assert found is not None
        assert len(found.names) == 1  # its parameter
        assert program.running()


def test_source_and_code(witness: JavaProgram) -> None:
    java = Path(__file__).parents[1] / "java"
    code = (
        f"%source -p {java}\n"
        "frame = next(f for f in vm.threads['deep'].frames if f.method.name == 'descend')\n"
        "%source frame\nprint(frame.line)\n%source Witness.descend\n%dis Witness.descend\n"
    )
    done = run(witness.pid, stdin=code)
    assert done.returncode == 0, done.stderr
    path, *lines = done.stdout.split("\n")
    assert path == str(java / "Witness.java")
    marked = next(line for line in lines if line.startswith(">"))
    number, text = marked[1:].split(maxsplit=1)
    assert text.strip() == (java / "Witness.java").read_text().split("\n")[int(number) - 1].strip()
    assert f"\n{number}\n" in done.stdout
    assert "static void descend(int" in done.stdout
    assert "invokestatic" in done.stdout
    missing = run(witness.pid, stdin="%source java.util.HashMap")
    assert "vm.source_path" in missing.stderr


def test_waiting_for_a_thread_to_come_by(java_program: JavaPrograms, jvm: Jvm) -> None:
    source = Path(__file__).parents[1] / "java" / "Witness.java"
    lines = source.read_text().split("\n")
    line = next(at for at, text in enumerate(lines, 1) if "rounds += inLoop" in text)
    library = library_for_executable(jvm.java)
    program = java_program("Witness", jvm_args=[f"-agentpath:{library}=reserve"])
    program.expect("ready")
    done = run(
        program.pid,
        stdin=f"%source -p {source.parent}\n%break Witness$Locals.work:{line} if inLoop == 42\n"
        "%wait 60\n%locals\n",
    )
    assert done.returncode == 0, done.stderr
    assert f'"busy" at Witness$Locals.work(Witness.java:{line})' in done.stdout
    assert re.search(rf"^→ *{line}  +rounds \+= inLoop;$", done.stdout, re.M)
    assert re.search(r"^int inLoop = 42$", done.stdout, re.M)
    # The thread keeps running.
    rounds = "print(vm.find_class('Witness$Locals')['rounds'])\n"
    code = f"import time\n{rounds}time.sleep(0.3)\n{rounds}"
    first, second = run(program.pid, stdin=code).stdout.split()
    assert int(second) > int(first)
    wrong = run(program.pid, stdin="%break Witness$Locals.wrok")
    assert wrong.returncode == 1
    assert "work" in wrong.stderr
