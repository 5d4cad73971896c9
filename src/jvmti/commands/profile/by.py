"""Checks of ``--by``: with these options, these kinds of samples, and this profile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.profile.options import PARTS
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["check_by", "check_by_of_kinds", "check_by_of_profile", "column_of"]

_KINDS_WITH = {"type": ("alloc", "live", "lock"), "state": ("wall", "lock"), "owner": ("lock",)}
"""The kinds whose samples have these columns, where not all have."""


def column_of(by: str) -> str:
    """The name that this part has for `jvmti.profile.Profile.by`."""
    return "label" if by == "request" else by


def check_by(given: argparse.Namespace) -> None:
    """Check ``--by`` beside the options that say how the profile is shown."""
    by, path = given.by, given.output
    in_stacks = "--tree" if given.tree else "--callers" if given.callers is not None else None
    if path is not None:
        in_stacks = "a file"
    if by == "method" or in_stacks is None:
        return
    if by not in PARTS:
        given.parser.error(
            f"--by {by} is for the table: with {in_stacks} it takes one of {', '.join(PARTS)}"
        )
    if path is not None and path.endswith(".parquet"):
        given.parser.error("Parquet keeps all columns: leave --by to the command that shows it")


def check_by_of_kinds(given: argparse.Namespace, kinds: Sequence[str]) -> None:
    """Check ``--by`` before samples of these kinds are taken."""
    having = _KINDS_WITH.get(given.by, tuple(kinds))
    lacking = [kind for kind in kinds if kind not in having]
    if lacking:
        given.parser.error(_refusal(given.by, having, lacking))


def check_by_of_profile(given: argparse.Namespace, profile: Profile) -> None:
    """Check ``--by`` for a profile that is there.

    Raises:
        CommandFailed: its samples have no such column.
    """
    by = given.by
    kinds = [kind.name.lower() for kind in profile.kinds]
    having = _KINDS_WITH.get(by, tuple(kinds))
    if by == "state":
        # A file may have the states of other samples, too.
        having = tuple(kind for kind in kinds if (profile[kind].samples.state > 0).any())
    if by == "type":
        # So may one that does not know its kind have the types of others.
        having += tuple(kind for kind in kinds if profile[kind].top(1, by))
    lacking = [kind for kind in kinds if kind not in having]
    if lacking:
        raise CommandFailed(_refusal(by, _KINDS_WITH.get(by, having), lacking), USAGE)
    samples, threads = profile.samples, profile.threads
    unknown = (
        (by == "request" and (samples.label < 0).all())
        or (by == "group" and not any(threads.group))
        or (by == "process" and not any(threads.process))
    )
    if unknown and len(profile):
        if given.request is not None:
            # It was just taken, and does not come again.
            text = f"jvmti: no sample was taken in a call of {given.request}"
            print(printable(text), file=sys.stderr)
            return
        raise CommandFailed(f"--by {by}: no sample has a {by}", USAGE)


def _refusal(by: str, having: Sequence[str], lacking: Sequence[str]) -> str:
    options = " and ".join(f"--{kind}" for kind in having)
    return f"--by {by} is for {options}: {' and '.join(lacking)} samples have no {by}"
