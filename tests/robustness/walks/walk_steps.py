"""What a controller of the random walk does: single steps over the public interface.

Each is a function that is given a `Walker` and draws all it needs from the walker's own random
numbers.  What changes, stops or runs something goes for the program's own `Walked$Prey`, its
workers and `Walked$Spare` only; everything may be looked at.
"""

from __future__ import annotations

import contextlib
import random
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jvmti
from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.env.structures import ClassDefinition, HeapCallbacks
from jvmti.interface import shapes
from jvmti.interface.constants import HeapFilter, HeapVisitControl
from jvmti.interface.declaration import Declaration, Table
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from robustness.calls.random_calls import _EDGES, _JNI_WRITES, EXCLUDED, TARGETS

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 3.0
"""Seconds that a single call may take."""

WORKERS = [f"walk-{number}" for number in range(8)]

NOT_HERE = {
    **EXCLUDED,
    "proceed": "the walker says when",
    "dispose_environment": "of the walker's own environment; others are made and left",
    "run_agent_thread": "its thread object would be one of the program's workers",
    "set_jni_function_table": "left to the storming controller",
    "set_native_method_prefix": "looked up for every native method from then on",
    "set_native_method_prefixes": "the same",
    "define_class": "class files of the VM's own loader are not verified",
    "redefine_classes": "a step of its own",
    "retransform_classes": "a step of its own",
    **dict.fromkeys(
        (name for name in FUNCTIONS if name.startswith(("set_local_", "force_early_return_"))),
        "in methods of the prey only: a step of its own",
    ),
    "pop_frame": "the same",
    "set_event_callbacks": "handlers are steps of their own",
}
"""Functions that the step `any_function` leaves out, and why."""

FUNCTIONS_CALLED = [
    one
    for one in [*FUNCTIONS.values(), *JNI_FUNCTIONS.values()]
    if one.name not in NOT_HERE and not one.callback
]

TEXTS = [
    "",
    "a",
    "Walked",
    "LWalked$Prey;",
    "java/lang/String",
    "()V",
    "(I)I",
    "I",
    "anInt",
    "no such",
]

Step = Callable[["Walker"], object]
STEPS: list[tuple[Step, float]] = []
"""Every step with how often it is chosen."""


def step(weight: float = 1.0) -> Callable[[Step], Step]:
    """Declare a step."""

    def declare(function: Step) -> Step:
        STEPS.append((function, weight))
        return function

    return declare


@dataclass
class Walker:
    """One thread of a controller, with its random numbers and what it has found."""

    vm: jvmti.VM
    random: random.Random
    spare_file: bytes
    tell: Callable[[str], None]
    depth: int = 0
    objects: list[Any] = field(default_factory=list)
    left: list[Any] = field(default_factory=list)
    """Stops, streams and handlers that were made and not ended yet."""

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def thread(self) -> Any:
        threads = list(self.vm.threads)
        return self.random.choice(threads)

    def worker(self) -> Any:
        workers = [one for one in self.vm.threads if one.name in WORKERS]
        return self.random.choice(workers)

    def walked(self) -> Any:
        return self.vm.find_class("Walked")

    def prey(self) -> Any:
        return self.walked()["prey"]

    def prey_class(self) -> Any:
        return self.vm.find_class("Walked$Prey")

    def method(self) -> Any:
        methods = [one for one in self.prey_class().methods if not one.name.startswith("<")]
        return self.random.choice(methods)

    def object(self) -> Any:
        if self.objects and self.chance(0.7):
            return self.random.choice(self.objects)
        found = self.random.choice([self.prey, self.prey_class, self.worker, self.walked])()
        self.keep(found)
        return found

    def keep(self, found: Any) -> None:
        if isinstance(found, jvmti.refs.Object):
            self.objects.append(found)
        if len(self.objects) > 40:
            del self.objects[: self.random.randrange(20)]

    def value(self) -> Any:
        """Something for a variable, a field or a parameter."""
        choices: list[Callable[[], Any]] = [
            lambda: self.random.choice(_EDGES), lambda: self.random.random() * 100,
            lambda: None, lambda: "text", lambda: True, self.object,
        ]  # fmt: skip
        return self.random.choice(choices)()

    def run(self) -> None:
        """One step; errors of the package are answers like others."""
        function = self.random.choices([one for one, _ in STEPS], [weight for _, weight in STEPS])[
            0
        ]
        self.tell(f"{'  ' * self.depth}{function.__name__}")
        function(self)

    def nested(self, most: int = 3) -> None:
        """Some steps inside of a callback."""
        if self.depth >= 2:
            return
        self.depth += 1
        try:
            for _ in range(self.random.randrange(most + 1)):
                try:
                    self.run()
                except EXPECTED as error:
                    self.tell(f"    {type(error).__name__}")
        finally:
            self.depth -= 1

    def end_one(self, most: int = 4) -> None:
        """End what was begun: something, or whatever is too many."""
        while self.left and (len(self.left) > most or self.chance(0.3)):
            one = self.left.pop(self.random.randrange(len(self.left)))
            for name in ("cancel", "close", "resume"):
                if hasattr(one, name):
                    getattr(one, name)()
                    break


