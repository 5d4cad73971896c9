"""``jvmti trace``."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from jvmti.commands.failure import CommandFailed
from jvmti.commands.options.outputs import output
from jvmti.commands.options.probes import add_probing, add_recording
from jvmti.commands.options.targets import (
    add_target,
    count,
    no_target_but_the_program,
    opened,
    seconds,
)
from jvmti.commands.record_watch import RecordWatch, json_value
from jvmti.commands.sigterm import end_at_sigterm
from jvmti.report.live_table import TableState, refresh_table
from jvmti.report.record_files import RecordFile
from jvmti.report.tables import console, print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import duration
from jvmti.tracing.calls import Call, Calls, spent, tree_of
from jvmti.tracing.summaries import Use, Uses

if TYPE_CHECKING:
    from jvmti.tracing.trace import Trace

_TOP = 20
_MANY = 2000
"""The number of methods from which on to warn."""
_SUMMARY = ("method", "calls", "failed", "total", "mean", "p50", "p99", "longest")
_MOST_KEPT = 1_000_000


class Command:
    """Trace calls of methods: arguments, what they return or throw, and how long they take.

      jvmti trace 4711 'com.acme.Order.*'
      jvmti trace MyServer 'com.acme.*.*' --over 50ms
      jvmti trace MyServer 'java.sql.*.execute* extends *' --summary --watch
      jvmti trace MyServer 'com.acme.Cart.*' 'com.acme.Order.*' --tree --duration 10

    A line for each completed call. It works on any running JVM: it puts probes into the classes,
    also into those that are loaded meanwhile, and removes them at the end, even if this command is
    killed. The program never waits; it drops and counts calls above the limit. A pattern is
    CLASS.METHOD with *, ? and […]; the types of the parameters may follow, as in add(int, *), and
    "annotated PATTERN" or "extends PATTERN". Ctrl-C ends the trace.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.usage = (
            f"{parser.prog} [options] TARGET PATTERN …\n"
            f"       {parser.prog} [options] PATTERN … -- java …"
        )
        parser.add_argument(
            "patterns",
            nargs="*",
            metavar="PATTERN",
            help="CLASS.METHOD: com.acme.Order.add, com.acme.*.*, java.util.HashMap.put(*, *)",
        )
        parser.add_argument(
            "--over",
            type=seconds,
            default=0.0,
            metavar="TIME",
            help="only calls that took at least this long: 50ms, 0.5",
        )
        add_recording(parser, "calls")
        add_probing(parser, "calls", ", 'value == None', 'exception != None'")
        parser.add_argument("--no-arguments", action="store_true", help="leave out the arguments")
        parser.add_argument(
            "--stack",
            type=count,
            default=0,
            metavar="N",
            help="show N callers of each call",
        )
        shape = parser.add_mutually_exclusive_group()
        shape.add_argument(
            "--summary",
            action="store_true",
            help="calls, failures and times by method; counts every call, and costs less",
        )
        shape.add_argument(
            "--tree",
            action="store_true",
            help="at the end, print a tree of the traced calls with their times",
        )
        parser.add_argument(
            "--watch", action="store_true", help="with --summary: refresh it until Ctrl-C"
        )
        parser.add_argument(
            "--interval",
            type=seconds,
            default=2.0,
            metavar="TIME",
            help="between two summaries (default: 2)",
        )
        parser.add_argument(
            "--top", type=count, default=_TOP, metavar="N", help=f"rows (default: {_TOP})"
        )
        parser.add_argument(
            "--max-pause",
            type=seconds,
            metavar="TIME",
            help="put probes into classes in steps that stop the program about this long at most",
        )

    def run(self, given: argparse.Namespace) -> int | None:
        """Show calls until the trace ends."""
        no_target_but_the_program(given, given.patterns)
        if not given.patterns:
            given.parser.error("a pattern is missing: CLASS.METHOD, such as com.acme.Order.*")
        if given.watch and not given.summary:
            given.parser.error("--watch is for --summary")
        path = output(given)
        if path is not None and given.summary:
            given.parser.error("a file takes calls: leave out --summary")
        end_at_sigterm()
        with RecordFile(path) as file, opened(given) as vm:
            began = time.monotonic()
            try:
                trace = vm.trace(
                    *given.patterns,
                    over=given.over,
                    arguments=not given.no_arguments,
                    text=given.text,
                    limit=given.limit,
                    summary=given.summary,
                    max_pause=given.max_pause,
                    when=given.when,
                    stack=given.stack,
                    unloaded=given.unloaded or given.launched is not None,
                )
            except LookupError as error:
                raise CommandFailed(str(error)) from None
            with trace:
                _report_beginning(trace, time.monotonic() - began)
                watch = _Watch(given, trace, file)
                try:
                    if given.watch:
                        watch.refresh()
                    else:
                        watch.until_the_end()
                except KeyboardInterrupt:
                    pass  # the normal way to end it
                watch.finish()
        return None


