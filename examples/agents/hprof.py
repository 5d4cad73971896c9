"""Where a program spends its time, and what it allocates where.

    jvmti run hprof.py=interval:10,depth:6,top:12 -- java -jar app.jar
    jvmti run hprof.py=heap:dump.hprof -- java -jar app.jar         (and a heap dump at the end)

Every `interval` milliseconds the stacks of all threads are taken at once, and those that run are
counted.  Of all bytes that are allocated, one object in about `sample` kilobytes is looked at.
"""

import threading
from collections import Counter

from jvmti.target import hotspot

asked = {"interval": "10", "depth": "6", "top": "10", "sample": "16", "heap": ""}
lock = threading.Lock()
ended = threading.Event()
running, sites = Counter(), Counter()


def agent_onload(vm, options):
    asked.update(item.split(":", 1) for item in options.split(",") if item)
    vm.env.add_capabilities({"can_generate_sampled_object_alloc_events"})
    vm.env.set_heap_sampling_interval(int(asked["sample"]) * 1024)
    vm.env.on("SampledObjectAlloc", allocation)
    vm.env.on("VMInit", lambda event: threading.Thread(target=sample, args=(vm,)).start())


def agent_onattach(vm, options):
    agent_onload(vm, options)
    threading.Thread(target=sample, args=(vm,)).start()


def sample(vm):
    while not ended.wait(float(asked["interval"]) / 1000) and not vm.closed:
        for thread in vm.threads.snapshot(int(asked["depth"])):
            # A thread in a native method says that it runs, though it may well wait there.
            if thread.java_state == "RUNNABLE" and thread.frames:
                if not thread.frames[0].is_native:
                    running[tuple(map(str, thread.frames))] += 1


def allocation(event):
    frames = event.thread.get_frames(int(asked["depth"]))
    with lock:
        sites[(event.object_klass.name, *map(str, frames))] += 1


def agent_onunload(vm):
    ended.set()
    table("CPU SAMPLES", running)
    table(f"ALLOCATION SITES, one sample in about {asked['sample']} KB", sites)
    if asked["heap"] and not vm.closed:
        hotspot.command(vm.process, "dumpheap", asked["heap"], "-live")
        print(f"heap dump in {asked['heap']}")


def table(title, counts):
    total = sum(counts.values())
    print(f"{title}: {total}")
    for number, (stack, count) in enumerate(counts.most_common(int(asked["top"])), 1):
        print(f"{number:4} {count / total:6.2%} {count:6} {stack[0]}")
        for line in stack[1:]:
            print(f"{'':20}{line}")
