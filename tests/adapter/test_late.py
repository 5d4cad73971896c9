"""What a debugger that came late shows of code that has its probes, and of calls that have none."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import compiler
from adapter.client import SOURCE, Client, Failed, line

if TYPE_CHECKING:
    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.oldest_and_newest


@pytest.fixture
def program(java_program: JavaPrograms) -> JavaProgram:
    program = java_program("Debugged")
    program.expect("ready")
    return program


def test_code_is_shown_as_it_was_before_its_probes(
    program: JavaProgram, client: Client, jvm: Jvm
) -> None:
    """Instructions, addresses and lines are those of the class file, as `javap` has it."""
    client.attach(program.pid)
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": "Debugged.price"}])
    thread = client.stopped("function breakpoint")
    client.go("next", thread)
    client.go("next", thread)
    top = client.top(thread)
    pointer = top["instructionPointerReference"]
    shown = client.ask(
        "disassemble", memoryReference=pointer, instructionOffset=-40, instructionCount=80
    )["instructions"]
    code = [one for one in shown if one["instruction"]]
    here = next(one for one in code if one["address"] == pointer)
    assert here["line"] == line("RETURN")
    assert here["instruction"].startswith("iload")
    assert [one["instruction"] for one in code] == _javap(jvm, "price")
    text = client.ask("source", sourceReference=top["source"]["sourceReference"])["content"]
    assert text.splitlines()[top["line"] - 2].strip() == f"// line {line('RETURN')}"
    assert "JvmtiProbes" not in text
    # The thread goes on with code that is none of the method's any more.
    for lines in ([line("FIRST")], []):
        client.ask("setFunctionBreakpoints", breakpoints=[])
        client.breakpoints(*lines)
        pointer = client.top(thread)["instructionPointerReference"]
        again = client.ask("disassemble", memoryReference=pointer, instructionCount=1)
        (one,) = again["instructions"]
        assert (one["address"], one["instruction"]) == (pointer, here["instruction"])
        assert one["line"] == here["line"]
    (at,) = client.ask(
        "setInstructionBreakpoints", breakpoints=[{"instructionReference": pointer}]
    )["breakpoints"]
    assert at["verified"], at
    client.ask("continue", threadId=thread)
    client.stopped("instruction breakpoint")
    client.disconnect()


def test_parameters_are_shown_where_the_compiler_left_out_their_names(
    program: JavaProgram, client: Client
) -> None:
    """The descriptor of a method says what they are, and their slots are their names."""
    client.attach(program.pid)
    name = {"name": "java.util.LinkedHashMap.newNode"}
    client.ask("setFunctionBreakpoints", breakpoints=[name])
    for _ in range(100):
        thread = client.stopped("function breakpoint")
        local = client.locals(thread)
        assert local["this"]["type"] == "java.util.LinkedHashMap"
        if "key" in local:
            pytest.skip("this JDK, of Debian, has the names of variables")
        if local["slot2"]["value"] in ('"tea"', '"coffee"'):
            break
        # The JDK has such maps of its own.
        client.ask("continue", threadId=thread)
    assert {name: one["type"] for name, one in local.items() if name != "this"} == {
        "slot1": "int",
        "slot2": "java.lang.Object",
        "slot3": "java.lang.Integer",
        "slot4": "java.util.HashMap$Node",
    }
    client.disconnect()


def test_a_call_is_restarted_at_its_first_line(program: JavaProgram, client: Client) -> None:
    """Also from there, and where the class got its breakpoint in the middle of the method."""
    client.attach(program.pid, line("RETURN"))
    thread = client.stopped("breakpoint")
    frames = client.frames(thread)
    assert [one.get("canRestart", True) for one in frames] == [True] + [False] * (len(frames) - 1)
    for _ in range(2):
        client.ask("restartFrame", frameId=client.top(thread)["id"])
        client.stopped("restart")
        assert client.top(thread)["line"] == line("NET")
    client.ask("continue", threadId=thread)
    client.stopped("breakpoint")
    assert client.locals(thread)["gross"]["value"] == str(
        int(client.locals(thread)["count"]["value"]) * 120
    )
    client.disconnect()


def test_what_was_shown_before_a_step_is_not_asked_for_again(
    program: JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step brings the stack, the variables and the fields that were shown where it began.

    What is left is a map and a list that is a class of the program.
    """
    monkeypatch.setenv("JVMTI_TRACE", "frames")
    client = Client()
    client.attach(program.pid, line("FIRST"), sourcePaths=[str(SOURCE.parent)])
    thread = client.stopped("breakpoint")
    client.breakpoints()
    seen = []
    for _ in range(3):
        client.go("next", thread)
        before = client.exchanges()
        frames = client.frames(thread)
        fields = client.locals(thread)["this"]["variablesReference"]
        assert "prices" in client.variables(fields)
        seen.append(client.exchanges() - before)
        assert frames[0]["line"] > line("FIRST")
        assert frames[1]["name"].startswith("Debugged.")
    assert max(seen[1:]) <= 9, seen
    # What has come along with a stop is forgotten with the first request that may change it.
    client.go("next", thread)
    frame = client.top(thread)["id"]
    client.ask("evaluate", expression='note = "changed"', frameId=frame, context="repl")
    fields = client.locals(thread)["this"]["variablesReference"]
    assert client.variables(fields)["note"]["value"] == '"changed"'
    client.disconnect()