EXPECTED = (
    jvmti.Error,
    ValueError,
    LookupError,
    TypeError,
    TimeoutError,
    AttributeError,
    RuntimeError,
)


# ---- to look -------------------------------------------------------------------------------------


@step(3)
def look_at_threads(walker: Walker) -> None:
    threads = walker.vm.threads
    what = walker.random.randrange(8)
    if what == 0:
        threads.snapshot(walker.random.choice([1, 5, 256]))
    elif what == 1:
        for one in list(threads)[-10:]:
            _ = one.frames, one.state
    elif what == 2:
        one = walker.thread()
        _ = one.name, one.java_state, one.group, one.priority, one.cpu_time, one.id
    elif what == 3:
        one = walker.thread()
        _ = one.owned_monitors, one.contended_monitor
    elif what == 4:
        str(threads.stack_tree(lines=walker.chance(0.5)))
    elif what == 5:
        threads.sample(0.2, 30.0)
    elif what == 6:
        _ = walker.vm.deadlocks(LIMIT)
    else:
        _ = threads.virtual


@step(3)
def look_at_youngest(walker: Walker) -> None:
    """The frames of threads that are just ending."""
    for _ in range(20):
        for one in walker.vm.env.get_all_threads()[:3]:
            _ = walker.vm.env.get_thread_list_stack_traces([one], 5)
            _ = one.frames  # type: ignore[attr-defined]


@step(2)
def look_at_frames(walker: Walker) -> None:
    thread = walker.thread()
    if walker.chance(0.5):
        look_into(walker, thread)
        return
    with thread.suspended():
        look_into(walker, thread)


def look_into(walker: Walker, thread: Any) -> None:
    for frame in thread.frames[:6]:
        _ = frame.where, frame.is_native
        if walker.chance(0.5):
            frame.locals.read()
        if walker.chance(0.3):
            _ = frame.monitors
        if walker.chance(0.3):
            walker.keep(frame.this)


@step(2)
def look_at_classes(walker: Walker) -> None:
    vm = walker.vm
    what = walker.random.randrange(7)
    if what == 0:
        _ = [one.name for one in vm.classes("Walked*")]
        return
    name = walker.random.choice(["Walked$Prey", "java.util.HashMap", "java.lang.String", "Walked"])
    cls = vm.find_class(name)
    if what == 1:
        _ = cls.methods, cls.fields, cls.superclasses, cls.all_interfaces, cls.loader, cls.module
    elif what == 2:
        cls.disassemble()
    elif what == 3:
        _ = cls.class_file, cls.constant_pool, cls.annotations
    elif what == 4:
        _ = [(one.lines, one.local_variables, one.bytecodes) for one in cls.methods[:20]]
    elif what == 5:
        _ = vm.class_loaders, vm.modules
    else:
        _ = vm.properties, vm.flags, vm.arguments, vm.stats, vm.version, vm.uptime


