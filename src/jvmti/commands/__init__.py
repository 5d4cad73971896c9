"""The command line: ``jvmti VERB …``.

One module (or folder) for each verb, with a class whose docstring is the help text and which has
``prepare_parser`` and ``run``; those of `agents` and `probes` stand together. Options of several
verbs are in `options`.  A verb gets its data from the model and prints through `jvmti.report`.

Exit codes: 0 done; 1 failed, or a check found something wrong; 2 usage error; 3 no such target; 4
the target cannot be reached; 130 interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from jvmti.commands.failure import (
    FAILED,
    INTERRUPTED,
    NOT_FOUND,
    UNREACHABLE,
    USAGE,
    CommandFailed,
)
from jvmti.interruption import interruptible

if TYPE_CHECKING:
    import argparse

    from jvmti.commands.parsing import Parser

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

VERBS = {
    "ps": "List the JVMs on this machine",
    "info": "Show a JVM: version, start, resources, capabilities",
    "threads": "Show the threads of a JVM: states, processor times, stacks, locks and deadlocks",
    "locks": "Show the locks that threads of a JVM wait for, for how long, and their owners",
    "run": "Run a program with agents that are Python files",
    "attach": "Run agents that are Python files on a running JVM",
    "events": "Trace the events of a JVM",
    "trace": "Trace calls of methods: arguments, what they return or throw, and how long they take",
    "logpoint": "Print a text with values whenever a thread reaches a place in the code",
    "change": "Make methods return something else, throw, or take longer, for testing",
    "profile": "Show where the time of a JVM goes, or its memory: a profile, a flame graph, or a "
    "comparison",
    "top": "Show what a JVM does right now: methods, threads, allocation, locks, collections, heap",
    "heap": "Analyze the heap of a JVM or a heap dump",
    "shell": "Work on a JVM at a Python prompt",
    "debug": "Debug a program from an editor, by the Debug Adapter Protocol",
    "jcmd": "Run one of the VM's own diagnostic commands",
    "instrument": "Put probes into the classes of a jar or a directory",
    "doctor": "Check whether attaching to a JVM works, and if not, say why and what to do",
    "conformance": "Call every function of JVM TI and JNI on a JVM and show the results",
    "agent-options": "Print a value for JAVA_TOOL_OPTIONS that loads the agent",
    "examples": "List the example agents that come with the package, print or copy them",
    "completion": "Print a completion script for bash, zsh or fish",
}
"""The verbs with the first line of their class's docstring, so that ``jvmti --help`` imports none
of them."""

_FOLDERS = {
    **dict.fromkeys(("run", "attach", "agent-options", "examples"), ".agents"),
    **dict.fromkeys(("trace", "logpoint", "change", "instrument"), ".probes"),
}
"""Where the verbs are that share a folder."""


class Command(Protocol):
    """The interface of a verb's module."""

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's arguments."""

    def run(self, given: argparse.Namespace) -> int | None:
        """Run the verb; returns the exit code, or nothing for 0."""


def command(verb: str) -> Command:
    """The command of a verb."""
    folder = _FOLDERS.get(verb, "")
    made: Command = import_module(f"jvmti.commands{folder}.{verb.replace('-', '_')}").Command()
    return made


