"""``jvmti heap VERB``: each verb has a module here, made like those of the commands themselves.

A verb's module has a class `Command` with ``prepare_parser`` and ``run``; its docstring is the help
text.  A new verb is a new module and its name in `VERBS`.
"""

from __future__ import annotations

import argparse
import inspect
from importlib import import_module
from typing import Any

from jvmti.commands.parsing import add_verbs

VERBS = (
    "histogram",
    "scan",
    "dump",
    "summary",
    "query",
    "dominators",
    "gc-roots",
    "leaks",
    "report",
    "diff",
    "duplicate-strings",
    "collections",
    "shell",
)


class Command:
    """Analyze the heap of a JVM or a heap dump.

    `jvmti heap VERB --help` explains each verb.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the verbs with their arguments."""
        parser.epilog = "Each verb that prints data takes --json."
        verbs = add_verbs(parser, "verbs", "VERB", "heap_verb")
        for verb in VERBS:
            its: Any = import_module(f"jvmti.commands.heap.{verb.replace('-', '_')}").Command()
            text = inspect.getdoc(its) or ""
            sub = verbs.add_parser(
                verb,
                help=text.partition("\n")[0].rstrip("."),
                description=text,
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


__all__ = ["VERBS", "Command"]
