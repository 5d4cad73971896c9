"""``jvmti heap shell``."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from typing import Any

import jvmti
from jvmti import heap
from jvmti.agents.script import log_to_stderr
from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.commands.targets import no_target_but_the_program

_STANDARD_INPUT = "-"


class Command:
    """Ask one heap many questions at a Python prompt.

      jvmti heap shell MyServer
      jvmti heap shell dump.hprof
      jvmti heap shell dump.hprof -c 'print(snapshot.leaks())'
      jvmti heap shell dump.hprof questions.py arguments …

    `snapshot` is the heap, `heap` the module `jvmti.heap`. A JVM is dumped once and goes on; what
    was computed for a question, such as what each object retains, is there for the next. IPython
    where it is installed (`pip install 'jvmti[shell]'`), otherwise Python's own prompt. With -c, a
    script, or standard input that is no terminal, it runs that and gives its exit code.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser, "[SCRIPT [ARGUMENT …]]", json=False)
        parser.add_argument(
            "words",
            nargs=argparse.REMAINDER,
            metavar="SCRIPT",
            help="a Python file, - for standard input, and what it finds in sys.argv",
        )
        parser.add_argument("-c", "--code", metavar="CODE", help="run this and end")
        parser.add_argument(
            "--plain", action="store_true", help="Python's own prompt, not IPython's"
        )

    def run(self, given: argparse.Namespace) -> int:
        """Run the code, or the prompt until it is left."""
        words = _words(given)
        source = _source(given, words)
        log_to_stderr()
        with snapshot_of(given) as snapshot:
            names: dict[str, Any] = {"snapshot": snapshot, "heap": heap, "jvmti": jvmti}
            if source is not None:
                from jvmti.shell import scripts

                return scripts.run(None, *source, words, names)
            print_head(snapshot)
            print(
                "snapshot.leaks(), .histogram(retained=True), .objects('com.acme.*'), "
                ".paths_to_roots(…), .report('heap.html'); heap.thread_locals(snapshot) …\n",
                flush=True,
            )
            if given.plain or importlib.util.find_spec("IPython") is None:
                from jvmti.shell.plain import prompt
            else:
                from jvmti.shell.ipython import prompt
            prompt(None, names)
        return 0


def _words(given: argparse.Namespace) -> list[str]:
    """What follows the target; options between the two are understood, too."""
    words: list[str] = given.words
    no_target_but_the_program(given, words)
    if given.launched is None and words and words[0].startswith("-") and words[0] != "-":
        target = given.target
        given.target = None
        given.parser.parse_args([*words, target], given)
        words = [given.target, *given.words][:-1]
        given.target = target
    return words


def _source(given: argparse.Namespace, words: list[str]) -> tuple[str, str] | None:
    """The code to run and what it is called; ``None`` for a prompt. Takes the script off words."""
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
