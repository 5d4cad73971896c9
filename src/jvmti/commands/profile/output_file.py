"""The file that a profile is written to."""

from __future__ import annotations

import argparse
import os
import time

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.profile.files import suffix_of
from jvmti.text.printable import printable

__all__ = ["check_output", "file_name"]


def check_output(given: argparse.Namespace) -> None:
    """Check the name of the file to write, before anything is done for it.

    Raises:
        CommandFailed: it has no known ending, needs what is not installed, or exists.
    """
    path: str | None = given.output
    if path is None:
        return
    try:
        suffix = suffix_of(path)
    except ValueError as error:
        raise CommandFailed(printable(str(error)), USAGE) from None
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
    if "%t" not in path and os.path.exists(path) and not given.force:
        raise CommandFailed(f"{printable(path)} exists; --force overwrites it", USAGE)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise CommandFailed(f"{printable(folder)}: no such directory", USAGE)


def file_name(path: str) -> str:
    """The name with the time in place of ``%t``."""
    return path.replace("%t", time.strftime("%Y%m%dT%H%M%S"))
