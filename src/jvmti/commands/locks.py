"""``jvmti locks``."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from jvmti.commands.options.targets import add_delay, add_json, add_target, count, opened, seconds
from jvmti.commands.sigterm import end_asked
from jvmti.model.threads.contention import INTERVAL, LockUse, LockWatch
from jvmti.report.tables import console, print_json
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_SECONDS = 5.0
_TOP = 20
_PLACES = 3


class Command:
    """Show the locks that threads of a JVM wait for, for how long, and their owners.

      jvmti locks 4711
      jvmti locks MyServer --duration 60 --json
      jvmti locks MyServer --once

    It watches for 5 seconds, or for --duration. It counts and measures waits for monitors
    (synchronized) exactly, and samples their owners and the locks of java.util.concurrent ten
    times a second, or less often if that would slow the program down. Object.wait and pools that
    wait for work are not waits for a lock, and are left out. Ctrl-C ends it early.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        add_json(parser)
        parser.add_argument(
            "--duration",
            type=seconds,
            default=_SECONDS,
            metavar="SECONDS",
            help=f"for how long to watch (default: {_SECONDS:g})",
        )
        parser.add_argument(
            "--once",
            action="store_true",
            help="look once, and show the threads that wait at this moment",
        )
        parser.add_argument(
            "--interval",
            type=seconds,
            default=INTERVAL,
            metavar="SECONDS",
            help=f"between two samples of lock owners (default: {INTERVAL:g})",
        )
        parser.add_argument(
            "--top", type=count, default=_TOP, metavar="N", help=f"locks (default: {_TOP})"
        )
        add_delay(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Watch, and print the locks."""
        with opened(given) as vm:
            if given.launched:
                time.sleep(given.delay)
            watch = LockWatch(vm, given.timeout)
            if given.once:
                found = watch.snapshot()
            else:
                with end_asked() as asked:
                    found = watch.watch(given.duration, given.interval, lambda: asked.yet)
            if given.json:
                print_json(_as_json(vm, watch, found))
            else:
                _print(vm, watch, found, given.top)


def _as_json(vm: VM, watch: LockWatch, found: list[LockUse]) -> dict[str, Any]:
    return {
        "pid": vm.process.pid,
        "main": vm.process.main,
        "seconds": round(watch.seconds, 3),
        "samples": watch.samples,
        "monitors": {"source": watch.source, "reason": watch.reason},
        "deadlocks": watch.deadlocks,
        "locks": [
            {
                "kind": use.kind,
                "class": use.class_name,
                "id": use.key,
                "waits": use.waits,
                "total_seconds": round(use.total, 6),
                "mean_seconds": round(use.total / use.waits, 6),
                "max_seconds": round(use.longest, 6),
                "exact": use.exact,
                "places": [
                    {"place": place, "waits": int(waits), "total_seconds": round(total, 6)}
                    for place, (waits, total) in _places(use)
                ],
                "owners": [
                    {"thread": thread, "place": place, "samples": samples}
                    for (thread, place), samples in use.owners.most_common()
                ],
                "waiting": [vars(waiter) for waiter in use.waiting],
            }
            for use in found
        ],
    }


def _places(use: LockUse) -> list[tuple[str, list[float]]]:
    return sorted(use.places.items(), key=lambda item: (-item[1][1], -item[1][0]))


def _print(vm: VM, watch: LockWatch, found: list[LockUse], top: int) -> None:
    out = console()
    period = f"watched for {duration(watch.seconds)}" if watch.seconds else "now"
    number = quantity(len(found), "lock")
    out.print(
        f"{vm.process.pid} {printable(vm.process.main)}, Java {vm.process.java_version}: "
        f"{number} waited for, {period}"
    )
    for use in found[:top]:
        out.print(f"\n{printable(use.name)}  ({use.kind})", style="bold")
        about = "" if use.exact else "about "
        times = "once" if use.waits == 1 else f"{use.waits} times"
        if watch.seconds:
            text = f"waited for {about}{times}, {about}{duration(use.total)} in all"
            if use.waits > 1:
                text += (
                    f", {duration(use.total / use.waits)} on average, "
                    f"{duration(use.longest)} at most"
                )
            out.print(f"    {text}")
        for place, (waits, total) in _places(use)[:_PLACES]:
            total_text = f"{duration(total)}, " if watch.seconds else ""
            out.print(f"    in {printable(place)}  ({total_text}{int(waits)} ×)")
        for (thread, place), samples in use.owners.most_common(_PLACES):
            often = (
                f"  ({samples} of {quantity(watch.samples, 'sample')})" if watch.samples > 1 else ""
            )
            out.print(f'    held by "{printable(thread)}" in {printable(place)}{often}')
        if not use.owners and watch.source:
            sampled = (
                "the one sample"
                if watch.samples == 1
                else f"any of {quantity(watch.samples, 'sample')}"
            )
            out.print(f"    not held in {sampled}; sample more often with --interval")
        for waiter in use.waiting[:_PLACES]:
            long = "" if waiter.seconds is None else f" for {duration(waiter.seconds)}"
            long += " or longer" if waiter.at_least else ""
            out.print(
                f'    "{printable(waiter.thread)}" still waits{long} in {printable(waiter.place)}'
            )
        if len(use.waiting) > _PLACES:
            out.print(f"    and {quantity(len(use.waiting) - _PLACES, 'thread')} more")
    if len(found) > top:
        out.print(f"\nand {quantity(len(found) - top, 'lock')} more; --top shows them")
    if watch.reason:
        out.print(f"\nThe owners of monitors are unknown: {printable(watch.reason)}")
    for circle in watch.deadlocks:
        names = " → ".join(f'"{printable(name)}"' for name in [*circle, circle[0]])
        out.print(f"\nDeadlock: {names}; `jvmti threads` shows their stacks", style="red")
