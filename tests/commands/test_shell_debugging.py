"""The debugger at the shell's prompt, on a program that does what the test asks for."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

import compiler
import jvmti
from commands.test_shell import SHELL, WITHOUT_IPYTHON, run
from debug.stopping import LINE, SOON, start
from jvmti.interface.errors import Error
from jvmti.shell import magics, scripts
from jvmti.shell.completion import Completer
from jvmti.shell.debugger.break_places import Wanted, wanted
from jvmti.shell.debugger.debugging import debugging
from jvmti.shell.debugger.source_lines import numbered
from jvmti.shell.registry import UsageError
from jvmti.sources.source import Source
from terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.oldest_and_newest

SOURCES = compiler.source("Stopping").path.parent


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"IPYTHONDIR": str(tmp_path_factory.mktemp("ipython"))}


@pytest.fixture
def stopping(java_program: JavaPrograms, jvm: Jvm) -> JavaProgram:
    return start(java_program, jvm)


@pytest.fixture
def vm(stopping: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(stopping.pid, timeout=30) as attached:
        attached.source_path.append(SOURCES)
        yield attached
    assert stopping.running()


class Prompt:
    """The commands, as a prompt runs them."""

    def __init__(self, vm: jvmti.VM, capsys: pytest.CaptureFixture[str]) -> None:
        self.vm = vm
        self.names: dict[str, Any] = scripts.predefined_names(vm, {})
        self._capsys = capsys

    def __call__(self, line: str) -> str:
        name, _, text = line.removeprefix("%").partition(" ")
        self._capsys.readouterr()
        magics.run(self.vm, self.names, name, text)
        return self._capsys.readouterr().out

    def refusal(self, line: str) -> str:
        with pytest.raises((LookupError, Error, ValueError)) as refused:
            self(line)
        error = refused.value
        return str(error.args[0] if isinstance(error, KeyError) else error)


@pytest.fixture
def prompt(vm: jvmti.VM, capsys: pytest.CaptureFixture[str]) -> Iterator[Prompt]:
    yield Prompt(vm, capsys)
    debugging(vm, {}).close()


# at a prompt -------------------------------------------------------------------------------


def test_threads_stop_while_ipythons_prompt_is_free(
    stopping: JavaProgram, home: dict[str, str]
) -> None:
    with Terminal([*SHELL, "--no-banner", str(stopping.pid)], home) as terminal:
        terminal.wait_for(r"^In \[\d+\]:")
        terminal.type(f"%source -p {SOURCES}\r")
        place = f"Stopping.add:{LINE['sum']}"
        terminal.ask(f"%break {place} if n == 7", "breakpoint 1: .*1 place")
        terminal.type("\x0c")
        assert stopping.ask("start one add 9")
        # Nobody has typed anything.
        shown = terminal.wait_for(
            rf'"one" at Stopping.add\(Stopping.java:{LINE["sum"]}\), breakpoint 1'
        )
        assert re.search(
            rf"^→ +{LINE['sum']}  +int sum = twice", terminal.wait_for("mark: return"), re.M
        )
        assert b"\x1b[33" in terminal.raw or b"\x1b[34" in terminal.raw  # colours of the source
        assert shown
        # A second thread says that it has stopped, and where to go.
        terminal.type("\x0c")
        assert stopping.ask("start two add 9")
        terminal.wait_for(r'"two" at .*breakpoint 1; %thread two goes there')
        stack = terminal.ask("%where", "Stopping.perform")
        assert re.search(r"^→   0  Stopping.add", stack, re.M)
        terminal.ask("%locals", r"int twice = 14")
        # Python is on the stopped thread, too.
        terminal.ask("frame.locals['n'] * 2, stop.thread.name", r"\(14, 'one'\)")
        terminal.ask("vm.jni.is_same_object(env.get_current_thread(), stop.thread)", "True")
        terminal.ask("%next", rf"Stopping.java:{LINE['return']}\)")
        terminal.ask("%finish", r"Stopping.perform\(")
        listed = terminal.ask("%thread", '"two"')
        assert re.search(r'^→ #\d+ "one"', listed, re.M)
        assert "n = 7" in terminal.ask("%thread two", "mark: return") + terminal.ask(
            "%locals", "n = "
        )
        terminal.ask("%continue", '"one" at Stopping.perform')
        terminal.ask("%break", r"1 +breakpoint +2")
        terminal.ask("%delete 1", r"%delete 1")
        terminal.ask("%continue", "%continue")
        wrong = terminal.ask("%locals", "UsageError")
        assert "no thread has stopped; %break sets a breakpoint" in wrong
        assert stopping.ask("join one") == stopping.ask("join two")
        assert "gdb" not in terminal.ask("%next?", "Docstring")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert stopping.running()


def test_a_thread_that_waits_runs_on_when_the_prompt_is_left(
    java_program: JavaPrograms, jvm: Jvm, home: dict[str, str]
) -> None:
    program = start(java_program, jvm, late=True)
    with Terminal([*WITHOUT_IPYTHON, "--no-banner", str(program.pid)], home) as terminal:
        terminal.wait_for(r"^>>>")
        terminal.ask("%break Stopping.factorial if n == 2", "breakpoint 1: .*1 place")
        terminal.type("\x0c")
        assert program.ask("start one factorial 5")
        terminal.wait_for(r'"one" at Stopping.factorial\(Stopping.java:\d+\), breakpoint 1')
        terminal.ask("%locals", "int n = 2")
        terminal.ask("%up", "Stopping.factorial")
        terminal.ask("frame.depth", "^1$")
        terminal.ask("%down", "Stopping.factorial")
        terminal.ask("%step", "Stopping.factorial")
        terminal.type("\x04")
        assert terminal.end() == 0
    assert program.ask("join one") == "120"


def test_a_script_waits_for_its_stops(java_program: JavaPrograms, jvm: Jvm) -> None:
    classes = compiler.classes("Stopping")
    code = "\n".join(
        [
            "%break Stopping.main",
            "%go",
            "%wait 30",
            "%where 1",
            "%delete 1",
            "%continue",
            "vm.popen.stdin.write('start one thrower 3\\n')",
            "vm.popen.stdin.flush()",
        ]
    )
    done = run("--hold", "--", jvm.java, *jvm.args, "-cp", classes, "Stopping", stdin=code)
    assert "breakpoint 1: Stopping.main, pending: no such class is loaded yet" in done.stdout
    assert re.search(r'"main" at Stopping.main\(Stopping.java:\d+\), breakpoint 1', done.stdout)
    assert re.search(r"^→   0  Stopping.main", done.stdout, re.M)


# the commands ------------------------------------------------------------------------------


def test_places_are_written_as_in_other_debuggers(prompt: Prompt, stopping: JavaProgram) -> None:
    line = LINE["sum"]
    for place in (
        "Stopping.add",
        f"Stopping.add:{line}",
        f"Stopping:{line}",
        f"Stopping.java:{line}",
        "Stopping.add(int,String)",
        "Stopping.add@0",
        f"Stopping.add:{line} every 3 thread main",
    ):
        assert "1 place" in prompt(f"%break {place}"), place
    listed = prompt("%break")
    assert len(re.findall(r"^ +\d+  breakpoint", listed, re.M)) == 7
    # A line of a nested class, by the name of its file.
    result = next(
        number
        for number, text in enumerate((SOURCES / "Stopping.java").read_text().splitlines(), 1)
        if "result = perform(what, number)" in text
    )
    assert "waits for a class Stopping$… with that line" in prompt(f"%break Stopping:{result}")
    # One that is loaded, and has no lines before it is linked.
    loader = prompt.vm.find_class("Stopping").loader
    assert loader is not None
    loader.call("loadClass", "Stopping$Kept")
    waits = "waits for a class Stopping$… with that line"
    assert waits in prompt(f"%break Stopping.java:{LINE['kept']}")
    # One that the file is not named after.
    prompt.vm.jni.find_class("Beside")
    beside = f"Stopping.java:{LINE['beside']}"
    assert f"Beside:{LINE['beside']}, 1 place" in prompt(f"%break {beside}")
    stopping.ask("start one add 3")
    assert '"one" at Stopping$Job.run' in prompt("%wait 30")
    prompt("%delete all")
    prompt("%continue")
    assert stopping.ask("join one")
    # Where it returns, for instance.
    returns = prompt("%break return Stopping.add every 2 if value == 4 || value == 6")
    assert "breakpoint 11: return Stopping.add, 1 place" in returns
    stopping.ask("start one add 3")
    assert re.search(r"\(Stopping.java:\d+\), breakpoint 11, returns 6", prompt("%wait 30"))
    assert "6" in prompt("%eval value")
    assert "pending: no loaded class matches" in prompt("%break unwind com.acme.Order.add")
    assert "is not CLASS.MEMBER" in prompt.refusal("%break return add")
    prompt("%delete all")
    prompt("%continue")
    assert stopping.ask("join one")
    assert "no class 'com.acme.Order' is loaded yet" in prompt("%break com.acme.Order.add")
    prompt("%delete all")
    assert "no breakpoints" in prompt("%break")
    # At a stop the class is known.
    prompt("%tbreak Stopping.add")
    stopping.ask("start two add 3")
    prompt("%wait 30")
    assert "no breakpoints" in prompt("%break")  # it was there once
    assert "1 place" in prompt(f"%break :{LINE['return']}")
    assert "1 place" in prompt("%break another")
    prompt("%continue")
    assert f"Stopping.java:{LINE['return']}), breakpoint" in prompt("%wait 30")
    prompt("%delete all")
    prompt("%continue all")
    assert stopping.ask("join two")


def test_exceptions_and_fields_stop_threads(prompt: Prompt, stopping: JavaProgram) -> None:
    prompt("%catch java.lang.IllegalStateException if n > 3")
    stopping.ask("start one guarded 2")
    stopping.ask("join one")
    stopping.ask("start two guarded 4")
    shown = prompt("%wait 30")
    assert re.search(
        rf"Stopping.java:{LINE['throw']}\), catchpoint 1, java.lang.IllegalStateException: n is 4, "
        r"caught by Stopping.guarded",
        shown,
    ), shown
    assert "n is 4" in str(prompt.names["stop"].exception.message)
    prompt("%delete 1")
    prompt("%continue")
    stopping.ask("join two")
    assert "Stopping.written, write" in prompt("%watch Stopping.written")
    stopping.ask("start three fields 2")
    assert "Stopping.written becomes 0" in prompt("%wait 30")
    prompt("%continue")
    assert "Stopping.written becomes 1" in prompt("%wait 30")
    assert prompt("%eval new_value + written") == "1\n"
    prompt("%delete all")
    prompt("%continue")
    assert stopping.ask("join three")


def test_a_logpoint_prints_and_stops_nothing(
    prompt: Prompt, stopping: JavaProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"Stopping.add:{LINE['sum']}"
    assert "logpoint 1: " in prompt(f"%break {place} log 'n={{n}} twice={{twice}}' if n > 6")
    stopping.ask("start one add 9")
    assert stopping.ask("join one")
    found = ""
    deadline = time.monotonic() + SOON
    while "n=8" not in found and time.monotonic() < deadline:
        time.sleep(0.05)
        found += capsys.readouterr().out
    assert "n=7 twice=14" in found
    assert "n=8 twice=16" in found
    assert "n=6" not in found
    prompt("%delete 1")
    # With calls: they are evaluated while the thread waits.
    text = "'sum {name.length() + n} of {none()}' every 2 if n > 4 && name.length() == 2"
    log, _, rest = text.partition("' ")
    every, _, condition = rest.partition(" if ")
    assert "logpoint 2: " in prompt(f"%break {place} {every} log {log}' if {condition}")
    assert re.search("2 +logpoint", prompt("%break"))
    stopping.ask("start one add 9")
    assert stopping.ask("join one")
    said = capsys.readouterr().out
    assert re.findall(r"sum (\d+) of", said) == ["8", "10"]
    assert "there is no method 'none'" in said
    assert "is not complete" in prompt.refusal(f"%break {place} log '{{1 +}} {{n.a()}}'")
    assert "'{' is not closed" in prompt.refusal(f"%break {place} log '{{n'")
    prompt("%delete 2")
    assert "no breakpoints" in prompt("%break")


def test_a_late_catchpoint_has_its_condition_evaluated(
    java_program: JavaPrograms, jvm: Jvm, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where an exception is made there is no probe: it reads fields, and calls methods."""
    program = start(java_program, jvm, late=True)
    with jvmti.attach(program.pid, timeout=30) as vm:
        prompt = Prompt(vm, capsys)
        prompt("%catch java.lang.IllegalStateException if written == 99")
        prompt("%catch java.lang.IllegalStateException if exception.getMessage() == null")
        assert program.ask("start one thrower 9")
        assert program.ask("join one")
        prompt("%delete all")
        prompt("%catch java.lang.IllegalStateException if written == 0")
        assert program.ask("start two thrower 9")
        assert '"two" at Stopping.thrower' in prompt("%wait 30")
        # Nothing would end a step of this call, before a later one.
        assert "this call of thrower began before it got the probes" in prompt.refusal("%next")
        prompt("%continue")
        assert program.ask("join two")
        assert program.ask("start three thrower 9")
        prompt("%wait 30")
        assert "about to leave by an exception for Stopping.perform" in prompt("%next")
        debugging(vm, {}).close()
    assert program.running()


