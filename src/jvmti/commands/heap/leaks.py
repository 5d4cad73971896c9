"""``jvmti heap leaks``."""

from __future__ import annotations

import argparse

from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.heap.objects import Object
from jvmti.heap.suspects import class_loader_leaks, leak_suspects
from jvmti.report.tables import console, print_json
from jvmti.report.text import printable


class Command:
    """Show what looks like a leak: objects that hold much in many pieces, and loaders that stay.

      jvmti heap leaks MyServer
      jvmti heap leaks dump.hprof --least 0.02

    Each suspect comes with the way from a root that holds it.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser)
        parser.add_argument(
            "--least", type=float, default=0.05, metavar="PART", help="of the heap; 0.05"
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print them."""
        with snapshot_of(given) as snapshot:
            suspects = leak_suspects(snapshot, least=given.least)
            loaders = class_loader_leaks(snapshot)
            if given.json:
                print_json(
                    {
                        "suspects": [
                            {
                                "object": one.object.index,
                                "class": one.object.cls.name,
                                "retained": one.retained,
                                "part": one.part,
                                "children": one.children,
                                "children_class": one.children_class,
                                "path": _path(one.path),
                            }
                            for one in suspects
                        ],
                        "loaders": [
                            {
                                "class": None if (it := one.loader.object) is None else it.cls.name,
                                "classes": len(one.loader.classes),
                                "instances": one.instances,
                                "retained": one.retained,
                                "twins": one.twins,
                                "path": _path(one.path),
                            }
                            for one in loaders
                        ],
                    }
                )
                return
            print_head(snapshot)
            out = console()
            if not suspects and not loaders:
                out.print(f"nothing holds {given.least:.0%} of the heap in many pieces")
            for suspect in suspects:
                pieces = f"in {suspect.children:,} of {suspect.children_class}"
                out.print()
                out.print(
                    printable(
                        f"{suspect.object!r} holds {suspect.retained:,} bytes "
                        f"({suspect.part:.0%}) {pieces if suspect.children else 'by itself'}"
                    )
                )
                _print_path(suspect.path)
            for loader in loaders:
                out.print()
                out.print(
                    printable(
                        f"{loader.loader!r} has {loader.twins:,} twins, {loader.instances:,} "
                        f"objects, and retains {loader.retained:,} bytes"
                    )
                )
                _print_path(loader.path)


def _path(path: list[tuple[str, Object]]) -> list[dict[str, object]]:
    return [{"reference": name, "object": one.index, "class": one.cls.name} for name, one in path]


def _print_path(path: list[tuple[str, Object]]) -> None:
    for name, one in path:
        console().print(printable(f"  {name}: {one!r}"))
