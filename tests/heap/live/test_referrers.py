"""Who holds an object, and what it holds alone: by the program, and by a graph of everything."""

from __future__ import annotations

import os
import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import jvmti
import programs
from jvmti.env.callbacks import TagCell
from jvmti.env.structures import HeapCallbacks
from jvmti.heap.errors import TooManyObjects
from jvmti.interface.constants import HeapFilter, HeapReferenceKind, HeapVisitControl
from jvmti.interface.errors import InvalidObject
from jvmti.liveheap.passes import PassOverran
from jvmti.liveheap.pauses import PauseTooLong


def one(vm: jvmti.VM, name: str) -> Any:
    return vm.find_class(f"Holdings${name}").instances(limit=1)[0]


def field_of(vm: jvmti.VM, item: Any, name: str, signature: str) -> Any:
    return vm.jni.get_object_field(item, vm.jni.get_field_id(item.cls, name, signature))


def test_referrers_are_objects_with_fields_and_indices(vm: jvmti.VM) -> None:
    cls = vm.find_class("Holdings$Order")
    (order,) = cls.instances(where=lambda them: them["number"] == 124)
    customer = field_of(vm, order, "customer", "LHoldings$Customer;")
    found = customer.referrers()
    assert found.total == len(found) == 101
    assert found.pause > 0
    orders = [one for one in found if one.field == "customer"]
    assert len(orders) == 100
    assert {str(one) for one in orders} == {"Holdings$Order.customer"}
    assert order in [one.referrer for one in orders]
    (listed,) = (one for one in found if one.kind == HeapReferenceKind.ARRAY_ELEMENT)
    assert (listed.class_name, listed.index) == ("java.lang.Object[]", 4)
    few = customer.referrers(limit=7)
    assert (len(few), few.total) == (7, 101)
    name = field_of(vm, order, "name", "Ljava/lang/String;")
    assert [str(one) for one in name.referrers()] == ["Holdings$Order.name"]


def test_two_references_of_one_object_are_two(vm: jvmti.VM) -> None:
    found = one(vm, "Twice").referrers()
    assert sorted(one.index for one in found) == [2, 5]
    assert found[0].referrer == found[1].referrer


def test_a_static_field_is_that_of_its_class(vm: jvmti.VM) -> None:
    (found,) = one(vm, "Safe").referrers()
    assert str(found) == "static Holdings.vault"
    assert found.referrer == vm.find_class("Holdings")
    (path,) = one(vm, "Safe").path_to_root()
    assert path == found


def test_weak_references_hold_nothing(vm: jvmti.VM) -> None:
    weakly = one(vm, "Weakly")
    (found,) = weakly.referrers()
    assert found.weak
    assert str(found) == "java.lang.ref.WeakReference.referent, weakly"
    assert len(weakly.referrers(weak=False)) == 0
    path = weakly.path_to_root()
    assert not path
    assert repr(path) == "<held by nothing>"
    through = weakly.path_to_root(weak=True)
    assert [str(one) for one in through][:2] == [
        "static Holdings.weakly",
        "java.lang.ref.WeakReference.referent",
    ]
    softly = one(vm, "Softly")
    assert softly.path_to_root().held
    assert not softly.referrers()[0].weak


def test_a_variable_of_a_thread_holds_its_object(vm: jvmti.VM) -> None:
    local = one(vm, "Local")
    found = local.referrers()
    in_keep = [one for one in found if one.method is not None and one.method.name == "keep"]
    assert in_keep
    assert {one.kind for one in in_keep} == {HeapReferenceKind.STACK_LOCAL}
    keeper = next(one for one in vm.threads.snapshot() if one.name == "keeper")
    assert {one.thread_id for one in in_keep} == {keeper.id}
    (path,) = local.path_to_root()
    assert path.referrer is None
    assert path.thread_id == keeper.id