def test_objects_in_boxes_are_told_from_numbers(program: JavaProgram, client: Client) -> None:
    """A probe boxes the numbers of variables; a variable may hold a box of its own."""
    client.attach(program.pid, line("PROXIED"), sourcePaths=[str(SOURCE.parent)])
    local = client.locals(client.stopped("breakpoint"))
    shown = {name: (one["type"], one["value"]) for name, one in local.items() if name != "polite"}
    n = int(shown["n"][1])
    assert shown["handled"] == ("int", str(n + 1))
    assert shown["boxed"][0] == shown["reflected"][0] == "java.lang.Integer"
    client.disconnect()


def _javap(jvm: Jvm, method: str) -> list[str]:
    home = compiler.javac_home(11)
    if home is None:
        pytest.skip("no javap here")
    done = subprocess.run(
        [home / "bin" / "javap", "-c", "-p", "-cp", compiler.classes("Debugged"), "Debugged"],
        capture_output=True,
        text=True,
        check=True,
    )
    part = done.stdout.partition(f" {method}(")[2].partition("\n\n")[0]
    return [" ".join(one.partition(": ")[2].split()) for one in part.splitlines() if ": " in one]


def test_what_a_late_agent_cannot_do_is_told_before_it_is_asked_for(
    program: JavaProgram, client: Client
) -> None:
    """By capabilities that the client has with its first event, by frames and by variables."""
    client.attach(program.pid, line("NESTED"))
    thread = client.stopped("breakpoint")
    names = [one["event"] for one in client.events]
    assert names.index("capabilities") < names.index("initialized")
    (changed,) = [one["body"] for one in client.events if one["event"] == "capabilities"]
    assert not changed["capabilities"]["supportsSteppingGranularity"]
    (only,) = changed["capabilities"]["exceptionBreakpointFilters"]
    with pytest.raises(Failed, match="steps threads by line"):
        client.ask("next", threadId=thread, granularity="instruction")

    def fixed(depth: int) -> dict[str, bool]:
        local = client.variables(client.scope(client.frames(thread)[depth]["id"]))
        hints = {name: one.get("presentationHint", {}) for name, one in local.items()}
        return {name: "readOnly" in one.get("attributes", ()) for name, one in hints.items()}

    assert fixed(0) == {"this": True, "n": False}
    below = fixed(1)
    assert "order" in below
    assert all(below.values())
    number = client.scope(client.frames(thread)[1]["id"])
    passed = client.variables(client.scope(client.frames(thread)[0]["id"]))["n"]["value"]
    assert client.variables(number)["n"]["value"] == passed
    with pytest.raises(Failed, match="cannot be written|is not at the top"):
        client.ask("setVariable", variablesReference=number, name="order", value="null")
    body = client.ask("setExceptionBreakpoints", filters=[only["filter"]])
    assert [one["verified"] for one in body["breakpoints"]] == [True]
    client.breakpoints()
    client.ask("continue", threadId=thread)
    # Where it stopped no constructor begins again, and the call has no probes.
    frames = client.frames(client.stopped("exception"))
    assert not any(one.get("canRestart", True) for one in frames)
    client.disconnect()


