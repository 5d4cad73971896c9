"""The agent library for a target.

The package carries one for each C library and processor, in ``jvmti/_native/<libc>-<machine>``.
The environment variable ``JVMTI_AGENT_LIBRARY`` names another instead.
"""

from __future__ import annotations

import contextlib
import os
import struct

from jvmti.target.errors import AgentLibraryMissing
from jvmti.target.processes.procfs import ProcessHandle
from jvmti.target.processes.search import Process

__all__ = [
    "is_elf",
    "library_for_executable",
    "library_for_process",
    "own_folder",
    "own_library",
]

_NATIVE = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "_native")
_NAME = "libjvmti.so"
_MACHINES = {62: "x86_64", 183: "aarch64"}
_INTERPRETER = 3  # the kind of ELF program header that names the dynamic loader


def library_for_process(process: Process, handle: ProcessHandle | None = None) -> str:
    """Absolute path of the library for a running JVM. Raises AgentLibraryMissing."""
    if chosen := _override():
        return chosen
    machine = None
    try:
        with contextlib.nullcontext(handle) if handle else process.open() as held:
            executable = held.open("exe")
            try:
                machine, interpreter = _elf(executable)
            finally:
                os.close(executable)
    except (OSError, ValueError):
        interpreter = None
    musl = process.musl
    if musl is None:
        musl = "musl" in (interpreter or "")
    return _packaged(musl, machine or os.uname().machine)


def library_for_executable(path: str) -> str:
    """Absolute path of the library for a program to start.

    A program that is not an ELF file, such as a script, counts as one for this system.

    Raises:
        AgentLibraryMissing: there is none.
    """
    if chosen := _override():
        return chosen
    for candidate in (path, "/proc/self/exe"):
        try:
            file = os.open(candidate, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            machine, interpreter = _elf(file)
            return _packaged("musl" in (interpreter or ""), machine or os.uname().machine)
        except (OSError, ValueError):
            continue
        finally:
            os.close(file)
    return _packaged(False, os.uname().machine)


def own_library() -> str:
    """Absolute path of the library for this system's programs. Raises AgentLibraryMissing."""
    return library_for_executable("/proc/self/exe")


def own_folder() -> str:
    """The folder of the packaged libraries for this process. Raises AgentLibraryMissing."""
    musl, machine = False, os.uname().machine
    with contextlib.suppress(OSError, ValueError), open("/proc/self/exe", "rb") as file:
        found, interpreter = _elf(file.fileno())
        musl, machine = "musl" in (interpreter or ""), found or machine
    return os.path.dirname(_packaged(musl, machine))


def interface_digest() -> bytes | None:
    """The digest of the interface that the packaged agents were built from.

    Agents of other packages, and of other versions of this one, have other digests. None if the
    library was chosen by hand, or nothing is packaged.
    """
    if _override():
        return None
    for variant in sorted(os.listdir(_NATIVE)) if os.path.isdir(_NATIVE) else []:
        try:
            with open(os.path.join(_NATIVE, variant, "interface.digest")) as file:
                return bytes.fromhex(file.read())
        except FileNotFoundError:
            continue
    return None


def is_elf(path: str) -> bool:
    """Whether the file is a native program rather than a script."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _override() -> str | None:
    chosen = os.environ.get("JVMTI_AGENT_LIBRARY")
    if not chosen:
        return None
    path = os.path.abspath(chosen)
    if not os.path.isfile(path):
        raise AgentLibraryMissing(f"JVMTI_AGENT_LIBRARY names {path}, which is not a file")
    return path


def _packaged(musl: bool, machine: str) -> str:
    wanted = f"{'musl' if musl else 'glibc'}-{machine}"
    path = os.path.join(_NATIVE, wanted, _NAME)
    if os.path.isfile(path):
        return path
    present = os.listdir(_NATIVE) if os.path.isdir(_NATIVE) else []
    found = sorted(name for name in present if os.path.isfile(os.path.join(_NATIVE, name, _NAME)))
    have = ", ".join(found) if found else "none at all"
    raise AgentLibraryMissing(
        f"there is no agent library for {wanted}; this installation has {have}. Install a wheel "
        "for the target's platform, build the package there, or name a library by the "
        "environment variable JVMTI_AGENT_LIBRARY"
    )


def _elf(file: int) -> tuple[str | None, str | None]:
    """Processor and dynamic loader of an ELF program; ValueError for other files."""
    header = os.pread(file, 64, 0)
    if len(header) < 64 or header[:4] != b"\x7fELF" or header[4] != 2 or header[5] != 1:
        raise ValueError("not a 64-bit little-endian ELF file")
    machine = _MACHINES.get(struct.unpack_from("<H", header, 18)[0])
    (table,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    for index in range(min(count, 64)):
        entry = os.pread(file, 56, table + index * size)
        if len(entry) < 56:
            break
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", entry)
        if kind == _INTERPRETER and length < 4096:
            return machine, os.fsdecode(os.pread(file, length, offset).rstrip(b"\0"))
    return machine, None