def test_a_path_leads_to_the_nearest_root(vm: jvmti.VM) -> None:
    secrets = vm.find_class("Holdings$Secret").instances()
    paths = sorted([str(step) for step in secret.path_to_root()] for secret in secrets)
    assert paths[0] == [
        "static Holdings.map",
        "java.util.HashMap.table",
        paths[0][2],
        "java.util.HashMap$Node.value",
    ]
    assert paths[1] == [
        "static Holdings.vault",
        "Holdings$Safe.drawers",
        "java.lang.Object[][2]",
        "java.lang.Object[0]",
    ]
    path = secrets[0].path_to_root()
    assert path.passes == 4
    assert path.longest_pause <= path.pause
    links = vm.find_class("Holdings$Link").instances(where=lambda them: them["number"] == 280)
    path = links[0].path_to_root()
    assert [str(step) for step in path] == ["static Holdings.chain"] + ["Holdings$Link.next"] * 19
    numbers = [vm.jni.get_field_id(links[0].cls, "number", "I")]
    on_it = [step.referrer for step in path][1:]
    assert [vm.jni.get_int_field(link, numbers[0]) for link in on_it] == list(range(299, 280, -1))


def test_what_never_goes_is_held_by_itself(vm: jvmti.VM) -> None:
    path = vm.find_class("Holdings").path_to_root()
    assert path.held
    assert len(path) == 0


