"""Requests beyond breakpoints by line: exceptions, fields, bytecode, expressions."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

import jvms
from adapter.client import SOURCE, Client, Failed, line
from adapter.conftest import compiler_named

if TYPE_CHECKING:
    from pathlib import Path

    from adapter.conftest import Begin

pytestmark = pytest.mark.oldest_and_newest


def test_a_thrown_exception_stops_its_thread(begin: Begin, way: str) -> None:
    """It is shown with its class, its message and where it was made."""
    client = begin()
    condition = "java.lang.IllegalState*"
    options = [
        {"filterId": "caught", "condition": condition},
        {"filterId": "uncaught", "condition": condition},
    ]
    body = client.ask("setExceptionBreakpoints", filters=[], filterOptions=options)
    assert [one["verified"] for one in body["breakpoints"]] == [True, True]
    thread = client.stopped("exception")
    info = client.ask("exceptionInfo", threadId=thread)
    assert info["exceptionId"] == "java.lang.IllegalStateException"
    assert info["description"].startswith("order ")
    assert "Debugged.fail" in info["details"]["stackTrace"]
    assert client.top(thread)["line"] == line("THROW")
    scopes = client.ask("scopes", frameId=client.top(thread)["id"])["scopes"]
    assert [one["name"] for one in scopes] == ["Stop", "Locals", "Static"]
    body = client.ask("setExceptionBreakpoints", filters=["uncaught"])
    if way == "late":
        assert "ask for both kinds" in body["breakpoints"][0]["message"]
    body = client.ask("setExceptionBreakpoints", filters=["thrown"])
    assert [one["verified"] for one in body["breakpoints"]] == [True]
    with pytest.raises(Failed, match="caught and uncaught"):
        client.ask("setExceptionBreakpoints", filters=["all"])
    client.disconnect()


def test_a_write_of_a_field_stops_its_thread(begin: Begin, way: str) -> None:
    """The client asks for the field by the variable, and gets to know the new value."""
    client = begin(line("FIRST"))
    thread = client.stopped()
    static = client.scope(client.top(thread)["id"], "Static")
    info = client.ask("dataBreakpointInfo", variablesReference=static, name="total")
    assert info["dataId"] == "Debugged.total"
    local = client.scope(client.top(thread)["id"])
    info_of_local = client.ask("dataBreakpointInfo", variablesReference=local, name="this")
    assert info_of_local["dataId"] is None
    client.breakpoints()
    wanted = [{"dataId": "Debugged.total", "accessType": "write"}]
    body = client.ask("setDataBreakpoints", breakpoints=wanted)
    assert body["breakpoints"][0]["verified"], body
    client.ask("continue", threadId=thread)
    stop = client.event("stopped")
    assert stop["reason"] == "data breakpoint"
    assert stop["text"].startswith("Debugged.total becomes ")
    # Of a late agent, the call that runs already has no probe.
    places = ("TOTAL",) if way == "launched" else ("TOTAL", "LAMBDA", "CAUGHT", "DEEP")
    assert client.top(thread)["line"] in [line(one) for one in places]
    client.disconnect()


def test_conditions_stop_only_the_threads_for_which_they_hold(begin: Begin) -> None:
    """Those that the agent decides, and those that call methods."""
    client = begin()
    client.breakpoints(
        {"line": line("GROSS"), "condition": "net >= 500 && count != 6"},
        {"line": line("NESTED"), "condition": 'String.valueOf(n).endsWith("7")'},
    )
    numbers = []
    for _ in range(4):
        thread = client.stopped("breakpoint")
        local = client.locals(thread)
        if "net" in local:
            numbers.append(int(local["count"]["value"]))
            assert numbers[-1] >= 5
            assert numbers[-1] != 6
        else:
            assert local["n"]["value"].endswith("7")
        client.ask("continue", threadId=thread)
    assert len(numbers) >= 2
    gross = line("GROSS")
    for writes in ("net = 3", "=py net = 3"):
        [refused] = client.breakpoints({"line": gross, "condition": writes})
        assert not refused["verified"]
        assert "`==` compares" in refused["message"]
    # Python without a stopped thread, in a condition, and with its names.
    known = client.ask("evaluate", expression="=py [one.name for one in vm.threads]")["result"]
    assert "'main'" in known
    client.breakpoints({"line": gross, "condition": "=py net >= 500 and count != 6"})
    thread = client.stopped("breakpoint")
    assert client.evaluate(thread, "=py net >= 500")["result"] == "true"
    client.breakpoints({"line": gross, "condition": "net - net"})
    client.ask("continue", threadId=thread)
    client.stopped("breakpoint")
    assert "so threads stop: a condition is a boolean, not int" in client.output("important")
    client.disconnect()


def test_expressions_are_evaluated_in_the_frame_of_a_stopped_thread(begin: Begin) -> None:
    """Calls run on the thread; a hover calls nothing; what throws is an error."""
    client = begin(line("GROSS"))
    thread = client.stopped()
    count = int(client.evaluate(thread, "count")["result"])
    assert client.evaluate(thread, "square(count) + lines.size()")["result"] == str(
        count * count + 250
    )
    assert client.evaluate(thread, "note.length() > 3 ? 'y' : 'n'")["result"] == "'y'"
    made = client.evaluate(thread, "prices", context="hover")
    assert made["indexedVariables"] == 2
    with pytest.raises(Failed):
        client.evaluate(thread, "lines.size()", context="hover")
    with pytest.raises(Failed, match="IndexOutOfBounds"):
        client.evaluate(thread, "lines.get(999)")
    with pytest.raises(Failed):
        client.evaluate(thread, "1 +")
    frame = client.top(thread)["id"]
    changed = client.ask("setExpression", expression="weights[1]", value="count + 7", frameId=frame)
    assert changed["value"] == str(count + 7)
    assert client.evaluate(thread, "weights[1]", format={"hex": True})["result"] == hex(count + 7)
    targets = client.ask("completions", text="this.wei", column=9, frameId=frame)["targets"]
    assert ("weights", 6) in [(one["text"], one["start"]) for one in targets]
    client.disconnect()


def test_a_step_goes_into_the_chosen_call(begin: Begin) -> None:
    """A line has several calls; the client chooses the outermost."""
    client = begin(line("BOTH"))
    thread = client.stopped()
    targets = client.ask("stepInTargets", frameId=client.top(thread)["id"])["targets"]
    assert [one["label"] for one in targets] == ["Debugged.square(int)", "Debugged.sum(int, int)"]
    client.breakpoints()
    client.go("stepIn", thread, targetId=targets[1]["id"])
    assert client.top(thread)["line"] == line("SUM")
    client.disconnect()


def test_bytecode_is_shown_and_stops_threads(client: Client, command: list[str]) -> None:
    """Instructions have addresses, can be stepped, and stop threads."""
    client.launch(line("GROSS"), command=command)
    thread = client.stopped()
    pointer = client.top(thread)["instructionPointerReference"]
    shown = client.ask(
        "disassemble", memoryReference=pointer, instructionOffset=-50, instructionCount=80
    )["instructions"]
    assert len(shown) == 80
    here = next(number for number, one in enumerate(shown) if one["address"] == pointer)
    assert here == 50
    assert shown[here]["instruction"].startswith("iload")
    assert shown[here]["line"] == line("GROSS")
    client.go("next", thread, granularity="instruction")
    assert client.top(thread)["instructionPointerReference"] == shown[here + 1]["address"]
    client.breakpoints()
    wanted = [{"instructionReference": shown[here + 3]["address"]}]
    body = client.ask("setInstructionBreakpoints", breakpoints=wanted)
    assert body["breakpoints"][0]["verified"]
    client.ask("continue", threadId=thread)
    client.stopped("instruction breakpoint")
    assert client.top(thread)["instructionPointerReference"] == shown[here + 3]["address"]
    assert client.ask("modules")["totalModules"] > 1
    client.disconnect()


def test_a_frame_is_restarted_and_left_early(client: Client, command: list[str]) -> None:
    """The call is made again; and a result of our own goes to the caller."""
    client.launch(line("RETURN"), command=command, evaluateTimeout=700)
    thread = client.stopped("breakpoint")
    client.ask("restartFrame", frameId=client.top(thread)["id"])
    client.stopped("restart")
    assert client.top(thread)["line"] == line("NET")
    client.ask("returnEarly", frameId=client.top(thread)["id"], value="number + 4000")
    client.stopped("step")
    assert client.top(thread)["name"] == "Debugged.work()"
    client.go("next", thread)
    assert client.locals(thread)["first"]["value"] == str(
        int(client.evaluate(thread, "number")["result"]) + 4000
    )
    # An expression that takes too long is let go; until it returns, the thread runs no other.
    with pytest.raises(Failed, match="did not return within 0.7 s"):
        client.evaluate(thread, "Thread.sleep(30000)")
    before = time.monotonic()
    busy = "^the thread still runs an earlier expression; ask again when that has returned$"
    with pytest.raises(Failed, match=busy):
        client.evaluate(thread, "first + 1")
    assert time.monotonic() - before < 2
    with pytest.raises(Failed, match=busy):
        client.ask("next", threadId=thread)
    client.disconnect()


def test_a_frame_below_others_is_restarted(client: Client, command: list[str]) -> None:
    """All above it are discarded, and its caller makes the call again."""
    client.launch(line("DEEP"), command=command)
    thread = client.stopped("breakpoint")
    frames = client.frames(thread)
    names = [one["name"] for one in frames]
    # The VM has all that the first response says.
    assert not client.has_event("capabilities")
    assert [one.get("canRestart", True) for one in frames] == [True] * (len(frames) - 1) + [False]
    depth = names.index("Debugged.deep(int)") + 20
    client.breakpoints()
    client.ask("restartFrame", frameId=frames[depth]["id"])
    client.stopped("restart")
    assert [one["name"] for one in client.frames(thread)] == names[depth:]
    assert client.locals(thread)["levels"]["value"] == str(depth)
    with pytest.raises(Failed, match="no method has called"):
        client.ask("restartFrame", frameId=client.frames(thread)[-1]["id"])
    client.breakpoints(line("SUM"))
    client.ask("continue", threadId=thread)
    client.stopped("breakpoint")
    total = int(client.evaluate(thread, "total")["result"])
    client.ask("restartFrame", frameId=client.frames(thread)[1]["id"])
    client.stopped("restart")
    assert client.top(thread)["line"] == line("FIRST")
    client.breakpoints(line("WORKED"))
    client.ask("continue", threadId=thread)
    client.stopped("breakpoint")
    price = client.evaluate(thread, "price(number)")["result"]
    assert int(client.evaluate(thread, "total")["result"]) == total + int(price)
    client.disconnect()


def test_code_without_source_is_shown_as_bytecode_that_stops_threads(
    client: Client, command: list[str]
) -> None:
    """The program's own source is not found, so the client shows and uses the disassembly."""
    client.initialize()
    client.ask("launch", command=command)
    client.event("initialized")
    name = {"name": "Debugged.price"}
    body = client.ask("setFunctionBreakpoints", breakpoints=[name])
    assert not body["breakpoints"][0]["verified"]
    client.ask("configurationDone")
    assert client.event("breakpoint")["breakpoint"]["verified"]
    thread = client.stopped("function breakpoint")
    top = client.top(thread)
    source = top["source"]
    text = client.ask("source", sourceReference=source["sourceReference"], source=source)
    lines = text["content"].splitlines()
    assert "bipush" in lines[top["line"] - 1] or "iload" in lines[top["line"] - 1]
    wanted = [{"line": top["line"] + 2}]
    body = client.ask("setBreakpoints", source=source, breakpoints=wanted)
    assert body["breakpoints"][0]["verified"], body
    client.ask("continue", threadId=thread)
    client.stopped("breakpoint")
    assert client.top(thread)["line"] == body["breakpoints"][0]["line"]
    assert source["name"] in [one["name"] for one in client.ask("loadedSources")["sources"]]
    client.disconnect()


