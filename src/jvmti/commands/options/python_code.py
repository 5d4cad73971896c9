"""Python code that a command runs: given with ``-c``, as a file, or typed at a prompt."""

from __future__ import annotations

import argparse
import importlib.util
import sys

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.options.targets import no_target_but_the_program

_STANDARD_INPUT = "-"


def add_code(parser: argparse.ArgumentParser) -> None:
    """Add a script with its arguments, ``-c`` and ``--plain``."""
    parser.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT",
        help="a Python file, or - for standard input, and its sys.argv",
    )
    parser.add_argument("-c", "--code", metavar="CODE", help="run this and exit")
    parser.add_argument("--plain", action="store_true", help="Python's own prompt, not IPython's")


def words_after_target(given: argparse.Namespace) -> list[str]:
    """The words after the target; options may come between them."""
    words: list[str] = given.words
    no_target_but_the_program(given, words)
    if given.launched is None and words and words[0].startswith("-") and words[0] != "-":
        target = given.target
        given.target = None
        given.parser.parse_args([*words, target], given)
        words = [given.target, *given.words][:-1]
        given.target = target
    return words


def code(given: argparse.Namespace, words: list[str]) -> tuple[str, str] | None:
    """The code to run and its name; ``None`` for a prompt. Removes the script from the words."""
    if given.code is not None:
        return given.code, "-c"
    if words and words[0] != _STANDARD_INPUT:
        file = words.pop(0)
        try:
            with open(file, encoding="utf-8") as opened_file:
                return opened_file.read(), file
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise CommandFailed(f"{file} cannot be read: {why}", USAGE) from None
    if words:
        return sys.stdin.read(), words.pop(0)
    if not sys.stdin.isatty():
        return sys.stdin.read(), _STANDARD_INPUT
    return None


def is_plain(given: argparse.Namespace) -> bool:
    """Whether the prompt is Python's own."""
    return bool(given.plain) or importlib.util.find_spec("IPython") is None


__all__ = ["add_code", "code", "is_plain", "words_after_target"]
