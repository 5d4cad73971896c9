"""``jvmti heap dump``."""

from __future__ import annotations

import argparse

from jvmti.commands.heap.sources import add_source, write
from jvmti.commands.targets import no_target_but_the_program
from jvmti.heap.redaction import redact
from jvmti.heap.snapshot import Snapshot


class Command:
    """Write a heap to a file: as HPROF, as Parquet tables, or without what is confidential in it.

      jvmti heap dump MyServer server.hprof
      jvmti heap dump MyServer server.hprof --redact
      jvmti heap dump server.hprof redacted.hprof --redact --fields 'com.acme.Account.balance'
      jvmti heap dump MyServer tables --parquet

    The VM dumps into memory first, so the program goes on before the file is written.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser, "TO")
        parser.add_argument("to", nargs="*", metavar="TO", help="the new file or directory")
        parser.add_argument("--force", action="store_true", help="write over what is there")
        parser.add_argument(
            "--parquet", action="store_true", help="tables in a directory, and the dump"
        )
        parser.add_argument(
            "--redact",
            action="store_true",
            help="without the contents of strings and primitive arrays",
        )
        parser.add_argument(
            "--arrays", default="*", metavar="PATTERN", help="with --redact: only such arrays"
        )
        parser.add_argument(
            "--fields",
            action="append",
            default=[],
            metavar="PATTERN",
            help="with --redact: these primitive fields, too: 'com.acme.Account.balance'",
        )

    def run(self, given: argparse.Namespace) -> None:
        """Write it."""
        no_target_but_the_program(given, given.to)
        if len(given.to) != 1:
            given.parser.error("one name of a new file is needed")
        [to] = given.to

        def into(snapshot: Snapshot) -> None:
            if given.redact:
                redact(
                    snapshot,
                    to,
                    arrays=given.arrays,
                    fields=given.fields,
                    parquet=given.parquet,
                    force=given.force,
                )
            elif given.parquet:
                snapshot.to_parquet(to, force=given.force)
            else:
                snapshot.save(to, force=given.force)

        write(given, to, into)
