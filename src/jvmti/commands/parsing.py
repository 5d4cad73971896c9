"""The parser of the command line: its errors are a sentence, and name what was probably meant."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from jvmti.commands.failure import USAGE, CommandFailed


class Parser(argparse.ArgumentParser):
    """A parser whose errors say what is wrong first and then how the verb is used."""

    def error(self, message: str) -> NoReturn:
        """End with the message, and this verb's own usage below it."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        self.print_usage(sys.stderr)
        self.exit(USAGE)

    def unknown(self, words: Sequence[str]) -> NoReturn:
        """End because of words that mean nothing here."""
        word = words[0]
        if not word.startswith("-"):
            self.error(f"{word!r} is one word too many")
        # An abbreviation of an option is understood, so what is near is a slip of the fingers.
        self.error(mistyped("option", word.partition("=")[0], self._option_string_actions))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        kind = "value" if action.option_strings else (action.metavar or action.dest)
        raise argparse.ArgumentError(
            action if action.option_strings else None,
            mistyped(str(kind).lower(), str(value), [str(one) for one in action.choices]),
        )


def mistyped(kind: str, word: str, known: Iterable[str]) -> str:
    """The error for an unknown word, with similar ones."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=2)
    if not near:
        near = [name for name in names if word and (name.startswith(word) or word in name)][:2]
    if near:
        return f"there is no {kind} {word!r}; did you mean {' or '.join(map(repr, near))}?"
    shown = [name for name in names if name not in ("-h", "--help")]
    return f"there is no {kind} {word!r}; there are {', '.join(shown)}"


def add_verbs(parser: argparse.ArgumentParser, title: str, metavar: str, dest: str) -> Any:
    """Where the parsers of verbs are added to."""
    return parser.add_subparsers(title=title, metavar=metavar, dest=dest, parser_class=Parser)


def program_without_dashes(words: Sequence[str]) -> None:
    """Whether a program to start stands among the words of a command, without ``--`` before it.

    Raises:
        CommandFailed: it does; the message has the line as it was probably meant.
    """
    for at, word in enumerate(words[1:], 1):
        if os.path.basename(word) == "java":
            line = shlex.join(["jvmti", *words[:at], "--", *words[at:]])
            raise CommandFailed(f"-- is missing before the program: {line}", USAGE)


__all__ = ["Parser", "add_verbs", "mistyped", "program_without_dashes"]
