"""Sessions as editors have them: a program is stopped, looked into, stepped and left alone."""

from __future__ import annotations

import base64
import io
import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from adapter.client import COMMAND, SOON, SOURCE, Client, Failed, line
from jvmti import refs
from jvmti.adapter.protocol.arguments import RequestFailed
from jvmti.adapter.protocol.conversation import Conversation
from jvmti.adapter.protocol.framing import Framing
from jvmti.adapter.protocol.references import References
from jvmti.adapter.showing.value_parts import Part
from jvmti.adapter.showing.variables import ShownPart
from jvmti.model.objects.reading import Contents

if TYPE_CHECKING:
    from adapter.conftest import Begin
    from jvmti.adapter.protocol.arguments import Arguments
    from programs import JavaPrograms

pytestmark = pytest.mark.oldest_and_newest


def test_a_thread_stops_at_a_breakpoint_with_its_stack_and_its_variables(begin: Begin) -> None:
    """The client gets the frames with their sources, and every kind of variable."""
    client = begin(line("GROSS"))
    thread = client.stopped("breakpoint")
    frames = client.frames(thread)
    assert [one["name"] for one in frames[:3]] == [
        "Debugged.price(int)",
        "Debugged.work()",
        "Debugged.main(String[])",
    ]
    assert frames[0]["line"] == line("GROSS")
    assert frames[0]["source"]["path"] == str(SOURCE)
    local = client.locals(thread)
    assert int(local["net"]["value"]) == 100 * int(local["count"]["value"])
    assert local["net"]["type"] == "int"
    fields = client.variables(local["this"]["variablesReference"])
    assert fields["note"]["value"] == '"a \\"quoted\\" note"'
    assert (fields["grade"]["value"], fields["grade"]["type"]) == ("'x'", "char")
    assert fields["share"]["value"] == "0.5"
    static = client.variables(fields["static"]["variablesReference"])
    assert static["total"]["type"] == "int"
    assert "main" in [one["name"] for one in client.ask("threads")["threads"]]
    client.disconnect()


def test_collections_show_what_they_hold_page_by_page(begin: Begin) -> None:
    """A list has its elements, a map its entries, an array its numbers."""
    client = begin(line("GROSS"), supports=["MemoryEvent", "InvalidatedEvent"])
    thread = client.stopped()
    fields = client.variables(client.locals(thread)["this"]["variablesReference"])
    lines = fields["lines"]
    assert lines["indexedVariables"] == 250
    page = client.variables(lines["variablesReference"], filter="indexed", start=200, count=3)
    assert [one["value"] for one in page.values()] == ['"line 200"', '"line 201"', '"line 202"']
    named = client.variables(lines["variablesReference"], filter="named")
    assert "size" in client.variables(named["fields"]["variablesReference"])
    prices = client.variables(fields["prices"]["variablesReference"], filter="indexed")
    assert {name: one["value"] for name, one in prices.items()} == {'"tea"': "3", '"coffee"': "4"}
    weights = client.variables(fields["weights"]["variablesReference"])
    assert [one["value"] for one in weights.values()] == ["3", "1", "4", "1", "5"]
    memory = client.ask(
        "readMemory", memoryReference=fields["weights"]["memoryReference"], offset=4, count=4
    )
    assert memory["data"] == "AQAAAA=="
    weights_are_written(client, thread, fields["weights"])
    client.disconnect()


