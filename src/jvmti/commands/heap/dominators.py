"""``jvmti heap dominators``."""

from __future__ import annotations

import argparse

from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.commands.options.targets import add_top
from jvmti.report.tables import print_json, print_table

_TOP = 20


class Command:
    """Show accumulation points: objects that retain far more than their largest child.

      jvmti heap dominators MyServer
      jvmti heap dominators dump.hprof --threshold 0.001

    A row has the retained size of the object, and that of its largest child.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser)
        parser.add_argument(
            "--threshold",
            type=float,
            default=0.01,
            metavar="FRACTION|BYTES",
            help="the smallest drop in retained size, as a fraction of the heap or in bytes "
            "(default: 0.01)",
        )
        add_top(parser, _TOP)

    def run(self, given: argparse.Namespace) -> None:
        """Print them."""
        if given.threshold <= 0:
            given.parser.error("--threshold is a positive number")
        with snapshot_of(given) as snapshot:
            tree = snapshot.dominators()
            points = tree.accumulation_points(given.threshold, limit=given.top)
            if given.json:
                print_json(
                    {
                        "total": tree.total,
                        "accumulation_points": [
                            {
                                "object": one.object.index,
                                "class": one.object.cls.name,
                                "retained": one.retained,
                                "largest_child": one.largest_child,
                                "children": one.children,
                            }
                            for one in points
                        ],
                    }
                )
                return
            print_head(snapshot)
            print_table(
                [">RETAINED", ">OF ALL", ">CHILDREN", ">LARGEST CHILD", "OBJECT"],
                [
                    [
                        f"{one.retained:,}",
                        f"{one.retained / max(tree.total, 1):.1%}",
                        f"{one.children:,}",
                        f"{one.largest_child:,}",
                        repr(one.object),
                    ]
                    for one in points
                ],
            )