def test_steps_go_where_gdb_goes(prompt: Prompt, stopping: JavaProgram) -> None:
    prompt(f"%break Stopping.java:{LINE['adding']}")
    stopping.ask("start one add 2")
    assert "mark: adding" in prompt("%wait 30")
    assert f"Stopping.java:{LINE['twice']})" in prompt("%step")
    assert f"Stopping.java:{LINE['return']})" in prompt("%next 2")
    assert f"Stopping.java:{LINE['adding']})" in prompt("%finish")
    assert re.search(r"^  \d+: \w+$", prompt("%nexti"), re.M)
    assert re.search(r"^  \d+: \w+$", prompt("%stepi"), re.M)
    # A breakpoint on the way ends a step.
    prompt("%break Stopping.add")
    assert "Stopping.add" in prompt("%next 9")
    prompt("%delete all")
    prompt("%next")
    assert "the thread has ended" in prompt("%finish") + prompt("%finish") + prompt("%finish")
    assert stopping.ask("join one")


@pytest.mark.parametrize("late", [False, True])
def test_steps_pass_over_the_jdk(
    java_program: JavaPrograms, jvm: Jvm, capsys: pytest.CaptureFixture[str], late: bool
) -> None:
    """Out of a lambda that a stream calls, they go on where that was called."""
    program = start(java_program, jvm, late=late)
    with jvmti.attach(program.pid, timeout=30) as vm:
        prompt = Prompt(vm, capsys)
        vm.source_path.append(SOURCES)
        # Late, the caller needs probes, too.
        prompt("%break Stopping.streamed")
        prompt(f"%break Stopping:{LINE['streamed']}")
        assert program.ask("start one streamed 3")
        assert "Stopping.streamed" in prompt("%wait 30")
        prompt("%delete 1")
        prompt("%continue")
        prompt("%wait 30")
        # The JDK calls it again.
        prompt("%delete all")
        assert "mark: streamed" in prompt("%next")
        assert "Stopping.lambda$" in prompt("%where 1")
        shown = prompt("%finish")
        assert "Stopping.streamed" in prompt("%where 1"), shown
        while "mark: summed" not in shown:
            shown = prompt("%next")
        prompt("%continue")
        assert program.ask("join one") == "6"
        assert prompt("%skip").strip() == "steps pass over: $JDK"
        prompt("%skip none")
        prompt(f"%tbreak Stopping:{LINE['streamed']}")
        assert program.ask("start two streamed 3")
        prompt("%wait 30")
        if not late:
            prompt("%finish")
            assert "Stopping.streamed" not in prompt("%where 1")
        prompt("%continue")
        debugging(vm, {}).close()


