"""``jvmti heap duplicate-strings``."""

from __future__ import annotations

import argparse

from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.commands.options.targets import add_top
from jvmti.heap.analyses.duplicates import duplicate_strings
from jvmti.report.tables import print_json, print_table

_TOP = 20
_LONGEST = 200


class Command:
    """Show strings that occur more than once, those that waste most first.

      jvmti heap duplicate-strings MyServer
      jvmti heap duplicate-strings dump.hprof --top 100 --json

    It compares contents, whatever their encoding, and counts what all copies but one use.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser)
        add_top(parser, _TOP)

    def run(self, given: argparse.Namespace) -> None:
        """Print them."""
        with snapshot_of(given) as snapshot:
            found = duplicate_strings(snapshot, limit=given.top)
            if given.json:
                print_json(
                    [
                        {"count": len(one.objects), "wasted": one.wasted, "text": one.text}
                        for one in found
                    ]
                )
                return
            print_head(snapshot)
            print_table(
                [">COUNT", ">WASTED", "TEXT"],
                [
                    [f"{len(one.objects):,}", f"{one.wasted:,}", (one.text or "")[:_LONGEST]]
                    for one in found
                ],
            )
