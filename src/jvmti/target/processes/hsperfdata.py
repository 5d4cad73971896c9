"""Reads the performance data file of a JVM.

HotSpot maps a file ``/tmp/hsperfdata_<user>/<pid>`` and writes its counters there, the command
and the VM's arguments among them. Version 2 of the format is a 32-byte prologue followed by
entries, each with its own lengths and offsets; all are checked here, since the file's owner may
have written anything.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Container, Iterator

from jvmti.target.processes.procfs import ProcessHandle

__all__ = ["find", "mapped", "parse"]

_MAGIC = 0xCAFEC0C0
_LARGEST_FILE = 4 << 20
_MOST_ENTRIES = 20_000
_MAPPED = re.compile(rb"/(hsperfdata_[^/\n]+)/\d+$", re.M)
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def parse(data: bytes, names: Container[bytes] | None = None) -> dict[str, str | int]:
    """The strings and 64-bit numbers of a performance data file, by name.

    With ``names``, only those.

    Raises:
        ValueError: not a version 2 file, or one whose offsets lead outside it.
    """
    if len(data) < 32:
        raise ValueError("too short for a performance data file")
    if struct.unpack_from(">I", data)[0] != _MAGIC:
        raise ValueError("not a performance data file")
    order = "<" if data[4] == 1 else ">"
    prologue = struct.Struct(order + "4xBBBBiiqii")
    entry = struct.Struct(order + "iiiBBBBi")
    number = struct.Struct(order + "q")
    _, major, _, accessible, used, _, _, position, count = prologue.unpack_from(data)
    if major != 2:
        raise ValueError(f"performance data format {major} is not supported")
    if not accessible:
        return {}
    limit = min(used, len(data))
    if not 32 <= position <= limit or not 0 <= count <= _MOST_ENTRIES:
        raise ValueError("performance data with an impossible header")
    values: dict[str, str | int] = {}
    for _ in range(count):
        if position + entry.size > limit:
            raise ValueError("performance data cut short")
        length, name_at, elements, kind, _, _, _, data_at = entry.unpack_from(data, position)
        if length < entry.size or position + length > limit:
            raise ValueError("performance data with an impossible entry")
        if not entry.size <= name_at < data_at <= length:
            raise ValueError("performance data entry whose parts overlap")
        end = data.find(b"\0", position + name_at, position + data_at)
        if end < 0:
            raise ValueError("performance data entry without a name")
        raw = data[position + name_at : end]
        if names is not None and raw not in names:
            position += length
            continue
        name = raw.decode("utf-8", "replace")
        start = position + data_at
        if kind == 0x42 and elements > 0:  # 'B', a vector of bytes: text
            if data_at + elements > length:
                raise ValueError("performance data text runs out of its entry")
            text = data[start : start + elements].split(b"\0", 1)[0]
            values[name] = text.decode("utf-8", "replace")
        elif kind == 0x4A and elements == 0:  # 'J', one 64-bit number
            if data_at + 8 > length:
                raise ValueError("performance data number runs out of its entry")
            values[name] = number.unpack_from(data, start)[0]
        position += length
    return values


def find(
    root: int | None,
    pid: int,
    uid: int,
    names: Container[bytes] | None = None,
    *,
    maps: bytes = b"",
) -> dict[str, str | int]:
    """The performance data of a JVM, an empty dictionary if there is none.

    ``root`` is a descriptor of the target's root directory, None for the caller's own, ``pid`` the
    pid as the target sees it. Its memory map, if known, names the directory and spares a search of
    a large /tmp. Follows no symbolic link and reads only files of ``uid``: another user could have
    planted anything else.
    """
    try:
        if root is None:
            temporary = os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        else:
            temporary = os.open("tmp", _OPEN_DIRECTORY, dir_fd=root)
    except OSError:
        return {}
    try:
        for name in _directories(temporary, maps):
            data = _read_owned(temporary, name, str(pid), uid)
            if data is not None:
                try:
                    return parse(data, names)
                except ValueError:
                    continue
    except OSError:
        pass
    finally:
        os.close(temporary)
    return {}


def mapped(handle: ProcessHandle, names: Container[bytes] | None = None) -> dict[str, str | int]:
    """The same from the JVM's memory; an empty dictionary if there is none, or it is not readable.

    A JVM that starts removes the files of those that have ended, and takes a JVM for ended whose
    pid is none in its own pid namespace, as in a container that shares ``/tmp``. Later releases
    than Java 11 lock their files against that.
    """
    try:
        maps = handle.read("maps")
        at = maps.find(b"/hsperfdata_")
        if at < 0:
            return {}
        line = maps[maps.rfind(b"\n", 0, at) + 1 : at]
        start, end = (int(number, 16) for number in line.split(None, 1)[0].split(b"-"))
        memory = handle.open("mem")
        try:
            return parse(os.pread(memory, min(end - start, _LARGEST_FILE), start), names)
        finally:
            os.close(memory)
    except (OSError, ValueError):
        return {}


def _directories(temporary: int, maps: bytes) -> Iterator[str]:
    mapped_from = _MAPPED.search(maps)
    if mapped_from is not None:
        yield os.fsdecode(mapped_from[1])
    for name in os.listdir(temporary):
        if name.startswith("hsperfdata_"):
            yield name


def _read_owned(parent: int, directory: str, name: str, uid: int) -> bytes | None:
    try:
        inside = os.open(directory, _OPEN_DIRECTORY, dir_fd=parent)
    except OSError:
        return None
    try:
        if os.fstat(inside).st_uid != uid:
            return None
        file = os.open(name, _OPEN_FILE, dir_fd=inside)
    except OSError:
        return None
    finally:
        os.close(inside)
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != uid:
            return None
        if about.st_size > _LARGEST_FILE:
            return None
        return os.pread(file, about.st_size, 0)
    except OSError:
        return None
    finally:
        os.close(file)
