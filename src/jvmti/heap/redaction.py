"""Dumps that can be shared: the structure stays, the contents are blanked.

Sizes, classes, references, names of classes and fields, and stacks are as they were; arrays of
primitive types and chosen fields are zeros.  Strings have arrays, so they are blank, too.  So are
the names in the file that nothing uses: HotSpot writes all its symbols, among them the string
literals of the program.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from jvmti.heap import files
from jvmti.heap.classes import OBJECT, TYPES
from jvmti.heap.errors import HeapError
from jvmti.heap.library import NONE, Dump
from jvmti.interface.signatures import matcher

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["redact"]


def redact(
    snapshot: Snapshot,
    path: str | os.PathLike[str],
    *,
    arrays: str | None = "*",
    fields: Iterable[str] = (),
    parquet: bool = False,
    force: bool = False,
) -> None:
    """Write a snapshot's dump without contents.

    Args:
        snapshot: what to write; unreachable objects only if it was taken with
            ``unreachable="keep"``.
        path: the new file, readable by its owner only.
        arrays: shell pattern for the classes of primitive arrays to blank, such as ``"byte[]"``;
            None for none.
        fields: shell patterns for primitive fields to blank, static ones included, as
            ``class.field``: ``"com.acme.*.balance"``.
        parquet: write tables into a directory, as `Snapshot.to_parquet` does.
        force: whether to overwrite existing files.

    Raises:
        FileExistsError: there is a file of that name, or something in the directory.
        HeapError: a pattern matches no primitive field, or the dump is damaged, so that
            contents could remain.
    """
    from jvmti.heap.snapshot import Snapshot

    if snapshot.fault is not None:
        raise HeapError(f"the dump is damaged and cannot be redacted: {snapshot.fault}")
    chosen = _fields(snapshot, list(fields))
    if parquet:
        with tempfile.TemporaryFile(prefix="jvmti-heap-") as file:
            copy = _blanked(snapshot, file.fileno(), arrays, chosen)
            if snapshot._is_partial:
                with tempfile.TemporaryFile(prefix="jvmti-heap-") as part:
                    snapshot._write(part.fileno(), copy)
                    copy = files.map_descriptor(part.fileno(), "the dump").data
            made = Snapshot(Dump(copy), unreachable="keep")
            made.to_parquet(path, force=force)
        return
    with files.created(path, force=force) as descriptor:
        if not snapshot._is_partial:
            _blanked(snapshot, descriptor, arrays, chosen)
            return
        with tempfile.TemporaryFile(prefix="jvmti-heap-") as file:
            snapshot._write(descriptor, _blanked(snapshot, file.fileno(), arrays, chosen))


def _blanked(
    snapshot: Snapshot,
    descriptor: int,
    arrays: str | None,
    fields: dict[tuple[str, int], list[int]],
) -> NDArray[numpy.uint8]:
    """Write the dump to a file without contents; the file's bytes."""
    dump = snapshot._dump
    files.write_all(descriptor, dump.file.data)
    copy = numpy.frombuffer(mmap.mmap(descriptor, len(dump.file)), numpy.uint8)
    _blank_literals(snapshot, copy)
    if arrays is not None:
        matches = matcher(arrays)
        blanked = numpy.array(
            [
                element > OBJECT and matches(name) is not None
                for name, element in zip(
                    snapshot.classes.names, dump.classes["element"].tolist(), strict=True
                )
            ]
        )
        dump.blank_arrays(blanked[dump.class_of], copy)
    for (name, width), indices in fields.items():
        _blank_field(snapshot, name, width, indices, copy)
    return copy


def _blank_literals(snapshot: Snapshot, copy: NDArray[numpy.uint8]) -> None:
    dump = snapshot._dump
    unused = numpy.ones(len(dump.strings), numpy.bool_)
    names = (dump.classes["name"], dump.fields["name"])
    frames = (dump.frames["method"], dump.frames["signature"], dump.frames["source"])
    for used in (*names, *frames):
        unused[used[used != NONE]] = False
    strings = dump.strings[unused]
    for begin, length in zip(strings["position"].tolist(), strings["length"].tolist(), strict=True):
        copy[begin : begin + length] = 0


def _fields(snapshot: Snapshot, patterns: list[str]) -> dict[tuple[str, int], list[int]]:
    """Name and width of each chosen field, and the classes that declare it."""
    found: dict[tuple[str, int], list[int]] = {}
    for pattern in patterns:
        matches = matcher(pattern)
        before = len(found)
        any_of_it = False
        for cls in snapshot.classes:
            for field in cls.fields:
                if field.type_code != OBJECT and matches(f"{cls.name}.{field.name}"):
                    width = TYPES[field.type_code][1].itemsize
                    found.setdefault((field.name, width), []).append(cls.index)
                    any_of_it = True
        if not any_of_it and len(found) == before:
            raise HeapError(f"no primitive field of the heap is called {pattern!r}")
    return found


def _blank_field(
    snapshot: Snapshot,
    name: str,
    width: int,
    declaring: list[int],
    copy: NDArray[numpy.uint8],
) -> None:
    dump = snapshot._dump
    # A class may redeclare a field of a superclass: each one is a layer of its own.
    layers: list[NDArray[numpy.int64]] = []
    wanted = set(declaring)
    for index in numpy.flatnonzero(snapshot.classes.with_subclasses(declaring)).tolist():
        below = times = 0
        cls = snapshot.classes.by_index(index)
        for above in (cls, *cls.superclasses):
            for field in above.fields:
                if field.static or field.name != name or above.index not in wanted:
                    continue
                if field.type_code == OBJECT or TYPES[field.type_code][1].itemsize != width:
                    continue
                if times == len(layers):
                    layers.append(numpy.full(len(dump.classes), -1, numpy.int64))
                layers[times][index] = below + field.offset
                times += 1
            below += int(above._record["own_bytes"])
    for offsets in layers:
        dump.blank_fields(offsets, width, copy)
    for index in declaring:
        _blank_statics(snapshot, index, name, copy)


def _blank_statics(
    snapshot: Snapshot,
    index: int,
    name: str,
    copy: NDArray[numpy.uint8],
) -> None:
    """Blank a static field in the record of a class, where these precede the others."""
    cls = snapshot.classes.by_index(index)
    obj = cls.object
    if obj is None:
        return
    dump = snapshot._dump
    width = int(dump.summary.identifier_size)
    at = int(dump.positions[obj.index]) + 1 + 7 * width + 8
    constants = int.from_bytes(copy[at : at + 2].tobytes(), "big")
    at += 2
    for _ in range(constants):
        kind = int(copy[at + 2])
        at += 3 + (width if kind == OBJECT else TYPES[kind][1].itemsize)
    at += 2
    for field in cls.fields:
        if not field.static:
            break
        size = width if field.type_code == OBJECT else TYPES[field.type_code][1].itemsize
        at += width + 1
        if field.name == name and field.type_code != OBJECT:
            copy[at : at + size] = 0
        at += size