def test_a_request_that_takes_long_is_shown_and_cancelled(
    client: Client, command: list[str]
) -> None:
    """By what shows it or its number, at once; others, also later ones, are answered."""
    supports = ["ProgressReporting"]
    client.launch(line("GROSS"), command=command, supports=supports, evaluateTimeout=20000)
    thread = client.stopped()
    frame = client.top(thread)["id"]
    running = client.post("evaluate", {"expression": "pause(3)", "frameId": frame})
    shown = client.event("progressStart", where=lambda body: body.get("requestId") == running)
    assert shown["title"] == "Evaluating"
    assert shown["cancellable"]
    client.post("cancel", {"progressId": shown["progressId"]})
    response = client.response(timeout=2.2)
    assert (response["success"], response["message"]) == (False, "cancelled")
    assert client.event("progressEnd")["progressId"] == shown["progressId"]
    assert client.response()["success"]
    running = client.post("evaluate", {"expression": "pause(4)", "frameId": frame})
    client.post("cancel", {"requestId": running})
    response = client.response(timeout=3.5)
    assert not response["success"]
    assert response["message"] == "cancelled"
    assert client.response()["success"]
    to_come = client.post("cancel", {"requestId": running}) + 2
    client.post("cancel", {"requestId": to_come})
    assert client.response()["success"]
    assert client.response()["success"]
    assert client.evaluate(thread, "1 + 1")["result"] == "2"
    client.disconnect()


