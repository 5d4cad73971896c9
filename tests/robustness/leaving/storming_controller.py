"""A controller in the middle of a storm of events, streams and callbacks, to be ended.

Run with the pid of the target, a seed, and how it will end: ``killed``, ``detached`` (by SIGINT),
or ``stuck``, with handlers that never return.  It says ``busy`` when events have come of every kind
that it asked for.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from typing import Any

import jvmti
from jvmti.env.structures import HeapCallbacks
from jvmti.interface.constants import HeapFilter, HeapVisitControl


def main() -> None:
    vm = jvmti.attach(int(sys.argv[1]))
    rng = random.Random(int(sys.argv[2]))
    how = sys.argv[3]
    env, jni = vm.env, vm.jni
    env.add_capabilities(env.get_potential_capabilities())
    prey = vm.find_class("Steady$Prey")
    seen: Counter[str] = Counter()

    def reported(event: Any) -> None:
        name = type(event).__name__
        seen[name] += 1
        if how == "stuck" and len(seen) == len(asked):
            time.sleep(3600)
        if name == "Breakpoint":
            env.get_local_int(event.thread, 0, 1)
            if rng.random() < 0.2:
                env.notify_frame_pop(event.thread, 0)

    limit = 0.05 if how == "stuck" else None
    asked = ["Breakpoint", "MethodEntry", "MethodExit", "FieldModification", "FramePop"]
    asked += rng.sample(["SingleStep", "ThreadStart", "ExceptionCatch", "Exception"], 1)
    asked += ["ClassFileLoadHook"]
    deeper = jni.get_method_id(prey, "deeper", "(II)I")
    rounds = jni.get_field_id(vm.find_class("Steady$Preyed"), "rounds", "J")
    env.set_breakpoint(deeper, 0)
    env.set_field_modification_watch(vm.find_class("Steady$Preyed"), rounds)
    threads = [vm.threads[f"prey-{number}"] for number in range(4)]

    def provoke() -> None:
        while True:
            env.retransform_classes([vm.find_class("Steady$Spare")])
            thread = threads[rng.randrange(4)]
            with_thread = jni.get_method_id(jni.find_class("java/lang/Thread"), "interrupt", "()V")
            jni.call_void_method(thread, with_thread, [])  # it throws
            time.sleep(0.01)

    def walk() -> None:
        callbacks = HeapCallbacks(heap_iteration_callback=lambda *_: HeapVisitControl(0))
        strings = vm.find_class("java.lang.String")  # some ten thousand, and few milliseconds
        while True:
            env.iterate_through_heap(HeapFilter(0), strings, callbacks)
            time.sleep(rng.random() / 2)

    def lives(_: Any) -> None:
        while True:
            env.get_phase()
            time.sleep(0.001)

    def replaced(original: Any, *_: Any) -> Any:
        return original()

    try:
        stream = env.stream(["MonitorWait", "VMObjectAlloc", "MethodExit"], policy="wait")
        threading.Thread(
            target=lambda: [None for _ in iter(stream.read, None)], daemon=True
        ).start()
        java_thread = jni.find_class("java/lang/Thread")
        constructor = jni.get_method_id(java_thread, "<init>", "()V")
        env.run_agent_thread(jni.new_object(java_thread, constructor, []), lives, None, 5)
        # What reading the commands, one a line, goes through.
        env.set_jni_function_table({"SetByteArrayRegion": replaced, "GetIntField": replaced})
        threading.Thread(target=walk, daemon=True).start()
        for event in asked:
            env.on(event, reported, timeout=limit)
        threading.Thread(target=provoke, daemon=True).start()
        while len(seen) < len(asked) - ("ThreadStart" in asked):
            time.sleep(0.01)
        print("busy", flush=True)
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        vm.detach(timeout=60)


if __name__ == "__main__":
    main()
