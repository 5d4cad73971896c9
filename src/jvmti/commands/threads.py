"""``jvmti threads``."""

from __future__ import annotations

import argparse
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from jvmti.commands.options.targets import add_delay, add_json, add_target, frames, opened, seconds
from jvmti.interface.constants import ThreadState
from jvmti.report.live_table import TableState, refresh_table
from jvmti.report.tables import console, print_json
from jvmti.text.printable import printable
from jvmti.text.quantities import processor_time, quantity

if TYPE_CHECKING:
    from jvmti.model.threads.java_thread import ThreadSnapshot
    from jvmti.model.threads.locks import LockSnapshot
    from jvmti.model.vm import VM

_STATES = ("NEW", "RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING", "TERMINATED")
_NAMED = 12
"""Threads listed of a group."""


class Command:
    """Show the threads of a JVM: states, processor times, stacks, locks and deadlocks.

      jvmti threads 4711
      jvmti threads MyServer --name 'http-*' --state BLOCKED
      jvmti threads MyServer --group

    With --watch it refreshes a table of the busiest threads until Ctrl-C. It stops no thread for
    longer than the VM needs to capture its stack.

    Virtual threads appear only with --virtual: there may be millions, and JVM TI does not list
    them, so finding them runs a few methods of the JDK in the target.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        add_json(parser)
        parser.add_argument(
            "--watch",
            nargs="?",
            type=seconds,
            const=2.0,
            metavar="SECONDS",
            help="refresh a table, sorted by processor use (default: every 2 seconds)",
        )
        parser.add_argument(
            "--name",
            action="append",
            default=[],
            metavar="PATTERN",
            help="only threads whose name matches ('http-*') or contains this; may be repeated",
        )
        parser.add_argument(
            "--state",
            action="append",
            default=[],
            type=str.upper,
            choices=_STATES,
            help="only threads in this state; may be repeated",
        )
        parser.add_argument(
            "--group", action="store_true", help="show equal stacks once, with the threads at them"
        )
        parser.add_argument(
            "--stack-depth",
            type=frames,
            default=64,
            metavar="N",
            help="frames of each stack at most",
        )
        parser.add_argument("--virtual", action="store_true", help="virtual threads as well")
        add_delay(parser)
        parser.add_argument(
            "--no-locks", action="store_true", help="do not look for locks and deadlocks"
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print the threads once, or again and again."""
        if given.watch and given.json:
            given.parser.error("--watch is for people; --json prints once")
        if given.watch and given.group:
            given.parser.error("--watch shows a line for each thread; --group prints once")
        from jvmti.model.threads.locks import LockFinder

        with opened(given) as vm:
            if given.launched:
                time.sleep(given.delay)
            if given.watch:
                _watch(vm, given)
                return
            threads = vm.threads.snapshot(given.stack_depth, virtual=given.virtual)
            sample, circles = None, []
            if not given.no_locks:
                finder = LockFinder(vm)
                sample = finder.sample(threads, given.timeout)
                circles = finder.deadlocks(threads, sample)
            chosen = _chosen(threads, given)
            if given.json:
                found = _as_json(vm, chosen, sample, circles)
                if given.group:
                    found["groups"] = _groups_as_json(chosen)
                print_json(found)
            elif given.group:
                _print_groups(vm, chosen)
            else:
                _print(vm, threads, chosen, sample, circles)


def _chosen(threads: list[ThreadSnapshot], given: argparse.Namespace) -> list[ThreadSnapshot]:
    def named(name: str) -> bool:
        return not given.name or any(
            fnmatchcase(name, pattern) or pattern in name for pattern in given.name
        )

    return [
        thread
        for thread in threads
        if named(thread.name) and (not given.state or thread.java_state in given.state)
    ]