def test_a_method_returns_early(prompt: Prompt, stopping: JavaProgram) -> None:
    prompt("%tbreak Stopping.factorial if n == 3")
    stopping.ask("start one factorial 5")
    prompt("%wait 30")
    assert "returns when the thread runs on" in prompt("%return n * 2 + 94")
    prompt("%continue")
    assert stopping.ask("join one") == "2000"


def test_java_expressions_are_evaluated_where_the_thread_is(
    prompt: Prompt, stopping: JavaProgram
) -> None:
    # More than the agent decides.
    prompt(f"%break Stopping.add:{LINE['sum']} if name.length() * 3 == 6 && n > 4")
    # The agent decides the part that it can.
    condition = debugging(prompt.vm, {}).entries[1].condition
    assert getattr(condition, "in_agent", None) == "n > 4"
    stopping.ask("start one add 7")
    prompt("%wait 30")
    assert prompt("%eval n + name.length()").strip() == "7"
    assert prompt("%eval name.toUpperCase()").strip() == "'X5'"
    assert "nothing" in prompt.refusal("%eval nothing.size()")
    assert "n = 10" in prompt("%set n = n * 2")
    assert "twice = 50" in prompt("%set twice = n * 5")
    assert "int twice = 50" in prompt("%locals")
    assert "Stopping.written = 3" in prompt("%set Stopping.written = 3")
    assert prompt.vm.find_class("Stopping")["written"] == 3
    # One that fails stops the thread, and says why.
    prompt("%delete 1")
    prompt("%break Stopping.add if name.none() > 3")
    prompt("%continue")
    assert "its condition failed: java.lang.String has no method 'none'" in prompt("%wait 30")
    prompt("%delete all")
    prompt("%continue")
    assert stopping.ask("join one") == "96"


