"""Conditions that traces, logpoints and changes have in common: caller, how long, each n-th."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.instrumentation.probes import BadProbe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

ORDER = "Traced$Order"


@pytest.fixture(scope="module")
def traced(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Traced", jvm_args=["-Xmx128m"])
    program.expect("ready")
    program.ask("add 1")
    program.ask("deep 1")
    return program


@pytest.fixture(scope="module")
def vm(traced: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(traced.pid, timeout=30) as attached:
        yield attached
    assert traced.running()


def records_of(recorder: Any, most: int) -> list[Any]:
    """So many records, and those that come shortly behind them."""
    found: list[Any] = []
    until = time.monotonic() + 10
    while len(found) < most and time.monotonic() < until:
        found += recorder.read(0.1)
    return [*found, *recorder.read(0.05)]


@pytest.mark.parametrize(
    ("condition", "levels"),
    [
        (f"caller == '{ORDER}.deep'", [0, 1, 2]),
        ("caller == 'Traced.answer'", [3]),
        ("caller != 'Traced.answer'", [0, 1, 2]),
        ("caller in 'Traced.*'", [3]),
        ("caller not in 'Traced.*'", [0, 1, 2]),
        ("caller in 'Traced*.*' and levels > 1", [2, 3]),
        ("levels < 2 and caller in '*.deep'", [0, 1]),
        ("caller in ('Traced.answer', 'Traced.main')", [3]),
        (f"caller == 'Traced.answer' or caller == '{ORDER}.deep' and levels == 0", [0, 3]),
        ("caller in '*.nobody'", []),
        ("levels in (1, 3)", [1, 3]),
        ("levels not in (1, 3)", [0, 2]),
        (f"type(this) == '{ORDER}' and levels == 1", [1]),
        ("type(this) in 'Traced*' and levels == 1", [1]),
        ("type(this) not in 'Traced*'", []),
        ("thread.name in 'ma*' and levels == 2", [2]),
        ("thread.name in 'x*'", []),
        ("thread == 'main' and levels == 2", [2]),
        ("thread in 'x*'", []),
    ],
)
def test_calls_are_chosen_by_who_makes_them(
    vm: jvmti.VM, traced: JavaProgram, condition: str, levels: list[int]
) -> None:
    with (
        vm.trace(f"{ORDER}.deep", when=condition) as trace,
        vm.logpoint(f"{ORDER}.deep", "{levels}", when=condition) as log,
    ):
        traced.ask("deep 3")
        calls = records_of(trace, len(levels))
        hits = records_of(log, len(levels))
    assert [one.value for one in calls] == levels
    assert sorted(one.values["levels"] for one in hits) == levels


def test_a_change_is_made_for_one_caller_only(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.change(f"{ORDER}.deep", returns=40, when="caller == 'Traced.answer'"):
        assert traced.ask("deep 3") == "40"
    with vm.change(f"{ORDER}.deep", returns=40, when=f"caller == '{ORDER}.deep'"):
        assert traced.ask("deep 3") == "41"
    with vm.change(
        f"{ORDER}.deep", throws="java.lang.Error", when="caller in 'x.*'", every=1
    ) as change:
        assert traced.ask("deep 3") == "3"
        assert change.reached == 0


def test_how_long_a_call_took_is_a_value(vm: jvmti.VM, traced: JavaProgram) -> None:
    with (
        vm.trace(f"{ORDER}.slow", when="took > 0.15 and milliseconds < 500") as trace,
        vm.logpoint(
            f"return {ORDER}.slow", "{milliseconds} {took:.3f}", when="took >= 0.15"
        ) as log,
        vm.logpoint(f"return {ORDER}.slow", "{milliseconds}", over=0.7) as over,
    ):
        for number in (1, 200, 800, 2):
            traced.ask(f"slow {number}")
        (call,) = records_of(trace, 1)
        first, second = records_of(log, 2)
        (longest,) = records_of(over, 1)
    assert call.arguments == (200,)
    assert [hit.text.split()[0] for hit in (first, second)] == ["200", "800"]
    assert 0.2 <= float(first.text.split()[1]) < float(second.text.split()[1])
    assert longest.text == "800"


def test_what_took_long_returns_something_else(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.change(f"{ORDER}.deep", returns=9, over=1.0), vm.trace(f"{ORDER}.deep"):
        assert traced.ask("deep 1") == "1"
    with vm.change(f"{ORDER}.deep", returns=9, when="took < 1 and levels == 1"):
        assert traced.ask("deep 1") == "9"


def test_each_third_is_recorded(vm: jvmti.VM, traced: JavaProgram) -> None:
    with (
        vm.trace(f"{ORDER}.add", every=3) as trace,
        vm.trace(f"{ORDER}.add", every=2, when="pieces > 3") as some,
        vm.logpoint(f"{ORDER}.add", "{pieces}", every=4) as log,
    ):
        traced.ask("add 9")
        assert [one.arguments[0] for one in records_of(trace, 3)] == [0, 3, 6]
        assert [one.arguments[0] for one in records_of(some, 3)] == [4, 6, 8]
        assert [one.text for one in records_of(log, 3)] == ["0", "4", "8"]
        assert (trace.dropped, log.dropped) == (0, 0)


FIELDS = {
    "sold": ("== True", "== False"),
    "small": ("== -2", "> -2"),
    "grade": ("== 'x'", "!= 'x'"),
    "weight": ("< 0", "< -3"),
    "count": ("== 4", "> 4"),
    "serial": ("> 4999999999.5", "!= 5000000000"),
    "tax": ("== 0.1", "> 0.1"),
    "price": ("== 2.5", "<= 2"),
    "name": ("== 'tea'", "!= 'tea'"),
    "boxed": ("== 42", "> 42.5"),
    "none": ("== None", "!= None"),
    "sizes.length": ("== 3", "< 3"),
    "name.length": ("> 2.5", "> 3"),
}
"""Fields, a comparison that holds, and one that does not."""


@pytest.mark.parametrize("start", ["this", "item", "item.next", "this.next"])
def test_fields_of_all_types_are_followed_without_the_agent(
    vm: jvmti.VM, traced: JavaProgram, start: str
) -> None:
    """Where the path is noted, the probes read it themselves; every other call has no item."""
    hold = [f"{start}.{name} {one}" for name, (one, _) in FIELDS.items()]
    fail = [f"{start}.{name} {other}" for name, (_, other) in FIELDS.items()]
    its_class = "Traced$Item" if start.endswith("next") else "Traced$Pack"
    hold += [f"type({start}) == '{its_class}'", f"type({start}) in '{its_class[:-2]}*'"]
    fail += [f"type({start}) != '{its_class}'", f"type({start}) in 'x*'"]
    pieces = [f"({one} and not {other})" for one, other in zip(hold, fail, strict=True)]
    null = " and item == None" if start.startswith("item") else ""
    with (
        vm.trace("Traced$Pack.send", when=" and ".join(pieces)) as all_hold,
        vm.trace("Traced$Pack.send", when=" or ".join(fail) + null) as none_holds,
    ):
        traced.ask("send 8")
        wanted = 4 if start.startswith("item") else 8
        assert len(records_of(all_hold, wanted)) == wanted
        assert not none_holds.read(0.05)
        (helper,) = vm.classes("java.lang.JvmtiProbes????????")
        noted = [cell for cells in helper["paths"] if cells is not None for cell in cells]
        assert sum(cell is not None for cell in noted) == len(hold) * 3


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("pieces == 'x'", "pieces is an int, which compares with an integer, not 'x'"),
        ("pieces > 'x'", "pieces is an int, which compares with an integer, not 'x'"),
        ("pieces in (1, 'x')", "pieces is an int, which compares with an integer, not 'x'"),
        ("pieces in 'x*'", "pieces is an int, which compares with an integer, not 'x[*]'"),
        ("pieces == None", "pieces is an int, which compares with an integer, not null"),
        ("pieces == 99999999999", "compares with what an int can be, not 99999999999"),
        ("arg0 == 2.5", "arg0 is an int, which compares with an integer, not 2.5"),
        ("what == 5", "what is a java.lang.String, which compares with a text or None, not 5"),
        ("this == 'x'", r"this is a Traced\$Order, which compares with None only, not 'x'"),
        ("len(what) == 'x'", r"len\(what\) is an int, which compares with an integer"),
        ("len(this) > 3", r"'len\(this\)': this is a Traced\$Order, which has no length"),
        ("value == 'x'", "value is an int, which compares with an integer, not 'x'"),
        ("exception == 'x'", "exception is a java.lang.Throwable, which compares with None only"),
        ("thread == 5", "thread is a java.lang.Thread, which compares with None only, not 5"),
    ],
)
def test_comparisons_that_never_hold_are_refused(
    vm: jvmti.VM, condition: str, message: str
) -> None:
    with pytest.raises(BadProbe, match=message):
        vm.trace(f"{ORDER}.add", when=condition)
    if condition[:3] not in ("val", "exc"):
        with pytest.raises(ValueError, match=message):
            vm.breakpoint(ORDER, "add", when=condition)
    assert b"JvmtiProbes" not in bytes(vm.find_class(ORDER).class_file)


def test_one_method_that_compares_so_is_enough(vm: jvmti.VM, traced: JavaProgram) -> None:
    with pytest.raises(LookupError, match="'peices' is none; did you mean 'pieces'"):
        vm.trace(f"{ORDER}.add", when="peices == 1")
    # The first arguments are numbers of all types, texts, and truth values.
    with vm.trace(f"{ORDER}.*", when="arg0 == 'abc'") as trace:
        traced.ask("check 0")
        traced.ask("add 2")
        (call,) = records_of(trace, 1)
    assert call.value == "abc"


def test_fields_that_only_subclasses_have(
    vm: jvmti.VM, traced: JavaProgram, caplog: pytest.LogCaptureFixture
) -> None:
    traced.ask("send 0")
    with vm.trace("Traced$Pack.send", when="item.inside == 1") as trace:
        traced.ask("send 3")
        assert len(records_of(trace, 2)) == 2
    assert "Item has no field 'inside', and of its loaded subclasses only some do" in caplog.text
    caplog.clear()
    with vm.trace("Traced$Pack.priced", when="priced.total == 1 or arg0.amount == 2"):
        assert "'arg0.amount': Traced$Priced has no field 'amount'" in caplog.text
        assert "subclasses none does" in caplog.text
        assert "subclasses only some do" in caplog.text
    caplog.clear()
    with vm.trace("Traced$Pack.send", when='item["Traced$Pack"].inside == 1 and item.count == 4'):
        assert not caplog.text


def test_a_bridge_has_no_names_and_leaves_them_to_the_method_behind_it(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    with (
        vm.logpoint("Traced$Pack.take", "{item.count}") as by_name,
        vm.logpoint("Traced$Pack.take", "{arg0.count}") as by_number,
    ):
        traced.ask("send 1")
        assert [hit.text for hit in records_of(by_name, 1)] == ["4"]
        hits = records_of(by_number, 2)
    assert [(hit.text, hit.descriptor) for hit in hits] == [
        ("4", "(Ljava/lang/Object;)Z"),
        ("4", "(LTraced$Item;)Z"),
    ]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("caller", "compare it with a constant"),
        ("caller > 'a'", "have no order"),
        ("caller == 3", "the caller is a text"),
        ("caller.name == 'x'", "the caller is a text"),
        ("took", "compare it with a constant"),
        ("took == 'x'", "a number of seconds"),
        ("took > 1e300", "more seconds than a call can take"),
        ("levels in levels", "behind `in` is a pattern"),
        ("levels in ()", "only constants, at least one"),
        ("levels in (levels,)", "only constants"),
        ("id(this) == 1", "there are len\\(x\\) and type\\(x\\)"),
    ],
)
def test_conditions_that_make_no_sense(vm: jvmti.VM, condition: str, message: str) -> None:
    with pytest.raises(BadProbe, match=message):
        vm.trace(f"{ORDER}.deep", when=condition)
    with pytest.raises(BadProbe, match=message):
        vm.change(f"{ORDER}.deep", returns=1, when=condition)


def test_options_that_make_no_sense(vm: jvmti.VM) -> None:
    for number in (0, -1):
        with pytest.raises(BadProbe, match="every= and times= count from 1"):
            vm.trace(f"{ORDER}.deep", every=number)
        with pytest.raises(BadProbe, match="every= and times= count from 1"):
            vm.logpoint(f"{ORDER}.deep", "x", every=number)
    with pytest.raises(BadProbe, match="over= is a number of seconds"):
        vm.trace(f"{ORDER}.deep", over=-1)
    with pytest.raises(BadProbe, match="it has taken no time"):
        vm.change(f"{ORDER}.deep", throws="java.lang.Error", over=1)
    with pytest.raises(BadProbe, match="it has taken no time"):
        vm.change(f"{ORDER}.deep", delay=1, when="took > 1")
    with pytest.raises(BadProbe, match="counts every one"):
        vm.trace(f"{ORDER}.deep", every=2, summary=True)


def test_the_class_that_probes_call_stands_before_the_verifier(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    """The VM verifies a class of the bootstrap loader only where it gets other code."""
    with vm.trace(f"{ORDER}.deep") as trace:
        helpers = vm.classes("java.lang.JvmtiProbes*")
        assert len(helpers) == 4
        for helper in helpers:
            helper.retransform()
        traced.ask("deep 1")
        assert len(records_of(trace, 2)) == 2
