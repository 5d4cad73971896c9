"""``jvmti heap leaks``."""

from __future__ import annotations

import argparse
from typing import Any

from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.heap.analyses.deployments import LoaderSuspect
from jvmti.heap.objects import Object
from jvmti.report.tables import console, print_json
from jvmti.text.printable import printable


class Command:
    """Show leak suspects: objects that accumulate, with their owners, and leaked class loaders.

      jvmti heap leaks MyServer
      jvmti heap leaks dump.hprof --threshold 0.02

    Each suspect: how many objects of which class, how much they retain, the field of the program
    that owns them, and the path from a GC root. A leaked class loader is closed, or replaced by a
    later one with the same classes, but still reachable. Suspects below --threshold are left out.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser)
        parser.add_argument(
            "--threshold",
            type=float,
            default=0.05,
            metavar="FRACTION",
            help="the smallest suspect, as a fraction of the heap (default: 0.05)",
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print them."""
        if not 0 <= given.threshold <= 1:
            given.parser.error("--threshold is a fraction of the heap, from 0 to 1")
        with snapshot_of(given) as snapshot:
            leaks = snapshot.leaks(threshold=given.threshold)
            if given.json:
                print_json(
                    {
                        "suspects": [
                            {
                                "text": one.text,
                                "object": one.object.index,
                                "class": one.object.cls.name,
                                "retained": one.retained,
                                "part": one.part,
                                "children": one.children,
                                "children_class": one.children_class,
                                "owner": one.owner,
                                "places": one.places,
                                "loaders": list(one.loaders),
                                "path": _path(one.path),
                            }
                            for one in leaks.suspects
                        ],
                        "loaders": list(map(_loader, leaks.loaders)),
                        "smaller_loaders": list(map(_loader, leaks.smaller_loaders)),
                    }
                )
                return
            print_head(snapshot)
            for line in leaks.lines():
                console().print(printable(line))


def _loader(one: LoaderSuspect) -> dict[str, Any]:
    return {
        "name": one.loader.name,
        "class": None if (it := one.loader.object) is None else it.cls.name,
        "classes": len(one.loader.classes),
        "instances": one.instances,
        "retained": one.retained,
        "twins": one.twins,
        "place": one.place,
        "deployments": one.deployments,
        "stopped": one.stopped,
        "owner": one.owner,
        "path": _path(one.path),
    }


def _path(path: list[tuple[str, Object]]) -> list[dict[str, object]]:
    return [{"reference": name, "object": one.index, "class": one.cls.name} for name, one in path]
