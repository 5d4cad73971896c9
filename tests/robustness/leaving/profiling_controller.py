"""A controller that opens and closes profiles of all kinds endlessly, to be ended at any moment.

Run with the pid of the target and a seed; a third argument is there for `kills.py`.  It says
``busy`` when samples have come.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any

import jvmti
from jvmti.interface.errors import Error

FASTEST: dict[str, dict[str, Any]] = {
    "cpu": {"interval": 0.001},
    "wall": {"interval": 0.005},
    "alloc": {"interval": 16384},
    "live": {"interval": 16384},
    "lock": {},
}


def opened(vm: jvmti.VM, own: random.Random) -> Any:
    """A new profile, of one kind or two, that runs."""
    kinds = own.sample(list(FASTEST), own.choice((1, 1, 2)))
    intervals = {kind: FASTEST[kind].get("interval") for kind in kinds}
    options: dict[str, Any] = {"exact": own.random() < 0.2}
    if kinds == ["cpu"]:
        options["engine"] = own.choice((None, "timer", "deltas"))
    if own.random() < 0.3:
        options["by"] = "Steady$Prey.round()"
    chosen = {kind: every for kind, every in intervals.items() if every is not None}
    profile = vm.profile(*kinds, interval=chosen or None, **options)
    profile.__enter__()
    return profile


def main() -> None:
    vm = jvmti.attach(int(sys.argv[1]))
    rng = random.Random(int(sys.argv[2]))
    first = vm.profile("cpu", interval=0.001)
    first.__enter__()
    while not len(first.stacks):
        time.sleep(0.02)
    said = threading.Event()

    def open_and_close() -> None:
        own = random.Random(rng.getrandbits(64))
        profiles: list[Any] = []
        while True:
            try:
                profiles.append(opened(vm, own))
                time.sleep(own.random() / 10)
                said.set()
                if len(profiles) > own.randrange(3):
                    profiles.pop(own.randrange(len(profiles))).__exit__(None, None, None)
            except Error:
                if vm.closed:
                    return

    for _ in range(2):
        threading.Thread(target=open_and_close, daemon=True).start()
    said.wait()
    print("busy", flush=True)
    while True:
        time.sleep(0.01)


if __name__ == "__main__":
    main()