@step(3)
def look_at_objects(walker: Walker) -> None:
    found = walker.object()
    what = walker.random.randrange(6)
    if what == 0:
        _ = found.value
    elif what == 1:
        for value in found.fields().values():
            walker.keep(value)
    elif what == 2:
        _ = found.size, found.identity_hash, found.cls, repr(found), str(found)
    elif what == 3:
        _ = found.monitor
    elif what == 4:
        found.tag = walker.random.randrange(5)
    else:
        found.to_string(timeout=LIMIT)


@step(1)
def ask_the_vm(walker: Walker) -> None:
    line = walker.random.choice(
        ["VM.version", "Thread.print", "GC.class_histogram", "VM.uptime", "no"]
    )
    walker.vm.diagnostic_command(line)


# ---- to change and to call -----------------------------------------------------------------------


@step(3)
def call(walker: Walker) -> None:
    prey = walker.prey()
    what = walker.random.randrange(8)
    if what == 0:
        walker.keep(prey.call("giveObject", walker.object(), timeout=LIMIT))
    elif what == 1:
        prey.call("giveInt", walker.random.randrange(100), timeout=LIMIT)
    elif what == 2:
        prey.call("slowly", 30, timeout=walker.random.choice([0.01, LIMIT]))
    elif what == 3:
        prey.call("failing", "as asked", timeout=LIMIT)
    elif what == 4:
        prey.call("round", walker.random.randrange(8), 3, 2.5, "x", prey["ints"], timeout=LIMIT)
    elif what == 5:
        walker.keep(walker.prey_class().new(walker.random.randrange(9), "new", timeout=LIMIT))
    elif what == 6:
        walker.prey_class().call("staticGive", 2.5, timeout=LIMIT)
    else:
        prey.call(walker.method().name, walker.value(), timeout=LIMIT)


@step(2)
def write(walker: Walker) -> None:
    prey = walker.prey()
    if walker.chance(0.3):
        prey["ints"].numpy()
        walker.keep(walker.vm.string("made here"))
        return
    name = walker.random.choice(list(walker.prey_class().fields)).name
    if name not in ("first", "second", "objects", "ints"):
        with contextlib.suppress(OverflowError):
            prey[name] = walker.value()


@step(1)
def hold_a_lock(walker: Walker) -> None:
    with walker.prey()[walker.random.choice(["first", "second"])].locked(LIMIT):
        time.sleep(walker.random.random() / 50)


@step(2)
def suspend(walker: Walker) -> None:
    what = walker.random.randrange(4)
    if what == 0:
        with walker.vm.threads.suspended(virtual=walker.chance(0.5)):
            walker.nested(1)
    elif what == 1:
        with walker.worker().suspended():
            walker.nested(2)
    elif what == 2:
        one = walker.worker()
        one.suspend()
        time.sleep(walker.random.random() / 50)
        one.resume()
    else:
        walker.worker().suspend()  # resumed by another, or by the end of the session
        if walker.chance(0.7):
            for one in walker.vm.threads:
                if one.is_suspended:
                    one.resume()


@step(1)
def stop_a_thread(walker: Walker) -> None:
    if walker.chance(0.5):
        walker.worker().interrupt()
    else:
        walker.worker().stop("java.lang.IllegalStateException", "stopped")


@step(3)
def leave_a_frame(walker: Walker) -> None:
    worker = walker.worker()
    with worker.suspended():
        leave(walker, worker)
        if walker.chance(0.3):
            walker.nested(1)


def leave(walker: Walker, thread: Any) -> None:
    frames = thread.frames
    if not frames or not frames[0].where.startswith("Walked$Prey"):
        return
    if walker.chance(0.4):
        frames[0].pop()
    elif walker.chance(0.7):
        result = frames[0].method.result_type
        value: Any = {"int": 7, "void": None, "long": 5}.get(result)
        frames[0].return_(value)
    else:
        frames[0].return_(walker.value())


