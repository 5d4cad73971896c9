"""Steps that pass over code, and threads that stop together."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest

import compiler
from adapter.client import SOURCE, Client, Failed, line
from adapter.conftest import compiler_named
from conformance.class_file import Attribute, ClassFile

if TYPE_CHECKING:
    from pathlib import Path

    from adapter.conftest import Begin
    from jvms import Jvm
    from programs import JavaPrograms

pytestmark = pytest.mark.oldest_and_newest


def test_steps_pass_over_the_jdk_and_end_where_it_calls_back(begin: Begin, way: str) -> None:
    """A step into a method of the JDK ends in the lambda that it calls, then behind it."""
    client = begin(line("EACH"))
    thread = client.stopped("breakpoint")
    client.breakpoints()
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("LAMBDA")
    client.go("stepOut", thread)
    # The JDK calls it again, or has done with it.
    assert client.top(thread)["line"] in (line("EACH"), line("SIZE"), line("LAMBDA"))
    while client.top(thread)["line"] != line("VISITED"):
        client.post("next", {"threadId": thread}, is_valid=True)
        answered = client.response()["seq"]
        client.stopped()
        assert client.events[client.seen - 1]["seq"] > answered
    # A late agent's probes are where lines begin.
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("SQUARE")
    client.disconnect()


@pytest.mark.on("11", "25", "zero")
def test_steps_go_into_what_is_called_by_reflection(begin: Begin) -> None:
    """The JDK's own code between caller and callee is passed over; the last of these has lines."""
    client = begin(line("NEW"))
    thread = client.stopped("breakpoint")
    client.breakpoints()
    for calls, called in (
        ("NEW", "MADE"),
        ("REFLECTED", "GREET"),
        ("HANDLED", "GREET"),
        ("BOUND", "GREET"),
        ("PROXIED", "HANDLER"),
    ):
        while client.top(thread)["line"] != line(calls):
            client.go("next", thread)
        client.go("stepIn", thread)
        assert client.top(thread)["line"] == line(called)
        if called != "HANDLER":
            client.go("stepOut", thread)
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("GREET")
    client.disconnect()


@pytest.fixture
def inlined(tmp_path: Path) -> Path:
    """The program as if it were Kotlin, with a line of `work` inlined from the file Prices.kt.

    The folder of its classes and sources.
    """
    both, first = line("BOTH"), line("FIRST")
    text = (
        "SMAP\nDebugged.kt\nKotlin\n*S Kotlin\n*F\n+ 1 Debugged.kt\nDebugged\n+ 2 Prices.kt\n"
        f"PricesKt\n*L\n1#1,{both - 1}:1\n2#2:{both}\n{both + 1}#1,500:{both + 1}\n"
        f"*S KotlinDebug\n*F\n+ 1 Debugged.kt\nDebugged\n*L\n{first}#1:{both}\n*E\n"
    )
    made = ClassFile.parse(compiler.classes("Debugged") / "Debugged.class")
    made.replace_text("Debugged.java", "Debugged.kt")
    made.attributes.append(Attribute("SourceDebugExtension", text.encode()))
    place = tmp_path / "kotlin"
    shutil.copytree(compiler.classes("Debugged"), place)
    (place / "Debugged.class").write_bytes(made.to_bytes())
    (place / "Debugged.kt").write_text(SOURCE.read_text())
    (place / "Prices.kt").write_text("inline fun price(both: Int) =\n    both // INLINED\n")
    return place


def test_lines_of_inlined_functions_stop_and_are_stepped_over(
    inlined: Path, way: str, client: Client, jvm: Jvm, java_program: JavaPrograms
) -> None:
    """A breakpoint in the function's file is where its code is; steps over its call pass it."""
    client.initialize()
    if way == "launched":
        command = [str(jvm.java), *jvm.args, "-cp", str(inlined), "Debugged"]
        client.ask("launch", command=command, sourcePaths=[str(inlined)])
    else:
        program = java_program.start(["-cp", str(inlined), "Debugged"], ends_with_input=False)
        program.expect("ready")
        client.ask("attach", pid=program.pid, sourcePaths=[str(inlined)])
    client.event("initialized")
    prices = inlined / "Prices.kt"
    found = client.breakpoints(1, line("INLINED", prices), path=prices)
    if way == "late":
        assert "nearest lines with code: 2" in found[0]["message"]
        assert found[1]["verified"]
    client.ask("configurationDone")
    if way == "launched":
        assert client.event("breakpoint")["breakpoint"]["verified"]
    thread = client.stopped("breakpoint")
    top = client.top(thread)
    assert top["name"] == "Debugged.work()"
    assert top["line"] == line("INLINED", prices)
    assert top["source"]["path"] == str(prices)
    client.go("next", thread)
    assert client.top(thread)["line"] == line("TOTAL")
    client.breakpoints(path=prices)
    client.breakpoints(line("FIRST"), path=inlined / "Debugged.kt")
    client.go("continue", thread)
    assert client.top(thread)["line"] == line("FIRST")
    client.go("next", thread)
    assert client.top(thread)["line"] == line("TOTAL")
    client.disconnect()


