"""``jvmti heap summary``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.commands.options.targets import add_top
from jvmti.report.tables import console, print_json, print_table
from jvmti.text.quantities import quantity

_TOP = 20
_KINDS = {"class": "classes", "package": "packages", "loader": "class_loaders"}
"""The groupings, with their names in JSON."""


class Command:
    """Show the contents of a heap: classes with sizes, roots, loaders, unreachable objects.

      jvmti heap summary MyServer
      jvmti heap summary dump.hprof --top 50 --by package
      jvmti heap summary dump.hprof.gz --json

    A JVM is dumped into memory, without a file, which stops the program for about 100 ms per
    million objects.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser)
        add_top(parser, _TOP)
        parser.add_argument(
            "--by", choices=tuple(_KINDS), default="class", help="group by (default: class)"
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print it."""
        with snapshot_of(given) as snapshot:
            histogram = snapshot.histogram(retained=True, by=given.by)
            rows = histogram.top(given.top, by="retained")
            roots = snapshot.roots
            unreachable = snapshot.unreachable_count
            if given.json:
                print_json(
                    {
                        "time": snapshot.time,
                        "pause": snapshot.pause,
                        "objects": len(snapshot),
                        "bytes": snapshot.size,
                        "unreachable": unreachable,
                        "roots": len(roots),
                        "loaders": len(snapshot.loaders),
                        "threads": len(snapshot.threads),
                        "fault": None if snapshot.fault is None else str(snapshot.fault),
                        _KINDS[given.by]: [asdict(row) for row in rows],
                    }
                )
                return
            print_head(snapshot)
            console().print(
                f"{quantity(len(roots), 'root')}, {quantity(len(snapshot.threads), 'thread')}, "
                f"{quantity(len(snapshot.loaders), 'class loader')}, "
                f"{quantity(unreachable, 'object')} of garbage"
            )
            heads = [">OBJECTS", ">BYTES", ">RETAINED", given.by.upper()]
            cells: list[list[object]] = [
                [f"{row.count:,}", f"{row.bytes:,}", f"{row.retained:,}", row.name] for row in rows
            ]
            if given.by == "class":
                heads.append("LOADER")
                cells = [[*cell, row.loader_and_age] for cell, row in zip(cells, rows, strict=True)]
            print_table(heads, cells)
