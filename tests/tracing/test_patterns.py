"""Patterns that choose classes and methods by annotations, supertypes and loaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


ABOVE = {
    # A superclass, named and further up; an interface of a superclass, and of an interface.
    "Matched$Middle": {"Leaf", "OtherLeaf"},
    "*Base": {"Leaf", "OtherLeaf", "Middle"},
    "Matched$Served": {"Leaf", "OtherLeaf", "Middle", "Base", "Far"},
    "*.IntUnaryOperator": {"Leaf", "OtherLeaf", "Middle", "Base", "Far", "Unrelated"},
    "Matched$Wide": {"Far"},
}
NUMBERS = {"Leaf": 2, "OtherLeaf": 3, "Middle": 1, "Base": 0, "Far": 4, "Unrelated": 5}


def all_called(matched: JavaProgram, loader: str) -> None:
    """Has an object of each class calculate; those below others come first."""
    for name, number in NUMBERS.items():
        assert matched.ask(f"{loader} {name} 10") == str(10 + number)


@pytest.mark.parametrize("above", ABOVE)
def test_classes_below_others_are_chosen_however_far_up(
    vm: jvmti.VM, matched: JavaProgram, above: str
) -> None:
    all_called(matched, "app")
    pattern = f"Matched*.apply* extends {above}"
    wanted = sorted(f"{name}.applyAsInt" for name in ABOVE[above])
    cost = vm.trace_cost(pattern)
    with vm.trace(pattern) as trace:
        all_called(matched, "app")
        assert seen(trace) == wanted
        if "Operator" not in above:  # the program has lambdas of these
            assert trace.classes == cost.classes
        # A loader of its own loads them from the lowest on; the VM looks up what is above later.
        all_called(matched, f"fresh-{above}")
        assert seen(trace) == wanted
        assert matched.running()
    all_called(matched, "app")
    all_called(matched, f"fresh-{above}")
    with vm.logpoint(f"Matched$*.applyAsInt extends {above}", "{arg0}") as log:
        all_called(matched, "app")
        assert seen(log) == wanted


def test_a_class_that_is_loaded_later_has_its_probes_before_its_initializer_runs(
    java_program: JavaPrograms,
) -> None:
    program = java_program("Matched", jvm_args=["-Xmx128m"])
    program.expect("ready")
    # Nothing is known of the classes above when the hook sees this one.
    pattern = "Matched$*Leaf.* extends Matched$Served"
    with (
        jvmti.attach(program.pid, timeout=30) as vm,
        vm.trace(pattern, unloaded=True) as trace,
    ):
        assert program.ask("app Leaf") == "loaded"
        assert seen(trace) == []
        assert program.ask("app Leaf 1") == "3"
        assert seen(trace) == ["Leaf.applyAsInt", "Leaf.begin"]
        # They are now: this one is woven as it is loaded.
        assert program.ask("app OtherLeaf 1") == "4"
        assert seen(trace) == ["OtherLeaf.applyAsInt"]
        # Of the same names, and below another class.
        assert program.ask("twisted Leaf 1") == "3"
        assert seen(trace) == []
        assert trace.methods == 3
        # Others change the classes meanwhile, some before they are linked.
        with (
            jvmti.attach(program.pid) as other,
            other.trace("Matched$*.*", unloaded=True, limit=None) as all_of_them,
        ):
            assert program.ask("storm 3") == "108"
            ran = [one for one in seen(all_of_them) if one.endswith("Leaf.applyAsInt")]
            assert [one for one in seen(trace) if one.endswith(".applyAsInt")] == ran
            assert len(ran) == 12
        assert program.ask("twisted OtherLeaf 1") == "4"
        assert seen(trace) == []


def test_of_two_loaders_with_the_same_class_one_is_chosen(
    vm: jvmti.VM, matched: JavaProgram
) -> None:
    def called() -> None:
        for loader, class_name in (("first", "Far"), ("nameless", "Far"), ("other", "Far")):
            matched.ask(f"{loader} {class_name} {len(loader)}")

    def numbers(pattern: str, **options: Any) -> list[int]:
        with vm.trace(pattern, **options) as trace:
            called()
            return sorted(one.arguments[0] for one in trace.read())

    called()
    loaders = [one.loader for one in vm.classes("Matched$Far") if one.loader]
    (nameless,) = [one for one in loaders if one.name is None and one.type == "Matched$Shelf"]
    assert numbers("Matched$Far.apply*", unloaded=True) == [5, 5, 8]
    assert numbers("Matched$Far.apply* loader first") == [5]
    assert numbers("Matched$Far.apply* loader *OtherShelf") == [5]
    assert numbers("Matched$Far.apply* loader Matched$Shelf extends *Served") == [5, 8]
    assert numbers(f"Matched$Far.apply* loader *@{nameless.identity_hash:x}") == [8]
    assert numbers("Matched$Far.apply*", loader=nameless) == [8]
    assert vm.trace_cost("Matched$Far.apply*", loader=nameless).classes == 1
    # Of classes to come.
    with (
        vm.trace("Matched$*.apply*", loader=nameless) as of_object,
        vm.trace("Matched$*.apply* loader other", unloaded=True) as of_name,
    ):
        for loader in ("first", "nameless", "other", "app"):
            matched.ask(f"{loader} AllPages {len(loader)}")
        assert [one.arguments for one in of_object.read()] == [(8,)]
        assert [one.arguments for one in of_name.read()] == [(5,)]
    with vm.logpoint("Matched$Far.applyAsInt", "{n}", loader=nameless) as log:
        called()
        assert [one.text for one in log.read()] == ["8"]
    with vm.change("Matched$Far.apply* loader first", returns=77):
        assert matched.ask("first Far 1") == "77"
        assert matched.ask("nameless Far 1") == "5"
    with vm.trace("java.util.ArrayList.add loader bootstrap") as trace:
        assert trace.classes == 1


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("Matched$Leaf.* extends Matched$Servd", "no class of that name.*mean 'Matched[$]Served'"),
        ("Matched$Unrelated.* extends *Served", "'Matched[$]Unrelated' extends or implements"),
        ("Matched$Leaf.* loader shop", "has the loader 'shop'; their loaders are .*app"),
        ("Matched$Leaf.* loader bootstrap", "has the loader 'bootstrap'; their loaders are .*app"),
        ("Matched$Lef.* extends *Served", "no loaded class matches 'Matched[$]Lef'; similar ones"),
        ("Matched$Leaf.nothing extends *Served", "has no method 'nothing' with code"),
    ],
)
def test_a_condition_that_nothing_meets_is_refused(
    vm: jvmti.VM, matched: JavaProgram, pattern: str, why: str
) -> None:
    all_called(matched, "app")
    for begin in (vm.trace, vm.logpoint):
        with pytest.raises(LookupError, match=why):
            begin(pattern)


def test_a_loader_is_an_object_or_stands_in_the_pattern(vm: jvmti.VM, matched: JavaProgram) -> None:
    all_called(matched, "app")
    for wrong in ("shop", vm.find_class("java.lang.String")):
        with pytest.raises(TypeError, match="loader= is a class loader"):
            vm.trace("Matched*.*", loader=wrong)  # type: ignore[arg-type]
    with pytest.raises(LookupError, match="no loaded class of 'java.lang.String' has the loader"):
        vm.trace("java.lang.String.*", loader=vm.classes("Matched")[0].loader)