def weights_are_written(client: Client, thread: int, weights: dict[str, Any]) -> None:
    """Bytes go into elements, also parts of them; the client shows memory and variables anew."""
    reference = weights["memoryReference"]

    def write(offset: int, data: bytes, **more: Any) -> Any:
        encoded = base64.b64encode(data).decode()
        about = {"memoryReference": reference, "offset": offset, "data": encoded}
        return client.ask("writeMemory", **about, **more)

    assert write(5, b"\1\0\0\7")["bytesWritten"] == 4
    about = {"memoryReference": reference, "offset": 5, "count": 4}
    assert client.event("memory") == about
    assert client.event("invalidated") == {"areas": ["variables"]}
    assert client.evaluate(thread, "weights[1] + weights[2]")["result"] == str(1 + 256 + 4 + 3)
    with pytest.raises(Failed, match="has 20 bytes, and none at 20"):
        write(16, bytes(8))
    assert write(16, bytes(8), allowPartial=True) == {"offset": 16, "bytesWritten": 4}
    assert write(-1, bytes(8), allowPartial=True)["bytesWritten"] == 0
    assert client.evaluate(thread, "weights[4]")["result"] == "0"
    with pytest.raises(Failed, match="not in base64"):
        client.ask("writeMemory", memoryReference=reference, data="?")
    number = weights["variablesReference"]
    client.event("invalidated")
    client.ask("setVariable", variablesReference=number, name="3", value="9")
    assert client.event("memory") == {**about, "offset": 12}


def test_a_thread_is_stepped_over_into_and_out_of_calls(begin: Begin, way: str) -> None:
    """Each step ends where the next line is."""
    client = begin(line("FIRST"))
    thread = client.stopped("breakpoint")
    assert client.top(thread)["line"] == line("FIRST")
    client.go("stepIn", thread)
    assert client.top(thread)["line"] == line("NET")
    client.go("next", thread)
    assert client.top(thread)["line"] == line("GROSS")
    client.go("stepOut", thread)
    # A late agent's probes are where lines begin.
    assert client.top(thread)["line"] == line("BOTH" if way == "late" else "FIRST")
    if way != "late":
        client.go("next", thread)
    client.go("next", thread)
    assert client.top(thread)["line"] == line("TOTAL")
    client.disconnect()


def test_a_function_breakpoint_may_be_at_another_kind_of_place(begin: Begin) -> None:
    client = begin(line("FIRST"))
    thread = client.stopped("breakpoint")
    client.breakpoints()

    def stop_at(name: str, **rule: str) -> dict[str, Any]:
        wanted = [{"name": name, **rule}]
        (found,) = client.ask("setFunctionBreakpoints", breakpoints=wanted)["breakpoints"]
        return dict(found)

    assert stop_at("return Debugged.square", condition="value > n && n == 2")["verified"]
    client.ask("continue", threadId=thread)
    event = client.event("stopped")
    assert (event["reason"], event["description"]) == ("function breakpoint", "returns 4")
    thread = event["threadId"]
    assert client.locals(thread)["n"]["value"] == "2"
    frame = client.top(thread)["id"]
    assert client.ask("evaluate", expression="value + 1", frameId=frame)["result"] == "5"
    assert stop_at("call Debugged.sum in Debugged.*")["verified"]
    client.ask("continue", threadId=thread)
    description = client.event("stopped")["description"]
    assert description.startswith("calls Debugged.sum(4, ")
    for name, message in [
        ("return Debugged.squares", "has no method 'squares'; did you mean 'square'?"),
        ("catch Debugged", "no loaded class has code for 'catch Debugged'"),
        ("throw Debugged", "is not CLASS.MEMBER"),
    ]:
        found = stop_at(name)
        assert not found["verified"]
        assert message in found["message"]
    stop_at("return Debugged.square", hitCondition="1000000000")
    client.disconnect()


def test_a_variable_is_set_and_the_program_goes_on_with_it(begin: Begin) -> None:
    """The value of a variable, of a field and of an element."""
    client = begin(line("GROSS"))
    thread = client.stopped()
    frame = client.top(thread)["id"]
    number = client.scope(frame)
    set_ = client.ask("setVariable", variablesReference=number, name="net", value="5000")
    assert set_["value"] == "5000"
    client.go("next", thread)
    assert client.locals(thread)["gross"]["value"] == "6000"
    this = client.locals(thread)["this"]["variablesReference"]
    client.ask("setVariable", variablesReference=this, name="note", value='"other"')
    assert client.evaluate(thread, "note")["result"] == '"other"'
    with pytest.raises(Failed, match="final"):
        client.ask("setVariable", variablesReference=this, name="number", value="1")
    client.disconnect()


