"""Options of verbs that put probes into classes."""

from __future__ import annotations

import argparse

from jvmti.commands.options.outputs import add_output
from jvmti.commands.options.targets import add_json, count, seconds

__all__ = ["add_probing", "add_recording"]

_LIMIT = 1000
_CONDITION = "'n > 100 and order.customer.name == \"Ada\"'"


def add_probing(parser: argparse.ArgumentParser, what: str, examples: str = "") -> None:
    """Add ``--when``, ``--duration``, ``--unloaded`` and ``--json``.

    Args:
        parser: of the verb.
        what: the subject of a condition.
        examples: further conditions.
    """
    parser.add_argument(
        "--when",
        metavar="CONDITION",
        help=f"only {what} for which it holds: {_CONDITION}{examples}",
    )
    parser.add_argument("--duration", type=seconds, metavar="TIME", help="end after this time")
    parser.add_argument(
        "--unloaded",
        action="store_true",
        help="wait for classes that are not loaded yet; implied when -- starts a program",
    )
    add_json(parser)


def add_recording(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--limit``, ``--text``, ``--count``, ``-o`` and ``--force``.

    Args:
        parser: of the verb.
        what: the recorded items.
    """
    parser.add_argument(
        "--limit",
        type=count,
        default=_LIMIT,
        metavar="N",
        help=f"{what} a second; further ones are dropped and counted (default: {_LIMIT})",
    )
    parser.add_argument(
        "--text",
        type=count,
        default=48,
        metavar="N",
        help="bytes of each string and message (default: 48)",
    )
    parser.add_argument("--count", type=count, metavar="N", help=f"end after N {what}")
    add_output(parser, f"the {what}")