def test_what_only_this_package_holds_is_held_by_nothing(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm, jvmti.attach(changing.pid) as other:
        safe = one(vm, "Safe")
        also = one(other, "Safe")
        array = field_of(vm, safe, "contents", "[B")
        again = vm.jni.new_global_ref(safe)
        assert len(safe.referrers()) == 1
        changing.ask("drop")
        vm.env.force_garbage_collection()
        for handle in (safe, also, again):
            assert len(handle.referrers()) == 0
            assert not handle.path_to_root()
        # What it refers to is reached from nowhere either, but through it.
        assert len(array.referrers()) == 0
        assert not array.path_to_root()
        assert safe.retained_size().bytes > 100_000
        assert len(vm.find_class("Holdings").referrers(limit=10)) == 10


def test_retained_sizes_are_what_would_be_freed(changing: programs.JavaProgram) -> None:
    with jvmti.attach(changing.pid) as vm:
        safe = one(vm, "Safe")
        found = safe.retained_size()
        assert found.count == 8  # with contents, numbers, drawers, three of them, a secret
        assert found.reachable == 10  # and a customer with a name, that others hold, too
        assert int(found) == found.bytes
        safe.release()
        # Not the arrays of int, which G1 fills gaps with.
        freed = ["Holdings$*", "byte[]", "java.lang.Object[]*"]
        vm.env.force_garbage_collection()
        before = vm.heap.histogram(classes=freed, loaders=False)
        changing.ask("drop")
        vm.env.force_garbage_collection()
        after = vm.heap.histogram(classes=freed, loaders=False)
        gone = after.diff(before)
        assert gone["Holdings$Safe"].count == -1
        assert gone["Holdings$Secret"].count == -1
        # Beside what the VM itself makes and frees meanwhile.
        assert abs(gone.total_bytes + found.bytes) < found.bytes / 5


def test_limits_are_kept_and_say_so(vm: jvmti.VM) -> None:
    customer = one(vm, "Customer")
    with pytest.raises(TooManyObjects, match="within 5 objects"):
        customer.path_to_root(most=5)
    with pytest.raises(TooManyObjects, match="most="):
        one(vm, "Safe").retained_size(most=5)
    with pytest.raises(ValueError):
        customer.referrers(limit=-1)
    for ask in (customer.referrers, customer.path_to_root, customer.retained_size):
        with pytest.raises(PauseTooLong):
            ask(max_pause=0)
        with pytest.raises(PassOverran):
            ask(timeout=0)
        reported: list[int] = []
        assert ask(max_pause=60, progress=reported.append)
        assert reported[-1] > 1000
    customer.release()
    with pytest.raises((InvalidObject, ValueError)):
        customer.referrers()


def test_control_c_ends_a_path_and_leaves_nothing_tagged(vm: jvmti.VM) -> None:
    links = vm.find_class("Holdings$Link").instances(where=lambda them: them["number"] == 0)
    before = vm.stats.agent
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            links[0].path_to_root()
    timer.join()
    with pytest.raises(PassOverran):
        links[0].path_to_root(timeout=0.2)
    after = vm.stats.agent
    assert before is not None
    assert after is not None
    assert (after.environments, after.objects) == (before.environments, before.objects)


# Against everything -----------------------------------------------------------------------------


class Graph:
    """The whole heap by FollowReferences with a tag for every object."""

    def __init__(self, vm: jvmti.VM) -> None:
        self.env = vm.new_env()
        self.env.add_capabilities({"can_tag_objects"})
        self.sizes: dict[int, int] = {}
        self.edges: dict[int, list[int]] = defaultdict(list)
        self.referrers: dict[int, int] = defaultdict(int)
        self.roots: set[int] = set()
        self._next = 1
        self._weak: set[int] = set()
        for name in ("WeakReference", "PhantomReference"):
            base = vm.find_class(f"java.lang.ref.{name}")
            for cls in vm.classes():
                if vm.jni.is_assignable_from(cls, base):
                    self._weak.add(self.tag(cls))
        ours = {self.tag(thread) for thread in vm.service_threads()}
        names = {field.name: at for at, field in enumerate(self._fields(vm))}
        self._referent = names["referent"]
        follow = HeapVisitControl.OBJECTS

        def visit(
            kind: HeapReferenceKind,
            info: Any,
            class_tag: int,
            referrer_class_tag: int,
            size: int,
            tag: TagCell,
            referrer: TagCell | None,
            length: int,
        ) -> HeapVisitControl:
            # What this package holds is no root, nor are its threads and their variables.
            if referrer is None and (
                kind == HeapReferenceKind.JNI_GLOBAL
                or (kind == HeapReferenceKind.THREAD and tag.value in ours)
                or (kind == HeapReferenceKind.STACK_LOCAL and info.stack_local.thread_tag in ours)
                or (kind == HeapReferenceKind.JNI_LOCAL and info.jni_local.thread_tag in ours)
            ):
                return HeapVisitControl(0)
            if (
                kind == HeapReferenceKind.FIELD
                and referrer_class_tag in self._weak
                and info.field.index == self._referent
            ):
                return HeapVisitControl(0)
            if not tag.value:
                tag.value = self._next
                self._next += 1
            self.sizes[tag.value] = size
            if referrer is None:
                self.roots.add(tag.value)
            else:
                self.edges[referrer.value].append(tag.value)
                self.referrers[tag.value] += 1
            return follow

        self.env.with_timeout(100).follow_references(
            HeapFilter(0), None, None, HeapCallbacks(heap_reference_callback=visit)
        )

    def _fields(self, vm: jvmti.VM) -> Any:
        return vm.find_class("java.lang.ref.Reference").fields

    def tag(self, item: Any) -> int:
        if not self.env.get_tag(item):
            self.env.set_tag(item, self._next)
            self._next += 1
        return self.env.get_tag(item)

    def reached(self, without: int = 0) -> set[int]:
        found = {root for root in self.roots if root != without}
        waiting = list(found)
        while waiting:
            for other in self.edges[waiting.pop()]:
                if other != without and other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    def object(self, tag: int) -> Any:
        return self.env.get_objects_with_tags([tag]).objects[0]


@pytest.fixture
def graph(vm: jvmti.VM) -> Iterator[Graph]:
    made = Graph(vm)
    yield made
    made.env.dispose_environment()


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_referrers_and_retained_sizes_equal_those_of_the_whole_graph(
    vm: jvmti.VM, graph: Graph, rounds: Callable[[int, int], int]
) -> None:
    everything = graph.reached()
    tags = sorted(everything)
    samples = [graph.object(tag) for tag in tags[:: len(tags) // rounds(10, 50)]]
    samples += [one(vm, name) for name in ("Order", "Safe", "Customer", "Link", "Local")]
    for item in samples:
        tag = graph.env.get_tag(item)
        if not tag:
            continue
        lost = everything - graph.reached(without=tag)
        found = item.retained_size(most=5_000_000)
        expected = sum(graph.sizes[other] for other in lost)
        if len(lost) < 5000:  # what starts and stops by itself is within these bounds
            assert (found.count, found.bytes) == (len(lost), expected), item.cls.name
        else:
            assert abs(found.bytes - expected) < expected / 20, item.cls.name
        if graph.referrers[tag] < 1000:
            listed = [one for one in item.referrers(weak=False) if one.referrer is not None]
            assert len(listed) == graph.referrers[tag], item.cls.name