@pytest.mark.newest
def test_step_filters_have_patterns_and_kinds_of_methods(
    client: Client, command: list[str]
) -> None:
    """Constructors and chosen classes are passed over."""
    filters = {"skipClasses": ["Debugged$L*"], "skipConstructors": True}
    client.launch(line("TEXT"), command=command, stepFilters=filters)
    thread = client.stopped("breakpoint")
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("FAIL")
    with pytest.raises(Failed, match="another line"):
        client.ask("gotoTargets", source={"path": str(SOURCE)}, line=line("TEXT"))
    client.disconnect()


@pytest.mark.newest
def test_all_threads_stop_together_at_a_field_whose_class_comes_later(
    client: Client, command: list[str]
) -> None:
    """The others show their stacks, and run on with the one that has stopped."""
    client.initialize()
    client.ask("launch", command=command, suspendAllThreads=True)
    client.event("initialized")
    wanted = [{"dataId": "Debugged.total", "accessType": "write"}]
    (before,) = client.ask("setDataBreakpoints", breakpoints=wanted)["breakpoints"]
    assert not before["verified"]
    assert before["reason"] == "pending"
    client.ask("configurationDone")
    assert client.event("breakpoint")["breakpoint"]["verified"]
    for _ in range(2):
        stop = client.event("stopped")
        assert stop["reason"] == "data breakpoint"
        assert stop["allThreadsStopped"]
        listed = {one["name"]: one["id"] for one in client.ask("threads")["threads"]}
        assert client.frames(listed["Reference Handler"])
        assert client.frames(stop["threadId"])
        assert client.ask("continue", threadId=stop["threadId"])["allThreadsContinued"]
    stop = client.event("stopped")
    client.ask("setDataBreakpoints", breakpoints=[])
    client.go("next", stop["threadId"])
    client.ask("continue", threadId=stop["threadId"], singleThread=True)
    with pytest.raises(Failed, match="runs"):
        client.ask("scopes", frameId=client.top(stop["threadId"])["id"])
    client.disconnect()


@pytest.mark.newest
@pytest.mark.parametrize("compiled_by", ["javac", "ecj"])
def test_a_source_that_is_saved_replaces_the_code_of_the_program(
    client: Client, java_program: JavaPrograms, tmp_path: Path, compiled_by: str
) -> None:
    """Whatever editor saves it; a class that the VM refuses keeps its code, and it says why."""
    chosen = compiler_named(compiled_by)
    source = tmp_path / "Debugged.java"
    source.write_text(SOURCE.read_text())
    program = java_program("Debugged", compiled_by=compiled_by)
    program.expect("ready")
    client.initialize("InvalidatedEvent")
    client.ask("attach", pid=program.pid, hotCodeReplace="auto", javac=chosen)
    client.event("initialized")
    client.breakpoints(line("GROSS"), path=source)
    client.ask("configurationDone")
    thread = client.stopped("breakpoint")
    time.sleep(1)  # so that the adapter has seen the file
    source.write_text(SOURCE.read_text().replace("count * 100;", "count * 7000;"))
    assert client.event("invalidated") == {"areas": ["stacks"]}
    client.event("output", where=lambda body: "redefined: Debugged" in body["output"])
    client.go("continue", thread)
    local = client.locals(thread)
    assert int(local["net"]["value"]) == 7000 * int(local["count"]["value"])
    source.write_text(SOURCE.read_text().replace("    String note", "    int added; String note"))
    said = client.event("output", where=lambda body: "Debugged keeps its code" in body["output"])
    # What an editor shows beside its console.
    assert said["category"] == "important"
    assert "(adds int added)" in said["output"]
    client.go("continue", thread)
    assert client.top(thread)["line"] == line("GROSS")
    source.write_text(SOURCE.read_text().replace("count * 100;", "count * ;"))
    client.event("output", where=lambda body: "does not compile" in body["output"])
    client.disconnect()
