"""Memory that runs out in the agent, one allocation after the other.

    python tests/robustness/faults/failing.py --jvm 17 --every 1

The agent is built so that every allocation goes through one function, which fails the one that it
is to fail (`native/agent/checks/failing_allocations.cpp`).  Each piece of work is a session of its
own, which tells which allocations it makes, and from where; then it is repeated with the first of
each new place failing.  The JVM goes on, nothing of the session is left, the controller gets its
answer or an error that says so, and the next session works.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import mmap
import os
import re
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import agent_builds  # noqa: E402
import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402
from jvmti.env.events import EVENTS  # noqa: E402
from jvmti.env.structures import HeapCallbacks  # noqa: E402
from jvmti.interface.constants import (  # noqa: E402
    HeapFilter,
    HeapObjectFilter,
    HeapVisitControl,
    IterationControl,
)
from jvmti.target.errors import AttachError  # noqa: E402
from robustness import steady  # noqa: E402
from robustness.calls import random_calls  # noqa: E402

_MOST_PLACES = 2000
_HEAD = struct.Struct("<5q")
_PLACE = struct.Struct("<2q")
_SIZE = _HEAD.size + _MOST_PLACES * _PLACE.size
_NEVER = -1


_REFUSED = re.compile("attach: (AgentLoadFailed|TargetLost)")
"""What an attach says for which there was no memory."""


class Allocations:
    """What the agent and the test share; see `failing_allocations.cpp`."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "allocations"
        self.path.write_bytes(_HEAD.pack(_NEVER, 0, 0, 0, 0).ljust(_SIZE, b"\0"))
        with self.path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _SIZE)

    def start(self, failing: int = _NEVER) -> None:
        """Count from 1 again, and let the one of this number fail."""
        self._memory[: _HEAD.size] = _HEAD.pack(failing, 0, 0, 0, 0)

    @property
    def made(self) -> int:
        return int(_HEAD.unpack_from(self._memory)[1])

    @property
    def failed(self) -> bool:
        return bool(_HEAD.unpack_from(self._memory)[2])

    @property
    def place(self) -> int:
        return int(_HEAD.unpack_from(self._memory)[3])

    def first_of_each_place(self) -> dict[int, int]:
        """The places that have allocated, each with the number of its first allocation."""
        count = min(int(_HEAD.unpack_from(self._memory)[4]), _MOST_PLACES)
        found = (
            _PLACE.unpack_from(self._memory, _HEAD.size + i * _PLACE.size) for i in range(count)
        )
        return dict(found)


def library() -> Path:
    """The agent whose allocations fail on request; it also checks its locks."""
    return agent_builds.build(
        "checked",
        "-DJVMTI_CHECK_LOCKS=ON",
        "-DJVMTI_FAIL_ALLOCATIONS=ON",
        "-DCMAKE_BUILD_TYPE=None",
        "-DCMAKE_CXX_FLAGS=-O0",
    )


def launch(started: programs.JavaPrograms, allocations: Allocations) -> steady.Steady:
    arguments = [f"-agentpath:{library()}=reserve", steady.NO_SIGNAL]
    arguments += ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    program = started(
        "Steady", jvm_args=arguments, env={"JVMTI_ALLOCATIONS": str(allocations.path)}
    )
    return steady.Steady(program)


Piece = Callable[[Any], object]
PIECES: list[Piece] = []
"""Sessions of their own, from attach to detach: what each is about, and what allocates in it."""
ANSWERS = (jvmti.errors.Error, LookupError, ValueError)
"""What a call may raise when memory is short: the package's errors, or that a thing is missing."""


def piece(function: Piece) -> Piece:
    PIECES.append(function)
    return function


def prey(vm: Any) -> Any:
    return vm.find_class("Steady")["prey"]


def with_everything(vm: Any) -> Any:
    env = vm.env
    env.add_capabilities(env.get_potential_capabilities())
    return env


