"""Suspends the thread `inside` of GroupLock while it has the lock of its group, and stays.

Its one argument is the pid; `test_group_locks.py` reads what it prints, and kills it.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import jvmti

with jvmti.attach(int(sys.argv[1]), capabilities="all", timeout=30) as vm:
    is_suspended = threading.Event()

    def handle(stop: Any) -> None:
        vm.env.suspend_thread(stop.thread)  # at once when the handler has ended
        is_suspended.set()

    def ask() -> None:
        print("answered", vm.env.get_phase().name, flush=True)

    vm.find_class("GroupLock").methods["inside"].breakpoint(do=handle)
    print("placed", flush=True)
    assert is_suspended.wait(60)
    print("suspended", flush=True)
    time.sleep(1)
    threading.Thread(target=ask).start()
    time.sleep(120)
