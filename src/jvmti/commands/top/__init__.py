"""``jvmti top``."""

from __future__ import annotations

import argparse

from jvmti.commands.options.targets import add_delay, add_json, add_target, add_top, opened, seconds

__all__ = ["Command"]

_ROWS = 10


class Command:
    """Show what a JVM does right now: methods, threads, allocation, locks, collections, heap.

      jvmti top MyServer
      jvmti top MyServer --view threads --interval 5
      jvmti top MyServer --once
      jvmti top MyServer --once --json

    On a terminal it goes on until q or Ctrl-C. m, t, a and l choose methods, threads, allocation or
    locks; the arrows choose a row, Enter opens its stacks, s sorts by the other weight, / filters
    by a part of the name, and space stops the picture. It samples processor time and allocated
    memory; waiting for locks only while it is shown, because that puts probes into those of
    java.util.concurrent.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        add_json(parser)
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
        import time

        from jvmti.commands.sigterm import end_at_sigterm
        from jvmti.commands.top.screen import Screen, print_once
        from jvmti.commands.top.watching import Meter
        from jvmti.report.tables import console

        once = "--once" if given.once else "--json"
        for option, chosen in (("--view", given.view), ("--duration", given.duration)):
            if (given.once or given.json) and chosen is not None:
                given.parser.error(f"leave out {option}: {once} prints everything once")
        end_at_sigterm()
        with opened(given) as vm:
            if given.launched:
                time.sleep(given.delay)
            with Meter(vm) as meter:
                if given.once or given.json or not console().is_terminal:
                    print_once(meter, given)
                else:
                    Screen(meter, given).run()
