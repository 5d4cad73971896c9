"""An agent that counts one kind of what the program Busy does, and what else the VM reports.

The option is the kind and a file for what was counted: ``steps:/tmp/steps``.
"""

import json
import threading
from collections import Counter

counts = Counter()
lock = threading.Lock()
reported = {}


def agent_onload(vm, options):
    kind, _, reported["file"] = options.partition(":")
    KINDS[kind](vm)
    note(vm)


def agent_onunload(vm):
    note(vm)


def note(vm):
    facts = {"counts": counts, "errors": [str(error) for error in vm.handler_errors]}
    with open(reported["file"], "w") as file:
        json.dump(facts, file)


def count(name):
    with lock:
        counts[name] += 1


def when_prepared(vm, act):
    """Do something with the class Busy, prepared already or not."""

    def prepared(event):
        if event.klass.name == "Busy":
            act(event.klass)

    vm.env.on("ClassPrepare", prepared)
    if not vm.held:
        for klass in vm.classes("Busy"):
            act(klass)


def steps(vm):
    vm.env.add_capabilities({"can_generate_breakpoint_events"})

    def place(klass):
        step = next(method for method in klass.methods if method.name == "step")
        vm.env.set_breakpoint(step, 0)

    vm.env.on("Breakpoint", lambda event: count(event.method.name))
    when_prepared(vm, place)


def thrown(vm):
    vm.env.add_capabilities({"can_generate_exception_events"})

    def note_thrown(event):
        name = event.exception.cls.name
        count(name if name.startswith("Busy") else "other")

    vm.env.on("Exception", note_thrown)


def writes(vm):
    vm.env.add_capabilities({"can_generate_field_modification_events"})

    def watch(klass):
        field = next(field for field in klass.fields if field.name == "written")
        vm.env.set_field_modification_watch(klass, field)

    vm.env.on("FieldModification", lambda event: count(event.thread.name.partition("-")[0]))
    when_prepared(vm, watch)


def waits(vm):
    vm.env.add_capabilities({"can_generate_monitor_events"})

    def waited(event):
        name = event.object.cls.name
        count(name if name.startswith("Busy") else "other")

    vm.env.on("MonitorWait", waited)


KINDS = {"steps": steps, "thrown": thrown, "writes": writes, "waits": waits}
agent_onattach = agent_onload
