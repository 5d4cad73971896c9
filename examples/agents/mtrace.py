"""Counts calls and returns of the methods of chosen classes.

    jvmti run mtrace.py=com.acme.* -- java -jar app.jar

A breakpoint stands at the beginning of each of their methods, and the frame that it stops in tells
when it is left.  Nothing else in the program is slowed down.
"""

import threading
from collections import Counter
from fnmatch import fnmatchcase

import jvmti

lock = threading.Lock()  # handlers of several threads run at the same time
wanted = "*"
calls, returns, thrown = Counter(), Counter(), Counter()


def agent_onload(vm, options):
    global wanted
    wanted = options or "*"
    vm.env.add_capabilities({"can_generate_breakpoint_events", "can_generate_frame_pop_events"})
    vm.env.on("ClassPrepare", prepared)
    vm.env.on("Breakpoint", entered)
    vm.env.on("FramePop", left)


def prepared(event):
    if not fnmatchcase(event.klass.name, wanted):
        return
    try:
        for method in event.klass.methods:
            if not method.modifiers & 0x0500:  # neither native nor abstract
                event.env.set_breakpoint(method, 0)
    except jvmti.errors.WrongPhase:
        pass  # the few classes that come before the VM is live take no breakpoints


def entered(event):
    try:
        event.env.notify_frame_pop(event.thread, 0)
    except jvmti.errors.Duplicate:
        return  # a loop has led back to the first instruction
    with lock:
        calls[event.method] += 1


def left(event):
    with lock:
        (thrown if event.was_popped_by_exception else returns)[event.method] += 1


def agent_onunload(vm):
    for method, count in calls.most_common():
        name = f"{method.class_name}.{method.name}{method.signature}"
        text = f"{name}: {count} calls, {returns[method]} returns"
        print(text + (f", {thrown[method]} by an exception" if thrown[method] else ""))
