"""Patterns that choose classes and methods by annotations, supertypes and loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.instrumentation.probes import BadProbe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvmti.tracing.logpoint import Logpoint
    from jvmti.tracing.trace import Trace
    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def matched(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Matched", jvm_args=["-Xmx128m"])
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def vm(matched: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(matched.pid, timeout=30) as attached:
        yield attached
    assert matched.running()


def seen(record: Trace | Logpoint) -> list[str]:
    """What was called, without the program's name."""
    return sorted(
        f"{one.class_name}.{one.method}".removeprefix("Matched$") for one in record.read()
    )


def test_an_annotated_method_is_traced_and_others_of_its_class_are_not(
    vm: jvmti.VM, matched: JavaProgram
) -> None:
    matched.ask("app Pages 1")
    with vm.trace("Matched*.* annotated *Mapped") as trace:
        assert matched.ask("app Pages 3") == "6"
        assert seen(trace) == ["Pages.applyAsInt"]
        assert trace.methods == 1
        # Of one that is loaded later; its class overrides the other method, too.
        assert matched.ask("app LatePages 4") == "5"
        assert seen(trace) == ["LatePages.applyAsInt"]
    with vm.trace("Matched*.plain annotated java.lang.Deprecated", unloaded=True) as trace:
        matched.ask("app Pages 3")
        assert seen(trace) == []


def test_the_annotation_of_a_class_takes_all_its_methods(
    vm: jvmti.VM, matched: JavaProgram
) -> None:
    with vm.trace("*.* annotated Matched$Mapped", unloaded=True) as trace:
        matched.ask("later AllPages 1")
        matched.ask("later Pages 1")
        assert seen(trace) == ["AllPages.applyAsInt", "AllPages.plain", "Pages.applyAsInt"]
    with vm.logpoint("Matched$AllPages.[!<]* annotated *Mapped", "{arg0}") as log:
        matched.ask("later AllPages 1")
        assert seen(log) == ["AllPages.applyAsInt", "AllPages.plain"]


def test_an_annotation_that_only_the_class_file_has_is_found_as_it_is_loaded(
    vm: jvmti.VM, matched: JavaProgram
) -> None:
    matched.ask("plain Pages 1")
    with vm.trace("Matched$*Pages.* annotated *Written", unloaded=True) as trace:
        matched.ask("plain Pages 1")
        assert seen(trace) == []
        matched.ask("written Pages 1")
        assert seen(trace) == ["Pages.written"]
        # A change by another session shows the class file anew.
        with jvmti.attach(matched.pid) as other, other.trace("Matched$Pages.plain"):
            matched.ask("written Pages 1")
            assert seen(trace) == ["Pages.written"]
    with pytest.raises(LookupError, match="the annotation '[*]Writen'.*the JVM keeps nothing"):
        vm.trace("Matched$Pages.* annotated *Writen")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("Matched*.* annotated", "a pattern follows 'annotated': annotated [*].Transactional"),
        ("Matched*.* annotated A B", "a pattern follows 'annotated'"),
        ("Matched*.* extends A extends B", "'extends' is there twice"),
        ("Matched*.* annotated extends B", "a pattern follows 'annotated'"),
    ],
)
def test_a_condition_has_one_pattern(vm: jvmti.VM, pattern: str, why: str) -> None:
    for begin in (vm.trace, vm.logpoint, vm.trace_cost):
        with pytest.raises(BadProbe, match=why):
            begin(pattern)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("Matched$Pages.* annotated Matched$Maped", "did you mean 'Matched[$]Mapped'"),
        ("Matched$Unrelatd.* annotated *Mapped", "no loaded class matches 'Matched[$]Unrelatd'"),
        ("Matched$Pages.plain annotated *Mapped", "'Matched[$]Pages' has such a method"),
    ],
)
def test_an_annotation_that_nothing_has_is_refused(
    vm: jvmti.VM, matched: JavaProgram, pattern: str, why: str
) -> None:
    matched.ask("app Pages 1")
    for begin in (vm.trace, vm.logpoint):
        with pytest.raises(LookupError, match=why):
            begin(pattern)
