"""Records of probes, printed or written to a file as they come."""

from __future__ import annotations

import argparse
import json
import sys
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from jvmti.report.live_table import TableState, refresh_table
from jvmti.report.record_files import RecordFile
from jvmti.report.tables import print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity
from jvmti.tracing.records.calls import spent, value_text
from jvmti.tracing.summaries import MISSING

if TYPE_CHECKING:
    from jvmti.tracing.records.recorder import Recorder
    from jvmti.tracing.summaries import Use, Uses

__all__ = ["RecordWatch", "json_value"]

_INTERVAL = 0.2
_TIMES = ("total", "mean", "p50", "p99", "longest")


class RecordWatch(ABC):
    """Reads records and passes them on.

    Args:
        given: the options of the verb.
        recorder: the trace or logpoint.
        file: the output file for records instead of the screen, if it is open.
    """

    one: str
    """The name of a record in messages."""

    def __init__(
        self, given: argparse.Namespace, recorder: Recorder[Any, Any], file: RecordFile
    ) -> None:
        self._given = given
        self._recorder = recorder
        self._file = file
        self._began = time.monotonic()
        self._offset = time.time() - time.monotonic()
        self._seen = 0

    @abstractmethod
    def _json(self, record: Any) -> dict[str, Any]:
        """A record in the types of JSON."""

    def run(self) -> None:
        """Show what is recorded or counted until the end, and what belongs there."""
        try:
            if self._counts and self._given.watch:
                self._refresh()
            else:
                self.until_the_end()
        except KeyboardInterrupt:
            pass  # which is how it is meant to end
        self.finish()

    @property
    def _counts(self) -> bool:
        return self._given.by is not None

    def until_the_end(self) -> None:
        """Read until the time limit, enough records, or the end of the target."""
        given = self._given
        while given.count is None or self._seen < given.count:
            left = _INTERVAL
            if given.duration is not None:
                left = min(left, self._began + given.duration - time.monotonic())
                if left <= 0:
                    return
            if self._poll(left):
                return

    def _poll(self, seconds: float) -> bool:
        """Read for a time; returns whether that was the end."""
        if self._counts:
            time.sleep(seconds)
            return self._recorder.ended
        found = self._read(seconds)
        self._take(found)
        return not len(found) and self._recorder.ended

    def _read(self, seconds: float) -> Any:
        """The records since the last call."""
        return self._recorder.read(seconds)

    def _first(self, records: Any, number: int) -> Any:
        """The first records."""
        return type(records)(records[:number])

    def finish(self) -> None:
        """Remove the probes, read the rest, and print the number of records."""
        given = self._given
        if self._counts:
            uses = self._recorder.summary()
            passed = time.monotonic() - self._began
            self._recorder.close()
            self._print_summary(uses, passed)
            return
        passed = time.monotonic() - self._began
        self._recorder.close()
        if given.count is None:
            self._take(self._read(0))
        records = f"1 {self.one}" if self._seen == 1 else f"{self._seen:,} {self.one}s"
        dropped = self._recorder.dropped
        text = f"{records} in {duration(passed)}, {dropped:,} dropped"
        if dropped:
            text += f" above {given.limit:,} a second (--limit)"
        if given.output is not None:
            text += f", in {given.output}"
        print(text, file=sys.stderr)

    def _refresh(self) -> None:
        """Show the summary again and again."""

        def sample(rows_that_fit: int | None) -> TableState:
            if self._recorder.ended:
                raise KeyboardInterrupt
            most = min(rows_that_fit or self._given.top, self._given.top)
            uses = self._recorder.summary()
            passed = time.monotonic() - self._began
            total = sum(one.calls for one in uses)
            head = (
                f"{quantity(total, self.one)}, {quantity(len(uses), 'row')} in {duration(passed)}"
            )
            rows = self._table(uses, most)
            return TableState(head, rows, [None] * len(rows))

        refresh_table(self._columns(), self._given.interval, sample)

    def _columns(self) -> tuple[str, ...]:
        return self._given.by, "calls", "failed", *_TIMES

    def _table(self, uses: Uses, most: int) -> list[list[object]]:
        return [self._row(*one) for one in zip(uses.labels()[:most], uses, strict=False)]

    def _row(self, label: str, use: Use) -> list[object]:
        times = (use.total, use.mean, use.p50, use.p99, use.longest)
        return [printable(label), use.calls, use.failures, *(spent(round(one)) for one in times)]

    def _print_summary(self, uses: Uses, passed: float) -> None:
        if self._given.json:
            rows = [dict(zip(self._fields or one._fields, one, strict=False)) for one in uses]
            print_json({"seconds": round(passed, 3), self._rows_called: rows})
            return
        print_table(self._columns(), self._table(uses, self._given.top))
        more = len(uses) - self._given.top
        if more > 0:
            print(f"and {quantity(more, 'row')} more; --top shows them")
        total = sum(one.calls for one in uses)
        print(f"{total:,} {self.one}s in {duration(passed)}", file=sys.stderr)
        owner, _, field = self._given.by.rpartition(".")
        if owner.replace(".", "").isidentifier() and any(one.name == MISSING for one in uses):
            print(
                f"jvmti: {MISSING} stands for {self.one}s where {owner!r} is of a class without a "
                f"field {field!r}; --by 'type({owner})' shows their classes",
                file=sys.stderr,
            )

    _fields: tuple[str, ...] = ()
    """The fields that a summary shows of a `Use`; all of them where this is empty."""

    _rows_called = "methods"

    def _take(self, records: Any) -> None:
        given = self._given
        if given.count is not None:
            records = self._first(records, max(given.count - self._seen, 0))
        self._seen += len(records)
        if len(records):
            self._pass_on(records)

    def _pass_on(self, records: Any) -> None:
        if self._file.is_open:
            self._file.write(records, self._json)
            return
        for one in records:
            if self._given.json:
                print(json.dumps(self._json(one)))
                continue
            moment = self._offset + one.time / 1e9
            text = time.strftime("%H:%M:%S", time.localtime(moment)) + f"{moment % 1:.6f}"[1:]
            print(f"{text} [{printable(one.thread)}] {one}")
            for frame in one.stack:
                print(f"    at {printable(frame)}")
        sys.stdout.flush()

    def _place_json(self, record: Any) -> dict[str, Any]:
        """Its time, thread and place."""
        return {
            "time": round(self._offset + record.time / 1e9, 6),
            "thread": record.thread,
            "thread_id": record.thread_id,
            "class": record.class_name,
            "method": record.method,
            "descriptor": record.descriptor,
            "line": record.line or None,
        }


def json_value(value: Any) -> Any:
    """A value in the types of JSON: other objects as text."""
    return (
        value if value is None or isinstance(value, (bool, int, float, str)) else value_text(value)
    )
