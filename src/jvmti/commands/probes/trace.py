"""``jvmti trace``."""

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
    report_running,
)
from jvmti.commands.options.targets import (
    add_target,
    no_target_but_the_program,
    opened,
)
from jvmti.commands.probes.record_watch import RecordWatch, json_value
from jvmti.commands.sigterm import end_at_sigterm
from jvmti.report.record_files import RecordFile
from jvmti.report.tables import console, print_json
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity
from jvmti.tracing.arming import MANY_METHODS
from jvmti.tracing.records.calls import Call, CallNode, Calls, tree_of

if TYPE_CHECKING:
    from jvmti.tracing.arming import Cost
    from jvmti.tracing.trace import Trace

_MOST_TREE_CALLS = 1_000_000
_RUNNING = 10
"""Running calls that are named."""


class Command:
    """Trace calls of methods: arguments, what they return or throw, and how long they take.

      jvmti trace 4711 'com.acme.Order.*'
      jvmti trace MyServer 'com.acme.*.*' --over 50ms
      jvmti trace MyServer 'java.sql.*.execute*' --summary --watch
      jvmti trace MyServer '*.do* extends javax.servlet.Servlet loader *@1b2c3d'
      jvmti trace MyServer 'com.acme.Order.*' --by order.customer.name --duration 60
      jvmti trace MyServer 'call java.lang.Thread.sleep in com.acme.*.*' --stack 5
      jvmti trace MyServer 'com.acme.Cart.*' 'com.acme.Order.*' --tree --duration 10

    A line for each completed call. It works on any running JVM: it puts probes into the classes,
    also into those that are loaded meanwhile, and removes them at the end, even if this command is
    killed. The program never waits; it drops and counts calls above the limit. A pattern is
    CLASS.METHOD with *, ? and […]; the types of the parameters may follow, as in add(int, *), and
    conditions: "annotated PATTERN", of the method or its class, "extends PATTERN", a superclass or
    an interface, and "loader PATTERN", its name, class, or CLASS@HASH. "call METHOD in
    CLASS.METHOD" takes calls where they are made, also of native methods. A file that ends in .json
    is for ui.perfetto.dev. Ctrl-C ends the trace.
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
        add_recording(parser, "calls")
        add_probing(
            parser,
            "calls",
            "only calls that took at least this long: 50ms, 0.5",
            ", 'exception != None', 'caller in \"com.acme.*\"'",
        )
        parser.add_argument("--no-arguments", action="store_true", help="leave out the arguments")
        add_stack(parser, "callers of each call")
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
        add_counting(parser, "order.customer.name")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="only say what it would cost: classes, methods, running calls, and the pause",
        )

    def run(self, given: argparse.Namespace) -> int | None:
        """Show calls until the trace ends."""
        no_target_but_the_program(given, given.patterns)
        if not given.patterns:
            given.parser.error("a pattern is missing: CLASS.METHOD, such as com.acme.Order.*")
        if given.summary and given.by is None:
            given.by = "method"
        if given.by is not None and given.tree:
            given.parser.error("a tree takes calls: leave out --by")
        path = counting_output(given)
        end_at_sigterm()
        with RecordFile(path) as file, opened(given) as vm:
            began = time.monotonic()
            try:
                if given.dry_run:
                    unloaded = given.unloaded or given.launched is not None
                    _report_cost(given, vm.trace_cost(*given.patterns, unloaded=unloaded))
                    return None
                trace = vm.trace(
                    *given.patterns,
                    over=given.over,
                    arguments=not given.no_arguments,
                    text=given.text,
                    limit=given.limit,
                    by=given.by,
                    every=given.every,
                    max_pause=given.max_pause,
                    when=given.when,
                    stack=given.stack,
                    unloaded=given.unloaded or given.launched is not None,
                )
            except LookupError as error:
                raise CommandFailed(str(error)) from None
            with trace:
                _report_beginning(trace, time.monotonic() - began)
                _Watch(given, trace, file).run()
        return None


def _report_cost(given: argparse.Namespace, cost: Cost) -> None:
    """Print what the trace would cost."""
    if given.json:
        print_json(cost._asdict())
        return
    print(cost)
    for name in sorted(cost.running, key=lambda name: -cost.running[name])[:_RUNNING]:
        print(f"  running: {printable(name)} in {quantity(cost.running[name], 'thread')}")
    if cost.methods > MANY_METHODS:
        many = quantity(MANY_METHODS, "method")
        print(f"that is more than {many}: a narrower pattern, or --summary, costs less")


def _tree_json(tree: CallNode) -> list[dict[str, Any]]:
    """The methods that a node called, the most expensive first."""
    return [
        {
            "name": one.name,
            "calls": one.calls,
            "failed": one.failures,
            "seconds": one.total / 1e9,
            "own_seconds": one.own / 1e9,
            "children": _tree_json(one),
        }
        for one in sorted(tree.children.values(), key=lambda node: -node.total)
    ]


def _report_beginning(trace: Trace, passed: float) -> None:
    """Report what is traced, and what could not be."""
    number = quantity(trace.methods, "method")
    classes = quantity(trace.classes, "class")
    print(f"tracing {number} of {classes}, ready in {duration(passed)}", file=sys.stderr)
    report_running(trace)
    if trace.left_out:
        number = "1 class gets" if trace.left_out == 1 else f"{trace.left_out:,} classes get"
        print(f"jvmti: {number} no probes; of the last: {trace.why_left_out}", file=sys.stderr)
    for name, why in list(trace.refused.items())[:3]:
        print(f"jvmti: {printable(name)} gets no probes: {printable(why)}", file=sys.stderr)
    sys.stderr.flush()


class _Watch(RecordWatch):
    one = "call"

    def __init__(self, given: argparse.Namespace, trace: Trace, file: RecordFile) -> None:
        super().__init__(given, trace, file)
        self._trace = trace
        self._tree_calls: list[Call] = []
        self._beside_tree = 0

    def _read(self, seconds: float) -> Any:
        if self._file.takes_tables and not self._given.tree:
            return self._trace.read_table(seconds)
        return super()._read(seconds)

    def _first(self, records: Any, number: int) -> Any:
        if self._file.takes_tables and not self._given.tree:
            return records.first(number)
        return super()._first(records, number)

    def finish(self) -> None:
        """Remove the probes, read the rest, and print what belongs at the end."""
        super().finish()
        if self._given.tree:
            if self._recorder.dropped:
                print(
                    "jvmti: the tree lacks the dropped calls, whose times it gives to their "
                    "callers; --limit takes more, a narrower pattern has fewer",
                    file=sys.stderr,
                )
            self._print_tree()

    def _pass_on(self, records: Calls) -> None:
        if self._given.tree and len(self._tree_calls) < _MOST_TREE_CALLS:
            self._tree_calls += records
        else:
            self._beside_tree += len(records)
        if self._file.is_open or not self._given.tree:
            super()._pass_on(records)

    def _json(self, record: Call) -> dict[str, Any]:
        return {
            **self._place_json(record),
            "seconds": record.duration / 1e9,
            "arguments": [json_value(value) for value in record.arguments],
            "value": json_value(record.value),
            "exception": None if record.exception is None else str(record.exception),
            "stack": list(record.stack),
        }

    def _print_tree(self) -> None:
        out = console()
        tree = tree_of(self._tree_calls)
        lines = tree.lines()
        shown = len(lines) if self._given.json else self._given.top * 10
        if self._given.json:
            print_json({"calls": len(self._tree_calls), "tree": _tree_json(tree)})
        else:
            for line in lines[:shown]:
                out.print(line, markup=False, soft_wrap=True)
        notes = []
        if len(lines) > shown:
            more = quantity(len(lines) - shown, "more line")
            notes.append(f"the tree has {more}; --top {-(-len(lines) // 10)} prints all")
        if self._beside_tree:
            first = quantity(len(self._tree_calls), "call")
            notes.append(f"the tree is of the first {first}, and {self._beside_tree:,} came later")
        if lines and not any(one.children for one in tree.children.values()):
            notes.append(
                "no traced method called another; a pattern for those that they call, such as "
                "'com.acme.*.*', shows them below"
            )
        for note in notes:
            print(f"jvmti: {note}", file=sys.stderr)
