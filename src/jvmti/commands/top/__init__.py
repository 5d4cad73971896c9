"""``jvmti top``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from jvmti.commands.options.targets import add_delay, add_target, add_top, opened, seconds

if TYPE_CHECKING:
    from jvmti.model.vm import VM

__all__ = ["Command"]

_ROWS = 10


class Command:
    """Show what a JVM does right now: methods, threads, allocation, locks, collections, heap.

      jvmti top MyServer
      jvmti top MyServer --view threads --interval 5
      jvmti top MyServer --once
      jvmti top MyServer --json --duration 60 > minute.jsonl

    On a terminal it goes on until q or Ctrl-C. m, t, a and l choose methods, threads, allocation or
    locks; the arrows choose a row, Enter opens its stacks, s sorts by the other weight, / filters
    by a part of the name, and space stops the picture. It samples processor time and allocated
    memory; waiting for locks only while it is shown, because that puts probes into those of
    java.util.concurrent. The threads that jvmti has in the JVM are in no number but their own.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.add_argument(
            "--json", action="store_true", help="print a line of JSON after each interval"
        )
        parser.add_argument(
            "--interval",
            type=seconds,
            default=2.0,
            metavar="TIME",
            help="from one picture to the next (default: 2)",
        )
        parser.add_argument(
            "--view",
            choices=("methods", "threads", "allocation", "locks"),
            help="what to show first (default: methods)",
        )
        parser.add_argument(
            "--once", action="store_true", help="print everything after one interval, and end"
        )
        parser.add_argument("--duration", type=seconds, metavar="TIME", help="end after this time")
        add_top(parser, _ROWS)
        add_delay(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Print or show."""
        import sys
        import time

        from jvmti.commands.sigterm import end_at_sigterm
        from jvmti.interface.errors import TargetLost
        from jvmti.text.printable import printable

        if given.once and given.duration is not None:
            given.parser.error("leave out --duration: --once ends after one interval")
        if (given.once or given.json) and given.view is not None:
            option = "--once" if given.once else "--json"
            given.parser.error(f"leave out --view: {option} prints all of them")
        end_at_sigterm()
        with opened(given) as vm:
            if given.launched:
                time.sleep(given.delay)
            try:
                self._show(vm, given)
            except TargetLost as ended:
                if given.launched is not None:
                    raise  # with its status
                print(f"jvmti: {printable(str(ended))}", file=sys.stderr)

    def _show(self, vm: VM, given: argparse.Namespace) -> None:
        from jvmti.commands.top.screen import Screen, print_on
        from jvmti.commands.top.watching import Meter
        from jvmti.report.tables import console

        with Meter(vm) as meter:
            out = console()
            if given.once or given.json or not out.is_terminal or out.is_dumb_terminal:
                print_on(meter, given)
            else:
                Screen(meter, given).run()