def test_source_is_listed_around_the_line_and_on(prompt: Prompt, stopping: JavaProgram) -> None:
    line = LINE["sum"]
    prompt(f"%tbreak Stopping.add:{line}")
    stopping.ask("start one add 1")
    prompt("%wait 30")
    first = prompt("%list")
    assert f"→ {line:3d}          int sum = twice" in first
    assert f"\n  {line + 5:3d}" in first
    assert f"\n  {line + 6:3d}" not in first
    assert f"\n  {line + 6:3d}" in prompt("%list")
    assert prompt("%list 1,2").count("\n") == 3
    assert "iload" in prompt("%list dis")
    assert "ends before" in prompt.refusal("%list 100000")
    prompt("%continue")
    assert stopping.ask("join one")


def test_a_call_of_ones_own_passes_a_breakpoint(prompt: Prompt, stopping: JavaProgram) -> None:
    prompt("%break Stopping.add if n == 5")
    prompt("%break Stopping.factorial")
    stopping.ask("start one add 6")
    prompt("%wait 30")
    assert prompt.vm.find_class("Stopping").call("factorial", 3) == 6
    debugger = debugging(prompt.vm, {})
    assert [stop.thread.name for stop in debugger.queue.stops] == ["one"]
    prompt("%continue")
    assert stopping.ask("join one")
    # Now it is made on a thread of the agent's, which reports the hits.
    assert prompt.vm.find_class("Stopping").call("factorial", 3) == 6
    assert (debugger.queue.missed, debugger.queue.stops) == (3, [])


