"""``jvmti logpoint``."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from jvmti.commands.failure import CommandFailed
from jvmti.commands.options.probes import (
    add_counting,
    add_probing,
    add_recording,
    add_stack,
    counting_output,
)
from jvmti.commands.options.targets import add_target, no_target_but_the_program, opened
from jvmti.commands.probes.record_watch import RecordWatch, json_value
from jvmti.commands.sigterm import end_at_sigterm
from jvmti.report.record_files import RecordFile
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

if TYPE_CHECKING:
    from jvmti.tracing.logpoint import Hit, Logpoint
    from jvmti.tracing.summaries import Use


class Command:
    """Print a text with values whenever a thread reaches a place in the code.

      jvmti logpoint 4711 com.acme.Order:42 'n={n} total={this.total:,}'
      jvmti logpoint MyServer com.acme.Order.add 'add({arg0}) by {thread}' --when 'arg0 > 100'
      jvmti logpoint MyServer 'com.acme.*.close' 'closed {this.name}' --duration 60 -o hits.parquet
      jvmti logpoint MyServer 'write com.acme.Order.total' '{target.id}: {value} by {thread}'
      jvmti logpoint MyServer com.acme.Cache.clear 'cleared by {thread}' --stack 8
      jvmti logpoint MyServer 'new byte[] in com.acme.*.*' --by place --watch

    It works on any running JVM, and the program never waits. A place is CLASS:LINE,
    FILE.java:LINE, CLASS.METHOD:LINE, CLASS.METHOD@INDEX (of the bytecode), or CLASS.METHOD for
    where it begins; or a kind of place: "write FIELD", "read FIELD", "call METHOD", "called
    METHOD", "new CLASS" or "catch CLASS", each with "in CLASS.METHOD" or without; "throw",
    "return", "unwind", "monitor-enter" or "monitor-exit" and CLASS.METHOD. "annotated PATTERN",
    "extends PATTERN" and "loader PATTERN" may follow a place, as for jvmti trace. Values are local
    variables and parameters, arg0, this, thread, caller, their fields to any depth, len(x) and
    type(x), and at kinds of places value, exception, target, member and passed0; what follows a
    colon is Python's format. Ctrl-C ends it.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.usage = (
            f"{parser.prog} [options] TARGET PLACE [TEXT]\n"
            f"       {parser.prog} [options] PLACE [TEXT] -- java …"
        )
        parser.add_argument(
            "place_and_text",
            nargs="*",
            metavar="PLACE TEXT",
            help="com.acme.Order:42 'n={n} total={this.total}'",
        )
        add_recording(parser, "hits")
        add_probing(parser, "hits", "only hits when the call has taken this long by then: 50ms")
        add_stack(parser, "frames of the stack of each hit, that of the place first")
        add_counting(parser, "value or arg0")

    def run(self, given: argparse.Namespace) -> int | None:
        """Print hits until the end."""
        no_target_but_the_program(given, given.place_and_text)
        if not 1 <= len(given.place_and_text) <= 2:
            given.parser.error(
                "a place and a text are expected: com.acme.Order:42 'n={n}'; quote both"
            )
        if given.stack and given.by is not None:
            given.parser.error("--stack is for hits; --by caller counts by the caller")
        place, text = (*given.place_and_text, None)[:2]
        path = counting_output(given)
        end_at_sigterm()
        with RecordFile(path) as file, opened(given) as vm:
            began = time.monotonic()
            try:
                log = vm.logpoint(
                    place,
                    text,
                    when=given.when,
                    every=given.every,
                    over=given.over,
                    by=given.by,
                    stack=given.stack,
                    max_pause=given.max_pause,
                    limit=given.limit,
                    text_size=given.text,
                    unloaded=given.unloaded or given.launched is not None,
                )
            except LookupError as error:
                raise CommandFailed(str(error)) from None
            with log:
                _report_beginning(log, time.monotonic() - began)
                _Watch(given, log, file).run()
        return None


def _report_beginning(log: Logpoint, passed: float) -> None:
    places = quantity(log.places, "place")
    print(f"logging at {places}, ready in {duration(passed)}", file=sys.stderr)
    for name in log.running:
        print(
            f"jvmti: a call of {printable(name)} is running; it has no logpoint until it returns",
            file=sys.stderr,
        )
    for name, why in list(log.refused.items())[:3]:
        print(f"jvmti: {printable(name)} gets no logpoint: {printable(why)}", file=sys.stderr)
    sys.stderr.flush()


class _Watch(RecordWatch):
    one = "hit"
    _fields = ("name", "descriptor", "hits")
    _rows_called = "rows"

    def _columns(self) -> tuple[str, ...]:
        return self._given.by, "hits"

    def _row(self, label: str, use: Use) -> list[object]:
        return [printable(label), use.calls]

    def _json(self, record: Hit) -> dict[str, Any]:
        return {
            **self._place_json(record),
            "values": {name: json_value(value) for name, value in record.values.items()},
            "text": record.text,
            "stack": list(record.stack),
        }
