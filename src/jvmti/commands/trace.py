"""``jvmti trace``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Any

from jvmti.commands.failure import CommandFailed
from jvmti.commands.options.outputs import add_output, output
from jvmti.commands.options.targets import (
    add_json,
    add_target,
    count,
    no_target_but_the_program,
    opened,
    seconds,
)
from jvmti.report.batch_files import BatchFile
from jvmti.report.live_table import TableState, refresh_table
from jvmti.report.tables import console, print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import duration
from jvmti.tracing.calls import Call, Calls, MethodUse, shown, spent, tree_of

if TYPE_CHECKING:
    from jvmti.tracing.trace import Trace

_LIMIT = 1000
_TOP = 20
_INTERVAL = 0.2
_MANY = 2000
"""Methods; more of them are worth a warning."""
_SUMMARY = ("method", "calls", "failed", "total", "mean", "p50", "p99", "longest")
_MOST_KEPT = 1_000_000


class Command:
    """Trace calls of methods: arguments, what they return or throw, and how long they take.

      jvmti trace 4711 'com.acme.Order.*'
      jvmti trace MyServer 'com.acme.*.*' --over 50ms
      jvmti trace MyServer 'java.sql.*.execute* extends *' --summary --watch
      jvmti trace MyServer 'com.acme.Cart.*' 'com.acme.Order.*' --tree --duration 10

    A line for each call that has ended. It works on a JVM that nobody prepared: probes are put into
    the classes, also into those that are loaded meanwhile, and taken out again at the end, whatever
    becomes of this command. The program never waits; it drops and counts calls above the limit. A
    pattern is CLASS.METHOD with *, ? and […]; the types of the parameters may follow, as in
    add(int, *), and "annotated PATTERN" or "extends PATTERN". Ctrl-C ends the trace.
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
        parser.add_argument(
            "--when",
            metavar="CONDITION",
            help="only calls for which it holds: 'n > 100 and order.customer.name == \"Ada\"', "
            "'value == None', 'exception != None'",
        )
        parser.add_argument(
            "--limit",
            type=count,
            default=_LIMIT,
            metavar="N",
            help=f"calls a second; further ones are dropped and counted (default: {_LIMIT})",
        )
        parser.add_argument("--no-arguments", action="store_true", help="leave out the arguments")
        parser.add_argument(
            "--text",
            type=count,
            default=48,
            metavar="N",
            help="bytes of each string and message (default: 48)",
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
            help="at the end, what calls spent in the traced methods below them",
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
        parser.add_argument("--duration", type=seconds, metavar="TIME", help="end after this time")
        parser.add_argument("--count", type=count, metavar="N", help="end after N calls")
        parser.add_argument(
            "--top", type=count, default=_TOP, metavar="N", help=f"rows (default: {_TOP})"
        )
        parser.add_argument(
            "--max-pause",
            type=seconds,
            metavar="TIME",
            help="give classes their probes in steps that stop the program about this long at most",
        )
        parser.add_argument(
            "--unloaded",
            action="store_true",
            help="wait for classes that are not loaded yet, as it is where -- starts a program",
        )
        add_output(parser, "the calls")
        add_json(parser)

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
        file = None
        if path is not None and not path.endswith(".jsonl"):
            file = BatchFile(path)
        lines = open(path, "w", encoding="utf-8") if path and file is None else None
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            with opened(given) as vm:
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
                        unloaded=given.unloaded or given.launched is not None,
                    )
                except LookupError as error:
                    raise CommandFailed(str(error)) from None
                with trace:
                    _tell_beginning(trace, time.monotonic() - began)
                    watch = _Watch(given, trace, file, lines)
                    try:
                        if given.watch:
                            watch.refresh()
                        else:
                            watch.until_the_end()
                    except KeyboardInterrupt:
                        pass  # which is how it is meant to end
                    watch.finish()
        finally:
            if file is not None:
                file.close()
            if lines is not None:
                lines.close()
        return None


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tell_beginning(trace: Trace, passed: float) -> None:
    """Say what is traced, and what could not be."""
    methods = trace.methods
    number = "1 method" if methods == 1 else f"{methods:,} methods"
    classes = "1 class" if trace.classes == 1 else f"{trace.classes:,} classes"
    print(f"tracing {number} of {classes}, ready in {duration(passed)}", file=sys.stderr)
    if methods > _MANY:
        print(
            f"jvmti: {methods:,} methods are many: each call of them costs the program some "
            "50 ns, or 100 with objects; a narrower pattern, or --summary, costs less",
            file=sys.stderr,
        )
    if trace.running:
        most = sorted(trace.running, key=lambda name: -trace.running[name])
        more = f" and {len(most) - 3} others" if len(most) > 3 else ""
        print(
            f"jvmti: calls that run now go on in the interpreter until they return: "
            f"{', '.join(printable(name) for name in most[:3])}{more}",
            file=sys.stderr,
        )
    for name, why in list(trace.refused.items())[:3]:
        print(f"jvmti: {printable(name)} gets no probes: {printable(why)}", file=sys.stderr)
    sys.stderr.flush()


