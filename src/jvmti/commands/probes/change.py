"""``jvmti change``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from jvmti.commands.failure import CommandFailed
from jvmti.commands.options.probes import add_probing, report_running
from jvmti.commands.options.targets import (
    add_target,
    count,
    no_target_but_the_program,
    opened,
    seconds,
)
from jvmti.commands.sigterm import end_at_sigterm
from jvmti.report.tables import print_json
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

if TYPE_CHECKING:
    from jvmti.tracing.change import Change


class Command:
    """Make methods return something else, throw, or take longer, for testing.

      jvmti change 4711 com.acme.Till.pay --throw 'java.io.IOException: no route' --every 10
      jvmti change MyServer com.acme.Order.buyer --return '"nobody"' --times 3
      jvmti change MyServer 'com.acme.Order.*' --delay 200ms --when 'this.price > 100'
      jvmti change MyServer 'call java.lang.Thread.sleep in com.acme.*.*' --delay 1

    It works on any running JVM. A pattern is CLASS.METHOD with *, ? and […], as for jvmti trace, or
    "call METHOD in CLASS.METHOD", which changes calls where they are made: other callers see the
    method as it is. With it, a condition knows target and passed0.
    When this command ends, in any way, calls behave as before; Ctrl-C ends it.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.usage = (
            f"{parser.prog} [options] TARGET PATTERN … "
            "(--return VALUE | --throw 'CLASS: MESSAGE' | --delay TIME)\n"
            f"       {parser.prog} [options] PATTERN … -- java …"
        )
        parser.add_argument(
            "patterns",
            nargs="*",
            metavar="PATTERN",
            help="CLASS.METHOD: com.acme.Order.add, com.acme.*.*, java.net.Socket.connect",
        )
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--return",
            dest="returns",
            type=_json_value,
            default=...,
            metavar="VALUE",
            help="the result of these calls, as JSON: 42, 1.5, true, null, '\"a text\"'",
        )
        what.add_argument(
            "--throw",
            dest="throws",
            metavar="'CLASS: MESSAGE'",
            help="the exception that they throw when they begin",
        )
        what.add_argument(
            "--delay",
            type=seconds,
            default=0.0,
            metavar="TIME",
            help="how long they wait when they begin: 200ms, 1.5",
        )
        parser.add_argument("--times", type=count, metavar="N", help="end after N changes")
        add_probing(parser, "calls", "only calls that took at least this long, for --return")

    def run(self, given: argparse.Namespace) -> int | None:
        """Change calls until the end."""
        no_target_but_the_program(given, given.patterns)
        if not given.patterns:
            given.parser.error("a pattern is missing: CLASS.METHOD, such as com.acme.Order.*")
        end_at_sigterm()
        with opened(given) as vm:
            began = time.monotonic()
            try:
                change = vm.change(
                    *given.patterns,
                    returns=given.returns,
                    throws=given.throws,
                    delay=given.delay,
                    when=given.when,
                    every=given.every,
                    over=given.over,
                    times=given.times,
                    max_pause=given.max_pause,
                    unloaded=given.unloaded or given.launched is not None,
                )
            except LookupError as error:
                raise CommandFailed(str(error)) from None
            with change:
                _report_beginning(change, time.monotonic() - began)
                report_running(change)
                began = time.monotonic()
                try:
                    change.wait(given.duration)
                except KeyboardInterrupt:
                    pass  # the normal way to end it
            _report_end(change, time.monotonic() - began, given.json)
        return None


def _json_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not JSON: 42, 1.5, true, null, or '\"a text\"' with both quotes"
        ) from None


def _report_beginning(change: Change, passed: float) -> None:
    methods = quantity(change.methods, "method")
    classes = quantity(change.classes, "class")
    print(f"changing {methods} of {classes}, ready in {duration(passed)}", file=sys.stderr)
    for name, why in list(change.refused.items())[:3]:
        print(f"jvmti: {printable(name)} is not changed: {printable(why)}", file=sys.stderr)
    sys.stderr.flush()


def _report_end(change: Change, passed: float, as_json: bool) -> None:
    if as_json:
        counts = {"reached": change.reached, "changed": change.made, "failed": change.failed}
        print_json({"seconds": round(passed, 3), **counts})
        return
    reached = quantity(change.reached, "call")
    print(f"{change.made:,} of {reached} changed in {duration(passed)}", file=sys.stderr)
    if change.failed:
        print(
            f"jvmti: {change.failed:,} changes failed: the exception's class is not found from "
            "there, is not an exception, or has no constructor with a text or without parameters",
            file=sys.stderr,
        )
