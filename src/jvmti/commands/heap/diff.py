"""``jvmti heap diff``."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict

from jvmti.commands.heap.sources import add_source, snapshot_of
from jvmti.commands.targets import add_top, opened, seconds
from jvmti.heap.differences import growth, path_growth
from jvmti.heap.snapshot import Snapshot, open_snapshot
from jvmti.report.tables import console, print_json, print_table

_TOP = 20


class Command:
    """Show what grew between two snapshots: by class, and by the place that holds it.

      jvmti heap diff before.hprof after.hprof
      jvmti heap diff MyServer --wait 60

    A JVM is looked at twice, with a time in between.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser, "[AFTER]")
        parser.add_argument("later", nargs="?", metavar="AFTER", help="the later dump")
        parser.add_argument(
            "--wait", type=seconds, default=10.0, metavar="SECONDS", help="between; 10"
        )
        add_top(parser, _TOP)

    def run(self, given: argparse.Namespace) -> None:
        """Print it."""
        if given.later is not None:
            with snapshot_of(given) as before:
                unreachable = "keep" if given.garbage else "drop"
                self._print(given, before, open_snapshot(given.later, unreachable=unreachable))
            return
        with opened(given) as vm:
            if given.launched:
                time.sleep(given.after)
            unreachable = "keep" if given.garbage else "drop"
            before = vm.heap.snapshot(unreachable=unreachable)
            time.sleep(given.wait)
            self._print(given, before, vm.heap.snapshot(unreachable=unreachable))

    def _print(self, given: argparse.Namespace, before: Snapshot, after: Snapshot) -> None:
        classes = growth(before, after)
        places = path_growth(before, after)
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
        for heading, rows in (("CLASS", classes), ("PLACE IN THE DOMINATOR TREE", places)):
            print_table(
                [">OBJECTS", ">BYTES", ">NOW", heading],
                [
                    [f"{one.count:+,}", f"{one.bytes:+,}", f"{one.bytes_after:,}", one.name]
                    for one in rows[: given.top]
                ],
            )