def _groups(threads: list[ThreadSnapshot]) -> list[tuple[tuple[str, ...], list[ThreadSnapshot]]]:
    """Threads by state and stack, those of the most threads first."""
    groups: dict[tuple[str, ...], list[ThreadSnapshot]] = {}
    for thread in threads:
        key = (thread.java_state, *(str(frame) for frame in thread.frames))
        groups.setdefault(key, []).append(thread)
    return sorted(groups.items(), key=lambda item: -len(item[1]))


def _groups_as_json(threads: list[ThreadSnapshot]) -> list[dict[str, Any]]:
    return [
        {
            "state": state,
            "count": len(members),
            "stack": stack,
            "threads": [{"id": one.id, "name": one.name} for one in members],
        }
        for (state, *stack), members in _groups(threads)
    ]


def _print_groups(vm: VM, threads: list[ThreadSnapshot]) -> None:
    out = console()
    groups = _groups(threads)
    out.print(
        f"{vm.process.pid} {printable(vm.process.main)}, Java {vm.process.java_version}: "
        f"{quantity(len(threads), 'thread')} at {quantity(len(groups), 'stack')}, "
        f"{time.strftime('%Y-%m-%d %H:%M:%S')}"
    )
    for (state, *stack), members in groups:
        number = quantity(len(members), "thread")
        out.print(f"\n{number}, {state}", style="bold")
        names = [f'"{printable(one.name)}" #{one.id}' for one in members]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        out.print(f"    {', '.join(names[:_NAMED])}{more}")
        for frame in stack:
            out.print(f"    at {printable(frame)}")


def _as_json(
    vm: VM, threads: list[ThreadSnapshot], sample: LockSnapshot | None, circles: list[list[int]]
) -> dict[str, Any]:
    def one(thread: ThreadSnapshot) -> dict[str, Any]:
        found: dict[str, Any] = {
            "id": thread.id,
            "name": thread.name,
            "state": thread.java_state,
            "flags": str(thread.state).split("|"),
            "daemon": thread.is_daemon,
            "virtual": thread.is_virtual,
            "priority": thread.priority,
            "cpu_time_ns": thread.cpu_time,
            "frames": [
                {
                    "class": frame.method.class_name,
                    "method": frame.method.name,
                    "signature": frame.method.signature,
                    "source_file": frame.source_file,
                    "line": frame.line,
                    "location": frame.location,
                }
                for frame in thread.frames
            ],
        }
        locks = sample.threads.get(thread.id) if sample else None
        if locks is not None:
            found["owns"] = [vars(lock) for lock in locks.owned]
            found["waits_for"] = vars(locks.waits_for) if locks.waits_for else None
            found["waits_for_thread"] = locks.owner
        return found

    return {
        "pid": vm.process.pid,
        "main": vm.process.main,
        "java_version": vm.process.java_version,
        "time": time.time(),
        "threads": [one(thread) for thread in threads],
        "deadlocks": circles,
        "monitors": {"source": sample.source, "reason": sample.reason} if sample else None,
    }