def prepare(words: Sequence[str] | None = None) -> Parser:
    """The parser for all verbs, or for the one of a line; then the others are not imported."""
    import argparse
    import inspect  # not for the overview

    parser, verbs = _prepared()
    for verb in VERBS if words is None else words[:1]:
        its: Any = command(verb)
        if hasattr(its, "wanted"):
            its.wanted = words
        text = inspect.getdoc(its) or ""
        sub = verbs.add_parser(
            verb,
            help=VERBS[verb],
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(command=its, parser=sub, launched=None)
        its.prepare_parser(sub)
    return parser


def _overview() -> Parser:
    """The parser without a verb: it lists all verbs, and imports none."""
    parser, verbs = _prepared()
    for verb, text in VERBS.items():
        verbs.add_parser(verb, help=text)
    return parser


def _prepared() -> tuple[Parser, Any]:
    from jvmti import __version__
    from jvmti.commands.parsing import Parser, add_verbs

    parser = Parser(
        prog="jvmti",
        description="Inspect running Java virtual machines through the JVM Tool Interface.",
        epilog="Exit codes: 0 done, 1 failed or something is wrong, 2 usage error, 3 no such "
        "target, 4 the target cannot be reached, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"jvmti {__version__}")
    return parser, add_verbs(parser, "commands", "COMMAND", "verb")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    What is imported for it meets Ctrl-C with an exit: where `jvmti.__main__` called.
    """
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe; discard the rest of the buffer.
        _discard_output()
        return 0
    except Exception as error:
        # First, since some of ours are of the system's kind: an attach that times out, a lost VM.
        failure = explained(error)
        if failure is None and isinstance(error, OSError):
            failure = _of_system(error)
        if failure is None:
            raise
        print(f"jvmti: {failure}", file=sys.stderr)
        return failure.code


def _of_system(error: OSError) -> CommandFailed | None:
    """The failure to report where the system refuses something; ``None`` for a bug of ours."""
    from jvmti.text.printable import printable

    if error.errno in _DISK_FULL:
        _discard_output()
        return CommandFailed(f"the output cannot be written: {error.strerror}", FAILED)
    # One with a name is of a file that the user chose, or that the machine refuses.
    if error.filename is None:
        return None
    return CommandFailed(f"{printable(str(error.filename))}: {error.strerror}", FAILED)


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if words == ["debug"]:
        # As editors start it, who wait: to import and make a parser takes a tenth of their time.
        return _run_command(import_module("jvmti.commands.debug").Command().serve_input)
    from jvmti.commands.parsing import mistyped, program_without_dashes

    launched: list[str] | None = None
    if "--" in words:
        at = words.index("--")
        words, launched = words[:at], words[at + 1 :]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for any encoding of the terminal
    if words and not words[0].startswith("-") and words[0] not in VERBS:
        raise CommandFailed(mistyped("command", words[0], VERBS), USAGE)
    if words[:1] == ["run"] and launched is None:
        program_without_dashes(words)
    parser = prepare(words) if words and words[0] in VERBS else _overview()
    given, unknown = parser.parse_known_args(words)
    if unknown:
        if launched is None:
            program_without_dashes(words)
        its: Parser = getattr(given, "parser", parser)
        its.unknown(unknown)
    if given.verb is None:
        parser.print_help()
        return USAGE
    if launched is not None and not hasattr(given, "target"):
        given.parser.error("this command starts no program: nothing may follow --")
    given.launched = launched
    return _run_command(lambda: given.command.run(given))


def _run_command(run: Callable[[], int | None]) -> int:
    interruptible()
    code = run() or 0
    sys.stdout.flush()
    return code


def explained(error: Exception) -> CommandFailed | None:
    """The failure to report for an expected exception; ``None`` for a bug of ours."""
    if isinstance(error, CommandFailed):
        return error
    from jvmti.agents.script import ScriptError
    from jvmti.interface.errors import Error
    from jvmti.target.errors import AttachError, OptionsError, TargetNotFound
    from jvmti.text.printable import printable

    def lines(text: Any) -> str:
        return "\n".join(printable(line) for line in str(text).split("\n"))

    if isinstance(error, TargetNotFound):
        return CommandFailed(lines(error), NOT_FOUND)
    if isinstance(error, AttachError):
        return CommandFailed(lines(error), UNREACHABLE)
    if isinstance(error, OptionsError | ScriptError):
        return CommandFailed(lines(error), USAGE)
    if isinstance(error, Error):
        return CommandFailed(lines(error), FAILED)
    return None


__all__ = ["VERBS", "Command", "CommandFailed", "command", "explained", "main", "prepare"]