@step(2)
def set_variables(walker: Walker) -> None:
    worker = walker.worker()
    with worker.suspended():
        set_in(walker, worker)


def set_in(walker: Walker, thread: Any) -> None:
    for frame in thread.frames[:4]:
        if not frame.where.startswith("Walked$Prey"):
            continue
        found = frame.locals
        names = [one.name for one in found.variables if one.name not in ("this", "levels", "depth")]
        if names:
            name = walker.random.choice(names)
            # Never more than the loops of the program are bounded for.
            found[name] = walker.random.choice([3, 1.5, "changed", None, -1])


@step(1)
def change_code(walker: Walker) -> None:
    spare = walker.vm.find_class("Walked$Spare")
    if walker.chance(0.5):
        spare.retransform()
        return
    data = bytearray(walker.spare_file)
    for _ in range(walker.random.choice([0, 0, 1, 2])):
        data[walker.random.randrange(len(data))] = walker.random.getrandbits(8)
    if walker.chance(0.5):
        spare.redefine(bytes(data))
    else:
        walker.vm.env.redefine_classes([ClassDefinition(spare, bytes(data))])


# ---- stops ---------------------------------------------------------------------------------------


def at_stop(walker: Walker, own: random.Random) -> Callable[[Any], None]:
    """What is done with a thread that has stopped: for `do=` and for loops alike."""

    def body(stop: Any) -> None:
        mine = Walker(walker.vm, own, walker.spare_file, walker.tell, walker.depth + 1)
        try:
            _ = stop.where, stop.line
            what = own.randrange(7)
            if what == 0:
                stop.locals.read()
            elif what == 1:
                set_in(mine, stop.thread)
            elif what == 2:
                leave(mine, stop.thread)
                if own.random() < 0.5:
                    mine.nested(1)
            elif what == 3:
                _ = stop.frames, stop.value
            elif what == 4:
                stop.thread.step(own.choice(["into", "over", "out"]), do=lambda other: other.where)
            else:
                mine.nested(2)
        except EXPECTED as error:
            walker.tell(f"  at a stop: {type(error).__name__}")

    return body


def make_stops(walker: Walker, **how: Any) -> Any:
    vm, rng = walker.vm, walker.random
    if walker.chance(0.2):
        how["hits"] = rng.choice([2, "after 3", "every 5"])
    if walker.chance(0.2):
        how["thread"] = walker.worker()
    if walker.chance(0.1):
        how["caller"] = "Walked*"
    what = rng.randrange(5)
    if what == 0:
        if walker.chance(0.3):
            how["when"] = "value > 2"
            return walker.prey_class().methods["deeper"].breakpoint(**how)
        return walker.method().breakpoint(**how)
    if what == 1:
        return vm.breakpoint("Walked$*", rng.choice(["deeper", "*", "answer", "fail"]), **how)
    if what == 2:
        return vm.catch(rng.choice(["java.lang.Throwable", "Walked$Failure", "java.lang.*"]), **how)
    if what == 3:
        name = rng.choice(["anInt", "watched", "aString", "bytes", "map"])
        reads = walker.chance(0.5)
        return walker.prey_class().fields[name].watch(read=reads, write=not reads, **how)
    do = how.get("do")
    return walker.worker().step(
        rng.choice(["into", "over", "out"]), rng.choice(["line", "instruction"]), do=do
    )


@step(3)
def stop_and_do(walker: Walker) -> None:
    own = random.Random(walker.random.getrandbits(64))
    walker.left.append(make_stops(walker, do=at_stop(walker, own)))
    walker.end_one()


@step(3)
def stop_and_iterate(walker: Walker) -> None:
    own = random.Random(walker.random.getrandbits(64))
    body = at_stop(walker, own)
    with make_stops(walker) as stops:
        for _ in range(own.randrange(1, 6)):
            stop = stops.next(0.5)
            if stop is None:
                break
            body(stop)
            if own.random() < 0.3 and stop.is_waiting:
                stop.step(own.choice(["into", "over", "out"]), timeout=0.5)


# ---- events --------------------------------------------------------------------------------------

