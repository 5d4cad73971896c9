"""Profiles as Arrow tables and Parquet files; needs pyarrow, the extra ``arrow``.

A file is a table of samples with names, so that any program can query it: threads, states, weights
and innermost methods.  The tables of stacks, frames and threads are in its metadata, each as an
Arrow stream in base64, and what the profile could not do as JSON, so one file is the whole profile.
"""

from __future__ import annotations

import base64
import json
import typing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti.profile.call_tree import distinct
from jvmti.profile.errors import NotAProfile, ProfileError
from jvmti.profile.limits import Limits
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, State, Threads

try:
    import pyarrow
    import pyarrow.parquet as parquet
except ImportError as error:
    raise ImportError("Arrow tables need pyarrow: pip install 'jvmti[arrow]'") from error

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["nodes_table", "read", "rows_table", "samples_table", "table_of", "write"]

_KEY = "jvmti.profile"
_VERSION = 1
_DELTAS = ("time", "weight")
"""Columns of which few values are equal."""


def samples_table(profile: Profile) -> Any:
    """The samples as a table; see `jvmti.profile.Profile.to_arrow`."""
    samples, frames, columns = profile.samples, profile.frames, profile._columns
    innermost = columns.innermost(skip_types=False)
    has = innermost >= 0
    method = numpy.full(len(innermost), -1, numpy.int32)
    method[has] = columns.method[innermost[has]]
    line = numpy.full(len(innermost), -1, numpy.int32)
    line[has] = frames.line[innermost[has]]
    lines = line[samples.stack]
    thread, thread_names = distinct(list(profile.threads.name))
    table = {
        "time": pyarrow.array(samples.time).cast(pyarrow.timestamp("ns", "UTC")),
        "kind": _named(samples.kind, [one.name.lower() for one in Kind]),
        "thread": _named(_rows(thread, samples.thread), thread_names),
        "state": _named(samples.state, [one.name.lower() for one in State]),
        "weight": pyarrow.array(samples.weight),
        "method": _named(_rows(method, samples.stack), columns.names),
        "line": pyarrow.array(lines, mask=lines < 0),
    }
    if (samples.label >= 0).any():
        table["label"] = _named(samples.label, list(profile.labels))
    if (samples.owner >= 0).any():
        table["owner"] = _named(_rows(thread, samples.owner), thread_names)
        table["owner_row"] = pyarrow.array(samples.owner)
    table["stack"] = pyarrow.array(samples.stack)
    table["thread_row"] = pyarrow.array(samples.thread)
    return pyarrow.table(table)


def _rows(values: NDArray[numpy.int32], rows: NDArray[numpy.int32]) -> NDArray[numpy.int32]:
    """The values at these rows, -1 for none."""
    return numpy.where(rows < 0, numpy.int32(-1), values[rows]) if len(values) else rows


def _named(numbers: NDArray[Any], names: list[str]) -> Any:
    """A column of names; a number below 0 is null."""
    mask = numbers < 0 if numbers.dtype.kind == "i" else None
    index = numbers.astype(numpy.int8 if len(names) < 127 else numpy.int32)
    mask = mask if mask is not None and mask.any() else None
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(index, mask=mask), _texts(names))


def _texts(names: list[str]) -> Any:
    """Text; Java's may have unpaired surrogates, which Arrow cannot store."""
    try:
        return pyarrow.array(names, pyarrow.string())
    except UnicodeEncodeError:
        return pyarrow.array([name.encode("utf-8", "replace").decode() for name in names])


def stacks_table(stacks: Stacks) -> Any:
    """A list of frames for each stack, the innermost first."""
    return pyarrow.table(
        {"frames": pyarrow.LargeListArray.from_arrays(stacks.offsets, pyarrow.array(stacks.frames))}
    )


def frames_table(frames: Frames) -> Any:
    """A row for each frame."""
    return pyarrow.table(
        {
            "class_name": _texts(list(frames.class_name)),
            "method": _texts(list(frames.method)),
            "descriptor": _texts(list(frames.descriptor)),
            "line": frames.line,
            "kind": frames.kind,
        }
    )


def threads_table(threads: Threads) -> Any:
    """A row for each thread."""
    return pyarrow.table(
        {
            "id": threads.id,
            "name": _texts(list(threads.name)),
            "group": _texts(list(threads.group)),
            "virtual": threads.virtual,
            "process": _texts(list(threads.process)),
        }
    )


def table_of(table: Any) -> Any:
    """A table of a profile as it is shown: kinds and states by their names."""
    if isinstance(table, Stacks):
        return stacks_table(table)
    if isinstance(table, Threads):
        return threads_table(table)
    if isinstance(table, Frames):
        found = frames_table(table)
        kinds = _named(table.kind, [one.name.lower() for one in FrameKind])
        found = found.set_column(found.column_names.index("kind"), "kind", kinds)
        line = pyarrow.array(table.line, mask=table.line < 0)
        return found.set_column(found.column_names.index("line"), "line", line)
    columns: dict[str, Any] = {}
    for name, column in table.columns().items():
        if name == "time":
            columns[name] = pyarrow.array(column).cast(pyarrow.timestamp("ns", "UTC"))
        elif name in ("kind", "state"):
            names = Kind if name == "kind" else State
            columns[name] = _named(column, [one.name.lower() for one in names])
        else:
            # Labels and owners are rows, or none.
            columns[name] = pyarrow.array(column, mask=column < 0 if name != "weight" else None)
    return pyarrow.table(columns)