def test_a_condition_on_numbers_holds_where_an_exception_is_made(
    java_program: JavaPrograms, client: Client
) -> None:
    """There is no probe in the method that throws it, but the thread walks its own stack."""
    program = java_program("Debugged", jvm_args=["-Xint"])  # keeps what is not read again
    client.attach(program.pid)
    names = ("caught", "uncaught")

    def stop_at(condition: str) -> int:
        options = [{"filterId": name, "condition": condition} for name in names]
        client.ask("setExceptionBreakpoints", filters=[], filterOptions=options)
        return client.stopped("exception")

    thread = stop_at("java.lang.IllegalStateException if total % 5 == 0 && WAITING.isEmpty()")
    assert client.evaluate(thread, "total % 5")["result"] == "0"
    client.ask("continue", threadId=thread)
    thread = stop_at("java.lang.IllegalStateException if n % 10 == 3")
    assert client.evaluate(thread, "n % 10")["result"] == "3"
    assert not client.has_event("breakpoint")
    client.disconnect()


def test_a_step_out_to_a_call_without_probes_ends_at_the_end_and_says_so(
    program: JavaProgram, client: Client
) -> None:
    """The caller ran before it got probes: the thread must not go on to its next call unseen."""
    client.attach(program.pid, line("GROSS"), sourcePaths=[str(SOURCE.parent)])
    thread = client.stopped("breakpoint")
    count = client.locals(thread)["count"]["value"]
    client.breakpoints()
    client.ask("stepOut", threadId=thread)
    body = client.event("stopped")
    assert body["description"].startswith("about to leave for Debugged.work, which began before")
    assert client.top(thread)["line"] == line("RETURN")
    assert client.locals(thread)["count"]["value"] == count
    client.disconnect()


def test_a_call_that_returns_early_stops_in_its_caller_or_says_why_not(
    program: JavaProgram, client: Client
) -> None:
    """The first caller began before it got probes, the next has them."""
    client.attach(program.pid, line("GROSS"), sourcePaths=[str(SOURCE.parent)])
    thread = client.stopped("breakpoint")
    count = client.locals(thread)["count"]["value"]
    client.ask("returnEarly", frameId=client.top(thread)["id"], value="count + 4000")
    body = client.event("stopped")
    assert body["description"].startswith("about to leave for Debugged.work, which began before")
    assert client.locals(thread)["count"]["value"] == count
    with pytest.raises(Failed, match="is about to end, and its callers began before"):
        client.ask("next", threadId=thread)
    client.go("continue", thread)
    count = client.locals(thread)["count"]["value"]
    client.ask("returnEarly", frameId=client.top(thread)["id"], value="count + 4000")
    assert "description" not in client.event("stopped")
    assert client.top(thread)["line"] == line("BOTH")
    assert client.locals(thread)["first"]["value"] == str(int(count) + 4000)
    # From the console, for editors that send no requests of our own.
    client.go("continue", thread)
    client.evaluate(thread, "=py frame.return_(7)", context="repl")
    client.go("next", thread)
    assert client.locals(thread)["first"]["value"] == "7"
    client.disconnect()
