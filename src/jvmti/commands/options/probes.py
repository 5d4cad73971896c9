"""Options of verbs that put probes into classes."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from jvmti.commands.options.outputs import add_output, output
from jvmti.commands.options.targets import add_json, add_steps, count, seconds
from jvmti.report.record_files import RECORD_SUFFIXES
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.tracing.probe_set import ProbeSet

__all__ = [
    "add_counting",
    "add_probing",
    "add_recording",
    "add_stack",
    "counting_output",
    "report_running",
]

_LIMIT = 1000
_TOP = 20
_CONDITION = "'n > 100 and order.customer.name == \"Ada\"'"


def add_probing(parser: argparse.ArgumentParser, what: str, over: str, examples: str = "") -> None:
    """Add the options that all of them have, ``--when`` to ``--json``.

    Args:
        parser: of the verb.
        what: the subject of a condition.
        over: the help for ``--over``.
        examples: further conditions.
    """
    parser.add_argument(
        "--when",
        metavar="CONDITION",
        help=f"only {what} for which it holds: {_CONDITION}{examples}",
    )
    parser.add_argument(
        "--every", type=count, default=1, metavar="N", help=f"only each N-th of these {what}"
    )
    parser.add_argument("--over", type=seconds, default=0.0, metavar="TIME", help=over)
    parser.add_argument("--duration", type=seconds, metavar="TIME", help="end after this time")
    parser.add_argument(
        "--unloaded",
        action="store_true",
        help="wait for classes that are not loaded yet; implied when -- starts a program",
    )
    add_steps(parser)
    add_json(parser)


def add_counting(parser: argparse.ArgumentParser, example: str) -> None:
    """Add ``--by``, ``--watch``, ``--interval`` and ``--top``.

    Args:
        parser: of the verb.
        example: what one may count by.
    """
    parser.add_argument(
        "--by",
        metavar="WHAT",
        help="count instead, in the target: by method, place, class (of the receiver), thread, "
        f"caller, or a value such as {example}",
    )
    parser.add_argument(
        "--watch", action="store_true", help="of what is counted: refresh it until Ctrl-C"
    )
    parser.add_argument(
        "--interval",
        type=seconds,
        default=2.0,
        metavar="TIME",
        help="between two summaries (default: 2)",
    )
    parser.add_argument(
        "--top", type=count, default=_TOP, metavar="N", help=f"rows (default: {_TOP})"
    )


def add_stack(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--stack``.

    Args:
        parser: of the verb.
        what: the frames that are shown.
    """
    parser.add_argument("--stack", type=count, default=0, metavar="N", help=f"show N {what}")


def counting_output(given: argparse.Namespace) -> str | None:
    """The output file, if any, of a verb that may count instead.

    Raises:
        CommandFailed: as `output` does.
    """
    if given.watch and given.by is None:
        given.parser.error("--watch is for what is counted: --by method")
    path = output(given)
    if path is not None and given.by is not None:
        given.parser.error("a file takes single records: leave out --by and --summary")
    return path


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
    add_output(parser, f"the {what}", suffixes=RECORD_SUFFIXES, also=["--record"])


def report_running(probes: ProbeSet) -> None:
    """Print the running calls, which have no probes until they return."""
    if not probes.running:
        return
    most = sorted(probes.running, key=lambda name: -probes.running[name])
    more = f" and {len(most) - 3} others" if len(most) > 3 else ""
    print(
        f"jvmti: calls that are running stay in the interpreter, and without probes, until they "
        f"return: {', '.join(printable(name) for name in most[:3])}{more}",
        file=sys.stderr,
    )
