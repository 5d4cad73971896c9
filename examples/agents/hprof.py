"""Where a program spends its time, and what it allocates where.

    jvmti run hprof.py=interval:10,depth:6,top:12 -- java -jar app.jar
    jvmti run hprof.py=heap:dump.hprof -- java -jar app.jar         (and a heap dump at the end)

Every `interval` milliseconds the stacks of all threads are taken at once, with the processor time
that each thread has used.  What it has used since the last time is counted for the stack that it
has now; a thread that waits, in a native method or for a lock, has used none.  Of all bytes that
are allocated, one object in about `sample` kilobytes is recorded, and no thread waits for that.
"""

import threading
from collections import Counter

from jvmti.target import hotspot

asked = {"interval": "10", "depth": "6", "top": "10", "sample": "512", "heap": ""}
ended = threading.Event()
spent, sites = Counter(), Counter()
watching = []


def agent_onload(vm, options):
    asked.update(item.split(":", 1) for item in options.split(",") if item)
    vm.env.add_capabilities({"can_generate_sampled_object_alloc_events"})
    vm.env.set_heap_sampling_interval(int(asked["sample"]) * 1024)
    stream = vm.env.stream("SampledObjectAlloc", stack=int(asked["depth"]))
    watching.append(threading.Thread(target=watch, args=(vm, stream)))
    if vm.held:
        vm.env.on("VMInit", lambda event: watching[0].start())
    else:
        watching[0].start()


def watch(vm, stream):
    before = {}
    while not ended.wait(float(asked["interval"]) / 1000) and not vm.closed:
        now = {}
        for thread in vm.threads.snapshot(int(asked["depth"])):
            now[thread.id] = used = thread.cpu_time or 0
            since = used - before.get(thread.id, 0 if before else used)
            if since > 0 and thread.frames:
                spent[tuple(map(str, thread.frames))] += since
        before = now
        take(stream)
    take(stream)


def take(stream):
    for row in stream.read(timeout=0).rows():
        sites[(row["object_klass"], *(row["stack"] or ()))] += 1


def agent_onunload(vm):
    ended.set()
    watching[0].join(5)
    table("PROCESSOR TIME, milliseconds", spent, 1_000_000)
    table(f"ALLOCATION SITES, one sample in about {asked['sample']} KB", sites)
    if asked["heap"] and not vm.closed:
        hotspot.command(vm.process, "dumpheap", asked["heap"], "-live")
        print(f"heap dump in {asked['heap']}")


def table(title, counts, unit=1):
    total = sum(counts.values())
    print(f"{title}: {total // unit}")
    for number, (stack, count) in enumerate(counts.most_common(int(asked["top"])), 1):
        print(f"{number:4} {count / total:6.2%} {count // unit:6} {stack[0]}")
        for line in stack[1:]:
            print(f"{'':20}{line}")
