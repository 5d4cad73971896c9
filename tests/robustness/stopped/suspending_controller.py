"""A controller whose handlers, threads and heap walks suspend each other's threads.

Run with the pid of `tests/java/Steady.java`, what to do, and for how many seconds.  It says
``busy`` when all of it goes on, and ``done``, with how often, when it has come to its end.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import jvmti
from jvmti.env.structures import HeapCallbacks
from jvmti.interface.constants import HeapFilter, HeapVisitControl
from jvmti.interface.errors import Error, JvmtiError


def faithful(vm: jvmti.VM, until: float) -> int:
    """A handler suspends one thread while this one suspends the handler's."""
    env = vm.env
    env.add_capabilities({"can_suspend", "can_generate_breakpoint_events"})
    env.set_breakpoint(vm.find_class("Steady$Prey").methods["round"], 0)
    own, other = vm.threads["prey-0"], vm.threads["prey-1"]
    handled = 0

    def reported(event: Any) -> None:
        nonlocal handled
        for change in (env.suspend_thread, env.resume_thread, env.suspend_thread_list):
            try:
                change([other] if change == env.suspend_thread_list else other)
                env.resume_thread(other)
            except JvmtiError:
                continue  # another handler was before us
        handled += 1

    env.on("Breakpoint", reported, thread=own, timeout=2.0)
    done = 0
    while time.monotonic() < until or not handled:
        env.suspend_thread(own)
        env.get_thread_state(own)
        env.resume_thread(own)
        done += 1
        if done == 1:
            print("busy", flush=True)
    return min(done, handled)


def model(vm: jvmti.VM, until: float) -> int:
    """The same with nothing but the model."""
    other = vm.threads["prey-1"]
    stopped = 0

    def stop(stop: Any) -> None:
        nonlocal stopped
        with other.suspended():
            stopped += 1

    round_ = vm.find_class("Steady$Prey").methods["round"]
    done = 0
    with round_.breakpoint(thread=vm.threads["prey-0"], do=stop):
        while time.monotonic() < until or not stopped:
            with vm.threads.suspended():
                done += 1
            if done == 1:
                print("busy", flush=True)
    return min(done, stopped)


def walking(vm: jvmti.VM, until: float) -> int:
    """The callback of a walk calls while another thread suspends."""
    env = vm.env
    env.add_capabilities({"can_suspend", "can_tag_objects"})
    threads = [vm.threads[f"prey-{number}"] for number in range(4)]
    done = 0

    def visit(*_: Any) -> HeapVisitControl:
        env.get_time()
        return HeapVisitControl(0)

    def suspend() -> None:
        nonlocal done
        while time.monotonic() < until or not done:
            env.suspend_thread_list(threads)
            env.resume_thread_list(threads)
            done += 1

    suspender = threading.Thread(target=suspend, daemon=True)
    suspender.start()
    print("busy", flush=True)
    while time.monotonic() < until:
        # Objects of few classes: some thousand, so that the others have their turn.
        callbacks = HeapCallbacks(heap_iteration_callback=visit)
        env.iterate_through_heap(HeapFilter(0), vm.find_class("java.lang.Class"), callbacks)
    suspender.join()
    return done


def main() -> None:
    """Do what the arguments say."""
    vm = jvmti.attach(int(sys.argv[1]))
    until = time.monotonic() + float(sys.argv[3])
    try:
        times = {"faithful": faithful, "model": model, "walking": walking}[sys.argv[2]](vm, until)
    except Error as error:
        print(f"failed: {error!r}", flush=True)
        raise
    vm.detach(timeout=30)
    print(f"done {times}", flush=True)


if __name__ == "__main__":
    main()