def rows_table(rows: Sequence[tuple[Any, ...]], of: type[Any]) -> Any:
    """Rows of named fields as a table.

    Args:
        rows: the rows.
        of: their class.
    """
    hints = typing.get_type_hints(of)
    types: dict[Any, Any] = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    types[int | None] = types[int]
    columns = zip(*rows, strict=True) if rows else [[] for _ in hints]
    return pyarrow.table(
        {
            name: _texts(list(column)) if kind is str else pyarrow.array(column, types[kind])
            for (name, kind), column in zip(hints.items(), columns, strict=True)
        }
    )


def nodes_table(
    parents: NDArray[numpy.int64],
    codes: NDArray[numpy.int64],
    names: Sequence[str],
    counts: NDArray[numpy.int64],
    ends: NDArray[numpy.int64],
) -> Any:
    """The nodes of a tree as a table; that above the root, and its name, are null."""
    root = numpy.zeros(len(parents), numpy.bool_)
    root[:1] = True
    return pyarrow.table(
        {
            "parent": pyarrow.array(parents, mask=root),
            "name": _named(numpy.where(root, -1, codes), list(names)),
            "total": pyarrow.array(counts),
            "own": pyarrow.array(ends),
        }
    )


def write(profile: Profile, path: str, name: str) -> None:
    """Write the whole profile as one Parquet file."""
    table = samples_table(profile)
    about = {
        "version": _VERSION,
        "limits": [one.as_json() for one in profile.limits],
        "labels": list(profile.labels),
    }
    # Metadata of the schema would be in the file twice, the second time as Arrow's schema.
    with parquet.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=1,
        write_statistics=False,
        use_dictionary=[name for name in table.column_names if name not in _DELTAS],
        column_encoding=dict.fromkeys(_DELTAS, "DELTA_BINARY_PACKED"),
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(
            {
                _KEY: json.dumps(about),
                f"{_KEY}.stacks": _packed(stacks_table(profile.stacks)),
                f"{_KEY}.frames": _packed(frames_table(profile.frames)),
                f"{_KEY}.threads": _packed(threads_table(profile.threads)),
            }
        )


def _packed(table: Any) -> str:
    sink = pyarrow.BufferOutputStream()
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def read(path: str) -> Profile:
    """Read a file that `write` wrote.

    Raises:
        NotAProfile: it is another table, or damaged.
    """
    from jvmti.profile.profile import Profile

    try:
        file = parquet.ParquetFile(path)
        metadata = file.metadata.metadata or {}
        if _KEY.encode() not in metadata:
            raise NotAProfile(f"{path} is a table, but not of a profile")
        about = json.loads(metadata[_KEY.encode()])
        if about["version"] != _VERSION:
            raise NotAProfile(f"{path} is of a later version of this package")
        stacks, frames, threads = (
            _unpacked(metadata[f"{_KEY}.{part}".encode()])
            for part in ("stacks", "frames", "threads")
        )
        rows = file.read(
            [
                name
                for name in (
                    "time",
                    "kind",
                    "state",
                    "weight",
                    "label",
                    "owner_row",
                    "stack",
                    "thread_row",
                )
                if name in file.schema_arrow.names
            ]
        )
        for table in (stacks, frames, threads, rows):
            table.validate(full=True)  # Arrow reads a damaged one without a look
        labels = [str(label) for label in about["labels"]]
        offsets = stacks["frames"].combine_chunks()
        return Profile(
            Samples(
                rows["time"].cast(pyarrow.int64()).to_numpy(),
                rows["thread_row"].to_numpy(),
                rows["stack"].to_numpy(),
                rows["weight"].to_numpy(),
                _numbers(rows["kind"], [one.name.lower() for one in Kind]),
                _numbers(rows["state"], [one.name.lower() for one in State]),
                _numbers(rows["label"], labels) if "label" in rows.column_names else -1,
                rows["owner_row"].to_numpy() if "owner_row" in rows.column_names else -1,
            ),
            Stacks(offsets.offsets.to_numpy(), offsets.values.to_numpy()),
            Frames(
                frames["class_name"].to_pylist(),
                frames["method"].to_pylist(),
                frames["descriptor"].to_pylist(),
                frames["line"].to_numpy(),
                frames["kind"].to_numpy(),
            ),
            Threads(
                threads["id"].to_numpy(),
                threads["name"].to_pylist(),
                threads["group"].to_pylist(),
                threads["virtual"].to_numpy(),
                threads["process"].to_pylist(),
            ),
            [Limits.from_json(one) for one in about["limits"]],
            labels,
        )
    except NotAProfile:
        raise
    except (
        pyarrow.ArrowException,
        ProfileError,
        KeyError,
        LookupError,
        TypeError,
        ValueError,
        OSError,
    ) as problem:
        raise NotAProfile(f"{path} cannot be read: {problem}") from None


def _unpacked(text: bytes) -> Any:
    with pyarrow.ipc.open_stream(base64.b64decode(text)) as stream:
        return stream.read_all()


def _numbers(column: Any, names: list[str]) -> NDArray[numpy.int32]:
    """The number of each name of a column of them; -1 for null."""
    known = {name: number for number, name in enumerate(names)}
    found = []
    for chunk in column.chunks:
        if not pyarrow.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary_encode()
        numbers = numpy.array(
            [known[name] for name in chunk.dictionary.to_pylist()] + [-1], numpy.int32
        )
        # Other programs write numbers without a sign.
        index = chunk.indices.cast(pyarrow.int64())
        rows = index.fill_null(-1).to_numpy(zero_copy_only=False)
        found.append(numbers[rows])
    return numpy.concatenate(found) if found else numpy.empty(0, numpy.int32)