HANDLED = [one.declaration.constant for one in EVENTS.values() if not one.declaration.vm_stopped]
STREAMED = [one.declaration.constant for one in EVENTS.values()]


def at_event(walker: Walker, own: random.Random) -> Callable[[Any], object]:
    def handler(event: Any) -> object:
        mine = Walker(walker.vm, own, walker.spare_file, walker.tell, walker.depth + 1)
        what = own.randrange(12)
        if what == 0:
            mine.nested(1)
        elif what == 1:
            _ = event.thread.frames
        elif what == 2:
            time.sleep(own.random() / 20)
        elif what == 3:
            raise RuntimeError("as some handlers do")
        elif what == 4 and type(event).__name__ in ("Breakpoint", "MethodEntry", "FramePop"):
            leave(mine, event.thread)
        elif what == 5:
            return own.randbytes(5)
        return None

    return handler


@step(2)
def handle(walker: Walker) -> None:
    event = walker.random.choice(HANDLED)
    own = random.Random(walker.random.getrandbits(64))
    thread = walker.worker() if walker.chance(0.2) else None
    handler = walker.vm.env.on(
        event, at_event(walker, own), thread, timeout=walker.random.choice([0.05, 0.5, 2]),
        own=walker.chance(0.1),
    )  # fmt: skip
    walker.left.append(handler)
    if walker.chance(0.6):
        time.sleep(walker.random.random() / 10)
        walker.left.remove(handler)
        handler.cancel()
    walker.end_one()


@step(2)
def stream(walker: Walker) -> None:
    events = walker.random.sample(STREAMED, walker.random.choice([1, 1, 2, 4]))
    policy = walker.random.choice(["drop", "drop", "wait"])
    if any(EVENTS[event].declaration.vm_stopped for event in events):
        policy = "drop"
    made = walker.vm.env.stream(events, policy=policy)
    for _ in range(walker.random.randrange(4)):
        made.read(0.1)
    if policy == "wait" or walker.chance(0.7):
        made.close()
    else:
        walker.left.append(made)
        walker.end_one()


# ---- the heap ------------------------------------------------------------------------------------


TRACED = (
    ("Walked.*",),
    ("Walked*.*", "Walked$Prey.<init>"),
    ("java.lang.Thread.*", "java.util.*.*"),
    ("java.lang.*.*",),
    ("java.lang.Object.*", "java.lang.String*.*", "jdk.internal.*.*"),
)


def close_or_leave(walker: Walker, made: Any) -> None:
    if walker.chance(0.7):
        made.close()
    else:
        walker.left.append(made)


def read_and_leave(walker: Walker, made: Any) -> None:
    for _ in range(walker.random.randrange(4)):
        made.read(0.1)
    close_or_leave(walker, made)


@step(2)
def trace_calls(walker: Walker) -> None:
    patterns = walker.random.choice(TRACED)
    made = walker.vm.trace(
        *patterns,
        unloaded=True,
        limit=walker.random.choice([None, 100, 1000]),
        summary=walker.chance(0.3),
        over=walker.random.choice([0.0, 0.0, 0.001]),
        when=walker.random.choice([None, None, "arg0 == 1 or this.anInt > 3", "value != None"]),
        max_pause=walker.random.choice([None, 1.0]),
        text=walker.random.choice([8, 48, 1000]),
        stack=walker.random.choice([0, 0, 3, 100]),
    )
    read_and_leave(walker, made)


@step(1)
def log_places(walker: Walker) -> None:
    texts = ("x", "{arg0} {thread}", "{this.anObject.anInt} {len(this.aString)} {this}")
    made = walker.vm.logpoint(
        walker.random.choice(
            ["Walked*.*", "Walked*.*@0", "java.lang.Thread.*", "new * in Walked*.*"]
        ),
        walker.random.choice(texts),
        limit=walker.random.choice([None, 100]),
        when=walker.random.choice([None, "arg0 == 1 or this.anInt > 3"]),
        unloaded=True,
    )
    read_and_leave(walker, made)