@piece
def threads(vm: Any) -> None:
    _ = [one.name for one in vm.threads], vm.threads.snapshot(5)
    vm.env.add_capabilities({"can_suspend", "can_access_local_variables"})
    thread = vm.threads["prey-0"]
    with thread.suspended():
        for frame in thread.frames[:4]:
            _ = frame.where, frame.monitors, frame.locals.read()
    with vm.threads.suspended():
        vm.env.get_time()


@piece
def suspensions(vm: Any) -> None:
    env = with_everything(vm)
    chosen = [vm.threads[f"prey-{number}"] for number in range(3)]
    env.suspend_thread(chosen[0])
    env.suspend_thread_list(chosen)
    _ = env.get_thread_list_stack_traces(chosen, 5)
    env.resume_thread_list(chosen[1:])


@piece
def classes(vm: Any) -> None:
    _ = [one.name for one in vm.classes("Steady*")], vm.modules, vm.class_loaders
    cls = vm.find_class("Steady$Prey")
    with_everything(vm)
    _ = [(one.lines, one.local_variables, one.bytecodes) for one in cls.methods]
    _ = cls.fields, cls.superclasses, cls.constant_pool, cls.disassemble()
    vm.env.map.get_class_signature(vm.env.get_loaded_classes() * 50)  # in shared memory
    with vm.env.batch() as batch:
        batch.get_class_signature(cls)


@piece
def objects(vm: Any) -> None:
    found = prey(vm)
    _ = found.fields(), found["strings"].value, str(found["objects"])
    _ = vm.find_class("java.lang.System").call("getProperties").value
    found.call("giveString", "text", None, found)
    vm.find_class("Steady$Prey").new(5, "text")
    found["aString"] = "text"
    with contextlib.suppress(jvmti.JavaException):
        found.call("giveObject", vm.find_class("java.util.ArrayList").new(-1))
    with found.locked(5):
        vm.env.get_time()


@piece
def jni(vm: Any) -> None:
    jni, env = vm.jni, with_everything(vm)
    cls = vm.find_class("Steady$Prey")
    jni.push_local_frame(16)
    local = [jni.new_string("text " * 100), jni.new_int_array(9), jni.new_local_ref(prey(vm))]
    jni.get_string_utf_region(local[0], 0, 5)
    jni.set_int_array_region(local[1], 0, [1, 2, 3])
    jni.new_object_array(3, jni.find_class("java/lang/Object"), local[0])
    jni.pop_local_frame(None)
    jni.new_weak_global_ref(prey(vm))
    jni.monitor_enter(prey(vm))
    jni.monitor_exit(prey(vm))
    jni.to_reflected_method(
        cls, jni.get_method_id(cls, "giveObject", "(Ljava/lang/Object;)Ljava/lang/Object;"), False
    )
    memory = env.allocate(100)
    jni.get_direct_buffer_address(jni.new_direct_byte_buffer(memory, 100))
    env.deallocate(env.allocate(10))
    _ = env.get_jni_function_table(), env.get_extension_functions(), env.get_extension_events()
    for event in env.get_extension_events():
        env.set_extension_event_callback(event.extension_event_index, lambda *_: None)


@piece
def monitors(vm: Any) -> None:
    env = vm.env
    monitor = env.create_raw_monitor("one")
    env.raw_monitor_enter(monitor)
    env.raw_monitor_notify_all(monitor)
    env.raw_monitor_wait(monitor, 1)
    env.raw_monitor_exit(monitor)
    env.destroy_raw_monitor(monitor)
    thread = vm.find_class("java.lang.Thread").new()
    env.run_agent_thread(thread, lambda _: env.get_time(), None, 5)
    thread.call("join")
    vm.new_env().dispose_environment()


