"""Snapshots as Arrow tables and Parquet files; needs pyarrow, the extra ``arrow``.

A directory has one file for each table, for other programs to query, and ``dump.parquet``, the
dump itself in blocks, so that nothing is lost and the directory can be opened again.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti.heap.classes import OBJECT, TYPES
from jvmti.heap.errors import NotADump
from jvmti.heap.files import Mapped, map_descriptor
from jvmti.heap.library import EXTENT_CLASS, NONE
from jvmti.heap.objects import Objects
from jvmti.heap.roots import KINDS
from jvmti.heap.tables.columns import Table, is_text, plain

try:
    import pyarrow
    import pyarrow.parquet as parquet
except ImportError as error:
    raise ImportError("Arrow tables need pyarrow: pip install 'jvmti[arrow]'") from error

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["map_parquet", "objects_table", "record_batch", "tables", "write_parquet"]

_DUMP = "dump.parquet"
_BLOCK = 16 << 20


def tables(snapshot: Snapshot) -> dict[str, Any]:
    """The tables ``objects``, ``references``, ``classes``, ``fields`` and ``roots``.

    ``objects`` and the two columns of ``references`` are in the order of the dump and share their
    memory with it where they can.
    """
    dump = snapshot._dump
    every = numpy.arange(len(dump.class_of), dtype=numpy.uint32)
    rows = dump.rows.astype(numpy.int64)
    counts = rows[1:] - rows[:-1]
    element = dump.classes["element"]
    is_class = (dump.extent & EXTENT_CLASS) != 0
    tree = snapshot.dominators()
    objects = {
        "object": every,
        "class": dump.class_of,
        "address": dump.addresses(),
        "size": dump.sizes(),
        "retained": tree.retained[:-1],
        "dominator": _nullable(tree.idom, tree.idom >= len(every)),
        "length": _nullable(dump.extent, is_class | (element[dump.class_of] == 0)),
        "reachable": snapshot.reachable,
    }
    classes = dump.classes
    fields = dump.fields
    return {
        "objects": pyarrow.table(objects),
        "references": pyarrow.table(
            {"source": numpy.repeat(every, counts), "target": dump.targets}
        ),
        "classes": pyarrow.table(
            {
                "class": numpy.arange(len(classes), dtype=numpy.uint32),
                "name": snapshot.classes.names,
                "superclass": _nullable(classes["super"], classes["super"] == NONE),
                "loader": _nullable(classes["loader"], classes["loader"] == NONE),
                "object": _nullable(classes["object"], classes["object"] == NONE),
                "instance_size": numpy.ascontiguousarray(classes["size"]),
            }
        ),
        "fields": pyarrow.table(
            {
                "class": numpy.ascontiguousarray(fields["class_index"]),
                "name": [dump.text(at) for at in fields["name"].tolist()],
                "type": [
                    "object" if at == OBJECT else TYPES[at][0] for at in fields["type"].tolist()
                ],
                "static": fields["is_static"] != 0,
            }
        ),
        "roots": pyarrow.table(
            {
                "object": numpy.ascontiguousarray(dump.roots["object"]),
                "kind": [KINDS.get(at, str(at)) for at in dump.roots["kind"].tolist()],
                "thread": _nullable(dump.roots["thread"], dump.roots["thread"] == NONE),
                "frame": _nullable(dump.roots["frame"], dump.roots["frame"] == NONE),
            }
        ),
    }


def objects_table(objects: Objects) -> Any:
    """A column of objects as a table."""
    nulls = objects.nulls
    names = pyarrow.array(objects._snapshot.classes.names)
    classes = objects.class_indices
    index = pyarrow.array(numpy.where(nulls, 0, classes).astype(numpy.int32), mask=nulls)
    lengths = objects.lengths
    return pyarrow.table(
        {
            "object": _nullable(objects.indices, nulls),
            "class": pyarrow.DictionaryArray.from_arrays(index, names),
            "address": _nullable(objects.addresses, nulls),
            "size": _nullable(objects.sizes, nulls),
            "length": _nullable(lengths, lengths < 0),
        }
    )


def record_batch(table: Table) -> Any:
    """The result of a query as a record batch; see `jvmti.heap.tables.columns.plain` for
    objects."""
    return pyarrow.record_batch([_array(table[name]) for name in table], names=list(table))


def _array(column: NDArray[Any] | Objects) -> Any:
    if isinstance(column, Objects) and not is_text(column):
        return _nullable(column.indices, column.nulls)
    if not isinstance(column, Objects) and column.dtype.kind in "biuf":
        values = numpy.ma.getdata(column)
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        return _nullable(native, numpy.ma.getmaskarray(column))
    # Java's text may have unpaired surrogates, which Arrow cannot store.
    items = [
        item.encode("utf-8", "replace").decode() if isinstance(item, str) else item
        for item in plain(column)
    ]
    try:
        return pyarrow.array(items)
    except (pyarrow.ArrowException, OverflowError):  # of several kinds
        return pyarrow.array([None if item is None else str(item) for item in items])


def write_parquet(
    snapshot: Snapshot, directory: str | os.PathLike[str], *, force: bool = False
) -> None:
    """Write the tables and the dump; see `Snapshot.to_parquet`."""
    os.makedirs(directory, exist_ok=True)
    if os.listdir(directory) and not force:
        raise FileExistsError(f"{os.fspath(directory)} is not empty; force=True writes into it")
    for name, table in tables(snapshot).items():
        parquet.write_table(table, os.path.join(directory, f"{name}.parquet"), compression="zstd")
    data = snapshot._dump.file
    schema = pyarrow.schema([("block", pyarrow.binary())])
    place = os.path.join(directory, _DUMP)
    with parquet.ParquetWriter(place, schema, compression="zstd", use_dictionary=False) as writer:
        for begin in range(0, len(data), _BLOCK):
            block = data[begin : begin + _BLOCK].tobytes()
            writer.write_batch(pyarrow.record_batch([pyarrow.array([block])], schema=schema))


def map_parquet(directory: str | os.PathLike[str]) -> Mapped:
    """Put the dump of a directory together again, in an unlinked file, and map it."""
    path = os.path.join(directory, _DUMP)
    if not os.path.exists(path):
        raise NotADump(f"{os.fspath(directory)} is a directory without {_DUMP}")
    try:
        source = parquet.ParquetFile(path)
        with tempfile.TemporaryFile(prefix="jvmti-heap-") as file:
            for batch in source.iter_batches(batch_size=1):
                for block in batch.column(0):
                    file.write(block.as_py() or b"")
            file.flush()
            return map_descriptor(file.fileno(), os.fspath(path))
    except pyarrow.ArrowException as problem:
        raise NotADump(f"{path} cannot be read: {problem}") from None


def _nullable(values: NDArray[Any], nulls: NDArray[numpy.bool_]) -> Any:
    return pyarrow.array(numpy.ascontiguousarray(values), mask=numpy.ascontiguousarray(nulls))
