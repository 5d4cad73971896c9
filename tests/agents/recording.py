"""An agent that notes what befalls it, in JSON lines in the file that its options name.

The test that runs it reads the notes.  What else it does is in the options too, as JSON.
"""

import json
import os
import sys
import time

todo = {}


def note(step, **facts):
    line = json.dumps({"step": step, "process": os.getpid(), **facts})
    with open(todo["notes"], "a") as file:
        file.write(line + "\n")


def agent_onload(vm, options):
    todo.update(json.loads(options))
    note(
        "onload",
        phase=vm.phase.name,
        jvm=vm.process.pid,
        options=options,
        descriptors=descriptors(),
        parent=os.getppid(),
    )
    act("onload")
    vm.env.on("VMInit", lambda event: note("init", thread=event.thread.name))
    vm.env.on("ThreadStart", thread_started)
    return todo.get("result")


def agent_onattach(vm, options):
    todo.update(json.loads(options))
    note("onattach", phase=vm.phase.name, jvm=vm.process.pid)
    act("onattach")
    return todo.get("result")


def agent_onunload(vm):
    facts = {"closed": vm.closed}
    if not vm.closed:
        facts |= {"phase": vm.phase.name, "threads": [thread.name for thread in vm.threads]}
    note("onunload", **facts)
    print("the last word", flush=True)
    act("onunload")


def thread_started(event):
    if "handler" in todo:
        raise LookupError("not\x1b[31m there")


def act(step):
    action = todo.get(step)
    if action == "raise":
        raise RuntimeError(f"{step} does not want to")
    if action == "sleep":
        time.sleep(1000)
    if action == "exit":
        sys.exit(5)
    if action == "die":
        os._exit(6)


def descriptors():
    held = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            held[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the listing's own
    return held
