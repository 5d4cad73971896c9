"""Dump files in memory: mapped, and unpacked first if they are compressed."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.heap.errors import HeapError, NotADump

__all__ = ["Mapped", "created", "map_descriptor", "map_file", "write_all"]

_GZIP = b"\x1f\x8b"
_MEMBER = zlib.MAX_WBITS | 16  # with the head of gzip
_BLOCK = 1 << 20
_SPARE = 256 << 20  # free bytes that unpacking must leave on the disk


class Mapped(NamedTuple):
    """A file's bytes, and the error of its compression."""

    data: NDArray[numpy.uint8]
    fault: str | None


def map_file(path: str | os.PathLike[str]) -> Mapped:
    """Map a file for reading; a compressed one is unpacked into an unlinked file first.

    Raises:
        OSError: it cannot be opened.
        NotADump: it is empty, or no regular file.
        HeapError: the disk is too full to unpack it.
    """
    with open(path, "rb") as file:
        return map_descriptor(file.fileno(), os.fspath(path))


def map_descriptor(descriptor: int, name: str) -> Mapped:
    """Map an open file, as `map_file` does; the descriptor may be closed then."""
    try:
        if os.pread(descriptor, 2, 0) != _GZIP:
            return Mapped(_map(descriptor, name), None)
    except OSError as error:
        raise NotADump(f"{name} cannot be read as a file: {error.strerror}") from None
    with tempfile.TemporaryFile(prefix="jvmti-heap-") as unpacked:
        fault = _unpack(descriptor, unpacked, name)
        unpacked.flush()
        return Mapped(_map(unpacked.fileno(), name), fault)


@contextmanager
def created(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[int]:
    """The descriptor of a new file, readable by its owner only; it gets its name at the end.

    If something fails, the file is removed, and an existing file remains.

    Raises:
        FileExistsError: the file exists without `force`, or is not a regular file.
        OSError: no permission.
    """
    path = os.path.realpath(path)
    replaces = force and os.path.isfile(path)
    if not replaces and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    descriptor, unfinished = tempfile.mkstemp(
        prefix=f".{os.path.basename(path)}-", dir=os.path.dirname(path)
    )
    try:
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        if not replaces:  # fails if it has appeared meanwhile
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        os.replace(unfinished, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise


def write_all(descriptor: int, data: memoryview) -> None:
    """Write to a file of `created`.

    Raises:
        OSError: the disk is full.
    """
    space = os.fstatvfs(descriptor)
    if space.f_bavail * space.f_frsize < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    while data:
        data = data[os.write(descriptor, data[:_BLOCK]) :]


def _map(descriptor: int, name: str) -> NDArray[numpy.uint8]:
    size = os.fstat(descriptor).st_size
    if not size:
        raise NotADump(f"{name} is empty")
    mapped: Any = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
    return numpy.frombuffer(mapped, numpy.uint8)


def _unpack(descriptor: int, unpacked: BinaryIO, name: str) -> str | None:
    """Unpack a file; returns the error in it, if any.

    HotSpot writes many members in sequence. Keeps the readable part of a damaged one.
    """
    position = written = checked = 0
    member = zlib.decompressobj(_MEMBER)
    begun = False
    while packed := os.pread(descriptor, _BLOCK, position):
        position += len(packed)
        while packed:
            begun = True
            try:
                block = member.decompress(packed, _BLOCK)
            except zlib.error as error:
                return f"the compressed file is damaged after {written} bytes of content: {error}"
            unpacked.write(block)
            written += len(block)
            packed = member.unconsumed_tail
            if member.eof:
                packed = member.unused_data
                member = zlib.decompressobj(_MEMBER)
                begun = False
            if written - checked > 64 * _BLOCK:
                checked = written
                _check_space(unpacked, name, written)
    if begun:
        return f"the compressed file ends too early, after {written} bytes of content"
    return None


def _check_space(unpacked: BinaryIO, name: str, written: int) -> None:
    space = os.fstatvfs(unpacked.fileno())
    if space.f_bavail * space.f_frsize < _SPARE:
        raise HeapError(
            f"{name} is compressed, and there is not enough disk space to unpack it in "
            f"{tempfile.gettempdir()}: {written} bytes so far. Set TMPDIR to a directory "
            "with more"
        )
