"""Summaries by method, argument, class, thread and caller, which the target adds up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.instrumentation.probes import BadProbe
from jvmti.interface.errors import Error
from jvmti.layouts.probe_memory import COUNTERS
from jvmti.tracing.probe_set import ProbeSet
from jvmti.tracing.summaries import Uses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

ORDER = "Traced$Order"


@pytest.fixture(scope="module")
def traced(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Traced", jvm_args=["-Xmx128m"])
    program.expect("ready")
    program.ask("add 1")
    program.ask("price 1")
    return program


@pytest.fixture(scope="module")
def vm(traced: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(traced.pid, timeout=30) as attached:
        yield attached
    assert traced.running()


def counted(vm: jvmti.VM, traced: JavaProgram, by: str, *asked: str) -> dict[str, int]:
    with vm.trace(f"{ORDER}.add", by=by) as trace:
        for one in asked:
            traced.ask(one, timeout=60)
        return {use.name: use.calls for use in trace.summary()}


@pytest.mark.parametrize(
    ("by", "asked", "counts"),
    [
        ("pieces", ("add 3", "add 2"), {"0": 2, "1": 2, "2": 1}),
        ("what", ("add 2", "random 5"), {"tea 0": 1, "tea 1": 1, "random": 5}),
        ("arg1", ("add 2",), {"tea 0": 1, "tea 1": 1}),
        ("len(what)", ("add 2", "random 3"), {"5": 2, "6": 3}),
        ("class", ("add 4",), {ORDER: 4}),
        ("type(this)", ("add 4",), {ORDER: 4}),
        ("thread", ("add 2", "threads 2"), {"main": 2, "adder 0": 1, "adder 1": 1}),
        ("method", ("add 2",), {f"{ORDER}.add": 2}),
    ],
)
def test_calls_are_counted_by_a_value(
    vm: jvmti.VM, traced: JavaProgram, by: str, asked: tuple[str, ...], counts: dict[str, int]
) -> None:
    assert counted(vm, traced, by, *asked) == counts


def test_hits_of_threads_with_and_without_lines_of_their_own_are_counted(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    """A thread with a number beyond the last line shares one."""
    threads = COUNTERS.OWNED
    with vm.logpoint(f"{ORDER}.add", by="method") as log:
        traced.ask("threads 3")
        traced.ask(f"threads {threads}", timeout=60)
        (use,) = log.summary()
    assert use.calls == threads + 3


def test_calls_are_counted_by_who_makes_them(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.deep", by="caller") as trace:
        traced.ask("deep 5")
        found = {use.name.rpartition(":")[0]: use.calls for use in trace.summary()}
    assert found == {f"{ORDER}.deep": 5, "Traced.answer": 1}
    with vm.trace(f"{ORDER}.deep", by="caller", when="took > 0") as trace:
        traced.ask("deep 0")
        (use,) = trace.summary()
    assert use.name.rpartition(":")[0] == "Traced.answer"


def test_failures_and_times_belong_to_their_value(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.check", by="text") as trace:
        for number in (0, 1, 1):
            traced.ask(f"check {number}")
        good, bad = sorted(trace.summary(), key=lambda use: use.name)
    assert (good.name, good.calls, good.failures) == ("abc", 1, 0)
    assert (bad.name, bad.calls, bad.failures) == ("abcd", 2, 2)
    with vm.trace(f"{ORDER}.slow", by="milliseconds") as trace:
        for number in (1, 60, 1):
            traced.ask(f"slow {number}")
        first, second = trace.summary()
    assert (first.name, second.name, second.calls) == ("60", "1", 2)
    assert 60_000_000 <= first.total == first.longest
    assert second.mean == second.total / 2
    assert second.p50 <= second.longest < first.p50


def test_what_calls_return_or_throw_is_a_value(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.check", by="value") as trace:
        for number in (0, 1, 0):
            traced.ask(f"check {number}")
        found = {use.name: use.calls for use in trace.summary()}
    assert found == {"abc": 2, "java.lang.IllegalStateException": 1}


def test_values_above_the_bound_are_counted_together(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", by="this.total") as trace:
        traced.ask("add 9000", timeout=120)  # each adds to the total
        found = trace.summary()
    counts = {use.name: use.calls for use in found}
    assert len(counts) == 8192
    assert sum(counts.values()) == 9000
    assert counts["others"] == 9000 - sum(n for name, n in counts.items() if name != "others")
    assert counts["others"] > 800


def test_only_calls_that_match_are_counted(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", by="pieces", when="pieces > 2") as trace:
        traced.ask("add 5")
        assert {use.name: use.calls for use in trace.summary()} == {"3": 1, "4": 1}
    with vm.trace(f"{ORDER}.slow", by="method", over=0.03) as trace:
        for number in (1, 50, 2):
            traced.ask(f"slow {number}")
        (use,) = trace.summary()
    assert use.calls == 1


def test_a_summary_can_be_read_when_it_is_closed(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", by="what") as trace:
        traced.ask("add 2")
    assert {use.name for use in trace.summary()} == {"tea 0", "tea 1"}


def test_boxes_can_be_counted_without_end(vm: jvmti.VM, traced: JavaProgram) -> None:
    """Numbers are put into boxes on the way, by methods that must not be counted themselves."""
    with vm.trace("java.lang.Integer.*", by="arg0", unloaded=True) as trace:
        assert traced.ask("objects") == "done"
        assert traced.ask("add 2")
        assert trace.summary() == []


def test_a_summary_is_a_table(vm: jvmti.VM, traced: JavaProgram) -> None:
    pytest.importorskip("pyarrow")
    with vm.trace(f"{ORDER}.add", by="pieces") as trace:
        traced.ask("add 2")
        rows = trace.summary().to_arrow().to_pylist()
    assert sorted((row["name"], row["calls"]) for row in rows) == [("0", 1), ("1", 1)]


@pytest.mark.parametrize(
    ("by", "kind", "message"),
    [
        ("a b", BadProbe, "method, place, class, thread"),
        ("took", BadProbe, "count them by something else"),
        ("f(x)", BadProbe, "methods cannot be called"),
        ("nothing", LookupError, "has a value 'nothing'.*; there are 'pieces', 'this', 'what'"),
        ("this.nothing", BadProbe, "has no field 'nothing'; there are 'total'"),
    ],
)
def test_what_calls_cannot_be_counted_by(
    vm: jvmti.VM, by: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        vm.trace(f"{ORDER}.add", by=by)


def test_a_method_has_one_tally_however_many_returns(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace("Traced.answer", summary=True) as trace:
        for asked in ("add 1", "deep 2", "random 1"):
            traced.ask(asked)
        assert [use.calls for use in trace.summary()] == [3]
        assert len(trace._sites) == 2
    with vm.trace("Traced.answer", by="place") as trace:
        for asked in ("add 1", "deep 2", "random 1"):
            traced.ask(asked)
        assert [use.calls for use in trace.summary()] == [1, 1, 1]


def test_patterns_with_too_many_places_are_refused(
    vm: jvmti.VM, traced: JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("java.lang.String", "java.util.HashMap")
    before = [bytes(vm.find_class(name).class_file) for name in names]
    # What a call has is known only when it has probes.
    with pytest.raises(Error, match="the patterns have more places than there are tallies for"):
        vm.logpoint("call *.* in java.*.*", by="place")
    assert [bytes(vm.find_class(name).class_file) for name in names] == before
    with monkeypatch.context() as patched:
        patched.setattr(ProbeSet, "_place", lambda *_: pytest.fail("a class was changed"))
        for options in ({"summary": True}, {"by": "method"}):
            with pytest.raises(Error, match="have more places than there are tallies for, 16,384"):
                # A small program on 11 has half of them.
                vm.trace(*("java.*.*", "jdk.*.*", "sun.*.*") * 3, **options)
    with vm.trace("java.util.*.*", summary=True) as trace:
        traced.ask("add 1")
        assert (trace.left_out, trace.why_left_out) == (0, None)
        assert any(use.calls for use in trace.summary())


def test_methods_that_share_a_name_are_shown_with_their_parameters(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    with vm.trace("java.util.ArrayList.add", f"{ORDER}.add", summary=True) as trace:
        traced.ask("add 20")
        summary = trace.summary()
    assert len({use.name for use in summary}) < len(summary)
    labels = summary.labels()
    assert {f"{ORDER}.add", "java.util.ArrayList.add(Object)"} <= set(labels)
    assert "java.util.ArrayList.add(Object, Object[], int)" in labels
    shown = summary._repr_html_()
    assert shown is not None
    assert "add(Object, Object[], int)" in shown
    # A compiler's bridge has the parameters of the method that it calls.
    its = [summary[0]._replace(name="Cell.of", descriptor=f"(I){one};") for one in ("LA", "Lx/B")]
    assert Uses(its).labels() == ["Cell.of(int): A", "Cell.of(int): B"]


def test_a_class_of_the_vm_in_which_no_method_matches_keeps_its_frames(vm: jvmti.VM) -> None:
    string = vm.find_class("java.lang.String")
    before = bytes(string.class_file)
    with pytest.raises(LookupError, match="no method 'nothing'"):
        vm.trace("java.lang.String.nothing")
    assert bytes(string.class_file) == before


def test_a_class_that_others_change_takes_no_more_tallies(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    env = vm.new_env()
    env.add_capabilities({"can_retransform_classes"})
    with vm.trace(f"{ORDER}.*", summary=True) as trace:
        taken = vm._agent.count_probes(trace._number).sites
        for _ in range(3):
            env.retransform_classes([vm.find_class(ORDER)])
        assert vm._agent.count_probes(trace._number).sites == taken
        traced.ask("add 2")
        (use,) = [use for use in trace.summary() if use.name == f"{ORDER}.add"]
        assert use.calls == 2