@pytest.mark.newest
def test_of_large_pools_a_few_threads_are_listed(client: Client, command: list[str]) -> None:
    """An editor that lists thousands of threads stalls."""
    client.launch(line("GROSS"), command=command)
    thread = client.stopped()
    executor = "((java.util.concurrent.ThreadPoolExecutor) (Object) WAITING.get(0))"
    made = "WAITING.add(java.util.concurrent.Executors.newFixedThreadPool(600))"
    client.evaluate(thread, made)
    assert client.evaluate(thread, f"{executor}.prestartAllCoreThreads()")["result"] == "600"
    listed = {one["name"]: one["id"] for one in client.ask("threads")["threads"]}
    assert "pool-1-thread-20" in listed
    assert "pool-1-thread-21" not in listed
    assert len(listed) < 60
    with pytest.raises(Failed, match="these threads are not listed; poolThreads"):
        client.ask("pause", threadId=listed["… 580 more threads pool-1-thread-*"])
    client.evaluate(thread, f"{executor}.shutdownNow()")
    client.disconnect()


@pytest.mark.newest
def test_threads_that_start_and_end_are_reported(client: Client, command: list[str]) -> None:
    """Each has a number of the list of threads, and its name."""
    client.launch(line("GROSS"), command=command)
    thread = client.stopped()
    client.evaluate(thread, 'WAITING.add(new java.util.Timer("ticker"))')

    def is_listed(number: int) -> bool:
        listed = {one["id"]: one["name"] for one in client.ask("threads")["threads"]}
        return listed.get(number) == "ticker"

    body = client.event(
        "thread", where=lambda one: one["reason"] == "started" and is_listed(one["threadId"])
    )
    number = body["threadId"]
    client.evaluate(thread, "((java.util.Timer) (Object) WAITING.get(0)).cancel()")
    exited = {"reason": "exited", "threadId": number}
    assert client.event("thread", where=lambda one: one == exited) == exited
    assert not is_listed(number)
    client.disconnect()


