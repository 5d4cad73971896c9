"""``jvmti profile``: takes a profile of a JVM, compares two, or converts a file."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from jvmti.commands.failure import NOT_FOUND, USAGE, CommandFailed
from jvmti.commands.options.targets import add_json, add_target, add_top, seconds
from jvmti.commands.parsing import Parser
from jvmti.commands.profile.options import ELSEWHERE, KINDS, PARTS, ROWS, add_taking
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["Command"]

_TOP = 20


class _Whats(tuple[str, ...]):
    """Words for what a row is; what notes a request counts as one."""

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or "(" in str(word)


class _Once(argparse.Action):
    """Store a value, and refuse a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        given: argparse.Namespace,
        value: object,
        option: str | None = None,
    ) -> None:
        if getattr(given, self.dest) is not None:
            raise argparse.ArgumentError(
                self, "one file at a time; `jvmti profile FILE.parquet -o …` makes others of it"
            )
        setattr(given, self.dest, value)


class Command:
    """Show where the time of a JVM goes, or its memory: a profile, a flame graph, or a comparison.

      jvmti profile MyServer --duration 30
      jvmti profile MyServer -o flame.html
      jvmti profile MyServer --alloc --duration 60 -o alloc.pb.gz
      jvmti profile MyServer --wall --by state
      jvmti profile -- java -jar app.jar
      jvmti profile --follow --by process -- ./build.sh
      jvmti profile MyServer --request 'com.acme.Server.handle(request).path' --by request
      jvmti profile MyServer --loop 60 -o 'profile-%t.parquet'
      jvmti profile flight.jfr -o flame.html
      jvmti profile diff before.parquet after.parquet

    Without -o it prints the methods that used most. The end of a file's name chooses its format:
    .html is a flame graph, .parquet keeps everything, .pb.gz is for pprof, .json for
    profiler.firefox.com, .perfetto-trace for ui.perfetto.dev. A file in place of the target is
    shown, or converted: Parquet of this command, recordings of Flight Recorder, pprof, and
    collapsed stacks. Several targets are one profile. Ctrl-C ends a profile early, and what it has
    is shown.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        if isinstance(parser, Parser):
            parser.elsewhere = ELSEWHERE
        parser.usage = (
            f"{parser.prog} [options] (TARGET … | FILE | -- java …)\n"
            f"       {parser.prog} [options] diff BEFORE AFTER"
        )
        parser.add_argument("files", nargs="*", metavar="FILE", help=argparse.SUPPRESS)
        kinds = parser.add_argument_group("what to sample (default: --cpu; of a file, all it has)")
        for name, text in KINDS.items():
            kinds.add_argument(
                f"--{name}", dest="kinds", action="append_const", const=name, help=text
            )
        add_taking(parser)
        shown = parser.add_argument_group("what to show")
        shown.add_argument(
            "-o",
            "--output",
            action=_Once,
            metavar="FILE",
            help="write a file instead: .html, .parquet, .pb.gz, .json, …; %%t is the time",
        )
        shown.add_argument("--force", action="store_true", help="overwrite the file")
        add_top(shown, _TOP)  # type: ignore[arg-type]
        shown.add_argument(
            "--by",
            choices=_Whats((*ROWS, *PARTS)),
            metavar="WHAT",
            default="method",
            help=f"what a row is: {', '.join(ROWS)} (default: method; type is the class that was "
            "allocated, or of the lock); or whose samples they are, which is the outermost frame "
            f"of a tree or file: {', '.join(PARTS)} (a pool has threads that differ in a number; "
            "owner is the thread that had the lock; request needs --request, and METHOD(VALUE) is "
            "short for --request METHOD(VALUE) --by request)",
        )
        shown.add_argument("--tree", action="store_true", help="print the stacks as a tree")
        shown.add_argument(
            "--callers", metavar="METHOD", help="print who calls it: java.util.HashMap.put"
        )
        shown.add_argument("--thread", metavar="PATTERN", help="only threads of this name: http-*")
        shown.add_argument(
            "--from",
            dest="begin",
            type=seconds,
            metavar="TIME",
            help="leave out what was before",
        )
        shown.add_argument(
            "--to", dest="end", type=seconds, metavar="TIME", help="leave out what was after"
        )
        add_json(parser)

    def run(self, given: argparse.Namespace) -> int | None:
        """Take, open or compare."""
        from jvmti.commands.profile.by import check_by, check_by_of_kinds
        from jvmti.commands.profile.output_file import check_output

        if given.begin is not None and given.end is not None and given.end <= given.begin:
            given.parser.error("--to is not after --from")
        if "(" in given.by:
            if given.request is not None:
                given.parser.error(
                    "--by METHOD(VALUE) and --request are the same: give one of them"
                )
            given.request, given.by = given.by, "request"
        check_by(given)
        if given.target == "diff" and len(given.files) == 2:
            from jvmti.commands.profile.showing import show_difference

            if given.launched is not None:
                given.parser.error("diff compares two files: leave out what follows --")
            if given.by != "method":
                given.parser.error(f"diff compares methods: leave out --by {given.by}")
            _refuse(given, "diff compares tables of methods", tree="--tree", callers="--callers")
            _refuse(given, _OF_JVM, **_TAKING)
            before, after = map(_opened, given.files)
            show_difference(given, before, after)
            return None
        if given.target == "diff" and given.files:
            given.parser.error(f"unexpected argument {given.files[0]!r}; diff takes two files")
        if given.files and any(map(_is_file, [given.target, *given.files])):
            given.parser.error(
                "one file at a time: diff compares two, and Profile.merge adds several up"
            )
        if given.follow and given.launched is None:
            given.parser.error("--follow is for a program that is started: -- java …")
        if given.follow:
            why = "no JVM has the method yet when it begins"
            _refuse(given, why, request="--request", max_pause="--max-pause")
        if given.follow or given.files:
            _refuse(given, "it is for one JVM", loop="--loop")
        check_output(given)
        is_file = given.launched is None and given.target is not None and _is_file(given.target)
        if not is_file:
            check_by_of_kinds(given, given.kinds or ["cpu"])
            if given.by == "request" and given.request is None:
                given.parser.error("--by request needs --request METHOD(VALUE)")
        if given.max_pause is not None and given.request is None:
            given.parser.error("--max-pause is for the probes of --request")
        if is_file:
            _refuse(given, _OF_JVM, **_TAKING)
            from jvmti.commands.profile.showing import show

            show(given, _opened(given.target))
            return None
        from jvmti.commands.profile.taking import take

        return take(given)


_OF_JVM = "samples are taken of a running JVM only"
_TAKING = {
    "duration": "--duration",
    "loop": "--loop",
    "interval": "--interval",
    "engine": "--engine",
    "source": "--source",
    "follow": "--follow",
    "request": "--request",
    "max_pause": "--max-pause",
}
"""The options that say how a profile is taken."""


def _refuse(given: argparse.Namespace, why: str, **options: str) -> None:
    """Refuse options that would do nothing."""
    for name, option in options.items():
        if getattr(given, name) not in (None, False, "agent"):
            given.parser.error(f"leave out {option}: {why}")


def _is_file(name: str) -> bool:
    from jvmti.profile.files import SUFFIXES

    return not name.isdigit() and (
        os.path.isfile(name) or name.lower().endswith((".jfr", *SUFFIXES))
    )


def _opened(path: str) -> Profile:
    from jvmti.profile.files import open_profile

    try:
        return open_profile(path)
    except FileNotFoundError:
        raise CommandFailed(f"{printable(path)}: no such file", NOT_FOUND) from None
    except (OSError, ImportError) as error:
        raise CommandFailed(printable(f"{path}: {error}"), USAGE) from None
