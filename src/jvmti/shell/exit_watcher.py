"""Reports at a prompt that the JVM has exited."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class ExitWatcher:
    """Reports the exit of the JVM while the prompt is open; a context manager.

    Args:
        vm: the JVM.
        report: called with a message, on another thread.
    """

    def __init__(self, vm: VM, report: Callable[[str], None]) -> None:
        self._vm = vm
        self._report = report
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="end of the JVM", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._leaving.set()

    def _wait(self) -> None:
        self._vm.wait()
        if not self._leaving.is_set():
            self._report(exit_message(self._vm))


def exit_message(vm: VM) -> str:
    """The message for a JVM, or a session, that has ended."""
    status = ""
    if vm.popen is not None:
        try:
            status = f" with status {vm.popen.wait(2)}"
        except subprocess.TimeoutExpired:
            pass
    name = printable(vm.process.main or "")
    return (
        f"The JVM {vm.process.pid} {name} has ended{status}. Values that were read stay available; "
        "calls into it raise SessionClosed. Ctrl-D leaves."
    )


__all__ = ["ExitWatcher", "exit_message"]
