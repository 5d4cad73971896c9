"""A controller that is stopped in the middle of what a program waits for.

Run with the pid of `tests/java/Steady.java`, what to do, and a time limit in seconds or
``default``.  It says ``busy`` when it is being waited for, ``raised`` with what became of a call,
and ``usable`` when the session has been tried afterwards; then it waits for a line on standard
input.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import jvmti
from jvmti.env.structures import HeapCallbacks
from jvmti.spec.constants import HeapFilter, HeapObjectFilter, HeapVisitControl, IterationControl
from jvmti.spec.errors import CallTimeout, Error

SLEEPS = "sleeping-"
"""Before a walk: its callback sleeps instead of waiting to be stopped."""
HANDLED = "event-"
"""Before an event: it is answered by a handler."""
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
            time.sleep(10)
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

EVENTS = (
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

    def told(_: Any) -> None:
        nonlocal busy
        if not busy:
            say("busy")
        busy = True

    thread = None if event == "ClassFileLoadHook" else vm.threads["prey-0"]
    named = {} if limit is None else {"timeout": limit}
    with env.on(event, told, thread=thread, **named):
        if event == "ClassFileLoadHook":
            say("busy")
        sys.stdin.readline()


def answer(vm: jvmti.VM, limit: float | None) -> None:
    """Have a handler call what has a large answer, again and again."""
    env = vm.env
    env.add_capabilities(env.get_potential_capabilities())
    env.set_breakpoint(vm.jni.get_method_id(vm.find_class("Steady$Prey"), "deeper", "(II)I"), 0)
    classes = env.get_loaded_classes()

    def told(_: Any) -> None:
        say("busy")
        try:
            while True:
                env.map.get_class_signature(classes * 100)
        except Error as error:
            say(f"raised {error!r}")

    with env.on("Breakpoint", told, thread=vm.threads["prey-0"], timeout=limit):
        sys.stdin.readline()


def record(vm: jvmti.VM) -> None:
    """Have a stream that the program waits for, and do not read it."""
    env = vm.env
    env.add_capabilities(env.get_potential_capabilities())
    with env.stream("MethodEntry", policy="wait", thread=vm.threads["prey-0"]):
        say("busy")
        sys.stdin.readline()


def main() -> None:
    """Do what the arguments say."""
    vm = jvmti.attach(int(sys.argv[1]))
    what = sys.argv[2]
    limit = None if sys.argv[3] == "default" else float(sys.argv[3])
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
