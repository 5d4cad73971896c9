"""``jvmti heap dump``."""

from __future__ import annotations

import argparse
import os

from jvmti.commands.failure import CommandFailed
from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.heap.redaction import redact
from jvmti.report.tables import console, print_json
from jvmti.report.text import printable


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
        if given.launched is not None and given.target is not None:
            given.to.insert(0, given.target)
            given.target = None
        if len(given.to) != 1:
            given.parser.error("one name of a new file is needed")
        if given.parquet and given.redact:
            given.parser.error("--redact writes HPROF; convert what it has written")
        [to] = given.to
        if os.path.exists(to) and not given.force:
            raise CommandFailed(f"{printable(to)} is there already; --force writes over it")
        with snapshot_of(given) as snapshot:
            try:
                if given.parquet:
                    snapshot.to_parquet(to, force=given.force)
                elif given.redact:
                    redact(
                        snapshot, to, arrays=given.arrays, fields=given.fields, force=given.force
                    )
                else:
                    snapshot.save(to, force=given.force)
            except OSError as error:
                raise CommandFailed(f"{printable(to)}: {error.strerror}") from None
            size = os.path.getsize(to)
            if given.json:
                print_json({"path": to, "bytes": size, "pause": snapshot.pause})
                return
            print_head(snapshot)
            console().print(printable(f"written to {to}"))
