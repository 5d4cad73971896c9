"""``jvmti heap dump``."""

from __future__ import annotations

import argparse

from jvmti.commands.heap.sources import add_source, write
from jvmti.commands.options.targets import no_target_but_the_program
from jvmti.heap.redaction import redact
from jvmti.heap.snapshot import Snapshot


class Command:
    """Write a heap to a file: as HPROF, as Parquet tables, or without confidential contents.

      jvmti heap dump MyServer server.hprof
      jvmti heap dump MyServer server.hprof --redact
      jvmti heap dump server.hprof redacted.hprof --redact-fields 'com.acme.Account.balance'
      jvmti heap dump MyServer tables --parquet

    The VM dumps into memory first, so the program continues before the file is written. Dumps leave
    out unreachable objects unless --unreachable is given.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser, "OUTPUT")
        parser.add_argument("output", nargs="*", metavar="OUTPUT", help="the new file or directory")
        parser.add_argument("--force", action="store_true", help="overwrite the file")
        parser.add_argument(
            "--parquet", action="store_true", help="write a directory of tables, and the dump"
        )
        parser.add_argument(
            "--redact",
            action="store_true",
            help="leave out the contents of strings and primitive arrays",
        )
        parser.add_argument(
            "--redact-arrays", metavar="PATTERN", help="redact, but only arrays of such classes"
        )
        parser.add_argument(
            "--redact-fields",
            action="append",
            default=[],
            metavar="PATTERN",
            help="redact, these primitive fields too: 'com.acme.Account.balance'",
        )

    def run(self, given: argparse.Namespace) -> None:
        """Write it."""
        no_target_but_the_program(given, given.output)
        if len(given.output) != 1:
            given.parser.error("expected one name of a new file")
        [to] = given.output

        def into(snapshot: Snapshot) -> None:
            if given.redact or given.redact_arrays or given.redact_fields:
                redact(
                    snapshot,
                    to,
                    arrays=given.redact_arrays or "*",
                    fields=given.redact_fields,
                    parquet=given.parquet,
                    force=given.force,
                )
            elif given.parquet:
                snapshot.to_parquet(to, force=given.force)
            else:
                snapshot.save(to, force=given.force)

        write(given, to, into)
