"""``jvmti events``."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import fnmatch
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy

import jvmti
from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.options.outputs import add_output, output
from jvmti.commands.options.targets import (
    add_json,
    add_steps,
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
from jvmti.commands.sigterm import end_at_sigterm
from jvmti.env.events import EVENTS, EventDeclaration
from jvmti.events.streams.layout import Holds, record_fields
from jvmti.events.streams.names import NameColumn
from jvmti.events.streams.recording import Stream, beginnings
from jvmti.events.streams.records import Records, has_thread
from jvmti.events.streams.waits import ENDED_BY, Waits
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import Error, TargetLost
from jvmti.model.capability_broker import Source
from jvmti.model.debug.late.probed_events import EVERYWHERE
from jvmti.model.vm import VM
from jvmti.report.event_files import EventFile, open_file
from jvmti.report.events import Clock, Summary, json_of, line_of
from jvmti.report.tables import print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

_USUAL = (
    "ThreadStart",
    "ThreadEnd",
    "ClassPrepare",
    "Exception",
    "MonitorContendedEntered",
    "GarbageCollectionStart",
    "GarbageCollectionFinish",
)
"""The default events: those that happen now and then in every program."""

_FILTERS = ("class", "method", "thread", "exception", "frame")
_DEEP = 256
"""Frames of a stack that a filter examines."""
_PATIENCE = 3.0
"""Report what occurs instead after this many seconds without a match."""
_PROBE = 1.0
_NEAR = 4
_INTERVAL = 0.2
_PROGRESS = 1.0
_TOP = 15


class Command:
    """Trace the events of a JVM.

      jvmti events 4711 Exception --filter class='com.acme.*' --stack-depth 5
      jvmti events 'Monitor*' --summary -- java -jar app.jar
      jvmti events MyServer 'Monitor*' --min-duration 0.1 --filter frame='com.acme.*'
      jvmti events MyServer MethodEntry -o calls.parquet --duration 10

    Like strace for system calls: a line for each event, with its time, thread, method and values,
    and with the duration if it ends a wait. The program does not wait; it drops and counts events
    when a buffer is full. Choose JVM TI events by name or pattern; Ctrl-C ends the trace.
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
            "the default is threads, classes, exceptions, contention and collections",
        )
        parser.add_argument(
            "--filter",
            action="append",
            default=[],
            metavar="KIND=PATTERN",
            help="only events whose class, method, thread or exception matches, or any frame of "
            "their stack, as in class=com.acme.*, exception=NumberFormatException, "
            "frame=com.acme.Shop.add; several filters of one kind are alternatives",
        )
        parser.add_argument(
            "--stack-depth", type=frames, default=0, metavar="N", help="show N frames of the stack"
        )
        parser.add_argument(
            "--min-duration",
            type=seconds,
            metavar="SECONDS",
            help="only events that took at least this long: MethodExit, MonitorWaited, "
            "MonitorContendedEntered",
        )
        parser.add_argument(
            "--no-drop",
            action="store_true",
            help="let the program wait if a buffer is full, so that no event is dropped",
        )
        parser.add_argument(
            "--duration", type=seconds, metavar="SECONDS", help="end after this time"
        )
        parser.add_argument("--count", type=count, metavar="N", help="end after N events")
        parser.add_argument(
            "--summary",
            action="store_true",
            help="print counts and durations at the end, by event, object, place, class, method "
            "and thread",
        )
        parser.add_argument(
            "--native",
            action="store_true",
            help="only what the JVM itself reports; otherwise probes in the program report what "
            "it does not give to an agent that comes late, see docs/emulation.md",
        )
        add_steps(parser, "of emulated events, ")
        add_output(parser, "the events")
        add_json(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Show events until the trace ends."""
        no_target_but_the_program(given, given.events)
        if given.max_pause is not None and given.native:
            given.parser.error("--max-pause is for probes, which --native refuses")
        filters = _filters(given.filter)
        declarations = chosen(given.events, filters, given)
        path = output(given)
        end_at_sigterm()
        clock = Clock(time.monotonic_ns(), time.time())
        with contextlib.ExitStack() as stack:
            # Before anything starts, because it reports missing packages.
            file = None if path is None else open_file(path, clock)
            if file is not None:
                stack.callback(file.close)
            vm = stack.enter_context(_session(given))
            env = vm.new_env()
            stream = _open(vm, env, declarations, filters, given)
            watch = _Watch(given, stream, clock, file, filters)
            try:
                if vm.held:
                    vm.proceed()
                watch.until_the_end()
            except KeyboardInterrupt:
                pass  # the normal way to end it
            watch.finish()
        watch.report()


class _Watch:
    """Reads a stream and passes its records on."""

    def __init__(
        self,
        given: argparse.Namespace,
        stream: Stream,
        clock: Clock,
        file: EventFile | None,
        filters: dict[str, list[str]],
    ) -> None:
        self.stream = stream
        self.summary = Summary()
        self.seen = 0
        self._waits = Waits()
        self._filters = filters
        self._next_check = _PATIENCE
        self._given = given
        self._clock = clock
        self._file = file
        self._began = time.monotonic()
        self._reported = self._began
        self._progress = sys.stderr.isatty()

    def until_the_end(self) -> None:
        """Read until the time limit, enough events, or the end of the target."""
        while True:
            left = _INTERVAL
            if self._given.duration is not None:
                left = min(left, self._began + self._given.duration - time.monotonic())
                if left <= 0:
                    return
            if not self._take(self.stream.read(left)) and self._ended():
                return
            if self._given.count is not None and self.summary.total >= self._given.count:
                return
            self._show_progress()
            if self._filtering and not self.summary.total:
                self._report_what_occurs()

    def finish(self) -> None:
        """Stop recording, and read the rest."""
        with contextlib.suppress(Error):
            self.stream.close()
        enough = self._given.count is not None
        while not enough and self._take(self.stream.read(0)):
            pass
        if not enough:
            self._take_unfinished()
        self.summary.seconds = time.monotonic() - self._began
        if self._progress:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def report(self) -> None:
        """Print the summary, and how many events were recorded and dropped."""
        given, summary = self._given, self.summary
        passed = summary.seconds
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
                    more = len(summary.kinds[kind]) - len(rows)
                    title = f"\nby {kind}" + (f" (and {more} more)" if more else "")
                    print_table(*_columns(kind, rows), title=title)
        events = quantity(summary.total, "event")
        text = f"{events} in {duration(passed)}, {self.stream.dropped} dropped"
        if self.seen > summary.total and given.count is None:
            text = f"{self.seen} events seen, {summary.total} matched" + text[len(events) :]
        if given.output is not None:
            text += f", in {given.output}"
        print(text, file=sys.stderr)

    def _take(self, records: Records) -> bool:
        if not len(records):
            return False
        records = records.sorted_by_time()
        if "place" in self.stream.columns:
            records = self._waits.ended(records)
        self.seen += len(records)
        if "thread" in self._filters:
            records = records.where(_matching(records["thread"], self._filters["thread"]))
        if "frame" in self._filters:
            records = records.where(_with_frame(records["stack"], self._filters["frame"]))
        if self._given.count is not None:
            left = max(self._given.count - self.summary.total, 0)
            records = records.where(numpy.arange(len(records)) < left)
        self.summary.add(records, stacks=self._given.stack_depth > 0)
        if self._file is not None:
            if len(records):
                self._file.write(records)
        elif not self._given.summary:
            for row in records.rows():
                self._print(row)
            sys.stdout.flush()
        return True

    def _print(self, row: dict[str, Any]) -> None:
        if row.get("stack"):
            row["stack"] = row["stack"][: self._given.stack_depth] or None
        print((json_of if self._given.json else line_of)(row, self._clock))

    def _take_unfinished(self) -> None:
        """Show the unfinished waits, which may be the longest."""
        for row in self._waits.rows(time.monotonic_ns()):
            least = (self._given.min_duration or 0) * 1e9
            wanted = row["duration"] >= least and all(
                any(_matches(name, one) for one in self._filters.get(kind, ["*"]))
                for kind, name in (("thread", row.get("thread") or ""),)
            )
            if "frame" in self._filters:
                frames = row.get("stack") or ()
                wanted = wanted and any(_has_frame(frames, one) for one in self._filters["frame"])
            if wanted:
                self.summary.add_unfinished(row, ENDED_BY[row["event"]])
                if self._file is None and not self._given.summary:
                    self._print(row)
        if self._file is not None:
            for records in self._waits.waiting.values():
                self._file.write(records)

    @property
    def _filtering(self) -> bool:
        return bool(self._filters) or self._given.min_duration is not None

    def _report_what_occurs(self) -> None:
        """Explain after a while why nothing is shown: which events occur, and that none matches."""
        passed = time.monotonic() - self._began
        if passed < self._next_check:
            return
        self._next_check = 10 * passed
        text = f"{self.seen:,} seen, 0 matched in {duration(passed)}"
        if not self.seen:
            seen, names = _probe(self.stream, self._filters)
            text = f"{seen:,} seen in the last second, 0 matched in {duration(passed)}"
            if not seen:
                text = f"no such event in {duration(passed)}, matching or not"
            for kind, found in names.items():
                listed = ", ".join(f"{name} ({count:,})" for name, count in found[:_NEAR])
                text += f"; {kind}: {listed}"
        print(f"jvmti: {printable(text)}", file=sys.stderr, flush=True)

    def _ended(self) -> bool:
        return self.stream.env._session.wait(0)

    def _show_progress(self) -> None:
        now = time.monotonic()
        if not self._progress or now - self._reported < _PROGRESS:
            return
        self._reported = now
        text = f"{quantity(self.summary.total, 'event')}, {self.stream.dropped} dropped"
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _columns(kind: str, rows: list[dict[str, Any]]) -> tuple[list[str], list[list[object]]]:
    """The headings and cells of a summary by one kind."""
    heads, cells = [">COUNT", ">PER SECOND"], [[row["count"], row["per_second"]] for row in rows]
    if any("total_seconds" in row for row in rows):
        heads += [">TOTAL", ">MEAN", ">MAX"]
        for row, line in zip(rows, cells, strict=True):
            took = [row.get(f"{name}_seconds") for name in ("total", "mean", "max")]
            line += [None if one is None else duration(one) for one in took]
    if any("unfinished" in row for row in rows):
        heads.append(">STILL")
        for row, line in zip(rows, cells, strict=True):
            line.append(row.get("unfinished", 0))
    for name in ("event", kind) if kind != "event" else ("event",):
        heads.append(name.upper())
        for row, line in zip(rows, cells, strict=True):
            line.append(row[name])
    return heads, cells


def _probe(stream: Stream, filters: dict[str, list[str]]) -> tuple[int, dict[str, list[Any]]]:
    """How many events one second without filters has, and the most frequent names in them."""
    env = stream.env
    summary = Summary()
    # In the same environment: some capabilities can be held by one environment only.
    with env.stream(stream.events, objects=True) as other:
        until = time.monotonic() + _PROBE
        while (left := until - time.monotonic()) > 0:
            summary.add(other.read(left))
    names = {}
    for kind in filters:
        counts: Counter[str] = Counter()
        # An event without a method has the class of its object.
        there = summary.kinds.get(kind)
        of_objects = kind == "class" and not there
        for (_, name), tally in (summary.kinds["object"] if of_objects else there or {}).items():
            counts[name.rpartition("@")[0] or name if of_objects else name] += tally.count
        if counts:
            names[kind] = counts.most_common(_NEAR)
    return summary.total, names


def _names() -> dict[str, EventDeclaration]:
    return {cls.__name__: cls.declaration for cls in EVENTS.values()}


def chosen(
    words: list[str], filters: dict[str, list[str]], given: argparse.Namespace
) -> list[EventDeclaration]:
    """The chosen events, without those that can never pass the filters.

    Raises:
        CommandFailed: a word matches no event, or none is left.
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
    if given.min_duration is not None:
        # An event and the one that ends it count as one.
        explicit -= {str(one.ends) for one in found.values()}
    for name, declaration in list(found.items()):
        why = _mismatch(declaration, filters, given)
        if why is not None:
            if name in explicit:
                raise CommandFailed(f"{name} {why}", USAGE)
            del found[name]
    if not found:
        raise CommandFailed("none of these events has the attribute that the filters need", USAGE)
    return list(found.values())


def _mismatch(
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
        return "has no duration"
    if "frame" in filters and (declaration.vm_stopped or not has_thread(declaration)):
        return "has no stack to filter by"
    if declaration.vm_stopped and (given.stack_depth or given.no_drop):
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


_OF_REQUESTS = {
    "Breakpoint": "CLASS:LINE",
    "FramePop": "return CLASS.METHOD",
    "FieldAccess": "read CLASS.FIELD",
    "FieldModification": "write CLASS.FIELD",
}
"""Events that an environment has requested a place of, which this command does not: and kinds of
places of logpoints that show the same."""


@contextlib.contextmanager
def _session(given: argparse.Namespace) -> Iterator[VM]:
    """The target: a running JVM, or a program that is held at its start and ended afterwards."""
    if given.launched is None:
        with jvmti.attach(
            named_target(given), timeout=given.timeout, emulate=not given.native
        ) as vm:
            yield vm
        return
    vm = started(given, launched_command(given), hold=True)
    try:
        with vm:
            yield vm
    except TargetLost:
        pass  # the program has ended
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
    emulated = _emulated(vm, given)
    for declaration in list(declarations):
        own = Capabilities.of(declaration.capabilities)
        if given.min_duration is not None:
            # A duration is known only if the beginning was recorded, too.
            for begin in beginnings([declaration]):
                own |= Capabilities.of(begin.capabilities)
        named = declaration.name in given.events
        missing = own & ~potential
        why = None if named or not missing else _why_unavailable(vm, missing, potential, given)
        if place := _OF_REQUESTS.get(declaration.name):
            why = f"it comes where a program asked for it; see jvmti logpoint TARGET '{place}'"
        costs = own & emulated and declaration.constant in EVERYWHERE and "class" not in filters
        if costs and not named:
            why = (
                "all classes would get probes, which takes a while and slows the program down; "
                "name the event, or choose classes by --filter class=PATTERN"
            )
        if why is None:
            needed |= own
        else:
            print(f"jvmti: without {declaration.name}: {why}", file=sys.stderr)
            declarations.remove(declaration)
    if not declarations:
        raise CommandFailed("none of these events is available in this JVM now; see `jvmti info`")
    if missing := needed & ~potential:
        names = ", ".join(sorted(missing.names()))
        why = _why_unavailable(vm, missing, potential, given)
        raise CommandFailed(f"not available in this JVM: {names}: {why}")
    env.add_capabilities(needed)
    stream: Stream = env.stream(
        [declaration.constant for declaration in declarations],
        classes=filters.get("class"),
        methods=filters.get("method"),
        exceptions=filters.get("exception"),
        min_duration=given.min_duration,
        waits=any(declaration.waits and declaration.ends for declaration in declarations),
        stack=_DEEP if "frame" in filters else given.stack_depth,
        objects=True,
        policy="wait" if given.no_drop else "drop",
        max_pause=given.max_pause,
    )
    if stream.emulated:
        print(
            f"jvmti: emulated by probes: {', '.join(stream.emulated)}; docs/emulation.md says how "
            "they differ",
            file=sys.stderr,
        )
    return stream


def _emulated(vm: VM, given: argparse.Namespace) -> Capabilities:
    """The capabilities that the events get from probes."""
    if given.native or given.launched is not None:
        return Capabilities(0)
    return Capabilities.of(
        *(one.capability for one in vm.capabilities.supports() if one.source is Source.EMULATED)
    )


def _why_unavailable(
    vm: VM, missing: Capabilities, potential: Capabilities, given: argparse.Namespace
) -> str:
    """Why a capability is not available, and what to do at the command line."""
    why, how = vm.capabilities.reason(next(iter(missing)), potential)
    # Emulated capabilities, too, would be among the potential ones of a session that emulates.
    if given.launched is None and not missing & ~vm.emulation.emulates:
        how = (
            "leave out --native to have probes report it, or start the program with the agent: "
            f"`jvmti {' '.join(('events', *given.events))} -- java …`, or with the options that "
            "`jvmti agent-options --reserve` prints"
        )
    return "; ".join(filter(None, (why, how)))


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern)


def _has_frame(frames: Iterable[str], pattern: str) -> bool:
    """Whether a pattern matches a frame's method or class; packages may be omitted."""
    for frame in frames:
        method = frame.partition(":")[0]
        for name in (method, method.rpartition(".")[0]):
            if any(_matches(name, f"{before}{pattern}") for before in ("", "*.", "*$")):
                return True
    return False


def _with_frame(column: NameColumn, patterns: list[str]) -> Any:
    return _chosen(column, lambda stack: any(_has_frame(stack, pattern) for pattern in patterns))


def _matching(column: NameColumn, patterns: list[str]) -> Any:
    return _chosen(column, lambda name: any(_matches(name, pattern) for pattern in patterns))


def _chosen(column: NameColumn, wanted: Callable[[Any], bool]) -> Any:
    used = numpy.unique(column.codes)
    good = [code for code in used.tolist() if column.names[code] and wanted(column.names[code])]
    return numpy.isin(column.codes, good)