def test_a_changed_source_replaces_the_code_of_the_running_program(
    begin: Begin, way: str, tmp_path: Path
) -> None:
    """Breakpoints stay where they were; what does not compile is said, and what the VM refuses."""
    client = code_is_replaced(begin, "javac", tmp_path)
    if way == "launched":  # each compilation takes seconds of processor time
        others_are_refused(client, tmp_path)
    client.disconnect()


@pytest.mark.since(17)
@pytest.mark.parametrize("way", ["late"], indirect=True)
def test_a_source_that_ecj_compiles_replaces_code_that_ecj_has_compiled(
    begin: Begin, tmp_path: Path
) -> None:
    """The program's own VM runs it, as its jar."""
    code_is_replaced(begin, "ecj", tmp_path).disconnect()


def disassembled(client: Client, thread: int) -> list[dict[str, Any]]:
    """The code of the method that a thread is in, with what differs by the address left out."""
    at = client.top(thread)["instructionPointerReference"]
    given = {"memoryReference": at, "instructionOffset": -40, "instructionCount": 80}
    shown = client.ask("disassemble", **given)["instructions"]
    found = [one for one in shown if one["instruction"]]
    (here,) = (one for one in found if one["address"] == at)
    assert here["line"] == line("GROSS")
    first = int(found[0]["address"], 16)
    return [one | {"address": int(one["address"], 16) - first} for one in found]