@piece
def placed(vm: Any) -> None:
    """What is to be undone if the session ends: by the functions themselves, and by stops."""
    env = with_everything(vm)
    cls, held = vm.find_class("Steady$Prey"), vm.find_class("Steady$Preyed")
    deeper = cls.methods["deeper"]
    env.set_breakpoint(deeper, 0)
    env.set_field_access_watch(held, vm.jni.get_field_id(held, "rounds", "J"))
    env.set_field_modification_watch(held, vm.jni.get_field_id(held, "rounds", "J"))
    with env.on("Breakpoint", lambda event: event.thread.name, vm.threads["prey-1"], timeout=5):
        time.sleep(0.02)
    env.clear_breakpoint(deeper, 0)


@piece
def stops(vm: Any) -> None:
    cls = vm.find_class("Steady$Prey")
    how = {"thread": vm.threads["prey-0"], "caller": "Steady*", "do": lambda stop: stop.where}
    with cls.methods["deeper"].breakpoint(when="value > 2", **how):
        time.sleep(0.01)
    with cls.methods["deeper"].breakpoint(hits="every 5") as found:
        stop = found.next(5)
        if stop is not None:
            _ = stop.locals.read()
            stop.step("over", timeout=1)
    with vm.catch("java.lang.*"), cls.fields["anInt"].watch(write=True, read=False):
        time.sleep(0.01)


@piece
def handled(vm: Any) -> None:
    env = with_everything(vm)
    events = ("ThreadStart", "ThreadEnd", "ClassFileLoadHook", "ClassPrepare", "VMObjectAlloc",
              "NativeMethodBind", "Exception", "MonitorWait", "MonitorWaited")  # fmt: skip
    made = [env.on(event, lambda it: repr(it) and None, own=True, timeout=5) for event in events]
    thread = vm.find_class("java.lang.Thread").new()
    thread.call("start")
    thread.call("join")
    env.retransform_classes([vm.find_class("Steady$Spare")])
    for one in made:
        one.cancel()


@piece
def streamed(vm: Any) -> None:
    env = with_everything(vm)
    left_out = {"SingleStep"}
    if int(vm.java_version.split(".")[0]) < 21:
        left_out |= {"VirtualThreadStart", "VirtualThreadEnd"}
    declarations = [one.declaration for one in EVENTS.values() if one.__name__ not in left_out]
    events = [one.constant for one in declarations]
    stacked = [one.constant for one in declarations if not one.vm_stopped]
    with env.stream(events, objects=True) as stream, env.stream(stacked, stack=4):
        env.force_garbage_collection()
        stream.read(0.05)
    waits = ["MonitorContendedEntered", "MonitorWaited"]
    of_classes = ["ClassPrepare", "Exception", "VMObjectAlloc"]
    with (
        env.stream(of_classes, classes=["Steady*", "java.lang.*"], subclasses=False),
        env.stream(waits, waits=True, thread=vm.threads["prey-0"]),
        env.stream("MethodExit", min_duration=0.0, methods="deeper") as calls,
        env.stream("Exception", exceptions="java.lang.*"),
    ):
        calls.read(0.05)


@piece
def traced(vm: Any) -> None:
    when = "value > 2 or this.hash == 1 and thread.name != 'nobody'"
    with vm.trace("Steady$Prey.*", limit=None, when=when, stack=4) as trace:
        trace.read(0.1)
    text = "{arg0} {this.aString} {this.anObject.nobody} {thread}"
    with vm.logpoint("Steady$Prey.round", text, limit=None, when="arg0 >= 0") as log:
        log.read(0.1)
    thrown = "java.lang.IllegalStateException: x"
    with vm.change("Steady$Prey.round", throws=thrown, times=3) as change:
        change.wait(0.1)
    with vm.change("Steady$Prey.*", returns=3, when="value != 4") as change:
        change.wait(0.05)
    with vm.trace("Steady$Prey.*", "java.lang.Thread.*", unloaded=True) as trace:
        trace.read(0.1)
    with vm.trace("Steady$Prey.*", summary=True) as trace:
        trace.summary()


@piece
def heap(vm: Any) -> None:
    vm.heap.histogram()
    vm.heap.scan(strings=True, fields=True).close()
    vm.heap.scan("Steady*", arrays=True).close()
    vm.heap.snapshot()


