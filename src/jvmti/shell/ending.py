"""How a prompt ends: by the user, or with the JVM under it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from jvmti.spec.text import printable

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class Watch:
    """Tells when the JVM ends while somebody sits at the prompt; a context manager.

    Args:
        vm: the JVM.
        tell: called with a text, from another thread.
    """

    def __init__(self, vm: VM, tell: Callable[[str], None]) -> None:
        self._vm = vm
        self._tell = tell
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="end of the JVM", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._leaving.set()

    def _wait(self) -> None:
        self._vm.wait()
        if not self._leaving.is_set():
            self._tell(ended(self._vm))


def ended(vm: VM) -> str:
    """What there is to say of a JVM that has ended, or a session that has."""
    status = ""
    if vm.popen is not None:
        try:
            status = f" with status {vm.popen.wait(2)}"
        except subprocess.TimeoutExpired:
            pass
    name = printable(vm.process.main or "")
    return (
        f"The JVM {vm.process.pid} {name} has ended{status}. What was read from it is still here; "
        "calls into it raise SessionClosed. Ctrl-D leaves."
    )


__all__ = ["Watch", "ended"]