def test_a_breakpoint_becomes_verified_when_its_class_is_loaded(
    command: list[str], client: Client
) -> None:
    """Before, it waits; the client gets to know of both."""
    client.initialize()
    client.ask("launch", command=[*command, "3"])
    client.event("initialized")
    (before,) = client.breakpoints(line("NESTED"))
    assert not before["verified"]
    assert before["reason"] == "pending"
    client.ask("configurationDone")
    changed = client.event("breakpoint")["breakpoint"]
    assert changed["id"] == before["id"]
    assert changed["verified"]
    thread = client.stopped("breakpoint")
    assert client.locals(thread)["n"]["value"] == "1"
    client.breakpoints()
    client.ask("continue", threadId=thread)
    assert client.event("exited")["exitCode"] == 3
    client.event("terminated")
    assert "ready" in client.output("stdout")
    client.disconnect()


def test_lines_without_code_are_said_with_those_that_have_some(begin: Begin) -> None:
    """Such a breakpoint is not verified, and the others work."""
    client = begin(line("GROSS"))
    client.stopped()
    found = client.breakpoints(1, line("GROSS"))
    assert not found[0]["verified"]
    assert "nearest lines with code" in found[0]["message"]
    assert found[1]["verified"]
    places = client.ask(
        "breakpointLocations",
        source={"path": str(SOURCE)},
        line=line("NET") - 1,
        endLine=line("RETURN") + 1,
    )
    lines = [one["line"] for one in places["breakpoints"]]
    assert lines == [line("NET"), line("GROSS"), line("RETURN")]
    client.disconnect()


def test_a_condition_a_count_and_a_text_to_log_belong_to_a_breakpoint(
    begin: Begin, way: str
) -> None:
    """Only threads for which they hold stop; a logpoint stops none."""
    client = begin()
    for message, why in (
        ("x {((}", "'(' is not closed"),
        ("{count", "'{' is not closed"),
        ("{=py 1 +}", "not a Python expression"),
    ):
        (wrong,) = client.breakpoints({"line": line("GROSS"), "logMessage": message})
        assert not wrong["verified"]
        assert why in wrong["message"]
    client.breakpoints(
        {"line": line("GROSS"), "hitCondition": "% 10"},
        {"line": line("NESTED"), "logMessage": "order {n} is {n}"},
    )
    numbers = []
    for _ in range(2):
        thread = client.stopped("breakpoint")
        numbers.append(int(client.locals(thread)["count"]["value"]))
        client.ask("continue", threadId=thread)
    assert numbers[1] - numbers[0] == 10
    assert f"order {numbers[0]} is {numbers[0]}\n" in client.output("stdout")
    # What is known as soon as it is set.
    calls, misspelt, fine = client.breakpoints(
        {"line": line("SLEEP"), "logMessage": "{{}} {args.clone().length}", "hitCondition": "9"},
        {"line": line("GROSS"), "condition": "nett == 3", "hitCondition": "100000000"},
        {"line": line("GROSS"), "condition": "net > total", "hitCondition": "100000000"},
    )
    assert "threads wait at each hit" in calls["message"]
    # Those besides it depend on the moment.
    running = re.search(r"calls that run already do not stop: .*Debugged\.main", calls["message"])
    assert (running is not None) == (way == "late")
    assert "no variable or field 'nett' here" in misspelt["message"]
    assert "no variable" not in fine.get("message", "")
    names = ("Debugged.sum(int, int)", "Debugged.sum(long)", "Debugged.main(String[])")
    wanted = [{"name": name, "condition": "1 == 2"} for name in names]
    found = client.ask("setFunctionBreakpoints", breakpoints=wanted)["breakpoints"]
    assert [one["verified"] for one in found] == [True, False, True], found
    assert found[1]["message"] == "Debugged.sum takes other parameters: there is sum(int, int)"
    client.disconnect()


