"""The walks of the chapters "Heap" and "Heap (1.0)": each visit calls a Python function."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.finding import kept, loaded_class, method_named, thread_named
from jvmti.env.callbacks import TagCell
from jvmti.env.structures import HeapCallbacks
from jvmti.interface.constants import (
    HeapFilter,
    HeapObjectFilter,
    HeapReferenceKind,
    HeapRootKind,
    HeapVisitControl,
    IterationControl,
    ObjectReferenceKind,
    PrimitiveType,
)
from jvmti.interface.errors import InHeapCallback
from jvmti.refs import Class, Object

GO_ON = HeapVisitControl(0)
FOLLOW = HeapVisitControl.OBJECTS
ABORT = HeapVisitControl.ABORT
NONE = HeapFilter(0)
CONTINUE = IterationControl.CONTINUE


@pytest.fixture
def tagged(env: jvmti.Env) -> Iterator[Callable[[Object, int], Object]]:
    """Tags objects until the test has ended."""
    given: list[Object] = []

    def tag(thing: Object, number: int) -> Object:
        env.set_tag(thing, number)
        given.append(thing)
        return thing

    yield tag
    for thing in given:
        env.set_tag(thing, 0)


@pytest.fixture
def everything(vm: jvmti.VM) -> Object:
    """The Witness's object with a field of every type."""
    return kept(vm, "everything")


def made(vm: jvmti.VM, name: str, count: int) -> list[Object]:
    """New objects of a class of the Witness's, without their constructors."""
    cls = vm.jni.find_class(f"Witness${name}")
    found = [vm.jni.alloc_object(cls) for _ in range(count)]
    assert all(found)
    return found  # type: ignore[return-value]


# Through the heap


def test_a_walk_through_the_heap_visits_each_object_with_its_size_and_tags(
    vm: jvmti.VM, env: jvmti.Env, tagged: Any, evidence: Evidence
) -> None:
    evidence.proves("iterate_through_heap")
    objects = made(vm, "Overriding", 3)
    cls = loaded_class(env, "Witness$Overriding")
    tagged(cls, 70)
    for number, one in enumerate(objects, 71):
        tagged(one, number)
    visits: list[tuple[int, int, int, int]] = []

    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        visits.append((class_tag, size, tag.value, length))
        return GO_ON

    env.iterate_through_heap(HeapFilter.UNTAGGED, cls, HeapCallbacks(heap_iteration_callback=visit))
    expected = [(70, env.get_object_size(one), env.get_tag(one), -1) for one in objects]
    assert sorted(visits) == sorted(expected)


def test_an_array_is_visited_with_its_length(vm: jvmti.VM, env: jvmti.Env, tagged: Any) -> None:
    array = tagged(kept(vm, "array"), 5)
    lengths = {}

    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        lengths[tag.value] = (length, size)
        return GO_ON

    env.iterate_through_heap(
        HeapFilter.UNTAGGED, None, HeapCallbacks(heap_iteration_callback=visit)
    )
    assert lengths == {5: (5, env.get_object_size(array))}