@step(1)
def change_calls(walker: Walker) -> None:
    options: dict[str, Any] = walker.random.choice(
        [{"delay": 0.01}, {"returns": 1}, {"returns": True, "when": "value == False"}]
    )
    made = walker.vm.change(
        "Walked$Prey.*",
        every=walker.random.choice([1, 3]),
        times=walker.random.choice([None, 5]),
        unloaded=True,
        **options,
    )
    made.wait(0.1)
    close_or_leave(walker, made)


PROFILED = (("cpu",), ("wall",), ("alloc",), ("live",), ("lock",), ("cpu", "wall", "lock"))


@step(1)
def take_a_profile(walker: Walker) -> None:
    rng = walker.random
    kinds = rng.choice(PROFILED)
    fine = {kind: 0.001 for kind in kinds if kind in ("cpu", "wall")}
    with walker.vm.profile(
        *kinds,
        interval=rng.choice([None, fine]) if fine else None,
        engine=rng.choice([None, None, "perf", "timer", "deltas"]) if "cpu" in kinds else None,
        depth=rng.choice([1, 16, 512]),
        exact=walker.chance(0.3),
        by=rng.choice([None, None, "Walked$Prey.round(number)"]),
        threads=rng.choice([None, "walk-*"]) if kinds == ("wall",) else None,
    ) as made:
        time.sleep(rng.uniform(0, 1))
        walker.nested(1)
    for kind in kinds:
        one = made[kind] if len(kinds) > 1 else made
        one.top()
        one.tree()


@step(1)
def look_at_the_heap(walker: Walker) -> None:
    heap = walker.vm.heap
    what = walker.random.randrange(8)
    if what == 0:
        heap.histogram(live=walker.chance(0.2), timeout=20)
    elif what == 1:
        heap.scan(strings=walker.chance(0.5), fields=walker.chance(0.5), timeout=20).close()
    elif what == 2:
        heap.scan("Walked*", arrays=True, timeout=20)
    elif what == 3 and walker.chance(0.4):
        heap.snapshot(timeout=30)
    elif what == 4:
        for one in walker.prey_class().instances(limit=5, timeout=20):
            walker.keep(one)
    elif what == 5:
        walker.object().referrers()
    elif what == 6:
        walker.object().path_to_root()
    else:
        walker.object().retained_size()


@step(1)
def walk_with_callbacks(walker: Walker) -> None:
    own = random.Random(walker.random.getrandbits(64))
    left = [own.choice([10, 300, 3000])]

    def visit(*_: Any) -> HeapVisitControl:
        left[0] -= 1
        if own.random() < 0.01:
            try:
                walker.vm.env.get_time()
                walker.vm.env.get_phase()
            except EXPECTED:
                pass
        return HeapVisitControl.ABORT if left[0] < 0 else HeapVisitControl.OBJECTS

    env = walker.vm.env.with_timeout(LIMIT)
    if walker.chance(0.5):
        callbacks = HeapCallbacks(heap_iteration_callback=visit)
        env.iterate_through_heap(HeapFilter(0), None, callbacks)
    else:
        env.follow_references(
            HeapFilter(0), None, None, HeapCallbacks(heap_reference_callback=visit)
        )


@step(0.3)
def collect(walker: Walker) -> None:
    walker.vm.env.force_garbage_collection()


# ---- the interface, one to one -------------------------------------------------------------------


@step(6)
def any_function(walker: Walker) -> None:
    for _ in range(walker.random.choice([1, 5, 20])):
        declaration = walker.random.choice(FUNCTIONS_CALLED)
        call_at_random(walker, declaration)