def test_a_late_logpoint_is_recorded_by_the_agent(
    java_program: JavaPrograms, client: Client
) -> None:
    """Its text has variables and fields; one with a call is evaluated where the thread waits."""
    program = java_program("Debugged")
    program.expect("ready")
    message = "{limit}: {name} {self.name.length()} {grade} {share} {boxed} {open}"
    client.attach(
        program.pid,
        {"line": line("CHEAP"), "condition": "limit > 1003 && price == 7", "logMessage": message},
        {"line": line("GROSS"), "logMessage": "{count} {lines.size()}"},
        {"line": line("NESTED"), "logMessage": "first {n}"},
        {"line": line("NESTED"), "logMessage": "then {n}"},
    )
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        said = client.output("stdout")
        recorded = re.findall(r"^\d+: tea 3 x 0.5 5 true$", said, re.MULTILINE)
        if len(recorded) > 2 and re.search(r"^\d+ 250$", said, re.MULTILINE):
            break
        time.sleep(0.05)
    assert time.monotonic() < until, said
    # Two at one place come in the order in which they were set, but where they were read meanwhile.
    nested = re.findall(r"^(first|then) (\d+)$", said, re.MULTILINE)
    pairs = [(one, other) for (one, n), (other, m) in itertools.pairwise(nested) if n == m]
    assert pairs.count(("first", "then")) > pairs.count(("then", "first")), nested
    # A stop comes behind what was logged before it.
    client.breakpoints({"line": line("CHEAP"), "logMessage": "at {limit}"}, line("HALF"))
    client.stopped("breakpoint")
    order = [one for one in client.events if one["event"] in ("output", "stopped")]
    assert order[-1]["event"] == "stopped"
    client.disconnect()


def test_a_logpoint_of_a_launched_program_is_recorded_up_to_its_end(
    command: list[str], client: Client
) -> None:
    """No text is missing that the agent recorded just before; they have the order of the hits,
    with those of which one has a call, for which the thread waits."""
    message = "{limit}: {name} {self.name.length()} {grade} {share} {boxed} {open}"
    client.launch(
        {"line": line("CHEAP"), "condition": "limit > 1003 && price == 7", "logMessage": message},
        {"line": line("GROSS"), "logMessage": "{count} {lines.size()}"},
        {
            "line": line("NESTED"),
            "condition": "n > 4",
            "hitCondition": "% 2",
            "logMessage": "line {n}",
        },
        {"line": line("HALF"), "hitCondition": "30", "logMessage": "half {price} for {name}"},
        {"line": line("HALF"), "hitCondition": "30", "logMessage": "then {price}"},
        command=[*command, "40"],
    )
    assert client.event("exited")["exitCode"] == 3
    client.event("terminated")
    right = []
    for n in range(1, 41):
        right.append(f"{n} 250")
        right += [f"line {n}"] * (n > 4 and n % 2 == 0)
        right += [f"{1000 + n}: tea 3 x 0.5 5 true"] * (n > 3)
        right += ["half 1 for tea", "then 1"] * (n == 30)
    said = client.output("stdout").splitlines()
    assert [text for text in said if text != "ready"] == right
    last = {
        (about := one["body"]["breakpoint"])["line"]: about.get("message", "")
        for one in client.events
        if one["event"] == "breakpoint"
    }
    assert [where for where, message in last.items() if "wait" in message] == [line("GROSS")]
    client.disconnect()


def test_what_was_recorded_is_shown_when_the_program_is_killed(
    command: list[str], client: Client
) -> None:
    """The adapter reads it behind the program's end: it has stood still before."""
    client.launch({"line": line("NESTED"), "logMessage": "line {n}"}, command=[*command, "9999999"])
    (program,) = (
        one["body"]["systemProcessId"] for one in client.events if one["event"] == "process"
    )
    # The adapter is asked about classes, so threads wait for it until all are loaded.
    client.event("output", where=lambda body: "line 50\n" in body["output"])
    assert client.process is not None
    os.kill(client.process.pid, signal.SIGSTOP)
    try:
        shown = len(re.findall(r"^line", client.output("stdout"), re.MULTILINE))
        time.sleep(0.3)
        os.kill(program, signal.SIGKILL)
    finally:
        os.kill(client.process.pid, signal.SIGCONT)
    client.event("terminated")
    said = client.output("stdout")
    recorded = [int(n) for n in re.findall(r"^line (\d+)$", said, re.MULTILINE)]
    assert recorded == list(range(1, len(recorded) + 1))
    # The program said so on its own, after these hits.
    assert len(recorded) >= 50 * said.count("worked")
    assert len(recorded) > shown + 50
    client.disconnect()


