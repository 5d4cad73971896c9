"""Steps that pass over code, and threads that stop together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import compiler
from adapter.client import SOURCE, Client, Failed, line

if TYPE_CHECKING:
    from pathlib import Path

    from adapter.conftest import Begin

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
        client.go("next", thread)
    # A late agent's probes are where lines begin.
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("SQUARE")
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
def test_a_source_that_is_saved_replaces_the_code_of_the_program(
    client: Client, command: list[str], tmp_path: Path
) -> None:
    """Whatever editor saves it; a class that the VM refuses keeps its code, and it says why."""
    javac = compiler.javac_home(11)
    if javac is None:
        pytest.skip("no javac here")
    source = tmp_path / "Debugged.java"
    source.write_text(SOURCE.read_text())
    client.initialize()
    chosen = str(javac / "bin" / "javac")
    client.ask("launch", command=command, hotCodeReplace="auto", javac=chosen)
    client.event("initialized")
    client.breakpoints(line("GROSS"), path=source)
    client.ask("configurationDone")
    thread = client.stopped("breakpoint")
    time.sleep(1)  # so that the adapter has seen the file
    source.write_text(SOURCE.read_text().replace("count * 100;", "count * 7000;"))
    client.event("output", where=lambda body: "redefined: Debugged" in body["output"])
    client.go("continue", thread)
    local = client.locals(thread)
    assert int(local["net"]["value"]) == 7000 * int(local["count"]["value"])
    source.write_text(SOURCE.read_text().replace("    String note", "    int added; String note"))
    client.event("output", where=lambda body: "Debugged keeps its code" in body["output"])
    source.write_text(SOURCE.read_text().replace("count * 100;", "count * ;"))
    client.event("output", where=lambda body: "does not compile" in body["output"])
    client.disconnect()