def call_at_random(walker: Walker, declaration: Declaration) -> None:
    vm, rng = walker.vm, walker.random
    writes = declaration.name in TARGETS or (
        declaration.table is Table.JNI and declaration.name.startswith(_JNI_WRITES)
    )
    live = vm._session.live
    arguments = [
        argument(walker, shape, name, writes, live) for name, shape in shapes.inputs_of(declaration)
    ]
    while arguments and rng.random() < 0.1:
        arguments[rng.randrange(len(arguments))] = None
    of: Any = vm.env.with_timeout(LIMIT) if declaration.table is Table.JVMTI else vm.jni
    walker.tell(f"{'  ' * walker.depth}  {declaration.name}")
    try:
        found = getattr(of, declaration.name)(*arguments)
    except EXPECTED:
        return
    if isinstance(found, jvmti.refs.Object):
        walker.keep(found)


def argument(walker: Walker, shape: Any, name: str, writes: bool, live: bool) -> Any:
    rng = walker.random
    match shape:
        case shapes.Number(_, code, python):
            if python is not None:
                return rng.choice(list(python))  # type: ignore[call-overload]
            if code in "fd":
                return rng.choice([0.0, 1.5, -1.0])
            if code == "?":
                return rng.random() < 0.5
            bits = 8 * struct.calcsize(code) - 1
            fitting = [one for one in _EDGES if -(1 << bits) <= one < 1 << bits]
            if code.isupper():
                fitting = [one for one in fitting if one >= 0]
            return rng.choice(fitting) if rng.random() < 0.4 else rng.randrange(0, 10)
        case shapes.Reference(python) if live:
            return reference(walker, python, writes)
        case shapes.Text() | shapes.Unicode():
            return rng.choice(TEXTS)
        case shapes.Bytes() | shapes.ElementBlock():
            return rng.randbytes(rng.choice([0, 1, 5, 20]))
        case shapes.Arguments():
            return [walker.value() for _ in range(rng.randrange(3))] if live else []
        case shapes.CapabilitySet():
            return jvmti.Capabilities(
                rng.getrandbits(48) & rng.getrandbits(48) & rng.getrandbits(48)
            )
        case shapes.List(item, _, _):
            return [argument(walker, item, name, writes, live) for _ in range(rng.randrange(3))]
    return None


def reference(walker: Walker, python: Any, writes: bool) -> Any:
    name = python.__name__
    if name == "Thread":
        return walker.worker() if writes else walker.thread()
    if name == "Method":
        return walker.method()
    if name == "Field":
        return walker.random.choice(list(walker.prey_class().fields))
    if name == "Class":
        return walker.prey_class()
    if name in ("ThreadGroup", "ClassLoader", "Module"):
        return {
            "ThreadGroup": lambda: walker.vm.env.get_top_thread_groups()[0],
            "ClassLoader": lambda: walker.prey_class().loader,
            "Module": lambda: walker.prey_class().module,
        }[name]()
    if name == "RawMonitor":
        return walker.vm.env.create_raw_monitor("walker's")
    if name == "Memory":
        return walker.vm.env.allocate(64)
    prey = walker.prey()
    if name == "String":
        return walker.vm.string("text")
    if name == "Throwable":
        cls = walker.vm.find_class("java.lang.IllegalStateException")
        return walker.vm.jni.alloc_object(cls)
    return prey["ints"] if name == "IntArray" else prey["objects"] if "Array" in name else prey


@step(0.5)
def another_environment(walker: Walker) -> None:
    env = walker.vm.new_env()
    try:
        env.add_capabilities(env.get_potential_capabilities())
    except jvmti.Error:
        pass
    if walker.chance(0.7):
        env.dispose_environment()


@step(0.5)
def side_by_side(walker: Walker) -> None:
    """Two threads of one session, each with steps of its own."""
    others = []
    for _ in range(2):
        own = random.Random(walker.random.getrandbits(64))
        mine = Walker(walker.vm, own, walker.spare_file, walker.tell, 1)
        others.append(threading.Thread(target=mine.nested, args=(3,), daemon=True))
    for one in others:
        one.start()
    for one in others:
        one.join(20)


def spare_file(classes: Path) -> bytes:
    """The class file that redefinitions start from."""
    return (classes / "Walked$Spare.class").read_bytes()


__all__ = ["EXPECTED", "NOT_HERE", "STEPS", "Walker", "call_at_random", "spare_file"]
