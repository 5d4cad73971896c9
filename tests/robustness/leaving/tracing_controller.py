"""A controller that opens and closes traces without an end, to be ended at any moment.

Run with the pid of the target and a seed; a third argument is there for `kills.py`.  It says
``busy`` when calls have come.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any

import jvmti
from jvmti.interface.errors import Error

# Not the class whose endless loop counts: that would stay in the interpreter.
PATTERNS = (
    ("Steady$Prey.*", "Steady$Spare.*"),
    ("java.lang.Thread.*", "java.util.HashMap.*"),
    ("java.util.*.*",),
    ("java.io.*.*", "java.lang.String*.*"),
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"limit": None},
    {"summary": True},
    {"when": "arg0 == 1 or this.hash == 3"},
    {"over": 0.001},
    {"max_pause": 1.0},
    {"by": "arg0"},
    {"objects": 10, "limit": None},
    {"every": 3, "when": "caller in 'x*' or took >= 0"},
)


class Stopping:
    """Threads that stop at a late breakpoint for a moment, or for as long as nobody asks.

    Args:
        vm: the VM.
        own: random numbers.
    """

    def __init__(self, vm: jvmti.VM, own: random.Random) -> None:
        duration = own.choice((0.0, 0.05, 60.0))

        def hold(stop: Any) -> None:
            dict(stop.locals)
            time.sleep(duration)

        self._breakpoint = vm.breakpoint("Steady$Prey", "*", do=hold)

    def close(self) -> None:
        """Let the threads go."""
        self._breakpoint.cancel()


def opened(vm: jvmti.VM, own: random.Random) -> Any:
    """Something new that has probes."""
    match own.randrange(5):
        case 4:
            return Stopping(vm, own)
        case 0:
            if own.random() < 0.5:
                place = own.choice(("write *.* in Steady$*.*", "new * in Steady$*.*"))
                return vm.logpoint(place, unloaded=True, limit=None)
            text = "{arg0} {this.aString} {this.anObject.nobody} {thread}"
            return vm.logpoint("Steady$Prey.*", text, limit=None)
        case 1:
            thrown = {"throws": "java.lang.IllegalStateException: x", "every": 3}
            change = own.choice([{"delay": 5.0, "every": 7}, {"returns": 3}, thrown])
            return vm.change("Steady$Prey.*", **change)
    options = own.choice(OPTIONS)
    made = vm.trace(*own.choice(PATTERNS), unloaded=True, **options)
    made.read(0.01)
    return made


def main() -> None:
    vm = jvmti.attach(int(sys.argv[1]))
    rng = random.Random(int(sys.argv[2]))
    first = vm.trace("Steady$Prey.*", limit=None)
    while not first.read(1.0):
        pass
    said = threading.Event()

    def open_and_close() -> None:
        own = random.Random(rng.getrandbits(64))
        traces = []
        while True:
            try:
                traces.append(opened(vm, own))
                time.sleep(own.random() / 20)
                said.set()
                if len(traces) > own.randrange(4):
                    traces.pop(own.randrange(len(traces))).close()
            except Error:
                if vm.closed:
                    return

    for _ in range(2):
        threading.Thread(target=open_and_close, daemon=True).start()
    said.wait()
    print("busy", flush=True)
    while True:
        first.read(0.05)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