def _print(
    vm: VM,
    threads: list[ThreadSnapshot],
    chosen: list[ThreadSnapshot],
    sample: LockSnapshot | None,
    circles: list[list[int]],
) -> None:
    from rich.text import Text

    from jvmti.model.threads.java_thread import described

    out = console()
    process = vm.process
    out.print(
        f"{process.pid} {printable(process.main)}, Java {process.java_version}: "
        f"{_number(chosen, threads)}, {time.strftime('%Y-%m-%d %H:%M:%S')}"
    )
    names = {thread.id: thread.name for thread in threads}

    def named(number: int) -> str:
        return f'"{printable(names.get(number, "?"))}" #{number}'

    for thread in chosen:
        detail = described(thread.state)
        line = Text(f"\n{named(thread.id)}", style="bold")
        line.append(f"  {thread.java_state}", style=_colour(thread))
        if detail:
            line.append(f" ({detail})")
        line.append(
            f"  cpu {processor_time(thread.cpu_time)}, priority {thread.priority}"
            + (", daemon" if thread.is_daemon else "")
            + (", virtual" if thread.is_virtual else ""),
            style="dim",
        )
        out.print(line)
        for frame in thread.frames:
            out.print(f"    at {printable(str(frame))}")
        locks = sample.threads.get(thread.id) if sample else None
        if locks is None:
            continue
        if locks.waits_for is not None:
            verb = "parked on" if thread.state & ThreadState.PARKED else "waits for"
            owner = "" if locks.owner is None else f", held by {named(locks.owner)}"
            out.print(f"    {verb} {locks.waits_for.kind} {printable(str(locks.waits_for))}{owner}")
        for lock in locks.owned:
            out.print(f"    holds {lock.kind} {printable(str(lock))}")
    if sample is None:
        return
    if sample.reason:
        out.print("\nThe owners of monitors are unknown: " + printable(sample.reason))
    if not circles:
        out.print("\nNo deadlock." if sample.source else "\nNo deadlock among the known locks.")
    for number, circle in enumerate(circles, 1):
        out.print(f"\nDeadlock {number}: {len(circle)} threads wait for each other", style="red")
        for one in circle:
            locks = sample.threads[one]
            wanted = locks.waits_for
            assert wanted is not None
            assert locks.owner is not None
            out.print(
                f"    {named(one)} waits for {wanted.kind} {printable(str(wanted))}, "
                f"held by {named(locks.owner)}"
            )


def _number(chosen: list[ThreadSnapshot], threads: list[ThreadSnapshot]) -> str:
    if len(chosen) == len(threads):
        return quantity(len(threads), "thread")
    return f"{len(chosen)} of {quantity(len(threads), 'thread')}"


def _colour(thread: ThreadSnapshot) -> str:
    return {"RUNNABLE": "green", "BLOCKED": "red"}.get(thread.java_state, "cyan")


_COLUMNS = [">ID", "THREAD", "STATE", ">CPU", ">TIME", "TOP FRAME"]


def _watch(vm: VM, given: argparse.Namespace) -> None:
    before = {thread.id: thread.cpu_time or 0 for thread in vm.threads.snapshot(0)}
    moment = time.monotonic()

    def sample(lines: int | None) -> TableState:
        nonlocal before, moment
        now = time.monotonic()
        threads = vm.threads.snapshot(1, virtual=given.virtual)
        rows, styles = _rows(_chosen(threads, given), before, now - moment)
        busy = sum(_shares(threads, before, now - moment).values())
        before = {thread.id: thread.cpu_time or 0 for thread in threads}
        moment = now
        head = (
            f"{vm.process.pid} {printable(vm.process.main)}: {quantity(len(threads), 'thread')} "
            f"{'uses' if len(threads) == 1 else 'use'} "
            f"{busy:.0%} of a processor   {time.strftime('%H:%M:%S')}"
        )
        return TableState(head, rows, styles)

    refresh_table(_COLUMNS, given.watch, sample)


def _shares(
    threads: list[ThreadSnapshot], before: dict[int, int], passed: float
) -> dict[int, float]:
    """The part of a processor that each thread has used."""
    return {
        thread.id: ((thread.cpu_time or 0) - before.get(thread.id, 0)) / 1e9 / passed
        for thread in threads
    }


def _rows(
    threads: list[ThreadSnapshot], before: dict[int, int], passed: float
) -> tuple[list[list[object]], list[str | None]]:
    shares = _shares(threads, before, passed)
    threads = sorted(threads, key=lambda thread: -shares[thread.id])
    rows: list[list[object]] = [
        [
            thread.id,
            thread.name,
            thread.java_state,
            f"{shares[thread.id]:.1%}",
            processor_time(thread.cpu_time),
            str(thread.frames[0]) if thread.frames else "",
        ]
        for thread in threads
    ]
    styles = [
        "red" if thread.java_state == "BLOCKED" else "bold" if shares[thread.id] > 0.05 else None
        for thread in threads
    ]
    return rows, styles
