"""``jvmti heap collections``."""

from __future__ import annotations

import argparse

from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.heap.analyses.containers import collections
from jvmti.report.tables import print_json, print_table


class Command:
    """Show maps and lists by class: how many, how many empty, how full, the wasted space.

      jvmti heap collections MyServer
      jvmti heap collections dump.hprof --json

    Wasted space is that of empty collections and of unused slots.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Print them."""
        with snapshot_of(given) as snapshot:
            found = collections(snapshot)
            rows = [
                {
                    "class": one.class_name,
                    "count": len(one.objects),
                    "empty": len(one.empty),
                    "elements": int(one.sizes.sum()),
                    "capacity": int(one.capacities.sum()),
                    "wasted": one.wasted,
                }
                for one in found
            ]
            if given.json:
                print_json(rows)
                return
            print_head(snapshot)
            print_table(
                [">COUNT", ">EMPTY", ">ELEMENTS", ">CAPACITY", ">WASTED", "CLASS"],
                [
                    [
                        *(
                            f"{row[name]:,}"
                            for name in ("count", "empty", "elements", "capacity", "wasted")
                        ),
                        row["class"],
                    ]
                    for row in rows
                ],
            )
