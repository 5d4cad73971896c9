"""The parser of the command line: an error is one sentence, and suggests the nearest word."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from jvmti.commands.failure import USAGE, CommandFailed


class Parser(argparse.ArgumentParser):
    """A parser whose errors state the problem first, then the usage of the verb."""

    elsewhere: Mapping[str, str] = {}
    """Options that similar programs have, and what to write here."""
    _mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse words and options in any order; returns the namespace, and what is unknown.

        The parser of the standard library gives a target and all patterns or files their words as
        soon as the first comes, and has no place for those that follow an option.
        """
        found = super().parse_known_args(args, namespace)
        whole = (argparse.PARSER, argparse.REMAINDER)
        if not found[1] or self._mixing or any(a.nargs in whole for a in self._actions):
            return found
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(args)
        finally:
            self._mixing = False

    def error(self, message: str) -> NoReturn:
        """End with the message, and this verb's own usage below it."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        self.print_usage(sys.stderr)
        self.exit(USAGE)

    def unknown(self, words: Sequence[str]) -> NoReturn:
        """Fail because of unknown words."""
        word = words[0]
        if not word.startswith("-"):
            self.error(f"unexpected argument {word!r}")
        option = word.partition("=")[0] if word.startswith("--") else word[:2]
        if option in self.elsewhere:
            self.error(f"there is no option {option!r}; here it is {self.elsewhere[option]}")
        # Abbreviated options are accepted, so a similar word is a typing error.
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
    import difflib  # for mistakes only

    names = list(known)
    near = difflib.get_close_matches(word, names, n=2)
    if not near:
        near = [name for name in names if word and (name.startswith(word) or word in name)][:2]
    if near:
        return f"there is no {kind} {word!r}; did you mean {' or '.join(map(repr, near))}?"
    listed = [name for name in names if name not in ("-h", "--help")]
    return f"there is no {kind} {word!r}; there are {', '.join(listed)}"


def add_verbs(parser: argparse.ArgumentParser, title: str, metavar: str, dest: str) -> Any:
    """The registry to which the verbs add their parsers."""
    return parser.add_subparsers(title=title, metavar=metavar, dest=dest, parser_class=Parser)


def program_without_dashes(words: Sequence[str]) -> None:
    """Check that no program to start follows without ``--`` before it.

    Raises:
        CommandFailed: it does; the message has the probably intended line.
    """
    for at, word in enumerate(words[1:], 1):
        if os.path.basename(word) == "java":
            line = shlex.join(["jvmti", *words[:at], "--", *words[at:]])
            raise CommandFailed(f"-- is missing before the program: {line}", USAGE)


__all__ = ["Parser", "add_verbs", "mistyped", "program_without_dashes"]
