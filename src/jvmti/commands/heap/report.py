"""``jvmti heap report``."""

from __future__ import annotations

import argparse
import contextlib
import os

from jvmti.commands.heap.sources import add_source, write
from jvmti.target.errors import TargetNotFound
from jvmti.target.processes.search import find


class Command:
    """Write a report of a heap: one HTML file, to open in a browser or to share.

      jvmti heap report MyServer -o report.html
      jvmti heap report dump.hprof -o report.html --force

    It has a map, leak suspects, the dominator tree, classes, threads, class loaders, duplicates,
    collections, queues and buffers, and needs no network. Since it contains texts of the heap,
    only its owner can read the file.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser)
        parser.add_argument(
            "-o", "--output", required=True, metavar="FILE", help="the new HTML file"
        )
        parser.add_argument("--force", action="store_true", help="overwrite the file")
        parser.add_argument("--title", help="the heading (default: the target)")

    def run(self, given: argparse.Namespace) -> None:
        """Write it."""
        to = given.output
        title = given.title or f"Heap of {_name(given)}"
        write(given, to, lambda snapshot: snapshot.report(to, title=title, force=given.force))


def _name(given: argparse.Namespace) -> str:
    target: str | None = given.target
    if target is None:
        return " ".join(given.launched or ())
    if os.path.exists(target):
        return os.path.basename(os.path.abspath(target))
    with contextlib.suppress(TargetNotFound):
        return find(target).describe()
    return target
