"""``jvmti heap diff``."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import asdict

from jvmti.commands.failure import NOT_FOUND, CommandFailed
from jvmti.commands.heap.sources import add_source, inspected, is_file, snapshot_of, taken
from jvmti.commands.options.targets import add_top, seconds
from jvmti.heap.analyses.differences import grown, growth
from jvmti.heap.snapshot import Snapshot, open_snapshot
from jvmti.report.tables import console, print_json, print_table
from jvmti.text.printable import printable

_TOP = 20


class Command:
    """Show what grew between two snapshots: accumulating objects with their owners, and classes.

      jvmti heap diff before.hprof after.hprof
      jvmti heap diff MyServer --duration 60

    A JVM is dumped twice, --duration apart.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser, "[AFTER]")
        parser.add_argument("later", nargs="?", metavar="AFTER", help="the later dump")
        parser.add_argument(
            "--duration",
            type=seconds,
            default=10.0,
            metavar="SECONDS",
            help="between the two dumps of a JVM (default: 10)",
        )
        add_top(parser, _TOP)

    def run(self, given: argparse.Namespace) -> None:
        """Print it."""
        if given.later is not None:
            is_file(given)
            if not os.path.exists(given.later):
                raise CommandFailed(f"{printable(given.later)}: no such file", NOT_FOUND)
            with snapshot_of(given) as before:
                unreachable = "keep" if given.unreachable else "drop"
                self._print(given, before, open_snapshot(given.later, unreachable=unreachable))
            return
        with inspected(given) as vm:
            before = taken(vm, given)
            time.sleep(given.duration)
            self._print(given, before, taken(vm, given))

    def _print(self, given: argparse.Namespace, before: Snapshot, after: Snapshot) -> None:
        classes = growth(before, after)
        places = grown(before, after)
        if given.json:
            print_json(
                {
                    "seconds": after.time - before.time,
                    "classes": [asdict(one) for one in classes],
                    "places": [asdict(one) for one in places[: given.top]],
                }
            )
            return
        console().print(
            f"{len(after) - len(before):+,} objects, {after.size - before.size:+,} bytes in "
            f"{after.time - before.time:,.0f} s"
        )
        for heading, rows in (("WHAT ACCUMULATED, AND WHERE", places), ("CLASS", classes)):
            print_table(
                [">OBJECTS", ">BYTES", ">NOW", heading],
                [
                    [f"{one.count:+,}", f"{one.bytes:+,}", f"{one.bytes_after:,}", one.name]
                    for one in rows[: given.top]
                ],
            )
