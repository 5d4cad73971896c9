"""Counts, for each thread and each kind of object, how often monitors made threads wait.

    jvmti run waiters.py -- java -jar app.jar

`blocked` is an entry to a `synchronized` block that another thread was in, `waited` is a call of
`Object.wait`, `timed out` those that no thread notified.  `seconds` is how long it all took.
"""

import threading
import time
from collections import defaultdict

EVENTS = ("MonitorContendedEnter", "MonitorContendedEntered", "MonitorWait", "MonitorWaited")

lock = threading.Lock()  # handlers of several threads run at the same time
rows = defaultdict(lambda: {"blocked": 0, "waited": 0, "timed out": 0, "seconds": 0.0})
since = {}


def agent_onload(vm, options):
    vm.env.add_capabilities({"can_generate_monitor_events"})
    for name in EVENTS:
        vm.env.on(name, globals()[name])


def MonitorContendedEnter(event):  # noqa: N802
    begin(event, "blocked")


def MonitorContendedEntered(event):  # noqa: N802
    end(event)


def MonitorWait(event):  # noqa: N802
    begin(event, "waited")


def MonitorWaited(event):  # noqa: N802
    end(event, event.timed_out)


def begin(event, what):
    keys = ("thread", event.thread.name), ("object", event.object.cls.name)
    with lock:
        for key in keys:
            rows[key][what] += 1
        since[event.thread.id] = time.monotonic(), keys


def end(event, timed_out=False):
    with lock:
        began, keys = since.pop(event.thread.id, (None, ()))
        for key in keys:
            rows[key]["seconds"] += time.monotonic() - began
            rows[key]["timed out"] += timed_out


def agent_onunload(vm):
    for (kind, name), row in sorted(rows.items()):
        print(f"{kind} {name}: " + ", ".join(f"{what} {n:.3g}" for what, n in row.items()))


agent_onattach = agent_onload