@pytest.mark.parametrize("bits", range(16))
@pytest.mark.parametrize("walk", ["iterate_through_heap", "follow_references"])
def test_a_filter_leaves_out_what_its_bits_say(
    walk: str, bits: int, vm: jvmti.VM, env: jvmti.Env, tagged: Any
) -> None:
    heap_filter = HeapFilter(bits << 2)
    with_class, without = made(vm, "Overriding", 2), made(vm, "Derived", 2)
    holder = vm.jni.new_object_array(4, vm.jni.find_class("java/lang/Object"), None)
    for number, one in enumerate([*with_class, *without]):
        vm.jni.set_object_array_element(holder, number, one)
    classes = {
        True: tagged(loaded_class(env, "Witness$Overriding"), 40),
        False: loaded_class(env, "Witness$Derived"),
    }
    for number, one in enumerate((with_class[0], without[0]), 1):
        tagged(one, number)
    reported: set[tuple[bool, bool]] = set()

    def object_visited(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        reported.add((tag.value != 0, class_tag != 0))
        return GO_ON

    def reference_visited(
        kind: Any, info: Any, class_tag: int, a: int, b: int, tag: TagCell, c: Any, d: int
    ) -> HeapVisitControl:
        reported.add((tag.value != 0, class_tag != 0))
        return GO_ON

    seen = set()
    for has_class_tag, cls in classes.items():
        reported.clear()
        if walk == "iterate_through_heap":
            env.iterate_through_heap(
                heap_filter, cls, HeapCallbacks(heap_iteration_callback=object_visited)
            )
        else:
            env.follow_references(
                heap_filter, cls, holder, HeapCallbacks(heap_reference_callback=reference_visited)
            )
        assert {one[1] for one in reported} <= {has_class_tag}
        seen |= reported
    expected = {
        (tag, class_tag)
        for tag, class_tag in itertools.product((True, False), repeat=2)
        if not (
            (tag and heap_filter & HeapFilter.TAGGED)
            or (not tag and heap_filter & HeapFilter.UNTAGGED)
            or (class_tag and heap_filter & HeapFilter.CLASS_TAGGED)
            or (not class_tag and heap_filter & HeapFilter.CLASS_UNTAGGED)
        )
    }
    assert seen == expected


def test_the_primitive_fields_of_an_object_are_those_that_java_shows(
    env: jvmti.Env, witness: programs.JavaProgram, everything: Object, tagged: Any
) -> None:
    cls = loaded_class(env, "Witness$Everything")
    tagged(everything, 8)
    tagged(cls, 9)
    found: dict[tuple[str, int], tuple[Any, PrimitiveType]] = {}

    def field(
        kind: HeapReferenceKind, info: Any, class_tag: int, tag: TagCell, value: Any, of: Any
    ) -> HeapVisitControl:
        found[kind.name, info.field.index] = (value, of)
        assert (tag.value, class_tag) == ((8, 9) if kind.name == "FIELD" else (9, 0))
        return GO_ON

    callbacks = HeapCallbacks(primitive_field_callback=field)
    env.iterate_through_heap(HeapFilter.UNTAGGED, None, callbacks)
    interfaces = len(env.get_class_fields(loaded_class(env, "Witness$Constants")))
    declared = env.get_class_fields(cls)
    values = {}
    for (kind, index), (value, of) in found.items():
        member = declared[index - interfaces]
        about = env.get_field_name(cls, member)
        assert about.signature == chr(of)
        assert bool(env.get_field_modifiers(cls, member) & 8) == (kind == "STATIC_FIELD")
        values[about.name] = value
    names = [env.get_field_name(cls, one) for one in declared]
    primitive = {one.name for one in names if len(one.signature) == 1}
    assert set(values) == primitive
    for name, value in values.items():
        said = witness.ask(f"get everything {name}")
        if isinstance(value, bool):
            assert said == str(value).lower()
        elif isinstance(value, float):
            narrow = numpy.float32 if "Float" in name else float
            assert narrow(said) == value
        elif "Char" in name:
            assert chr(value) == said.encode().decode("unicode_escape")
        else:
            assert int(said) == value


def test_primitive_arrays_arrive_whole(vm: jvmti.VM, env: jvmti.Env, tagged: Any) -> None:
    jni: Any = vm.jni
    given = {
        PrimitiveType.BOOLEAN: numpy.array([True, False, True]),
        PrimitiveType.BYTE: numpy.array([-128, 0, 127], "i1"),
        PrimitiveType.CHAR: numpy.array([0, 0xD83D, 0xFFFF], "u2"),
        PrimitiveType.SHORT: numpy.array([-32768, 32767], "i2"),
        PrimitiveType.INT: numpy.array([-(2**31), 2**31 - 1], "i4"),
        PrimitiveType.LONG: numpy.array([-(2**63), 2**63 - 1], "i8"),
        PrimitiveType.FLOAT: numpy.array([1.5, -0.0, numpy.inf], "f4"),
        PrimitiveType.DOUBLE: numpy.array([], "f8"),
    }
    arrays = []
    for number, (kind, values) in enumerate(given.items(), 1):
        name = kind.name.lower()
        array = getattr(jni, f"new_{name}_array")(len(values))
        getattr(jni, f"set_{name}_array_region")(array, 0, values)
        arrays.append(tagged(array, number))
    found = {}

    def elements(
        class_tag: int, size: int, tag: TagCell, count: int, of: PrimitiveType, values: Any
    ) -> HeapVisitControl:
        found[tag.value] = (of, count, values, size)
        return GO_ON

    env.iterate_through_heap(
        HeapFilter.UNTAGGED, None, HeapCallbacks(array_primitive_value_callback=elements)
    )
    assert len(found) == len(given)
    for (number, (of, count, values, size)), (kind, expected) in zip(
        sorted(found.items()), given.items(), strict=True
    ):
        assert of is kind
        assert count == len(expected)
        assert values.dtype == expected.dtype
        assert numpy.array_equal(values, expected)
        assert size == env.get_object_size(arrays[number - 1])
        values[:] = 0  # a copy of the callback's own


@pytest.mark.parametrize("text", ["", "plain", "h\u00e9llo \u4e2d \U0001f600", "zero \0 within"])
def test_strings_arrive_whole(text: str, vm: jvmti.VM, env: jvmti.Env, tagged: Any) -> None:
    tagged(vm.jni.new_string(text), 3)
    found = []

    def string(class_tag: int, size: int, tag: TagCell, value: str) -> HeapVisitControl:
        found.append((tag.value, value))
        return GO_ON

    callbacks = HeapCallbacks(string_primitive_value_callback=string)
    env.iterate_through_heap(HeapFilter.UNTAGGED, None, callbacks)
    assert found == [(3, text)]


def test_a_tag_that_a_callback_writes_lands_on_that_object(vm: jvmti.VM, env: jvmti.Env) -> None:
    objects = made(vm, "Overriding", 50)
    cls = loaded_class(env, "Witness$Overriding")
    for number, one in enumerate(objects, 1):
        env.set_tag(one, number)

    def negate(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        if tag.value % 3 == 0:
            tag.value = 0
        elif tag.value % 2:
            tag.value = -tag.value
        return GO_ON

    try:
        callbacks = HeapCallbacks(heap_iteration_callback=negate)
        env.iterate_through_heap(HeapFilter.UNTAGGED, cls, callbacks)
        for number, one in enumerate(objects, 1):
            expected = 0 if number % 3 == 0 else -number if number % 2 else number
            assert env.get_tag(one) == expected
    finally:
        for one in objects:
            env.set_tag(one, 0)


def test_a_written_tag_shows_in_the_calls_that_follow(
    vm: jvmti.VM, env: jvmti.Env, everything: Object
) -> None:
    cls = loaded_class(env, "Witness$Everything")
    tags = []

    def number(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        tag.value = 77
        return GO_ON

    def field(
        kind: Any, info: Any, class_tag: int, tag: TagCell, value: Any, of: Any
    ) -> HeapVisitControl:
        if kind is HeapReferenceKind.FIELD:
            tags.append(tag.value)
        return GO_ON

    env.set_tag(everything, 1)
    try:
        callbacks = HeapCallbacks(heap_iteration_callback=number, primitive_field_callback=field)
        env.iterate_through_heap(HeapFilter.UNTAGGED, cls, callbacks)
        assert env.get_tag(everything) == 77
        assert set(tags) == {77}
    finally:
        env.set_tag(everything, 0)


def writes_by_an_alias(seen: list[int]) -> Any:
    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        cell = tag
        seen.append(cell.value)
        cell.value = 5
        return ABORT

    return visit


def writes_as_any(seen: list[int]) -> Any:
    def visit(*given: Any) -> HeapVisitControl:
        seen.append(given[2].value)
        given[2].value = 5
        return ABORT

    return visit


def writes_in_a_helper(seen: list[int]) -> Any:
    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        seen.append(tag.value)
        setattr(tag, "value", 5)  # noqa: B010
        return ABORT

    return visit


def writes_by_name(seen: list[int]) -> Any:
    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        seen.append(locals()["tag"].value)
        locals()["tag"].value = 5
        return ABORT

    return visit


class Writer:
    """A callback that is an object."""

    def __init__(self, seen: list[int]) -> None:
        self.seen = seen

    def __call__(self, class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        self.seen.append(tag.value)
        tag.value += 5
        return ABORT


@pytest.mark.parametrize(
    "way", [writes_by_an_alias, writes_as_any, writes_in_a_helper, writes_by_name, Writer]
)
def test_a_tag_is_written_however_the_callback_does_it(
    way: Any, vm: jvmti.VM, env: jvmti.Env
) -> None:
    objects = made(vm, "Overriding", 3)
    cls = loaded_class(env, "Witness$Overriding")
    seen: list[int] = []
    before = {one: env.get_tag(one) for one in objects}
    env.iterate_through_heap(NONE, cls, HeapCallbacks(heap_iteration_callback=way(seen)))
    assert seen == [0], "no call after the one that ended the walk"
    found = env.get_objects_with_tags([5])
    assert len(found.objects) == 1
    assert set(before.values()) == {0}
    env.set_tag(found.objects[0], 0)


def test_a_tag_that_the_vm_would_not_get_is_refused_with_the_reason(
    vm: jvmti.VM, env: jvmti.Env
) -> None:
    """Out of the callback's sight, or when it has returned: it is never lost in silence."""
    objects = made(vm, "Overriding", 1)
    cls = loaded_class(env, "Witness$Overriding")
    cells: list[TagCell] = []

    def write() -> None:
        sys._getframe(1).f_locals["tag"].value = 5

    def out_of_sight(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        write()
        return GO_ON

    def keeps(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        cells.append(tag)
        return GO_ON

    with pytest.raises(RuntimeError, match="does not show that it writes tags"):
        env.iterate_through_heap(NONE, cls, HeapCallbacks(heap_iteration_callback=out_of_sight))
    env.iterate_through_heap(NONE, cls, HeapCallbacks(heap_iteration_callback=keeps))
    for cell in cells:
        with pytest.raises(RuntimeError, match="with this tag has returned"):
            cell.value = 5
    assert cells
    assert {env.get_tag(one) for one in objects} == {0}


def test_names_are_looked_up_after_the_walk_as_the_message_says(env: jvmti.Env) -> None:
    kept: list[Any] = []

    def look(kind: HeapReferenceKind, info: Any, *rest: Any) -> HeapVisitControl:
        if kind != HeapReferenceKind.STACK_LOCAL:
            return FOLLOW
        kept.append(info.stack_local.method)
        return info.stack_local.method.name  # type: ignore[no-any-return]

    with pytest.raises(InHeapCallback, match="keep the method or the object, and look it up after"):
        env.follow_references(NONE, None, None, HeapCallbacks(heap_reference_callback=look))
    assert kept[0].name


def test_no_call_follows_an_abort_in_the_middle_of_a_block(env: jvmti.Env) -> None:
    calls = 0

    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        nonlocal calls
        calls += 1
        return ABORT if calls == 10 else GO_ON

    env.iterate_through_heap(NONE, None, HeapCallbacks(heap_iteration_callback=visit))
    assert calls == 10


def test_user_data_is_passed_to_each_callback(env: jvmti.Env) -> None:
    given: list[Any] = []

    def visit(
        class_tag: int, size: int, tag: TagCell, length: int, user_data: Any
    ) -> HeapVisitControl:
        given.append(user_data)
        return ABORT

    env.iterate_through_heap(NONE, None, HeapCallbacks(heap_iteration_callback=visit), given)
    assert len(given) == 1
    assert given[0] is given


# Along references


def test_references_lead_from_an_object_to_all_that_its_fields_hold(
    vm: jvmti.VM, env: jvmti.Env, everything: Object, tagged: Any, evidence: Evidence
) -> None:
    evidence.proves("follow_references")
    cls = loaded_class(env, "Witness$Everything")
    tagged(everything, 1)
    tagged(cls, 2)
    held = {}
    for number, (name, signature) in enumerate(
        (("aString", "Ljava/lang/String;"), ("ints", "[I"), ("nested", "[[Ljava/lang/String;")), 3
    ):
        field = vm.jni.get_field_id(cls, name, signature)
        tagged(vm.jni.get_object_field(everything, field), number)
        held[name] = number
    interfaces = len(env.get_class_fields(loaded_class(env, "Witness$Constants")))
    names = [env.get_field_name(cls, one).name for one in env.get_class_fields(cls)]
    found = {}
    kinds = Counter()

    def reference(
        kind: HeapReferenceKind,
        info: Any,
        class_tag: int,
        referrer_class_tag: int,
        size: int,
        tag: TagCell,
        referrer_tag: TagCell | None,
        length: int,
    ) -> HeapVisitControl:
        kinds[kind] += 1
        if referrer_tag is not None and referrer_tag.value == 1:
            assert referrer_class_tag == 2
            if kind is HeapReferenceKind.FIELD:
                found[names[info.field.index - interfaces]] = tag.value
            else:
                assert kind is HeapReferenceKind.CLASS
                assert info is None
                assert tag.value == 2
        return GO_ON

    env.follow_references(NONE, None, everything, HeapCallbacks(heap_reference_callback=reference))
    assert {name: tag for name, tag in found.items() if tag} == held
    assert set(found) == {*held, "generic"}
    assert kinds == {HeapReferenceKind.CLASS: 1, HeapReferenceKind.FIELD: 4}


def test_only_what_the_callback_says_is_followed(vm: jvmti.VM, env: jvmti.Env, tagged: Any) -> None:
    jni = vm.jni
    type_ = jni.find_class("java/lang/Object")
    outer, left, right, leaf = (jni.new_object_array(2, type_, None) for _ in range(4))
    jni.set_object_array_element(outer, 0, left)
    jni.set_object_array_element(outer, 1, right)
    jni.set_object_array_element(left, 1, leaf)
    jni.set_object_array_element(right, 0, leaf)
    for number, one in enumerate((outer, left, right, leaf), 1):
        tagged(one, number)

    def edges(follow: set[int]) -> set[tuple[int, int, int]]:
        found = set()

        def reference(
            kind: Any, info: Any, a: int, b: int, c: int, tag: TagCell, of: TagCell | None, d: int
        ) -> HeapVisitControl:
            if kind is HeapReferenceKind.ARRAY_ELEMENT and of is not None:
                found.add((of.value, info.array.index, tag.value))
            return FOLLOW if tag.value in follow else GO_ON

        env.follow_references(
            HeapFilter.UNTAGGED, None, outer, HeapCallbacks(heap_reference_callback=reference)
        )
        return found

    assert edges(set()) == {(1, 0, 2), (1, 1, 3)}
    assert edges({2}) == {(1, 0, 2), (1, 1, 3), (2, 1, 4)}
    assert edges({2, 3, 4}) == {(1, 0, 2), (1, 1, 3), (2, 1, 4), (3, 0, 4)}


def test_both_tags_of_a_reference_can_be_written(vm: jvmti.VM, env: jvmti.Env) -> None:
    jni = vm.jni
    type_ = jni.find_class("java/lang/Object")
    outer, inner, itself = (jni.new_object_array(1, type_, None) for _ in range(3))
    jni.set_object_array_element(outer, 0, inner)
    jni.set_object_array_element(itself, 0, itself)

    def reference(
        kind: Any, info: Any, a: int, b: int, c: int, tag: TagCell, of: TagCell | None, d: int
    ) -> HeapVisitControl:
        if kind is HeapReferenceKind.ARRAY_ELEMENT and of is not None:
            tag.value += 10
            of.value += 100
        return FOLLOW

    callbacks = HeapCallbacks(heap_reference_callback=reference)
    for start in (outer, itself):
        env.follow_references(NONE, None, start, callbacks)
    tags = [env.get_tag(one) for one in (outer, inner, itself)]
    for one in (outer, inner, itself):
        env.set_tag(one, 0)
    assert tags == [100, 10, 110], "an object that refers to itself has one tag"


def test_roots_have_their_owners(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram, tagged: Any
) -> None:
    thread = thread_named(env, "busy")
    tagged(thread, 21)
    work = method_named(env, loaded_class(env, "Witness$Locals"), "work")
    locals_ = {}
    kinds = Counter()

    def reference(
        kind: HeapReferenceKind,
        info: Any,
        class_tag: int,
        referrer_class_tag: int,
        size: int,
        tag: TagCell,
        referrer_tag: TagCell | None,
        length: int,
    ) -> HeapVisitControl:
        kinds[kind] += 1
        if kind is HeapReferenceKind.STACK_LOCAL:
            local = info.stack_local
            if local.thread_tag == 21 and local.method == work:
                locals_[local.slot] = (local.thread_id, local.depth, length)
        if kind >= HeapReferenceKind.JNI_GLOBAL:
            assert referrer_tag is None
            assert referrer_class_tag == 0
        return GO_ON

    env.follow_references(NONE, None, None, HeapCallbacks(heap_reference_callback=reference))
    assert {HeapReferenceKind.JNI_GLOBAL, HeapReferenceKind.THREAD} <= set(kinds)
    ids = {one[0] for one in locals_.values()}
    assert ids == {int(witness.ask("id busy"))}
    slots = {one.name: one.slot for one in env.get_local_variable_table(work)}
    assert locals_[slots["anArray"]][2] >= 0
    assert locals_[slots["this"]][2] == -1


# Of version 1.0


def test_the_walks_of_version_1_0_visit_objects_by_their_tags(
    vm: jvmti.VM, env: jvmti.Env, tagged: Any, evidence: Evidence
) -> None:
    evidence.proves("iterate_over_heap", "iterate_over_instances_of_class")
    objects = made(vm, "Overriding", 3)
    cls = loaded_class(env, "Witness$Overriding")
    base = loaded_class(env, "Witness$Recorder")
    env.force_garbage_collection()
    tagged(objects[0], 31)
    found: list[tuple[int, int, int]] = []

    def visit(class_tag: int, size: int, tag: TagCell) -> IterationControl:
        found.append((class_tag, size, tag.value))
        return CONTINUE

    size = env.get_object_size(objects[0])
    env.iterate_over_heap(HeapObjectFilter.TAGGED, visit)
    assert found == [(0, size, 31)]
    counts = {}
    for one in HeapObjectFilter:
        found.clear()
        env.iterate_over_instances_of_class(cls, one, visit)
        counts[one.name] = len(found)
    assert counts["TAGGED"] == 1
    assert counts["UNTAGGED"] >= 2
    assert counts["EITHER"] == counts["TAGGED"] + counts["UNTAGGED"]
    found.clear()
    env.iterate_over_instances_of_class(base, HeapObjectFilter.TAGGED, visit)
    assert [one[2] for one in found] == [31], "instances of subclasses too"

    def write(class_tag: int, size: int, tag: TagCell) -> IterationControl:
        tag.value = 0 if tag.value else 32
        return CONTINUE

    env.iterate_over_instances_of_class(cls, HeapObjectFilter.EITHER, write)
    assert [env.get_tag(one) for one in objects] == [0, 32, 32]
    env.iterate_over_heap(HeapObjectFilter.TAGGED, write)
    assert [env.get_tag(one) for one in objects] == [0, 0, 0]


def test_the_walks_of_version_1_0_follow_references(
    vm: jvmti.VM, env: jvmti.Env, everything: Object, tagged: Any, evidence: Evidence
) -> None:
    evidence.proves("iterate_over_objects_reachable_from_object", "iterate_over_reachable_objects")
    cls = loaded_class(env, "Witness$Everything")
    tagged(everything, 51)
    tagged(cls, 52)
    thread = tagged(thread_named(env, "busy"), 53)
    kinds: Counter[ObjectReferenceKind] = Counter()
    names = [env.get_field_name(cls, one).name for one in env.get_class_fields(cls)]
    interfaces = len(env.get_class_fields(loaded_class(env, "Witness$Constants")))
    fields = set()

    def reference(
        kind: ObjectReferenceKind, class_tag: int, size: int, tag: TagCell, of: int, index: int
    ) -> IterationControl:
        if of == 51:
            kinds[kind] += 1
            if kind is ObjectReferenceKind.FIELD:
                fields.add(names[index - interfaces])
            else:
                assert tag.value == 52
        return IterationControl.IGNORE

    env.iterate_over_objects_reachable_from_object(everything, reference)
    assert fields == {"aString", "ints", "nested", "generic"}
    assert kinds == {ObjectReferenceKind.CLASS: 1, ObjectReferenceKind.FIELD: 4}

    work = method_named(env, loaded_class(env, "Witness$Locals"), "work")
    roots: Counter[HeapRootKind] = Counter()
    on_stack = []
    counts = Counter()

    def root(kind: HeapRootKind, class_tag: int, size: int, tag: TagCell) -> IterationControl:
        roots[kind] += 1
        if kind is HeapRootKind.THREAD and tag.value == 53:
            counts["thread"] += 1
        return CONTINUE

    def stack(
        kind: HeapRootKind,
        class_tag: int,
        size: int,
        tag: TagCell,
        thread_tag: int,
        depth: int,
        method: Any,
        slot: int,
    ) -> IterationControl:
        if thread_tag == 53 and method == work:
            on_stack.append(slot)
        return CONTINUE

    def along(
        kind: ObjectReferenceKind, class_tag: int, size: int, tag: TagCell, of: int, index: int
    ) -> IterationControl:
        counts["references"] += 1
        return IterationControl.ABORT if counts["references"] == 1000 else CONTINUE

    env.iterate_over_reachable_objects(root, stack, along)
    assert counts == {"thread": 1, "references": 1000}
    assert HeapRootKind.SYSTEM_CLASS in roots or HeapRootKind.OTHER in roots
    slots = {one.name: one.slot for one in env.get_local_variable_table(work)}
    assert slots["anArray"] in on_stack
    counts.clear()
    env.iterate_over_reachable_objects(root, None, None)
    assert counts == {"thread": 1}
    assert env.get_tag(thread) == 53


# What a callback may do


def test_an_exception_ends_the_walk_and_comes_out_of_it(env: jvmti.Env) -> None:
    calls = 0

    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        nonlocal calls
        calls += 1
        raise LookupError("in the callback")

    with pytest.raises(LookupError, match="in the callback"):
        env.iterate_through_heap(NONE, None, HeapCallbacks(heap_iteration_callback=visit))
    assert calls == 1
    assert env.get_phase() == 4


@pytest.mark.parametrize("answer", [None, "OBJECTS", True, 3])
def test_a_callback_must_answer_with_a_control(answer: Any, env: jvmti.Env) -> None:
    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> Any:
        return answer

    with pytest.raises(TypeError, match="must return HeapVisitControl"):
        env.iterate_through_heap(NONE, None, HeapCallbacks(heap_iteration_callback=visit))


@pytest.mark.parametrize(
    ("tag", "error"), [(None, TypeError), (1.5, TypeError), (1 << 63, OverflowError)]
)
def test_a_tag_must_be_a_long(tag: Any, error: type[Exception], env: jvmti.Env) -> None:
    def visit(class_tag: int, size: int, cell: TagCell, length: int) -> HeapVisitControl:
        cell.value = tag
        return GO_ON

    with pytest.raises(error):
        env.iterate_through_heap(NONE, None, HeapCallbacks(heap_iteration_callback=visit))


def test_what_is_not_callable_is_refused(env: jvmti.Env) -> None:
    with pytest.raises(TypeError, match="heap_iteration_callback must be callable"):
        env.iterate_through_heap(
            NONE,
            None,
            HeapCallbacks(heap_iteration_callback=5),  # type: ignore[arg-type]
        )
    with pytest.raises(TypeError, match="must be HeapCallbacks"):
        env.iterate_through_heap(NONE, None, len)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be callable"):
        env.iterate_over_heap(HeapObjectFilter.EITHER, "visit")  # type: ignore[arg-type]


def in_a_callback(env: jvmti.Env, action: Callable[[], Any]) -> Any:
    """What a call gives inside a heap callback."""
    given: list[Any] = []

    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        given.append(action())
        return ABORT

    env.iterate_through_heap(NONE, None, HeapCallbacks(heap_iteration_callback=visit))
    return given[0]


def test_what_is_safe_in_a_callback_can_be_called_there(env: jvmti.Env) -> None:
    assert in_a_callback(env, env.get_time) > 0
    assert in_a_callback(env, env.get_environment_local_storage) is None
    memory = in_a_callback(env, lambda: env.allocate(16))
    env.deallocate(memory)
    monitor = env.create_raw_monitor("walked")

    def enter() -> bool:
        env.raw_monitor_enter(monitor)
        env.raw_monitor_enter(monitor)
        env.raw_monitor_exit(monitor)
        return True

    assert in_a_callback(env, enter)
    env.raw_monitor_enter(monitor)  # the callback has it no more
    with pytest.raises(InHeapCallback, match="owner cannot leave"):
        in_a_callback(env, enter)
    env.raw_monitor_exit(monitor)
    env.destroy_raw_monitor(monitor)


def test_everything_else_is_refused_in_a_callback(
    vm: jvmti.VM, env: jvmti.Env, bare_env: jvmti.Env
) -> None:
    array = kept(vm, "array")
    for action in (
        env.get_all_threads,
        lambda: env.get_tag(array),
        lambda: vm.jni.get_array_length(array),
        lambda: env.map.get_tag([array]),
        lambda: env.iterate_through_heap(NONE, None, HeapCallbacks()),
        lambda: bare_env.get_time(),
    ):
        with pytest.raises(InHeapCallback, match="cannot be called from a callback"):
            in_a_callback(env, action)
    assert env.get_phase() == 4


def test_a_walk_that_calls_nothing_visits_nothing(vm: jvmti.VM, env: jvmti.Env) -> None:
    def answers(callbacks: HeapCallbacks) -> tuple[int, int]:
        """Messages that two walks cost this side: requests, and answers to callbacks."""
        before = vm.stats.messages
        env.iterate_through_heap(NONE, None, callbacks)
        between = vm.stats.messages
        env.follow_references(NONE, None, None, callbacks)
        return between - before, vm.stats.messages - between

    def visit(*reported: Any) -> HeapVisitControl:
        return ABORT

    # One message more is the look at the statistics.
    nothing = answers(HeapCallbacks())
    assert nothing == (2, 2)
    every = HeapCallbacks(heap_iteration_callback=visit, heap_reference_callback=visit)
    assert min(answers(every)) > 2


def test_objects_of_a_primitive_type_do_not_exist(vm: jvmti.VM, env: jvmti.Env) -> None:
    integers = vm.jni.find_class("java/lang/Integer")
    field = vm.jni.get_static_field_id(integers, "TYPE", "Ljava/lang/Class;")
    primitive = vm.jni.get_static_object_field(integers, field)
    assert isinstance(primitive, Class)

    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        raise AssertionError

    env.iterate_through_heap(NONE, primitive, HeapCallbacks(heap_iteration_callback=visit))
