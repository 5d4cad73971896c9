"""A controller that is stopped in the middle of what a program waits for.

Run with the pid of `tests/java/Steady.java`, what to do, and a time limit in seconds or
``default``.  It says ``busy`` when it is being waited for, ``raised`` with what became of a call,
and ``usable`` when the session has been tried afterwards; then it waits for a line on standard
input.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jvmti
from jvmti.env.events import EVENTS
from jvmti.env.structures import HeapCallbacks
from jvmti.interface.constants import (
    HeapFilter,
    HeapObjectFilter,
    HeapVisitControl,
    IterationControl,
)
from jvmti.interface.errors import CallTimeout, Error

SLEEPS = "sleeping-"
"""Before a walk: its callback waits for a line instead of being stopped."""
HANDLED = "event-"
"""Before an event: it is answered by a handler."""
SERVED = "events"
"""Events and functions as lines say, in one session with `tests/java/Departing.java`."""
MET = "met"
"""Such a line: an event, answered by a handler that calls until it is stopped."""
LIVED = "lived"
"""An event of a JVM's life, in one that the controller launches itself."""
INTERCEPTED = "intercepted"
"""A function of JNI."""
NONE = HeapFilter(0)


def say(what: object) -> None:
    print(what, flush=True)


def walk(vm: jvmti.VM, name: str, limit: float | None) -> None:
    """Begin a walk whose first callback does not come back soon."""
    sleeps = name.startswith(SLEEPS)
    name = name.removeprefix(SLEEPS)
    env = vm.env
    env.add_capabilities({"can_tag_objects"})
    if limit is not None:
        env = env.with_timeout(limit)
    calls = 0
    later = vm.env.with_timeout(600)

    def visit(*_: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            say("busy")
            while not sleeps:
                later.get_time()  # what is stopped may be anywhere in a conversation
            sys.stdin.readline()
            say("awake")
        return goes_on

    goes_on = HeapVisitControl.OBJECTS if name in NEW else IterationControl.CONTINUE
    prey = vm.find_class("Steady")["prey"]
    calls_of = {
        "follow_references": lambda: env.follow_references(
            NONE, None, None, HeapCallbacks(heap_reference_callback=visit)
        ),
        "iterate_through_heap": lambda: env.iterate_through_heap(
            NONE, None, HeapCallbacks(heap_iteration_callback=visit)
        ),
        "iterate_over_heap": lambda: env.iterate_over_heap(HeapObjectFilter.EITHER, visit),
        "iterate_over_instances_of_class": lambda: env.iterate_over_instances_of_class(
            vm.find_class("java.lang.String"), HeapObjectFilter.EITHER, visit
        ),
        "iterate_over_reachable_objects": lambda: env.iterate_over_reachable_objects(
            visit, visit, visit
        ),
        "iterate_over_objects_reachable_from_object": lambda: (
            env.iterate_over_objects_reachable_from_object(prey, visit)
        ),
    }
    try:
        calls_of[name]()
    except CallTimeout as error:
        say(f"raised CallTimeout {error}")
    except Error as error:
        say(f"raised {error!r}")


NEW = ("follow_references", "iterate_through_heap")
WALKS = (
    *NEW,
    "iterate_over_heap",
    "iterate_over_instances_of_class",
    "iterate_over_reachable_objects",
    "iterate_over_objects_reachable_from_object",
)

STEADY_EVENTS = (
    "Breakpoint", "MethodEntry", "MethodExit", "SingleStep", "FieldModification",
    "ClassFileLoadHook",
)  # fmt: skip
"""Of those that the program's own threads run into, or that are provoked."""


def handle(vm: jvmti.VM, event: str, limit: float | None) -> None:
    """Have an event answered, until a line says that it is enough."""
    env = vm.env
    env.add_capabilities(env.get_potential_capabilities())
    prey, preyed = vm.find_class("Steady$Prey"), vm.find_class("Steady$Preyed")
    if event == "Breakpoint":
        env.set_breakpoint(vm.jni.get_method_id(prey, "deeper", "(II)I"), 0)
    elif event == "FieldModification":
        env.set_field_modification_watch(preyed, vm.jni.get_field_id(preyed, "rounds", "J"))
    busy = False

    def reported(_: Any) -> None:
        nonlocal busy
        if not busy:
            say("busy")
        busy = True

    thread = None if event == "ClassFileLoadHook" else vm.threads["prey-0"]
    named = {} if limit is None else {"timeout": limit}
    with env.on(event, reported, thread=thread, **named):
        if event == "ClassFileLoadHook":
            say("busy")
        sys.stdin.readline()


def answer(vm: jvmti.VM, limit: float | None) -> None:
    """Have a handler call what has a large answer, again and again."""
    env = vm.env
    env.add_capabilities(env.get_potential_capabilities())
    env.set_breakpoint(vm.jni.get_method_id(vm.find_class("Steady$Prey"), "deeper", "(II)I"), 0)
    classes = env.get_loaded_classes()

    def reported(_: Any) -> None:
        say("busy")
        try:
            while True:
                env.map.get_class_signature(classes * 100)
        except Error as error:
            say(f"raised {error!r}")

    with env.on("Breakpoint", reported, thread=vm.threads["prey-0"], timeout=limit):
        sys.stdin.readline()


def held_up(vm: jvmti.VM, name: str) -> Callable[..., None]:
    """A handler that is in the middle of a conversation, wherever it is stopped."""
    env = vm.env.with_timeout(600)
    busy = False

    def reported(*_: Any) -> None:
        nonlocal busy
        if busy:
            return
        busy = True
        say(f"busy {name}")
        try:
            while True:
                env.get_phase()
        except Error as error:
            say(f"raised {error!r}")

    return reported


def meet(vm: jvmti.VM, event: str, act: str, limit: str) -> None:
    """Have an event of the program answered, of its main thread where that can be asked."""
    env, cls = vm.env, vm.find_class("Departing")
    (declared,) = (one.declaration for one in EVENTS.values() if one.__name__ == event)
    thread = vm.threads["main"] if declared.thread_filtered and event not in ANYWHERE else None
    with contextlib.ExitStack() as undo:
        if event == "SampledObjectAlloc":
            env.set_heap_sampling_interval(2_000_000)
        elif event in ("FieldAccess", "FieldModification"):
            kind = event.removeprefix("Field").lower()
            number = vm.jni.get_static_field_id(cls, "number", "I")
            getattr(env, f"set_field_{kind}_watch")(cls, number)
            undo.callback(getattr(env, f"clear_field_{kind}_watch"), cls, number)
        elif event in ("Breakpoint", "FramePop"):
            env.set_breakpoint(cls.methods[act], 0)
            undo.callback(env.clear_breakpoint, cls.methods[act], 0)
        if event == "FramePop":
            undo.enter_context(
                env.on("Breakpoint", lambda it: env.notify_frame_pop(it.thread, 0), thread=thread)
            )
        undo.enter_context(env.on(event, held_up(vm, event), thread=thread, timeout=float(limit)))
        say(f"ready {event}")
        sys.stdin.readline()


ANYWHERE = {
    "ThreadEnd": "of another thread",
    "VirtualThreadStart": "of another thread",
    "VirtualThreadEnd": "of another thread",
    "SampledObjectAlloc": "HotSpot 11 refuses to send it for one thread",
}
"""Events that are asked for of all threads, and why."""


def intercept(vm: jvmti.VM) -> None:
    """Have a function of JNI answered that the program goes through when it reads a line."""
    reported = held_up(vm, INTERCEPTED)
    vm.env.set_jni_function_table({"SetByteArrayRegion": lambda original, *_: reported()})
    say(f"ready {INTERCEPTED}")
    sys.stdin.readline()
    vm.env.set_jni_function_table({})


def live(event: str, limit: str, output: str, *command: str) -> None:
    """Launch a JVM, and have an event of its life answered; what it prints goes to a file."""
    with open(output, "wb") as stream:
        vm = jvmti.launch(list(command), hold=True, stdin=subprocess.DEVNULL, stdout=stream)
    assert vm.popen is not None
    say(f"launched {event} {vm.popen.pid}")
    vm.env.on(event, held_up(vm, event), timeout=float(limit))
    try:
        vm.proceed()
    except Error as error:
        say(f"raised {error!r}")
    sys.stdin.readline()
    assert vm.popen.wait(60) == 0


def serve(vm: jvmti.VM) -> None:
    """Do one thing after another in one session, as lines say, until there are no more."""
    vm.env.add_capabilities(vm.env.get_potential_capabilities())
    for line in sys.stdin:
        what, *arguments = line.split()
        if what == MET:
            meet(vm, *arguments)
        elif what == LIVED:
            live(*arguments)
        else:
            intercept(vm)
        assert vm.threads["main"].frames
        say(f"usable {what if what == INTERCEPTED else arguments[0]}")


def record(vm: jvmti.VM) -> None:
    """Have a stream that the program waits for, and do not read it."""
    env = vm.env
    env.add_capabilities(env.get_potential_capabilities())
    with env.stream("MethodEntry", policy="wait", thread=vm.threads["prey-0"]):
        say("busy")
        sys.stdin.readline()


def main() -> None:
    """Do what the arguments say."""
    what = sys.argv[2]
    limit = None if sys.argv[3] == "default" else float(sys.argv[3])
    vm = jvmti.attach(int(sys.argv[1]))
    if what == SERVED:
        serve(vm)
        vm.detach(timeout=30)
        return
    if what.startswith(HANDLED):
        handle(vm, what.removeprefix(HANDLED), limit)
    elif what == "stream":
        record(vm)
    elif what == "answer":
        answer(vm, limit)
    else:
        walk(vm, what, limit)
    assert len(vm.env.get_all_threads()) > 5
    say("usable")
    sys.stdin.readline()
    vm.detach(timeout=30)


if __name__ == "__main__":
    main()