def _report_beginning(trace: Trace, passed: float) -> None:
    """Report what is traced, and what could not be."""
    methods = trace.methods
    number = "1 method" if methods == 1 else f"{methods:,} methods"
    classes = "1 class" if trace.classes == 1 else f"{trace.classes:,} classes"
    print(f"tracing {number} of {classes}, ready in {duration(passed)}", file=sys.stderr)
    if methods > _MANY:
        print(
            f"jvmti: {methods:,} methods are many: each call costs the program about "
            "50 ns, or 100 with objects; a narrower pattern, or --summary, costs less",
            file=sys.stderr,
        )
    if trace.running:
        most = sorted(trace.running, key=lambda name: -trace.running[name])
        more = f" and {len(most) - 3} others" if len(most) > 3 else ""
        print(
            f"jvmti: calls that are running stay in the interpreter until they return: "
            f"{', '.join(printable(name) for name in most[:3])}{more}",
            file=sys.stderr,
        )
    for name, why in list(trace.refused.items())[:3]:
        print(f"jvmti: {printable(name)} gets no probes: {printable(why)}", file=sys.stderr)
    sys.stderr.flush()


class _Watch(RecordWatch):
    one = "call"

    def __init__(self, given: argparse.Namespace, trace: Trace, file: RecordFile) -> None:
        super().__init__(given, trace, file)
        self._trace = trace
        self._kept: list[Call] = []

    def _poll(self, seconds: float) -> bool:
        if not self._given.summary:
            return super()._poll(seconds)
        time.sleep(seconds)
        return self._trace.ended

    def refresh(self) -> None:
        """Show the summary again and again."""

        def sample(rows_that_fit: int | None) -> TableState:
            if self._trace.ended:
                raise KeyboardInterrupt
            most = min(rows_that_fit or self._given.top, self._given.top)
            uses = self._trace.summary()
            passed = time.monotonic() - self._began
            calls = sum(one.calls for one in uses)
            head = f"{calls:,} calls of {len(uses):,} methods in {duration(passed)}"
            rows = [_row(one) for one in uses[:most]]
            return TableState(head, rows, [None] * len(rows))

        refresh_table(_SUMMARY, self._given.interval, sample)

    def finish(self) -> None:
        """Remove the probes, read the rest, and print the end."""
        if self._given.summary:
            uses = self._trace.summary()
            passed = time.monotonic() - self._began
            self._trace.close()
            self._print_summary(uses, passed)
            return
        super().finish()
        if self._given.tree:
            self._print_tree()

    def _pass_on(self, records: Calls) -> None:
        if self._given.tree and len(self._kept) < _MOST_KEPT:
            self._kept += records
        if self._file.is_open or not self._given.tree:
            super()._pass_on(records)

    def _below(self, record: Call) -> list[str]:
        return [f"at {printable(caller)}" for caller in record.stack]

    def _json(self, record: Call) -> dict[str, Any]:
        return {
            **self._place_json(record),
            "seconds": record.duration / 1e9,
            "arguments": [json_value(value) for value in record.arguments],
            "value": json_value(record.value),
            "exception": None if record.exception is None else str(record.exception),
            "stack": list(record.stack),
        }

    def _print_summary(self, uses: Uses, passed: float) -> None:
        if self._given.json:
            print_json({"seconds": round(passed, 3), "methods": [one._asdict() for one in uses]})
            return
        print_table(_SUMMARY, [_row(one) for one in uses[: self._given.top]])
        more = len(uses) - self._given.top
        if more > 0:
            print(f"and {more:,} more methods; --top shows them")
        calls = sum(one.calls for one in uses)
        print(f"{calls:,} calls in {duration(passed)}", file=sys.stderr)

    def _print_tree(self) -> None:
        out = console()
        for line in tree_of(self._kept).lines()[: self._given.top * 10]:
            out.print(line, markup=False, soft_wrap=True)


def _row(use: Use) -> list[object]:
    times = (use.total, use.mean, use.p50, use.p99, use.longest)
    return [printable(use.name), use.calls, use.failures, *(spent(round(one)) for one in times)]
