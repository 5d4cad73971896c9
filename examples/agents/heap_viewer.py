"""Shows what the heap is full of: how many objects of each class there are, and their bytes.

    jvmti run heap_viewer.py=20 -- java -jar app.jar      (the first 20 classes; 10 are usual)

It looks when the JVM ends, and whenever `kill -QUIT PID` asks for it.
"""

from collections import Counter

from jvmti.env.structures import HeapCallbacks
from jvmti.interface.constants import HeapFilter, HeapVisitControl

most = 10


def agent_onload(vm, options):
    global most
    most = int(options or most)
    vm.env.add_capabilities({"can_tag_objects"})
    vm.env.on("DataDumpRequest", lambda event: view(vm), timeout=60)


def agent_onunload(vm):
    view(vm)


def view(vm):
    env = vm.new_env()  # with tags of its own
    env.add_capabilities({"can_tag_objects"})
    classes = vm.classes()
    for number, cls in enumerate(classes, 1):
        env.set_tag(cls, number)
    counts, sizes = Counter(), Counter()

    def visit(class_tag, size, tag, length):
        # The VM is stopped: the tag of its class is all that is known of an object.
        counts[class_tag] += 1
        sizes[class_tag] += size
        return HeapVisitControl(0)

    # Only the living are of interest.
    env.force_garbage_collection()
    callbacks = HeapCallbacks(heap_iteration_callback=visit)
    env.iterate_through_heap(HeapFilter.CLASS_UNTAGGED, None, callbacks)
    env.dispose_environment()
    print(f"{sum(counts.values())} objects, {sum(sizes.values())} bytes")
    for number, size in sizes.most_common(most):
        print(f"{size:12} {counts[number]:9} {classes[number - 1].name}")
    print(end="", flush=True)


agent_onattach = agent_onload
