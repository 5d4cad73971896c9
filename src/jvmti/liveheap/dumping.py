"""Dumps of a running VM's heap into memory, so that no file is ever left behind.

The dump goes into an unnamed file of this process; during the dump the agent lends the VM a name
for it. The pages count as the target's, so this checks the target's memory limit first.
"""

from __future__ import annotations

import logging
import os
import re
import time
from typing import TYPE_CHECKING

from jvmti.heap.errors import HeapError, NotEnoughMemory
from jvmti.interface.errors import Error, NotAvailable
from jvmti.liveheap.available_memory import free_memory, free_of_groups
from jvmti.operations.agent import AgentOperations
from jvmti.target import hotspot
from jvmti.target.errors import AttachRefused

if TYPE_CHECKING:
    from jvmti.liveheap.running_vm import RunningVM

__all__ = ["dump"]

log = logging.getLogger("jvmti")

_PER_BYTE = 2.0
"""Bytes of a dump for each byte in use; 1.6 for many small objects."""
_LEAST = 64 << 20
_SPARE = 0.9
"""The share of free memory that a dump may take."""
_WRITES_PARTS = 22
"""The first release whose VM writes parts of a dump beside it."""


def dump(
    vm: RunningVM, *, gc: bool, used: int, timeout: float, threads: int = 1
) -> tuple[int, float]:
    """Have the VM dump its heap into memory.

    Args:
        gc: collect first, and dump only reachable objects.
        used: bytes of the heap in use, approximately.
        timeout: seconds.
        threads: how many of the VM may write; with one, objects come in the order of the heap.

    Returns:
        A descriptor of the dump, and the longest time that it stopped the VM, in seconds.

    Raises:
        NotEnoughMemory: there is not enough memory; nothing was done.
        HeapError: the VM could not write the dump.
        AttachError: the VM does not accept attach commands.
    """
    needed = int(used * _PER_BYTE) + _LEAST
    _check_memory(vm, needed)
    feature = _feature(vm)
    descriptor = os.memfd_create("jvmti heap dump", os.MFD_CLOEXEC)
    try:
        name = _open_temporary_file(vm, descriptor, needed if feature >= _WRITES_PARTS else 0)
        try:
            took = _dump_with_jcmd(vm, name, gc, threads, timeout)
        finally:
            _close_temporary_file(vm, name)
        return descriptor, took
    except BaseException:
        os.close(descriptor)
        raise


def _dump_with_jcmd(vm: RunningVM, name: str, gc: bool, threads: int, timeout: float) -> float:
    wishes = ["-overwrite"] if gc else ["-all", "-overwrite"]
    began = time.monotonic()
    try:
        answer = _run_dump_command(vm, [*wishes, f"-parallel={threads}", name], timeout)
    except AttachRefused as refused:
        if "Unknown argument" not in str(refused):
            raise
        answer = _run_dump_command(
            vm, [*wishes, name], timeout
        )  # a VM that has only one thread for it
    took = time.monotonic() - began
    if "file created" not in answer:
        lines = [line for line in answer.splitlines() if line and not line.startswith("Dumping")]
        raise HeapError(f"the VM could not dump its heap: {' '.join(lines) or answer.strip()}")
    return took


def _run_dump_command(vm: RunningVM, words: list[str], timeout: float) -> str:
    return hotspot.command(vm.process, "jcmd", " ".join(["GC.heap_dump", *words]), timeout=timeout)


def _open_temporary_file(vm: RunningVM, descriptor: int, needed: int) -> str:
    try:
        return AgentOperations(vm._session, descriptor=descriptor).open_temporary_file(needed)
    except NotAvailable:
        raise NotEnoughMemory(
            "the VM writes parts of a dump into /dev/shm or /tmp first, and neither has the "
            f"{needed >> 20} MB free that they may take; nothing was done"
        ) from None


def _close_temporary_file(vm: RunningVM, name: str) -> None:
    try:
        AgentOperations(vm._session).close_temporary_file(name)
    except Error as error:
        log.debug("the dump's name is released with the session: %s", error)


def _check_memory(vm: RunningVM, needed: int) -> None:
    """Whether the machine, and the container that the VM runs in, have the memory."""
    for what, free in (
        ("the machine has", free_memory()),
        ("the target's memory limit leaves", free_of_groups(vm.process.pid)),
    ):
        if free is not None and needed > free * _SPARE:
            raise NotEnoughMemory(
                f"a dump of this heap may take {needed >> 20} MB of memory, and {what} "
                f"{free >> 20} MB; nothing was done"
            )


def _feature(vm: RunningVM) -> int:
    version = vm.process.java_version or ""
    found = re.match(r"(?:1\.)?(\d+)", version)
    return int(found[1]) if found else 0
