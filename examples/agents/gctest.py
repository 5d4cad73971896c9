"""Tells of every garbage collection: when, how long the VM was stopped, and how many there were.

    jvmti run gctest.py -- java -jar app.jar

The VM cannot wait for a handler while it is stopped, so these events are streamed: a thread of this
process reads what the JVM has recorded meanwhile, and does at leisure what a handler could not do.
"""

import threading

pauses = []
since = 0


def agent_onload(vm, options):
    global stream, reader
    vm.env.add_capabilities({"can_generate_garbage_collection_events"})
    stream = vm.env.stream(["GarbageCollectionStart", "GarbageCollectionFinish"])
    reader = threading.Thread(target=read, daemon=True)
    reader.start()


def read():
    global since
    while records := stream.read():
        for row in records.sorted_by_time().rows():
            if row["event"] == "GarbageCollectionStart":
                since = row["time"]
                continue
            pauses.append((row["time"] - since) / 1e6)
            print(f"collection {len(pauses)}: {pauses[-1]:.3f} ms", flush=True)


def agent_onunload(vm):
    stream.close()  # what was recorded is read to its end
    reader.join(5)
    print(f"{len(pauses)} collections, {sum(pauses):.3f} ms, {stream.dropped} not seen")


agent_onattach = agent_onload
