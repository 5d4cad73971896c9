"""Files of calls and hits for Perfetto (ui.perfetto.dev) and Chrome: the trace event format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

__all__ = ["TraceEventsFile"]


class TraceEventsFile:
    """A JSON file of trace events: a row of time for each thread.

    Args:
        path: its name.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "w", encoding="utf-8")
        self._file.write('{"displayTimeUnit": "ns", "traceEvents": [')
        self._process = os.getpid()
        self._threads: set[int] = set()
        self._separator = "\n"

    def write(self, records: Any, as_json: Callable[[Any], Any]) -> None:
        """Write some records: calls take time, other records are moments.

        Args:
            records: those with a time and a thread.
            as_json: makes an object that JSON takes of one of them.
        """
        for one in records:
            if one.thread_id not in self._threads:
                self._threads.add(one.thread_id)
                self._add(one, name="thread_name", ph="M", args={"name": one.thread})
            duration = getattr(one, "duration", None)
            name = f"{one.class_name}.{one.method}"
            if duration is None:
                self._add(one, name=name, ph="i", s="t", ts=one.time / 1e3, args=as_json(one))
            else:
                began = (one.time - duration) / 1e3
                self._add(one, name=name, ph="X", ts=began, dur=duration / 1e3, args=as_json(one))

    def _add(self, record: Any, **event: Any) -> None:
        event |= {"pid": self._process, "tid": record.thread_id, "cat": "jvmti"}
        self._file.write(self._separator + json.dumps(event))
        self._separator = ",\n"

    def close(self) -> None:
        """Write the end of the file; then it can be read."""
        self._file.write("\n]}\n")
        self._file.close()
