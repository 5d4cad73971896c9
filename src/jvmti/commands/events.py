"""``jvmti events``."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import fnmatch
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy

import jvmti
from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.outputs import add_output, output
from jvmti.commands.targets import (
    add_json,
    add_target,
    count,
    end_program,
    frames,
    launched_command,
    named_target,
    no_target_but_the_program,
    seconds,
    started,
)
from jvmti.env.event_records import Holds, record_fields
from jvmti.env.events import EVENTS, EventDeclaration
from jvmti.events.names import NameColumn
from jvmti.events.records import Records, has_thread
from jvmti.events.streams import Stream
from jvmti.model.allowed import reason
from jvmti.model.vm import VM
from jvmti.report.event_files import EventFile, open_file
from jvmti.report.events import Clock, Summary, json_of, line_of
from jvmti.report.tables import print_json, print_table
from jvmti.report.text import duration, printable
from jvmti.spec.capabilities import Capabilities
from jvmti.spec.errors import Error, TargetLost

_USUAL = (
    "ThreadStart",
    "ThreadEnd",
    "ClassPrepare",
    "Exception",
    "MonitorContendedEntered",
    "GarbageCollectionStart",
    "GarbageCollectionFinish",
)
"""What is shown where no event is named: what happens now and then in every program."""

_FILTERS = ("class", "method", "thread", "exception")
_INTERVAL = 0.2
_PROGRESS = 1.0
_TOP = 15


class Command:
    """Show what happens in a JVM, event by event.

      jvmti events 4711 Exception --filter class='com.acme.*' --stack 5
      jvmti events 'Monitor*' --summary -- java -jar app.jar
      jvmti events MyServer MethodEntry -o calls.parquet --for 10

    What strace is for system calls: a line for each event, with its time, thread, method and
    values. The program does not wait for it; events for which there was no room are counted.
    Events are those of JVM TI, by name or pattern. Ctrl-C ends it.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.usage = (
            f"{parser.prog} [options] TARGET [EVENT …]\n"
            f"       {parser.prog} [options] [EVENT …] -- java …"
        )
        parser.add_argument(
            "events",
            nargs="*",
            metavar="EVENT",
            help="names or patterns of events: " + ", ".join(sorted(_names())) + "; "
            "without any, what happens now and then in every program",
        )
        parser.add_argument(
            "--filter",
            action="append",
            default=[],
            metavar="KIND=PATTERN",
            help="only events whose class, method, thread or exception matches, as in "
            "class=com.acme.*; of several for one kind, one must match",
        )
        parser.add_argument(
            "--stack", type=frames, default=0, metavar="N", help="show N frames of the stack"
        )
        parser.add_argument(
            "--min-duration",
            type=seconds,
            metavar="SECONDS",
            help="only what took so long; for MethodExit, MonitorWaited, MonitorContendedEntered",
        )
        parser.add_argument(
            "--wait",
            action="store_true",
            help="let the program wait where there is no room, so that no event is dropped",
        )
        parser.add_argument(
            "--for", dest="most_seconds", type=seconds, metavar="SECONDS", help="end after a time"
        )
        parser.add_argument("--count", type=count, metavar="N", help="end after so many events")
        parser.add_argument(
            "--summary",
            action="store_true",
            help="show counts and rates by event, class, method and thread at the end instead",
        )
        add_output(parser, "the events")
        add_json(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Show events until somebody or something ends it."""
        no_target_but_the_program(given, given.events)
        filters = _filters(given.filter)
        declarations = chosen(given.events, filters, given)
        path = output(given)
        signal.signal(signal.SIGTERM, _interrupt)
        clock = Clock(time.monotonic_ns(), time.time())
        with contextlib.ExitStack() as stack:
            # Before anything is started, because it says what is missing.
            file = None if path is None else open_file(path, clock)
            if file is not None:
                stack.callback(file.close)
            vm = stack.enter_context(_session(given))
            env = vm.new_env()
            stream = _open(vm, env, declarations, filters, given)
            watch = _Watch(given, stream, clock, file, filters.get("thread", []))
            try:
                if vm.held:
                    vm.proceed()
                watch.until_the_end()
            except KeyboardInterrupt:
                pass  # which is how it is meant to end
            watch.finish()
        watch.tell()


class _Watch:
    """Reads a stream and passes on what it says."""

    def __init__(
        self,
        given: argparse.Namespace,
        stream: Stream,
        clock: Clock,
        file: EventFile | None,
        threads: list[str],
    ) -> None:
        self.stream = stream
        self.summary = Summary()
        self._given = given
        self._clock = clock
        self._file = file
        self._threads = threads
        self._began = time.monotonic()
        self._told = self._began
        self._progress = sys.stderr.isatty()

    def until_the_end(self) -> None:
        """Read until the time, the number of events or the target has come to its end."""
        while True:
            left = _INTERVAL
            if self._given.most_seconds is not None:
                left = min(left, self._began + self._given.most_seconds - time.monotonic())
                if left <= 0:
                    return
            if not self._take(self.stream.read(left)) and self._ended():
                return
            if self._given.count is not None and self.summary.total >= self._given.count:
                return
            self._show_progress()

    def finish(self) -> None:
        """Record no more, and take what is still there."""
        with contextlib.suppress(Error):
            self.stream.close()
        enough = self._given.count is not None
        while not enough and self._take(self.stream.read(0)):
            pass
        if self._progress:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def tell(self) -> None:
        """Print the summary, and what became of the events."""
        given, summary = self._given, self.summary
        passed = time.monotonic() - self._began
        if given.summary:
            kinds = [kind for kind in summary.kinds if summary.kinds[kind]]
            if given.json:
                print_json(
                    {
                        "events": summary.total,
                        "dropped": self.stream.dropped,
                        "seconds": round(passed, 3),
                        **{f"by_{kind}": summary.rows(kind) for kind in kinds},
                    }
                )
            else:
                for kind in kinds:
                    rows = summary.rows(kind, _TOP)
                    if kind == "stack":
                        more = len(summary.kinds[kind]) - len(rows)
                        print("\nby stack" + (f" (and {more} more)" if more else ""))
                        for row in rows:
                            print(f"{row['count']:,} × {row['event']}")
                            for frame in row["stack"]:
                                print(f"    at {printable(frame)}")
                        continue
                    heads = [">COUNT", ">PER SECOND", *(["EVENT"] if kind != "event" else [])]
                    cells = [
                        [row["count"], row["per_second"], row["event"], row[kind]]
                        if kind != "event"
                        else [row["count"], row["per_second"], row["event"]]
                        for row in rows
                    ]
                    more = len(summary.kinds[kind]) - len(rows)
                    title = f"\nby {kind}" + (f" (and {more} more)" if more else "")
                    print_table([*heads, kind.upper()], cells, title=title)
        events = "1 event" if summary.total == 1 else f"{summary.total} events"
        text = f"{events} in {duration(passed)}, {self.stream.dropped} dropped"
        if given.output is not None:
            text += f", in {given.output}"
        print(text, file=sys.stderr)

    def _take(self, records: Records) -> bool:
        if not len(records):
            return False
        records = records.sorted_by_time()
        if self._threads:
            records = records.where(_matching(records["thread"], self._threads))
        if self._given.count is not None:
            left = max(self._given.count - self.summary.total, 0)
            records = records.where(numpy.arange(len(records)) < left)
        self.summary.add(records)
        if self._file is not None:
            if len(records):
                self._file.write(records)
        elif not self._given.summary:
            form = json_of if self._given.json else line_of
            for row in records.rows():
                print(form(row, self._clock))
            sys.stdout.flush()
        return True

    def _ended(self) -> bool:
        return self.stream.env._session.wait(0)

    def _show_progress(self) -> None:
        now = time.monotonic()
        if not self._progress or now - self._told < _PROGRESS:
            return
        self._told = now
        text = f"{self.summary.total} events, {self.stream.dropped} dropped"
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _names() -> dict[str, EventDeclaration]:
    return {cls.__name__: cls.declaration for cls in EVENTS.values()}


def chosen(
    words: list[str], filters: dict[str, list[str]], given: argparse.Namespace
) -> list[EventDeclaration]:
    """The events that are meant, without those that the filters leave nothing of.

    Raises:
        CommandFailed: a word means none, or nothing is left.
    """
    names = _names()
    found: dict[str, EventDeclaration] = {}
    for word in words or _USUAL:
        matching = [name for name in names if fnmatch.fnmatchcase(name.lower(), word.lower())]
        if not matching:
            near = difflib.get_close_matches(word, names, n=2)
            hint = f"did you mean {' or '.join(near)}? The" if near else "the"
            raise CommandFailed(
                f"there is no event {word!r}; {hint} events are {', '.join(sorted(names))}", USAGE
            )
        found |= {name: names[name] for name in matching}
    explicit = {word for word in words if word in names}
    for name, declaration in list(found.items()):
        why = _unfit(declaration, filters, given)
        if why is not None:
            if name in explicit:
                raise CommandFailed(f"{name} {why}", USAGE)
            del found[name]
    if not found:
        raise CommandFailed("none of these events has what the filters ask for", USAGE)
    return list(found.values())


def _unfit(
    declaration: EventDeclaration, filters: dict[str, list[str]], given: argparse.Namespace
) -> str | None:
    fields = record_fields(declaration)
    names = {field.name for field in fields}
    if "thread" in filters and not has_thread(declaration):
        return "has no thread to filter by"
    if "method" in filters and "method" not in names:
        return "has no method to filter by"
    if "exception" in filters and "exception" not in names:
        return "has no exception to filter by"
    holds = {field.holds for field in fields}
    if "class" in filters and not holds & {Holds.METHOD, Holds.CLASS, Holds.OBJECT}:
        return "has no class to filter by"
    if given.min_duration is not None and declaration.ends is None:
        return "ends nothing that has a duration"
    if declaration.vm_stopped and (given.stack or given.wait):
        return "is sent while the VM is stopped, so it has no stack and cannot wait"
    return None


def _filters(words: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word in words:
        kind, equals, pattern = word.partition("=")
        if kind not in _FILTERS or not equals or not pattern:
            kinds = ", ".join(_FILTERS)
            raise CommandFailed(
                f"--filter: {word!r} is not KIND=PATTERN with one of {kinds}", USAGE
            )
        found.setdefault(kind, []).append(pattern)
    return found


@contextlib.contextmanager
def _session(given: argparse.Namespace) -> Iterator[VM]:
    """The target: as it is, or a program that is held at its start and ended with us."""
    if given.launched is None:
        with jvmti.attach(named_target(given), timeout=given.timeout) as vm:
            yield vm
        return
    vm = started(given, launched_command(given), hold=True)
    try:
        with vm:
            yield vm
    except TargetLost:
        pass  # the program has come to its end
    finally:
        end_program(vm)


def _open(
    vm: VM,
    env: Any,
    declarations: list[EventDeclaration],
    filters: dict[str, list[str]],
    given: argparse.Namespace,
) -> Stream:
    needed = Capabilities(0)
    potential = env.get_potential_capabilities()
    for declaration in list(declarations):
        own = Capabilities.of(declaration.capabilities)
        if not own & ~potential or declaration.name in given.events:
            needed |= own
        else:
            # It was not asked for by name.
            why = reason(vm, next(iter(own & ~potential)), potential)
            print(
                f"jvmti: without {declaration.name}: {'; '.join(filter(None, why))}",
                file=sys.stderr,
            )
            declarations.remove(declaration)
    if not declarations:
        raise CommandFailed("this JVM gives none of these events now; see `jvmti info`")
    if missing := needed & ~potential:
        why = reason(vm, next(iter(missing)), potential)
        raise CommandFailed(
            f"this JVM does not give {', '.join(sorted(missing.names()))} now: "
            f"{'; '.join(filter(None, why))}"
        )
    env.add_capabilities(needed)
    stream: Stream = env.stream(
        [declaration.constant for declaration in declarations],
        classes=filters.get("class"),
        methods=filters.get("method"),
        exceptions=filters.get("exception"),
        min_duration=given.min_duration,
        stack=given.stack,
        objects=True,
        policy="wait" if given.wait else "drop",
    )
    return stream


def _matching(column: NameColumn, patterns: list[str]) -> Any:
    wanted = numpy.array(
        [
            name is not None and any(fnmatch.fnmatchcase(name, one) for one in patterns)
            for name in column.names
        ]
    )
    return wanted[column.codes]


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