class _Watch:
    """Reads a trace and passes its calls on."""

    def __init__(
        self, given: argparse.Namespace, trace: Trace, file: BatchFile | None, lines: Any
    ) -> None:
        self._given = given
        self._trace = trace
        self._file = file
        self._lines = lines
        self._began = time.monotonic()
        self._offset = time.time() - time.monotonic()
        self._seen = 0
        self._kept: list[Call] = []

    def until_the_end(self) -> None:
        """Read until the time is over, there are enough calls, or the target ends."""
        given = self._given
        while True:
            left = _INTERVAL
            if given.duration is not None:
                left = min(left, self._began + given.duration - time.monotonic())
                if left <= 0:
                    return
            if given.summary:
                time.sleep(left)
                ended = self._trace.ended
            else:
                found = self._trace.read(left)
                self._take(found)
                ended = not found and self._trace.ended
            if ended or (given.count is not None and self._seen >= given.count):
                return

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
        """Take the probes out, read the rest, and print what belongs to the end."""
        given = self._given
        uses = self._trace.summary() if given.summary else []
        passed = time.monotonic() - self._began
        self._trace.close()
        if not given.summary and given.count is None:
            self._take(self._trace.read())
        if given.summary:
            self._print_summary(uses, passed)
            return
        if given.tree:
            self._print_tree()
        calls = "1 call" if self._seen == 1 else f"{self._seen:,} calls"
        text = f"{calls} in {duration(passed)}, {self._trace.dropped:,} dropped"
        if self._trace.dropped:
            text += f" above {given.limit:,} a second (--limit)"
        if given.output is not None:
            text += f", in {given.output}"
        print(text, file=sys.stderr)

    def _take(self, calls: Calls) -> None:
        given = self._given
        if given.count is not None:
            calls = Calls(calls[: max(given.count - self._seen, 0)])
        self._seen += len(calls)
        if not calls:
            return
        if given.tree and len(self._kept) < _MOST_KEPT:
            self._kept += calls
        if self._file is not None:
            for batch in calls.to_arrow().to_batches():
                self._file.write(batch)
            return
        if given.tree and self._lines is None:
            return
        for one in calls:
            if given.json or self._lines is not None:
                print(json.dumps(self._json(one)), file=self._lines or sys.stdout)
            else:
                moment = self._offset + one.time / 1e9
                text = time.strftime("%H:%M:%S", time.localtime(moment))
                text += f"{moment % 1:.6f}"[1:]
                print(f"{text} [{printable(one.thread)}] {one}")
        sys.stdout.flush()

    def _json(self, one: Call) -> dict[str, Any]:
        return {
            "time": round(self._offset + one.time / 1e9, 6),
            "seconds": one.duration / 1e9,
            "thread": one.thread,
            "thread_id": one.thread_id,
            "class": one.class_name,
            "method": one.method,
            "descriptor": one.descriptor,
            "line": one.line or None,
            "arguments": [_plain(value) for value in one.arguments],
            "value": _plain(one.value),
            "exception": None if one.exception is None else str(one.exception),
        }

    def _print_summary(self, uses: list[MethodUse], passed: float) -> None:
        if self._given.json:
            print_json({"seconds": round(passed, 3), "methods": [one._asdict() for one in uses]})
            return
        print_table(_SUMMARY, [_row(one) for one in uses[: self._given.top]])
        more = len(uses) - self._given.top
        if more > 0:
            print(f"and {more:,} methods more; --top shows them")
        calls = sum(one.calls for one in uses)
        print(f"{calls:,} calls in {duration(passed)}", file=sys.stderr)

    def _print_tree(self) -> None:
        out = console()
        for line in tree_of(self._kept).lines()[: self._given.top * 10]:
            out.print(line, markup=False, soft_wrap=True)


def _row(use: MethodUse) -> list[object]:
    times = (use.total, use.mean, use.p50, use.p99, use.longest)
    return [printable(use.name), use.calls, use.failures, *(spent(round(one)) for one in times)]


def _plain(value: Any) -> Any:
    """A value as JSON has it: other objects as text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else shown(value)