def test_a_thread_is_paused_wherever_it_is(begin: Begin) -> None:
    """A paused thread shows its stack, and goes on."""
    client = begin(line("FIRST"))
    # A thread of a program that has just begun may still be initializing the class.
    thread = client.stopped("breakpoint")
    client.breakpoints()
    client.ask("continue", threadId=thread)
    client.ask("pause", threadId=thread)
    assert client.stopped("pause") == thread
    assert client.frames(thread)[-1]["name"] == "Debugged.main(String[])"
    client.ask("continue", threadId=thread)
    with pytest.raises(Failed, match="runs"):
        client.frames(thread)
    client.disconnect()


def test_a_deep_stack_comes_in_pages(begin: Begin) -> None:
    """The client asks for the frames that it shows."""
    client = begin(line("DEEP"))
    thread = client.stopped()
    behind = client.ask("stackTrace", threadId=thread, startFrame=1_000_000)
    assert behind["stackFrames"] == []
    assert client.scope(client.top(thread)["id"]) < 1_000_000  # no number is for what is not there
    page = client.ask("stackTrace", threadId=thread, startFrame=300, levels=2)
    assert page["totalFrames"] == 302
    assert [one["name"] for one in page["stackFrames"]] == [
        "Debugged.deep(int)",
        "Debugged.main(String[])",
    ]
    # Anew after a step: as many levels as frames, fewer, and more.
    client.ask("next", threadId=thread)
    assert client.stopped() == thread
    for levels in (302, 301, 303):
        page = client.ask("stackTrace", threadId=thread, startFrame=0, levels=levels)
        assert page["totalFrames"] == 302
        assert len(page["stackFrames"]) == min(levels, 302)
    client.disconnect()


def test_a_collection_whose_size_only_its_code_knows_is_shown(begin: Begin) -> None:
    """Its code runs on the stopped thread, for the variables around it and for its elements."""
    client = begin(line("GROSS"))
    thread = client.stopped()
    this = client.locals(thread)["this"]["variablesReference"]
    shown = client.variables(this)["computed"]
    assert shown["indexedVariables"] == 3
    elements = client.variables(shown["variablesReference"], filter="indexed")
    assert [elements[str(at)]["value"] for at in range(3)] == ["0", "1", "4"]
    client.disconnect()


def test_a_program_that_was_attached_to_goes_on_without_the_debugger(
    java_program: JavaPrograms, client: Client
) -> None:
    """Nothing stays suspended, and no breakpoint stays."""
    program = java_program("Debugged")
    program.expect("ready")
    client.attach(program.pid, line("GROSS"))
    client.stopped()
    client.disconnect()
    seen = len(program.lines)
    while len(program.lines) < seen + 3:
        program.read_line()


def test_a_client_that_dies_leaves_nothing_suspended(
    java_program: JavaPrograms, client: Client
) -> None:
    """The adapter is killed while a thread is stopped."""
    program = java_program("Debugged")
    program.expect("ready")
    client.attach(program.pid, line("GROSS"))
    client.stopped()
    assert client.process is not None
    os.kill(client.process.pid, signal.SIGKILL)
    seen = len(program.lines)
    while len(program.lines) < seen + 3:
        program.read_line()


@pytest.mark.newest
def test_requests_before_the_end_of_the_input_are_answered() -> None:
    """Each once, though the input ends with the last of them, whatever their headers look like."""
    heads = itertools.cycle((b"Content-Length: %d\r\n\r\n", b"a: b\r\ncontent-length:%d\r\n\r\n"))
    asked = ["initialize", "threads", "modules", "fly"]
    messages = [
        json.dumps({"seq": number, "type": "request", "command": command}).encode()
        for number, command in enumerate(asked, 1)
    ]
    given = b"".join(next(heads) % len(one) + one for one in messages)
    done = subprocess.run(COMMAND, input=given, capture_output=True, timeout=60, check=True)
    numbers = re.findall(rb'"request_seq": (\d+)', done.stdout)
    assert numbers == [b"1", b"2", b"3", b"4"]


