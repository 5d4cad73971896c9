"""A controller with its hands full, to be killed: run with the pid of the target and a seed.

It calls, sends batches and maps, holds a raw monitor while another thread waits in one, keeps
threads suspended and locks of the program entered, and has breakpoints and watches set.  It says
``busy`` when all of that is so.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any

import jvmti


def for_ever(body: Any, *arguments: Any) -> None:
    while True:
        body(*arguments)


def main() -> None:
    vm = jvmti.attach(int(sys.argv[1]))
    rng = random.Random(int(sys.argv[2]))
    env, jni = vm.env, vm.jni
    env.add_capabilities(env.get_potential_capabilities())
    classes = {env.get_class_signature(one).signature: one for one in env.get_loaded_classes()}
    steady, prey = classes["LSteady;"], classes["LSteady$Prey;"]
    everything = list(classes.values())
    named = {env.get_thread_info(one).name: one for one in env.get_all_threads()}
    ready = threading.Barrier(6)

    def call() -> None:
        ready.wait()
        for_ever(lambda: env.get_thread_state(named["main"]))

    def batch() -> None:
        def once() -> None:
            with env.batch() as collected:
                for one in everything[:200]:
                    collected.get_class_signature(one)

        ready.wait()
        for_ever(once)

    def columns() -> None:
        ready.wait()
        for_ever(lambda: env.map.get_class_status(everything * 20))

    held = env.create_raw_monitor("held")
    waited = env.create_raw_monitor("waited for")

    def wait() -> None:
        env.raw_monitor_enter(held)
        env.raw_monitor_enter(waited)
        ready.wait()
        env.raw_monitor_wait(waited, 0)

    def blocked() -> None:
        ready.wait()
        env.raw_monitor_enter(held)

    for body in (call, batch, columns, wait, blocked):
        threading.Thread(target=body, daemon=True).start()
    env.suspend_thread(named["prey-0"])
    env.suspend_thread_list([named["prey-1"], named["prey-2"]])
    if rng.random() < 0.5:
        env.suspend_thread(named["counter"])
    locks = jni.get_static_object_field(
        steady, jni.get_static_field_id(steady, "locks", "[Ljava/lang/Object;")
    )
    for index in (0, 1, 1):
        jni.monitor_enter(jni.get_object_array_element(locks, index))
    deeper = jni.get_method_id(prey, "deeper", "(II)I")
    env.set_breakpoint(deeper, 0)
    env.set_field_access_watch(prey, jni.get_field_id(prey, "anInt", "I"))
    env.allocate(1000)
    ready.wait()
    print("busy", flush=True)
    while True:
        env.resume_thread(named["prey-0"])
        time.sleep(rng.random() / 1000)
        env.suspend_thread(named["prey-0"])


if __name__ == "__main__":
    main()
