"""The file that a profile is written to."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.profile.files import suffix_of, takes_one_kind
from jvmti.text.printable import printable

__all__ = ["NotWritten", "check_output", "file_name", "several_kinds"]


class NotWritten(CommandFailed):
    """The file of a profile cannot be written."""


def check_output(given: argparse.Namespace) -> None:
    """Check the name of the file to write, before anything is done for it.

    Raises:
        CommandFailed: it has no known ending, has no place for the kinds of samples, needs what is
            not installed, or exists.
    """
    path: str | None = given.output
    if path is None:
        return
    try:
        suffix = suffix_of(path)
    except ValueError as error:
        raise CommandFailed(printable(str(error)), USAGE) from None
    kinds = list(dict.fromkeys(given.kinds or ()))
    if len(kinds) > 1 and takes_one_kind(path):
        raise several_kinds(path, kinds)
    for option, chosen in (
        ("--json", given.json),
        ("--tree", given.tree),
        ("--callers", given.callers is not None),
    ):
        if chosen:
            raise CommandFailed(f"either {option} or a file", USAGE)
    if suffix == ".parquet":
        from importlib.util import find_spec

        if find_spec("pyarrow") is None:
            raise CommandFailed(
                f"{printable(path)} needs pyarrow: pip install 'jvmti[arrow]'", USAGE
            )
    if os.path.isdir(path):
        raise CommandFailed(f"{printable(path)} is a directory", USAGE)
    if "%t" not in path and os.path.exists(path) and not given.force:
        raise CommandFailed(f"{printable(path)} exists; --force overwrites it", USAGE)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise CommandFailed(f"{printable(folder)}: no such directory", USAGE)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CommandFailed(f"{printable(folder)}: you may not write there", USAGE)


def several_kinds(path: str, kinds: Sequence[str]) -> CommandFailed:
    """The failure to write samples of several kinds to a file for one."""
    return CommandFailed(
        f"{printable(path)}: this format has one kind of samples; choose one: "
        f"--{' or --'.join(kinds)}",
        USAGE,
    )


def file_name(path: str) -> str:
    """The name with the time in place of ``%t``; of those in one second the later have a number."""
    if "%t" not in path:
        return path
    now = time.strftime("%Y%m%dT%H%M%S")
    found, number = path.replace("%t", now), 1
    while os.path.exists(found):
        number += 1
        found = path.replace("%t", f"{now}-{number}")
    return found