def test_a_python_condition_sees_the_stop(prompt: Prompt, stopping: JavaProgram) -> None:
    prompt.names["wanted"] = {4}
    prompt("%break Stopping.add if =py stop.locals['n'] in wanted")
    stopping.ask("start one add 6")
    prompt("%wait 30")
    assert prompt.names["frame"].locals["n"] == 4
    prompt("%delete 1")
    # One that fails stops the thread, and says why.
    prompt("%break Stopping.add if =py unknown > 3")
    prompt("%continue")
    assert "its condition failed: NameError: name 'unknown' is not defined" in prompt("%wait 30")
    prompt("%delete all")
    prompt("%continue")
    assert stopping.ask("join one")


REFUSED = {
    "%locals": "no thread has stopped; %break sets a breakpoint",
    "%next": "no thread has stopped",
    "%continue": "no thread has stopped",
    "%eval 1": "no thread has stopped",
    "%set n = 1": "no thread has stopped",
    "%list": "no thread has stopped",
    "%thread main": "no thread 'main' has stopped; these have: none",
    "%wait 0.01": "no thread has stopped within 0.01 s",
    "%wait soon": "%wait takes seconds, not 'soon'",
    "%break :42": "no thread has stopped, so the place needs its class",
    "%break add": "no thread has stopped, so the place needs its class",
    "%break Stopping.add:99999": "has no code at line 99999; the nearest lines",
    "%break Stopping.ad": "no method 'ad' of its own; did you mean 'add'",
    "%break Stopping.add if n = 3": "this writes to the program at each hit; `==` compares",
    "%break Stopping.add sometimes": "'sometimes' is not understood",
    "%break Stopping.add every x": "every takes a number, not 'x'",
    '%break Stopping.add thread "x': "No closing quotation",
    "%break Stopping.add thread nobody": "nobody",
    "%break Stopping.add thread main log x": "a logpoint takes",
    "%catch 'x": "No closing quotation",
    "%watch Stopping.writen": "did you mean 'written'",
    "%watch": "%watch needs a field",
    "%delete": "%delete takes numbers",
    "%delete x": "%delete takes numbers",
    "%delete 17": "there is no request 17; there are: none",
    "%go": "the program is not held",
    "%step x": "a step is taken a number of times",
    "%frame x": "%frame takes the number",
    "%up x": "a number of frames is expected",
    "%where x": "%where takes a number of frames",
    "%eval": "%eval needs an expression",
    "%set n": "%set needs a variable and a value",
    "%continue some": "%continue takes nothing or all",
}


