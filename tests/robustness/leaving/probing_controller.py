"""A controller whose probes are in the hottest method of a program, to be ended at any moment.

Run with the pid of `tests/java/UnderFire.java`, a seed, and what it has: ``breakpoints``,
twenty of them in the hottest method, or ``everything``.  It says ``busy`` when threads have come to
them.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any

import jvmti

HOTTEST = "mixed"
BREAKPOINTS = 20


def main() -> None:
    vm = jvmti.attach(int(sys.argv[1]), timeout=60)
    rng = random.Random(int(sys.argv[2]))
    came = threading.Event()

    def hold(stop: Any) -> None:
        assert "number" in stop.locals
        came.set()
        time.sleep(rng.choice((0.0, 0.0, 0.01, 60.0)))

    lines = sorted({one.line_number for one in vm.find_class("UnderFire").methods[HOTTEST].lines})
    kept: list[Any] = [
        # Conditions decide most of them without the controller, as a debugger's do.
        vm.breakpoint("UnderFire", HOTTEST, line, when=rng.choice((None, "number == -1")), do=hold)
        for line in rng.sample(lines, BREAKPOINTS)
    ]
    if sys.argv[3] == "everything":
        kept += [
            vm.trace("UnderFire*.*", unloaded=True),
            vm.trace(f"UnderFire.{HOTTEST}", summary=True, by="thread"),
            vm.trace("java.util.HashMap.*", "java.util.concurrent.locks.*.*", limit=1000),
            vm.logpoint("UnderFire.add", "{arg0} {arg1} {thread}", stack=4),
            vm.logpoint("new * in UnderFire*.*", by="class"),
            vm.change("UnderFire.locked", delay=0.01, every=7),
        ]
    came.wait()
    print("busy", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main()
