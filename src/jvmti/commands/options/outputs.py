"""Files that commands write instead of printing."""

from __future__ import annotations

import argparse
import importlib.util
import os

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.report.batch_files import SUFFIXES
from jvmti.text.printable import printable


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``-o`` and ``--force``."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"write {what} to a file instead: {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file")


def output(given: argparse.Namespace) -> str | None:
    """The output file, if any.

    Raises:
        CommandFailed: the name has no known format, the library for it is not installed, or the
            file exists.
    """
    path: str | None = given.output
    if path is None:
        return None
    name = printable(path)
    if os.path.splitext(path)[1] not in SUFFIXES:
        raise CommandFailed(f"{name}: the name must end in one of {', '.join(SUFFIXES)}", USAGE)
    if not path.endswith(".jsonl") and importlib.util.find_spec("pyarrow") is None:
        raise CommandFailed(f"{name} needs pyarrow: pip install 'jvmti[arrow]'", USAGE)
    if given.json:
        raise CommandFailed("either --json or a file", USAGE)
    if os.path.exists(path) and not given.force:
        raise CommandFailed(f"{name} exists; --force overwrites it", USAGE)
    return path


__all__ = ["add_output", "output"]
