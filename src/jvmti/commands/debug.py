"""``jvmti debug``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO

from jvmti.commands.failure import UNREACHABLE, CommandFailed
from jvmti.commands.sigterm import end_at_sigterm

if TYPE_CHECKING:
    import argparse


class Command:
    """Debug a program from an editor, by the Debug Adapter Protocol.

      jvmti debug                        the editor starts it, and speaks over its input and output
      jvmti debug --socket /run/user/1000/debug.sock
      jvmti debug --port 4711            on this machine only, with a token that it prints

    The editor's requests `launch` and `attach` say what to debug; docs/debugging.md has their
    arguments, and configurations for editors. It works on any running JVM, without preparation.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        way = parser.add_mutually_exclusive_group()
        way.add_argument(
            "--socket",
            metavar="PATH",
            help="wait for editors at a Unix socket that only you can use",
        )
        way.add_argument(
            "--port",
            type=_port,
            metavar="N",
            help="wait for editors at a port of the loopback interface; 0 chooses one. Their "
            "configurations need the token that is printed",
        )
        parser.add_argument("--once", action="store_true", help="end after the first editor")

    def run(self, given: argparse.Namespace) -> int | None:
        """Serve editors."""
        if given.socket is None and given.port is None:
            self.serve_input()
            return None
        end_at_sigterm()
        from jvmti.adapter import listening

        try:
            if given.socket is not None:
                listening.serve_socket(given.socket, once=given.once)
            else:
                listening.serve_port(given.port, once=given.once)
        except OSError as error:
            where = given.socket if given.socket is not None else f"port {given.port}"
            raise CommandFailed(
                f"editors cannot be awaited at {where}: {error.strerror}", UNREACHABLE
            ) from None
        return None

    def serve_input(self) -> None:
        """Serve the editor that has started this process."""
        end_at_sigterm()
        from jvmti.adapter.server import serve

        # Nothing else may write between two messages: not a library, nor a program that we start.
        writer: BinaryIO = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as reader, writer:
            serve(reader, writer)


def _port(text: str) -> int:
    import argparse

    if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a port")
    return int(text)