def redefined(client: Client, source: Path, compiled_by: str) -> list[dict[str, Any]]:
    """What became of the classes of a source."""
    given = {"sources": [str(source)], "javac": compiler_named(compiled_by)}
    results: list[dict[str, Any]] = client.ask("redefineClasses", **given)["classes"]
    return results


def code_is_replaced(begin: Begin, compiled_by: str, place: Path) -> Client:
    """Change a method of the program."""
    client = begin(line("GROSS"), compiled_by=compiled_by)
    thread = client.stopped("breakpoint")
    changed = place / "Debugged.java"
    changed.write_text(SOURCE.read_text().replace("count * 100;", "count * 7000; // \u00e9"))

    before = disassembled(client, thread)
    assert any(one["instruction"] == "bipush 100" for one in before)
    classes = redefined(client, changed, compiled_by)
    assert {"name": "Debugged", "redefined": True} in classes
    assert any(one["name"] == "Debugged$Computed" and one.get("unchanged") for one in classes)
    same = {"name": "Debugged", "redefined": False, "unchanged": True}
    assert same in redefined(client, changed, compiled_by)
    # The thread goes on in the code from before.
    assert disassembled(client, thread) == before
    client.ask("continue", threadId=thread)
    while True:
        thread = client.stopped("breakpoint")
        local = client.locals(thread)
        if int(local["net"]["value"]) == 7000 * int(local["count"]["value"]):
            break
        client.ask("continue", threadId=thread)
    after = disassembled(client, thread)
    assert any(one["instruction"] == "sipush 7000" for one in after)
    # Before 20 the VM has the class file from before for those who change the class next.
    client.breakpoints(line("RETURN"))
    client.go("continue", thread)
    local = client.locals(thread)
    assert int(local["net"]["value"]) == 7000 * int(local["count"]["value"])
    assert client.evaluate(thread, "number == count")["result"] == "true"
    return client


def others_are_refused(client: Client, place: Path) -> None:
    """Change what the compiler does not take, and what the VM does not let change."""
    changed = place / "Debugged.java"
    changed.write_text(SOURCE.read_text().replace("count * 100;", "count * ;"))
    with pytest.raises(Failed, match="does not compile"):
        redefined(client, changed, "javac")
    for declared, why in (
        ("int added;", r"adds, removes or changes fields.* \(adds int added\)$"),
        ("void made(int n) {}", r"adds a method.* \(adds void made\(int\)\)$"),
    ):
        changed.write_text(SOURCE.read_text().replace("    String note", f"{declared} String note"))
        classes = redefined(client, changed, "javac")
        refused = next(one for one in classes if one["name"] == "Debugged")
        assert not refused["redefined"]
        assert re.search(why, refused["message"]), refused


@pytest.mark.on("11")
@pytest.mark.parametrize("there_is_another", [True, False])
def test_a_compiler_that_needs_a_newer_java_than_the_programs_runs_on_the_one_on_path(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there_is_another: bool
) -> None:
    """ECJ is such a one. Where there is none, it is not the source that is wrong."""
    newer = jvms.named("25").home / "bin"
    monkeypatch.setenv("PATH", f"{newer}:/nowhere" if there_is_another else "/nowhere")
    client = Client()
    client.launch(line("GROSS"), command=command)
    client.stopped("breakpoint")
    source = tmp_path / "Debugged.java"
    source.write_text(SOURCE.read_text())
    given = {"sources": [str(source)], "javac": compiler_named("ecj")}
    if there_is_another:
        results = client.ask("redefineClasses", **given)["classes"]
        assert {"name": "Debugged", "redefined": True} in results
    else:
        with pytest.raises(Failed, match="needs a newer Java than the program's"):
            client.ask("redefineClasses", **given)
    client.disconnect()