@pytest.mark.newest
def test_a_part_is_shown_again_only_where_nothing_of_it_has_changed() -> None:
    """A stop shows the text of the stop before where value and contents are the same."""

    def is_again(before: Any, now: Any, *contents: Contents | None) -> bool:
        first, second = contents or (None, None)
        shown = ShownPart(Part("n", before, contents=first), "{", None)
        return shown.is_of(Part("n", now, contents=second))

    assert is_again(1, 1)
    assert is_again("a", "a")
    assert is_again(None, None)
    assert not (is_again(1, 2))
    assert not (is_again(1, True))
    assert not (is_again(0.0, -0.0))
    assert not (is_again(None, 1))
    item = object.__new__(refs.Object)
    beginning, longer, other = (Contents(*one) for one in ((1, [3]), (2, [3]), (1, [4])))
    assert is_again(item, item, beginning, Contents(1, [3]))
    assert not is_again(item, item, beginning, longer)
    assert not is_again(item, item, beginning, other)
    assert not is_again(item, item)  # nobody has read what its text may say
    assert not is_again(item, object.__new__(refs.Object), beginning, beginning)
    failed = Part("n", None, failure="it has no value")
    assert not ShownPart(failed, "{", None).is_of(Part("n", None))


@pytest.mark.newest
def test_numbers_of_a_range_stand_for_things_that_are_made_when_asked_for() -> None:
    references = References()
    made: list[int] = []
    single = references.add("stop", "one")

    def make(place: int) -> str:
        made.append(place)
        return str(place)

    numbers = references.add_range("stop", 3, make)
    assert single not in numbers
    assert references.add("stop", "more") not in numbers
    assert [references.get(numbers[2], str, "frame")[1] for _ in range(2)] == ["2", "2"]
    assert made == [2]
    assert references.forget("stop") == ["one", "more", "2"]
    for number in (*numbers, single):
        with pytest.raises(RequestFailed, match="resumed since"):
            references.get(number, str, "frame")


