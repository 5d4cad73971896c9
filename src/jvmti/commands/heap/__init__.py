"""``jvmti heap VERB``: each verb has a module here, made like those of the commands themselves.

A verb's module has a class `Command` with ``prepare_parser`` and ``run``; its docstring is the help
text.  A new verb is a new module and its name in `VERBS`.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from jvmti.commands.parsing import add_verbs

VERBS = {
    "histogram": "Count the objects of each class, and their bytes",
    "scan": "Show the objects of some classes, with their primitive fields, texts and elements",
    "dump": "Write a heap to a file: as HPROF, as Parquet tables, or without confidential contents",
    "summary": "Show the contents of a heap: classes with sizes, roots, loaders, "
    "unreachable objects",
    "query": "Query a heap with Python expressions over columns of objects",
    "dominators": "Show accumulation points: objects that retain far more than their largest child",
    "gc-roots": "Show shortest paths from GC roots to the objects of a class, merged into a tree",
    "leaks": "Show leak suspects: objects that accumulate, with their owners, and "
    "leaked class loaders",
    "report": "Write a report of a heap: one HTML file, to open in a browser or to share",
    "diff": "Show what grew between two snapshots: accumulating objects with their "
    "owners, and classes",
    "duplicate-strings": "Show strings that occur more than once, those that waste most first",
    "collections": "Show maps and lists by class: how many, how many empty, how full, the "
    "wasted space",
    "shell": "Explore a heap at a Python prompt",
}
"""The verbs with the first line of their class's docstring, so that ``jvmti heap --help`` imports
none of them."""


def verb_command(verb: str) -> Any:
    """The command of a verb."""
    return import_module(f"jvmti.commands.heap.{verb.replace('-', '_')}").Command()


class Command:
    """Analyze the heap of a JVM or a heap dump.

    `jvmti heap VERB --help` explains each verb.
    """

    wanted: Sequence[str] | None = None
    """The words of the command line; only a verb among them is imported. ``None`` is all verbs."""

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the verbs with their arguments."""
        parser.epilog = "Each verb that prints data takes --json."
        verbs = add_verbs(parser, "verbs", "VERB", "heap_verb")
        for verb, text in VERBS.items():
            if self.wanted is not None and verb not in self.wanted:
                verbs.add_parser(verb, help=text)
                continue
            its = verb_command(verb)
            sub = verbs.add_parser(
                verb,
                help=text,
                description=inspect.getdoc(its),
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            sub.set_defaults(heap_command=its, parser=sub)
            its.prepare_parser(sub)

    def run(self, given: argparse.Namespace) -> int | None:
        """Run the verb."""
        if given.heap_verb is None:
            given.parser.error(f"a verb is missing: {', '.join(VERBS)}")
        code: int | None = given.heap_command.run(given)
        return code


__all__ = ["VERBS", "Command", "verb_command"]