def test_what_does_not_work_says_why(prompt: Prompt) -> None:
    for line, why in REFUSED.items():
        assert why in prompt.refusal(line), line


def test_tab_finds_places_threads_and_variables(prompt: Prompt, stopping: JavaProgram) -> None:
    completer = Completer(prompt.vm, prompt.names)

    def names(text: str) -> list[str]:
        found = completer.find(text)
        assert found is not None
        return found.names

    assert "Stopping" in names("%break Stopp")
    assert names("%break Stopping.fact") == ["Stopping.factorial"]
    prompt("%tbreak Stopping.add")
    prompt("%break Stopping.factorial")
    assert names("%delete ") == ["1", "2"]
    stopping.ask("start one add 1")
    prompt("%wait 30")
    assert names("%thread o") == ["one"]
    assert names("%eval n + na") == ["name"]
    assert "toUpperCase" in names("%set twice = name.toUp")
    prompt("%delete all")
    prompt("%continue")


def test_requests_are_split_into_their_parts() -> None:
    assert wanted("com.acme.Order.add:42 if name == ' if '") == Wanted(
        "com.acme.Order.add:42", "name == ' if '"
    )
    assert wanted("a.B.c hit 3 thread 'worker 3'") == Wanted("a.B.c", None, 3, "worker 3")
    assert wanted("a.B:1 every 2 log 'n={n} if so' if n > 1") == Wanted(
        "a.B:1", "n > 1", "every 2", None, "n={n} if so"
    )
    assert wanted("thread main") == Wanted("", None, None, "main")
    with pytest.raises(UsageError, match="is not understood"):
        wanted("a.B.c d.E.f")


def test_source_lines_keep_their_colours_and_nothing_of_the_target(tmp_path: Path) -> None:
    source = Source("A.java", 9, ["int a = 1; // \x1b[2Jx", "", "\tint b;"], 10)
    assert numbered(source, coloured=False) == (
        "   9  int a = 1; // \\x1b[2Jx\n→ 10\n  11          int b;"
    )
    coloured = numbered(source, coloured=True)
    assert "\x1b[2J" not in coloured
    bare = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    plain = numbered(source, coloured=False)
    assert [line.rstrip() for line in bare.split("\n")] == plain.split("\n")


def test_ctrl_c_ends_a_step_that_does_not_and_the_end_of_the_jvm_is_said(
    stopping: JavaProgram, home: dict[str, str]
) -> None:
    with Terminal([*SHELL, "--no-banner", str(stopping.pid)], home) as terminal:
        terminal.wait_for(r"^In \[\d+\]:")
        terminal.ask("%break Stopping.waiting", "breakpoint 1: .*1 place")
        terminal.type("\x0c")
        assert stopping.ask("start one wait 1")
        terminal.wait_for('"one" at Stopping.waiting')
        # The method waits until the program is asked to release it.
        terminal.type("%finish\r")
        terminal.wait_for(r"%finish\s*\Z")
        time.sleep(0.3)
        terminal.type("\x03")
        terminal.wait_for(r"(?s)KeyboardInterrupt.*In \[\d+\]: *\Z")
        assert "no thread has stopped" in terminal.ask("%where", "UsageError")
        terminal.type("\x0c")
        assert stopping.ask("release")
        assert stopping.ask("join one")
        assert stopping.ask("start two wait 1")
        terminal.wait_for('"two" at Stopping.waiting')
        stopping.kill()
        terminal.wait_for(r"The JVM \d+ Stopping has ended")
        error = terminal.ask("%locals", "ended|Closed|UsageError")
        assert "Traceback" not in error
        terminal.type("\x04")
        assert terminal.end() == 0