@piece
def referrers(vm: Any) -> None:
    found = prey(vm)
    _ = found.referrers(), found.path_to_root(), found.retained_size()
    _ = vm.find_class("Steady$Prey").instances(), vm.find_class("java.lang.Class").instances()
    with_everything(vm)
    _ = vm.threads["prey-0"].frames[1].locals.read()


@piece
def walks(vm: Any) -> None:
    env = with_everything(vm)
    left = iter(range(3000))

    def visit(*_: Any) -> HeapVisitControl:
        return HeapVisitControl.ABORT if next(left, 0) > 2000 else HeapVisitControl.OBJECTS

    env.iterate_through_heap(HeapFilter(0), None, HeapCallbacks(heap_iteration_callback=visit))
    follow = HeapCallbacks(
        heap_reference_callback=visit,
        string_primitive_value_callback=lambda *_: HeapVisitControl.ABORT,
    )
    env.follow_references(HeapFilter(0), None, prey(vm), follow)
    env.iterate_over_heap(HeapObjectFilter.EITHER, lambda *_: IterationControl.ABORT)


@piece
def intercepted(vm: Any) -> None:
    env = vm.env
    env.set_jni_function_table({"SetByteArrayRegion": lambda original, *_: original()})
    time.sleep(0.02)
    env.set_jni_function_table({})


def random_functions(seed: int, vm: Any) -> None:
    """Some of everything, the same each time."""
    fuzzer = random_calls.Fuzzer(seed)
    fuzzer.template = spare_file()
    fuzzer.begin(vm)
    fuzzer.batch(150)
    fuzzer.heal()


PIECES += [partial(random_functions, seed) for seed in range(12)]


def name_of(work: Any) -> str:
    return str(work.__name__ if hasattr(work, "__name__") else f"random {work.args[0]}")


def spare_file() -> bytes:
    return (compiler.classes("Steady") / "Steady$Spare.class").read_bytes()


def session(target: steady.Steady, work: Piece) -> list[str]:
    """A session with one piece of work, from attach to detach; the errors that came of it."""
    reported: list[str] = []
    try:
        vm = jvmti.attach(target.pid, timeout=30)
    except (*ANSWERS, AttachError) as error:
        return [f"attach: {type(error).__name__}: {error}"]
    vm.timeout = 30
    try:
        work(vm)
    except ANSWERS as error:
        reported.append(f"{type(error).__name__}: {error}")
    reported += [f"handler: {error}" for error in vm.handler_errors]
    try:
        vm.detach(timeout=30)
    except ANSWERS as error:
        reported.append(f"detach: {type(error).__name__}: {error}")
    return reported


@dataclass
class Outcome:
    """What came of failing allocations."""

    places: set[int] = field(default_factory=set)
    """Where the agent allocated in a session in which nothing failed."""
    reached: set[int] = field(default_factory=set)
    """Those of them whose allocation failed."""
    failed: int = 0
    """How many allocations failed."""
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """What no allocation that fails may do."""


def is_whole(target: steady.Steady) -> bool:
    """Whether nothing that a session did is left in the program."""
    return target.goes_on() and target.prey_runs() and target.locks_are_free()


