"""Logpoints: texts with values, recorded at places of a running JVM."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from command_line import begun
from jvmti.instrumentation.probes import BadProbe
from jvmti.layouts.probes import RecordedKind
from jvmti.tracing.logpoint import Hit, Logpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

ORDER = "Logged$Order"
SOURCE = Path(__file__).parents[1] / "java" / "Logged.java"


def line_of(comment: str) -> int:
    """The line of the program that ends with a comment."""
    lines = SOURCE.read_text().splitlines()
    (found,) = [number for number, text in enumerate(lines, 1) if text.endswith(f"// {comment}")]
    return found


@pytest.fixture(scope="module")
def logged(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Logged", jvm_args=["-Xmx64m"])
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def vm(logged: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(logged.pid, timeout=30) as attached:
        yield attached
    assert logged.running()


def hits_of(log: Logpoint, most: int) -> list[Hit]:
    """So many hits, or those of ten seconds; then there must be no more."""
    found: list[Hit] = []
    until = time.monotonic() + 10
    while len(found) < most and time.monotonic() < until:
        found += log.read(0.1)
    return [*found, *log.read(0.1)]


def texts_at(
    vm: jvmti.VM, logged: JavaProgram, place: str, text: str, most: int, **options: str
) -> list[str]:
    with vm.logpoint(place, text, **options) as log:
        logged.ask("3")
        return [one.text for one in hits_of(log, most)]


def test_a_hit_says_where_when_and_what(vm: jvmti.VM, logged: JavaProgram) -> None:
    line = line_of("before loop")
    before = time.monotonic_ns()
    with vm.logpoint(f"{ORDER}:{line}", "{what}: {pieces} for {price}") as log:
        logged.ask("3")
        hits = hits_of(log, 3)
    after = time.monotonic_ns()
    assert [str(one) for one in hits] == [
        "tea 0: 0 for 0.0",
        "tea 1: 1 for 2.5",
        "tea 2: 2 for 5.0",
    ]
    assert hits[2].values == {"what": "tea 2", "pieces": 2, "price": 5.0}
    for one in hits:
        assert (one.class_name, one.method, one.line) == (ORDER, "sell", line)
        assert (one.descriptor, one.thread) == ("(ILjava/lang/String;)I", "main")
        assert one.thread_id > 0
        assert before < one.time < after
    assert (log.places, log.dropped) == (1, 0)


def test_a_hit_has_its_stack(vm: jvmti.VM, logged: JavaProgram) -> None:
    place = f"{ORDER}:{line_of('before loop')}"
    stack = (f"{ORDER}.sell:{line_of('before loop')}", f"Logged.main:{line_of('sale')}")
    for frames in (0, 1, 2, 8):
        with vm.logpoint(place, "{pieces} {what} by {caller}", stack=frames) as log:
            logged.ask("2")
            hits = hits_of(log, 2)
        assert [one.text for one in hits] == [f"{n} tea {n} by {stack[1]}" for n in range(2)]
        assert [one.stack for one in hits] == [stack[:frames]] * 2
    wrong: dict[str, Any]
    for wrong in ({"stack": 257}, {"stack": -1}, {"stack": 2, "by": "caller"}):
        with pytest.raises(BadProbe, match="stack="):
            vm.logpoint(place, "{pieces}", **wrong)


def test_places_are_lines_methods_and_bytecode_indexes(vm: jvmti.VM, logged: JavaProgram) -> None:
    begin, end = line_of("begin"), line_of("end")
    assert texts_at(vm, logged, f"{ORDER}.sell:{begin}", "{pieces}", 3) == ["0", "1", "2"]
    for file in ("Logged.java", "src/Logged.java"):
        assert texts_at(vm, logged, f"{file}:{begin}", "{pieces}", 3) == ["0", "1", "2"]
    for place in (f"{ORDER}.sell", f"{ORDER} loader app"):
        with vm.logpoint(place, "{pieces}", line=begin) as log:
            logged.ask("3")
            assert [one.text for one in hits_of(log, 3)] == ["0", "1", "2"]
    with pytest.raises(BadProbe, match="a line is of a class or a method"):
        vm.logpoint(f"{ORDER}:{begin}", "x", line=begin)
    assert texts_at(vm, logged, f"{ORDER}.sell", "{pieces}", 3) == ["0", "1", "2"]
    assert texts_at(vm, logged, f"{ORDER}.sell@0", "{pieces}", 3) == ["0", "1", "2"]
    assert texts_at(vm, logged, f"Logged$*:{end}", "{pieces}", 3) == ["1000", "1001", "1002"]
    assert texts_at(vm, logged, f"{ORDER}:{line_of('in loop')}", "{pieces} {i}", 3) == [
        "1 0",
        "2 0",
        "2 1",
    ]


def test_variables_are_as_they_are_there(vm: jvmti.VM, logged: JavaProgram) -> None:
    place = f"{ORDER}:{line_of('end')}"
    assert texts_at(vm, logged, place, "{pieces} {arg0}", 3) == ["1000 0", "1001 1", "1002 2"]
    assert texts_at(vm, logged, place, "{pieces}", 1, when="pieces == 1001") == ["1001"]
    assert texts_at(vm, logged, place, "{pieces}", 1, when="arg0 == 1") == ["1001"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("this.open", True),
        ("this.customer.name", "Ada"),
        ("this.customer.age", 30),
        ("this.customer.rating", 4.5),
        ("this.customer.friend", None),
        ("this.customer.friend.friend.name", None),
        ("len(this.customer.scores)", 3),
        ("this.customer.scores.length", 3),
        ("len(what)", 5),
        ("type(this)", ORDER),
        ("type(this.customer.friend)", None),
        ("thread", "main"),
        ("thread.name", "main"),
    ],
)
def test_values_lead_through_fields(
    vm: jvmti.VM, logged: JavaProgram, expression: str, value: object
) -> None:
    with vm.logpoint(f"{ORDER}.sell", f"{{{expression}}}") as log:
        logged.ask("1")
        (hit,) = hits_of(log, 1)
    assert hit.values == {expression: value}
    assert type(hit.values[expression]) is type(value)


def test_a_field_that_an_object_does_not_have_is_a_question_mark(
    vm: jvmti.VM, logged: JavaProgram
) -> None:
    with vm.logpoint("Logged.judge", "{subject.total} {len(subject)}") as log:
        logged.ask("5")
        hits = hits_of(log, 5)
    assert [one.text for one in hits] == ["0 ?", "null null", "0 ?", "? 4", "1099511627776 ?"]
    assert hits[0].values["len(subject)"].kind is RecordedKind.ABSENT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{this.customer.nme}",
            r"'this.customer.nme': Logged\$Customer has no field 'nme'.*'name'",
        ),
        ("{this.totl}", "has no field 'totl'; did you mean 'total'"),
        ("{pieces.foo}", "'pieces.foo': pieces is an int, no object, so it has no 'foo'"),
        ("{len(this.customer)}", r"this.customer is a Logged\$Customer, which has no length"),
        ("{pieces:d,d}", "'d,d' in the text .* is no format"),
    ],
)
def test_values_that_nothing_can_have_are_refused(vm: jvmti.VM, text: str, message: str) -> None:
    with pytest.raises(BadProbe, match=message):
        vm.logpoint(f"{ORDER}.sell", text)
    if ":" not in text:
        for begin in (vm.logpoint, vm.trace):
            with pytest.raises(BadProbe, match=message):
                begin(f"{ORDER}.sell", by=text[1:-1])
    assert b"JvmtiProbes" not in bytes(vm.find_class(ORDER).class_file)


def test_values_are_formatted_as_python_does(vm: jvmti.VM, logged: JavaProgram) -> None:
    text = "{{{pieces:03}}} {price:.2f}|{what:>8}|{this.customer.friend:>5}|{this.customer:d}"
    with vm.logpoint(f"{ORDER}:{line_of('before loop')}", text) as log:
        logged.ask("1")
        (hit,) = hits_of(log, 1)
    customer = hit.values["this.customer"]
    assert hit.text == f"{{000}} 0.00|   tea 0|null|Logged$Customer@{customer.number:x}"


def test_static_methods_have_values_too(vm: jvmti.VM, logged: JavaProgram) -> None:
    place = f"{ORDER}:{line_of('static end')}"
    assert texts_at(vm, logged, place, "{number} {result}", 3) == ["0 0", "1 2", "2 4"]


def test_hits_above_the_limit_are_dropped_and_counted(vm: jvmti.VM, logged: JavaProgram) -> None:
    with vm.logpoint(f"{ORDER}.sell", "x", limit=2) as log:
        logged.ask("3")
        assert len(hits_of(log, 2)) == 2
        assert log.dropped == 1


def test_a_text_is_enough(vm: jvmti.VM, logged: JavaProgram) -> None:
    assert texts_at(vm, logged, f"{ORDER}.sell", "here", 3) == ["here"] * 3


def test_classes_are_afterwards_what_they_were(vm: jvmti.VM, logged: JavaProgram) -> None:
    cls = vm.find_class(ORDER)
    with vm.logpoint(f"{ORDER}.sell", "x"):
        pass
    before = bytes(cls.class_file)
    with vm.logpoint(f"{ORDER}:{line_of('in loop')}", "{i} {this.customer.name}"):
        assert bytes(cls.class_file) != before
    assert bytes(cls.class_file) == before


def test_iterating_ends_with_the_logpoint(vm: jvmti.VM, logged: JavaProgram) -> None:
    log = vm.logpoint(f"{ORDER}.sell", "{pieces}")
    closer = threading.Timer(0.5, log.close)
    closer.start()
    logged.ask("2")
    assert [one.text for one in log] == ["0", "1"]
    closer.join()
    assert repr(log).endswith("closed>")


def test_hits_are_a_table(vm: jvmti.VM, logged: JavaProgram) -> None:
    pytest.importorskip("pyarrow")
    with vm.logpoint(f"{ORDER}.sell", "{pieces}", stack=1) as log:
        logged.ask("1")
        until = time.monotonic() + 10
        hits = log.read(10)
    assert time.monotonic() < until
    table = hits.to_arrow()
    assert table.column("text").to_pylist() == ["0"]
    assert table.column("class").to_pylist() == [ORDER]
    assert table.column("stack").to_pylist() == [[f"{ORDER}.sell:{line_of('begin')}"]]


@pytest.mark.parametrize(
    ("place", "text", "when", "kind", "message"),
    [
        (
            "Logged$Ordre:19",
            "x",
            None,
            LookupError,
            r"matches .Logged\$Ordre.*Order",
        ),
        ("Loged.java:8", "x", None, LookupError, "class matches 'Loged'; similar ones: Logged"),
        (f"{ORDER}:1", "x", None, LookupError, "no code at line 1; the nearest lines with code: 1"),
        ("Logged:8", "x", None, LookupError, r"Logged has no code at line 8, but Logged\$Cust.*:8"),
        (f"{ORDER}.sel", "x", None, LookupError, "no method 'sel' with code: it has sell"),
        (f"{ORDER}.sell@9999", "x", None, LookupError, "has an instruction that begins there"),
        (
            f"{ORDER}.sell",
            "{price}",
            None,
            LookupError,
            "no value 'price' at .*without -g",
        ),
        (f"{ORDER}.sell", "x", "nothing > 1", LookupError, "has the values of the condition"),
        ("Order", "x", None, BadProbe, "'Order' has no method: Order.METHOD, or Order:LINE"),
        ("a b", "x", None, BadProbe, "'a b' is not a place: CLASS:LINE, FILE.java:LINE"),
        (f"{ORDER}:x", "x", None, BadProbe, "is not a place"),
        (f"{ORDER}.sell", "{", None, BadProbe, "the text '{'"),
        (f"{ORDER}.sell", "{n!r}", None, BadProbe, "'!r' has no meaning here"),
        (f"{ORDER}.sell", "{1 +}", None, BadProbe, "'1 \\+' in the text .* is not a value"),
        (f"{ORDER}.sell", "{a + b}", None, BadProbe, "neither a value nor a constant"),
        (f"{ORDER}.sell", "{call()}", None, BadProbe, "methods cannot be called"),
        (f"{ORDER}.sell", "{value}", None, BadProbe, "known where calls return"),
        (
            f"{ORDER}.sell",
            "x",
            "value == 1",
            BadProbe,
            "what is returned or thrown is not known there",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    vm: jvmti.VM, place: str, text: str, when: str | None, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        vm.logpoint(place, text, when=when)
    assert b"JvmtiProbes" not in bytes(vm.find_class(ORDER).class_file)


def test_arguments_of_the_wrong_kind_are_refused(vm: jvmti.VM) -> None:
    with pytest.raises(TypeError, match="the place of a logpoint is a text, not 3"):
        vm.logpoint(3, "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the text of a logpoint is a text, not 3"):
        vm.logpoint(f"{ORDER}.sell", 3)  # type: ignore[arg-type]
    with pytest.raises(BadProbe, match="limit= counts from 1"):
        vm.logpoint(f"{ORDER}.sell", "x", limit=0)
    with pytest.raises(BadProbe, match="cannot be negative"):
        vm.logpoint(f"{ORDER}.sell", "x", text_size=-1)


def test_a_session_that_has_ended_says_so(logged: JavaProgram) -> None:
    with jvmti.attach(logged.pid, timeout=30) as other:
        log = other.logpoint(f"{ORDER}.sell", "x")
    assert log.ended
    assert log.read() == []
    log.close()
    with pytest.raises(jvmti.errors.SessionClosed, match="attach again"):
        other.logpoint(f"{ORDER}.sell", "x")


def test_a_class_that_is_loaded_later_gets_its_logpoint(java_program: JavaPrograms) -> None:
    program = java_program("Logged")
    program.expect("ready")
    with (
        jvmti.attach(program.pid, timeout=30) as vm,
        vm.logpoint(f"{ORDER}.sell", "{pieces}", unloaded=True) as log,
    ):
        program.ask("2")
        assert [one.text for one in hits_of(log, 2)] == ["0", "1"]


def test_the_command_prints_hits(logged: JavaProgram) -> None:
    arguments = [f"{ORDER}:{line_of('end')}", "pieces={pieces}", "--count", "2", "--when", "arg0>0"]
    arguments += ["--stack", "8"]
    stack = [f"{ORDER}.sell:{line_of('end')}", f"Logged.main:{line_of('sale')}"]
    for as_json in (False, True):
        command = begun("logpoint", *["--json"] * as_json, logged.pid, *arguments)
        assert command.stderr is not None
        assert command.stderr.readline().startswith("logging at 1 place, ready in ")
        logged.ask("3")
        out, err = command.communicate(timeout=30)
        assert command.returncode == 0
        assert "2 hits in " in err
        lines = out.splitlines()
        if as_json:
            assert [json.loads(one)["values"]["pieces"] for one in lines] == [1001, 1002]
            assert [json.loads(one)["stack"] for one in lines] == [stack] * 2
        else:
            assert [one.partition("] ")[2] for one in lines[::3]] == ["pieces=1001", "pieces=1002"]
            assert lines[1:3] == lines[4:] == [f"    at {frame}" for frame in stack]


@pytest.mark.parametrize(
    ("condition", "of_five"),
    [
        ("subject.customer.name == 'Ada'", 1),
        ("subject.customer.name != 'Ada'", 1),
        ("subject.customer.name == 'nobody'", 0),
        ("subject.customer.age > 10", 1),
        ("subject.customer.age < 100", 2),
        ("subject.total == 1099511627776", 1),
        ("subject.total >= 0", 3),
        ("subject.customer.name == 30", 0),
        ("subject.customer.age == 'Ada'", 0),
        ("subject.customer.friend == None", 4),
        ("subject.open and subject.customer.name == 'Acme' and subject.customer.age == 3", 1),
        ("not subject.customer.name == 'Ada'", 4),
    ],
)
def test_a_path_is_followed_whatever_objects_come_by(
    vm: jvmti.VM, logged: JavaProgram, condition: str, of_five: int
) -> None:
    with vm.trace("Logged.judge", when=condition, summary=True) as summary:
        for _ in range(8):  # the first few are noted, and followed without the agent then
            logged.ask("5")
        found = sum(use.calls for use in summary.summary())
        (helper,) = vm.classes("java.lang.JvmtiProbes????????")
        noted = [cell for cells in helper["paths"] if cells is not None for cell in cells]
    assert found == 8 * of_five
    if "name == 'Ada'" in condition:  # which objects of several classes have
        assert any(cell is not None and cell[-1] is not None for cell in noted)
