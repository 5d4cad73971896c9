"""``jvmti heap gc-roots``."""

from __future__ import annotations

import argparse
from typing import Any

from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.commands.options.targets import count, no_target_but_the_program
from jvmti.heap.paths import Node
from jvmti.report.tables import console, print_json
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity

_TOP = 40


class Command:
    """Show shortest paths from GC roots to the objects of a class, merged into a tree.

      jvmti heap gc-roots MyServer com.acme.Session
      jvmti heap gc-roots dump.hprof 'com.acme.*' --depth 30 --weak

    The number in parentheses is the number of objects behind a place; it shows the places with most
    objects.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser, "PATTERN")
        parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="the class or classes")
        parser.add_argument(
            "--weak", action="store_true", help="include paths through weak and soft references"
        )
        parser.add_argument(
            "--depth", type=count, default=20, metavar="N", help="levels (default: 20)"
        )
        parser.add_argument(
            "--width", type=count, default=5, metavar="N", help="children to show (default: 5)"
        )
        parser.add_argument(
            "--top",
            type=count,
            default=_TOP,
            metavar="N",
            help=f"places, not for JSON (default: {_TOP})",
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print it."""
        no_target_but_the_program(given, given.patterns)
        if len(given.patterns) != 1:
            given.parser.error("expected one class or pattern: com.acme.Session, 'com.acme.*'")
        with snapshot_of(given) as snapshot:
            objects = snapshot.objects(given.patterns[0])
            tree = snapshot.paths_to_roots(objects, weak=given.weak, limit=given.width)
            if given.json:
                print_json(
                    {
                        "objects": len(objects),
                        "paths": [
                            _as_json(node, given.depth) for node in tree.roots[: given.width]
                        ],
                    }
                )
                return
            print_head(snapshot)
            console().print(f"{quantity(len(objects), 'object')} match")
            lines = tree.lines(depth=given.depth, width=given.width, most=given.top)
            for line in lines:
                console().print(printable(line))
            if len(lines) < tree.places:
                console().print(
                    f"{len(lines):,} of {quantity(tree.places, 'place')}; --top "
                    f"{given.top * 10} shows more, "
                    "--depth and --width those behind and beside, --json is not cut at --top"
                )


def _as_json(node: Node, depth: int) -> dict[str, Any]:
    return {
        "reference": node.reference,
        "object": node.object.index,
        "class": node.object.cls.name,
        "count": node.count,
        "is_target": node.is_target,
        "children": [_as_json(one, depth - 1) for one in node.children] if depth > 1 else [],
    }
