"""Files that commands write instead of printing."""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Sequence

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.report.batch_files import SUFFIXES
from jvmti.text.printable import printable


def add_output(
    parser: argparse.ArgumentParser,
    what: str,
    *,
    suffixes: Sequence[str] = SUFFIXES,
    also: Sequence[str] = (),
) -> None:
    """Add ``-o`` and ``--force``.

    Args:
        parser: of the verb.
        what: what is written.
        suffixes: of the formats.
        also: further names of the option.
    """
    parser.set_defaults(suffixes=suffixes)
    parser.add_argument(
        "-o",
        "--output",
        *also,
        metavar="FILE",
        help=f"write {what} to a file instead: {', '.join(suffixes[:-1])} or {suffixes[-1]}",
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
    if os.path.splitext(path)[1] not in given.suffixes:
        raise CommandFailed(
            f"{name}: the name must end in one of {', '.join(given.suffixes)}", USAGE
        )
    if not path.endswith((".jsonl", ".json")) and importlib.util.find_spec("pyarrow") is None:
        raise CommandFailed(f"{name} needs pyarrow: pip install 'jvmti[arrow]'", USAGE)
    if given.json:
        raise CommandFailed("either --json or a file", USAGE)
    if os.path.exists(path) and not given.force:
        raise CommandFailed(f"{name} exists; --force overwrites it", USAGE)
    return path


__all__ = ["add_output", "output"]