@pytest.mark.newest
def test_messages_are_held_once_however_often_a_step_is_begun() -> None:
    """A step begins again where its stack is out of date; other threads send their events after."""
    body = b'{"seq": 1, "type": "request", "command": "next"}'
    written = io.BytesIO()
    given = io.BytesIO(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    conversation = Conversation(Framing(given, written))

    def answer(_: Arguments) -> None:
        conversation.hold_until_answered()
        conversation.hold_until_answered()

    conversation.run({"next": answer})
    other = threading.Thread(target=conversation.event, args=("stopped",), daemon=True)
    other.start()
    other.join(SOON)
    assert not other.is_alive()
    assert written.getvalue().index(b'"response"') < written.getvalue().index(b'"stopped"')


def test_wrong_requests_are_answered_and_the_session_goes_on(begin: Begin) -> None:
    """Each gets one response, which says what is wrong."""
    client = begin(line("GROSS"))
    thread = client.stopped()
    frame = client.top(thread)["id"]
    number = client.scope(frame)
    local = {"variablesReference": number}
    wrong: list[tuple[str, object, str]] = [
        ("fly", {}, "no request 'fly'"),
        ("stackTrace", {"threadId": "one"}, "takes a whole number"),
        ("stackTrace", {}, "threadId is missing"),
        ("stackTrace", [1], "not an object"),
        ("stackTrace", {"threadId": 999_999}, "thread 999999 runs, or has ended"),
        ("scopes", {"frameId": 12345}, "there is no frame 12345"),
        ("scopes", {"frameId": number}, "not the number of a frame"),
        ("variables", {"variablesReference": 0}, "there is no group of variables"),
        ("evaluate", {"expression": "nothing.at.all", "frameId": frame}, "nothing"),
        ("evaluate", {"expression": "count +", "frameId": frame}, "not complete (column 8"),
        ("evaluate", {"expression": "lines.get(999)", "frameId": frame}, "IndexOutOfBounds"),
        ("setBreakpoints", {"source": {}}, "path"),
        ("setBreakpoints", {"source": {"path": "A.java"}, "lines": 5}, "lines is 5, but takes a"),
        ("setVariable", {**local, "name": "this", "value": "null"}, "this cannot be set"),
        ("setVariable", {**local, "name": "count", "value": '"a"'}, "cannot be assigned to int"),
        ("setVariable", {**local, "name": "nobody", "value": "1"}, "no variable 'nobody'"),
        ("readMemory", {"memoryReference": "0", "count": 1}, "primitive arrays"),
        ("attach", {"pid": 1}, "has a program already"),
    ]
    for command, arguments, message in wrong:
        client.post(command, arguments)
        response = client.response()
        assert not response["success"]
        assert message in response["message"], (command, response["message"])
    for command, identity, message in [
        ("setDataBreakpoints", {"dataId": "total"}, "named with its class"),
        ("setFunctionBreakpoints", {"name": "price"}, "names class and method"),
        ("setFunctionBreakpoints", {"name": "Debugged.prize"}, "no method 'prize'"),
    ]:
        (one,) = client.ask(command, breakpoints=[identity])["breakpoints"]
        assert (one["verified"], one["reason"]) == (False, "failed")
        assert message in one["message"]
    client.write(b"{nonsense")
    client.write(b"[1, 2]")
    client.event("output", where=lambda body: "a message is not JSON" in body["output"])
    client.ask("continue", threadId=thread)
    thread = client.stopped()
    for command, arguments in [
        ("scopes", {"frameId": frame}),
        ("variables", local),
        ("evaluate", {"frameId": frame, "expression": "count"}),
        ("setVariable", {**local, "name": "count", "value": "1"}),
    ]:
        with pytest.raises(Failed, match="its thread has resumed since"):
            client.ask(command, **arguments)
    assert client.evaluate(thread, "1 + 1")["result"] == "2"
    # The program dies while a thread is stopped.
    program = next(one["body"] for one in client.events if one["event"] == "process")
    os.kill(program["systemProcessId"], signal.SIGKILL)
    client.event("terminated")
    for command, arguments in [
        ("stackTrace", {"threadId": thread}),
        ("next", {"threadId": thread}),
        ("pause", {"threadId": thread}),
    ]:
        with pytest.raises(Failed, match=r"the (program|JVM) has ended"):
            client.ask(command, **arguments)
    assert client.ask("threads")["threads"] == []
    client.disconnect()


@pytest.mark.newest
def test_what_cannot_be_started_is_said_and_the_session_goes_on(
    client: Client, command: list[str]
) -> None:
    """With what the program itself has said; then another may be started."""
    client.initialize()
    for wrong, message in [
        ({"command": []}, "mainClass is missing"),
        ({"command": ["/nowhere/java"]}, "'/nowhere/java' cannot be started: No such file"),
        ({"command": command, "cwd": "/nowhere"}, "cannot be started in '/nowhere': No such file"),
        ({"command": command, "env": {"A": 3}}, "env.A is 3, not a text"),
        ({"command": [command[0], "-XX:+Unheard"]}, "before a JVM of it had connected"),
    ]:
        with pytest.raises(Failed, match=re.escape(message)):
            client.ask("launch", **wrong)
    assert "Unrecognized VM option 'Unheard'" in client.output("stderr") + client.output("stdout")
    with pytest.raises(Failed, match="no program yet"):
        client.ask("stackTrace", threadId=1)
    with pytest.raises(Failed, match="not the number of a process"):
        client.ask("attach", pid="one")
    with pytest.raises(Failed, match="not a JVM"):
        client.ask("attach", pid=os.getpid())
    client.ask("launch", command=[*command, "2"])
    client.event("initialized")
    client.ask("configurationDone")
    assert client.event("exited")["exitCode"] == 3
    client.disconnect()
