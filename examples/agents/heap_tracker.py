"""Says where the objects come from that are still alive at the end.

    jvmti run heap_tracker.py=com.acme.* -- java -jar app.jar

Every object that Java code allocates is tagged with the number of the stack that allocated it.  The
tags that are left after a last collection are those of the living.
"""

import threading
from collections import Counter
from fnmatch import fnmatchcase

DEPTH = 8

lock = threading.Lock()
wanted = "*"
sites = {}  # class and stack: their number
allocated, sizes = Counter(), Counter()


def agent_onload(vm, options):
    global wanted
    wanted = options or "*"
    vm.env.add_capabilities({"can_generate_sampled_object_alloc_events", "can_tag_objects"})
    vm.env.set_heap_sampling_interval(0)  # every allocation
    vm.env.on("SampledObjectAlloc", allocation)
    vm.env.on("VMInit", lambda event: begin(vm))


def begin(vm):
    # The main thread is older than the interval: it has the usual 512 KB to allocate first, and
    # the memory that it has set aside for small objects is looked at after a collection only.
    vm.jni.new_byte_array(1 << 20)
    vm.env.force_garbage_collection()


def allocation(event):
    name = event.object_klass.name
    if not fnmatchcase(name, wanted):
        return
    frames = event.env.get_stack_trace(event.thread, 0, DEPTH)
    stack = tuple((frame.method, frame.location) for frame in frames)
    with lock:
        number = sites.setdefault((name, stack), len(sites) + 1)
        allocated[number] += 1
        sizes[number] += event.size
    event.env.set_tag(event.object, number)


def agent_onunload(vm):
    vm.env.force_garbage_collection()
    found = vm.env.get_objects_with_tags(list(sites.values())) if sites else ()
    alive = Counter(found.tags) if sites else Counter()
    for (name, stack), number in sorted(sites.items(), key=lambda one: -alive[one[1]]):
        print(f"{name}: {alive[number]} alive of {allocated[number]}, {sizes[number]} bytes in all")
        for method, _ in stack:
            print(f"    at {method.class_name}.{method.name}")