class Trial:
    """One JVM after the other in which allocations fail: a new one where one did not live on."""

    def __init__(self, started: programs.JavaPrograms, allocations: Allocations) -> None:
        self.started = started
        self.allocations = allocations
        self.outcome = Outcome()
        self._looks = itertools.count(1)
        self._begin()

    def _begin(self) -> None:
        self.allocations.start()
        self.target = launch(self.started, self.allocations)
        self.rest: steady.Footprint | None = None

    def look(self, work: Piece) -> tuple[int, dict[int, int | None]]:
        """How many allocations a piece of work makes, and the first of each new place."""
        session(self.target, work)  # what happens once in the JVM's life is no part of the next
        self.allocations.start()
        reported = session(self.target, work)
        made, seen = self.allocations.made, self.allocations.first_of_each_place()
        assert not reported, (name_of(work), reported)
        self.rest = self.rest or self.target.at_rest()
        new: dict[int, int | None] = {
            number: at for at, number in seen.items() if at not in self.outcome.places
        }
        self.outcome.places |= set(seen)
        return made, new

    def fail(self, work: Piece, number: int, place: int | None = None) -> None:
        """Do a piece of work in which the allocation of this number fails."""
        begun = time.monotonic()
        self.allocations.start(number)
        reported = session(self.target, work)
        failed, caller = self.allocations.failed, self.allocations.place
        self.allocations.start()
        took = time.monotonic() - begun
        what = f"{name_of(work)}: allocation {number}, {'made to fail' if failed else 'not met'}"
        if failed:
            self.outcome.reached.add(place or caller)
            self.outcome.failed += 1
        self.outcome.answers.update(f"{name_of(work)}: {one}"[:200] for one in reported)
        print(f"{what} ({took:.1f} s): {reported}"[:400], flush=True)
        if (failed and next(self._looks) % 10 == 0) or not self.target.program.running():
            self.check(what)
        elif any("Timeout" in one for one in reported):
            self.check(f"{what}: {reported}")
        wrong = [one for one in reported if "OUT_OF_MEMORY" not in one and not _REFUSED.match(one)]
        if wrong:
            self.outcome.faults.append(f"{what}: {wrong}"[:400])

    def check(self, what: str) -> None:
        """The program goes on, and nothing of the sessions is left; otherwise take a new one."""
        trouble = None
        try:
            if not self.target.program.running():
                trouble = f"the JVM ended: {self.target.program.crash()}"
            elif not is_whole(self.target):
                trouble = "not as it was"
        except BaseException as error:  # as pytest fails
            if isinstance(error, KeyboardInterrupt):
                raise
            trouble = str(error)
        if trouble is not None:
            self.outcome.faults.append(f"{what}: {trouble}")
            self.target.program.kill()
            self._begin()

    def close(self, work: Piece) -> None:
        """The piece of work does as ever, and the JVM has what it had."""
        reported = session(self.target, work)
        if reported:
            self.outcome.faults.append(f"{name_of(work)} after its failures: {reported}")
        self.check(name_of(work))
        if self.rest is not None and not self.target.settles_at(self.rest):
            now = self.target.footprint()
            self.outcome.faults.append(f"{name_of(work)}: {self.rest} has become {now}")
            self.rest = self.target.at_rest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--every", type=int, help="not the first at each place, but every N-th")
    parser.add_argument("--only", nargs="*", help="only pieces whose names begin like this")
    chosen = parser.parse_args()
    os.environ["JVMTI_AGENT_LIBRARY"] = str(library())
    directory = Path(tempfile.mkdtemp(prefix=f"failing-{chosen.jvm}-"))
    allocations = Allocations(directory)
    started = programs.JavaPrograms(jvms.named(chosen.jvm), directory)
    try:
        trial = Trial(started, allocations)
        for work in PIECES:
            if not name_of(work).startswith(tuple(chosen.only or [""])):
                continue
            made, new = trial.look(work)
            print(f"{name_of(work)}: {made} allocations, {len(new)} new places", flush=True)
            if chosen.every is not None:
                new = dict.fromkeys(range(1, made + 1, chosen.every))
            for number, place in sorted(new.items()):
                trial.fail(work, number, place)
            trial.close(work)
        outcome = trial.outcome
        for message, count in outcome.answers.most_common():
            print(f"{count:5} {message}")
        seen, failed = len(outcome.places), len(outcome.reached)
        print(f"{seen} places, {failed} of them failed, in {outcome.failed} sessions")
        print(f"{len(outcome.faults)} faults", *outcome.faults, sep="\n")
    finally:
        started.close()


if __name__ == "__main__":
    main()
