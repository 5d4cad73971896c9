"""Storms of events: no answered one is lost, however many threads send them."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.target.agent_library import own_library
from processors import one_processor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

pytestmark = [pytest.mark.stress, pytest.mark.timeout(300)]

SECONDS = 240


class Storm:
    """The program, and this process's stay on it."""

    def __init__(self, program: JavaProgram, vm: jvmti.VM) -> None:
        self.program = program
        self.vm = vm
        self.env = vm.env
        self.seen: Counter[str] = Counter()
        self.lock = threading.Lock()

    def count(self, what: str) -> None:
        with self.lock:
            self.seen[what] += 1

    def blow(self, command: str) -> int:
        return int(self.program.ask(command, timeout=SECONDS))


@contextmanager
def blown_on(java_program: JavaPrograms) -> Iterator[Storm]:
    program = java_program("Storm", jvm_args=[f"-agentpath:{own_library()}=reserve"])
    program.expect("ready")
    with jvmti.attach(program.pid) as vm:
        vm.env.add_capabilities(vm.env.get_potential_capabilities())
        yield Storm(program, vm)


@pytest.fixture
def storm(java_program: JavaPrograms) -> Iterator[Storm]:
    with blown_on(java_program) as storm:
        yield storm


def hit_of(storm: Storm) -> Any:
    return storm.vm.jni.get_static_method_id(storm.vm.find_class("Storm"), "hit", "()V")


def test_every_breakpoint_on_eight_threads_is_answered(storm: Storm) -> None:
    hit = hit_of(storm)

    def stopped(event: Any) -> None:
        assert event.method == hit
        assert event.location == 0
        storm.count(event.thread.name)

    storm.env.set_breakpoint(hit, 0)
    with storm.env.on("Breakpoint", stopped):
        assert storm.blow("calls 8 500") == 4000
    assert dict(storm.seen) == {f"caller-{number}": 500 for number in range(8)}
    assert storm.vm.handler_errors == []


def test_every_breakpoint_is_answered_where_both_sides_share_a_processor(
    java_program: JavaPrograms,
) -> None:
    with one_processor(), blown_on(java_program) as storm:
        hit = hit_of(storm)
        storm.env.set_breakpoint(hit, 0)
        with storm.env.on("Breakpoint", lambda event: storm.count(event.thread.name)):
            assert storm.blow("calls 8 200") == 1600
        assert dict(storm.seen) == {f"caller-{number}": 200 for number in range(8)}
        assert storm.vm.handler_errors == []


def test_every_method_entry_of_the_whole_program_is_answered(storm: Storm) -> None:
    names: Counter[str] = Counter()
    hit = hit_of(storm)

    def entered(event: Any) -> None:
        with storm.lock:
            names["hit" if event.method == hit else "other"] += 1

    with storm.env.on("MethodEntry", entered):
        assert storm.blow("calls 4 100") == 400
    assert names["hit"] == 400
    assert names["other"] > 400, "hit() itself calls something"


def test_every_exception_of_32_threads_is_reported(storm: Storm) -> None:
    def thrown(event: Any) -> None:
        storm.count(f"{event.exception.cls.name} of {event.thread.name.partition('-')[0]}")

    def caught(event: Any) -> None:
        storm.count(f"caught by {event.thread.name.partition('-')[0]}")

    with storm.env.on("Exception", thrown), storm.env.on("ExceptionCatch", caught):
        assert storm.blow("exceptions 32 60") == 1920
    assert storm.seen["java.lang.IllegalStateException of thrower"] == 1920
    assert storm.seen["caught by thrower"] == 1920


def test_ten_thousand_virtual_threads_share_a_few_channels(storm: Storm) -> None:
    if storm.vm.version.major < 21:
        pytest.skip("this release has no virtual threads")
    hit = hit_of(storm)
    threads: set[int] = set()

    def stopped(event: Any) -> None:
        storm.count("breakpoint")
        with storm.lock:
            threads.add(threading.get_ident())

    storm.env.set_breakpoint(hit, 0)
    storm.vm.handler_limit = 6
    with (
        storm.env.on("VirtualThreadStart", lambda _: storm.count("start")),
        storm.env.on("VirtualThreadEnd", lambda _: storm.count("end")),
        storm.env.on("Breakpoint", stopped),
    ):
        assert storm.blow("virtual 10000") == 10000
    assert storm.seen["start"] == 10000
    assert storm.seen["breakpoint"] == 10000
    # A thread has counted down before it ends.
    assert 10000 - 100 <= storm.seen["end"] <= 10000
    assert len(threads) <= 6


def test_a_hook_answers_each_class_that_16_threads_load(storm: Storm) -> None:
    def loaded(event: Any) -> bytes | None:
        if event.name != "Storm$Blank":
            return None
        storm.count("hook")
        # `bipush 41` becomes `bipush 42`.
        assert event.class_data.count(b"\x10\x29\xac") == 1
        return bytes(event.class_data.replace(b"\x10\x29\xac", b"\x10\x2a\xac"))

    with storm.env.on("ClassFileLoadHook", loaded):
        assert storm.blow("classes 16 40") == 16 * 40 * 42
    assert storm.seen["hook"] == 16 * 40
    assert storm.blow("classes 2 5") == 2 * 5 * 41
    assert storm.vm.handler_errors == []


def test_every_field_modification_is_answered_with_its_value(storm: Storm) -> None:
    klass = storm.vm.find_class("Storm")
    field = storm.vm.jni.get_static_field_id(klass, "written", "I")
    values: Counter[int] = Counter()

    def written(event: Any) -> None:
        with storm.lock:
            values[event.new_value] += 1

    storm.env.set_field_modification_watch(klass, field)
    with storm.env.on("FieldModification", written):
        assert storm.blow("fields 8 250") == 2000
    assert values == dict.fromkeys(range(250), 8)


def test_handlers_of_many_threads_run_side_by_side(storm: Storm) -> None:
    hit = hit_of(storm)
    meeting = threading.Barrier(12)

    def stopped(event: Any) -> None:
        meeting.wait(60)  # broken unless twelve handlers are here at once
        storm.count("met")

    storm.env.set_breakpoint(hit, 0)
    with storm.env.on("Breakpoint", stopped):
        assert storm.blow("calls 12 3") == 36
    assert storm.seen["met"] == 36
    assert storm.vm.handler_errors == []
