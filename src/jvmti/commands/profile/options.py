"""Options of `jvmti profile`; nothing heavy is imported for its help."""

from __future__ import annotations

import argparse

from jvmti.commands.options.targets import add_steps, seconds

__all__ = ["DURATION", "ELSEWHERE", "ENGINES", "KINDS", "PARTS", "ROWS", "add_taking"]

DURATION = 30.0
"""Seconds that a profile takes unless you ask for others."""

KINDS = {
    "cpu": "processor time",
    "wall": "wall-clock time, also of threads that wait",
    "alloc": "allocated memory",
    "live": "allocated memory that is alive at the end",
    "lock": "waiting for monitors and locks",
}


ENGINES = {"cpu": ("perf", "timer", "deltas"), "wall": ("deltas",)}
"""The engines that can take the samples of a kind."""

ROWS = ("method", "line", "class", "package", "kind", "type")
"""The parts of code that a row of the table can be, for ``--by``."""

PARTS = ("thread", "group", "pool", "process", "state", "owner", "request")
"""The owners of the samples that a row can have, for ``--by``."""


_EVENTS = ", ".join(f"--{kind}" for kind in KINDS)
ELSEWHERE = {
    "-d": "--duration",
    "-e": f"one of {_EVENTS}",
    "--event": f"one of {_EVENTS}",
    "-i": "--interval",
    "-r": "--interval, the time from one sample to the next: 10ms for a rate of 100",
    "--rate": "--interval, the time from one sample to the next: 10ms for a rate of 100",
    "-f": "--output",
    "--file": "--output",
    "--format": "the end of the name after --output: .html, .collapsed, .pb.gz",
    "-t": "--by thread",
    "--threads": "--by thread",
    "-p": "the target itself, without an option",
    "--pid": "the target itself, without an option",
    "--chunktime": "--loop",
}
"""Options of async-profiler and py-spy, and their counterparts here."""


def add_taking(parser: argparse.ArgumentParser) -> None:
    """Add the options for taking a profile."""
    group = parser.add_argument_group("how to sample")
    group.add_argument(
        "--duration",
        type=seconds,
        metavar="TIME",
        help=f"end after this time (default: {DURATION:.0f}, or when a started program ends)",
    )
    group.add_argument(
        "--interval",
        metavar="INTERVAL",
        help="from one sample to the next: 10ms, or 512k of allocated memory; of locks the "
        "shortest wait; of several kinds cpu=1ms,alloc=512k",
    )
    group.add_argument(
        "--engine",
        choices=ENGINES["cpu"],
        help="in place of the best that works; deltas takes --wall, too",
    )
    group.add_argument(
        "--source",
        choices=("agent", "jfr"),
        default="agent",
        help="jfr has the JVM's Flight Recorder take the samples (default: agent)",
    )
    group.add_argument(
        "--request",
        metavar="METHOD(VALUE)",
        help="note which request a thread works for: the method that handles requests, and a value "
        "that names one: 'com.acme.Server.handle(request).path'; --by request shows them",
    )
    add_steps(group, "with --request, ")
    group.add_argument(
        "--follow",
        action="store_true",
        help="of a program that is started, all JVMs as one profile, each from its start: also "
        "those that it or another JVM of it starts later; --by process tells them apart",
    )
    group.add_argument(
        "--loop",
        type=seconds,
        metavar="TIME",
        help="go on until Ctrl-C and write a file for each of these times: -o 'profile-%%t.pb.gz'",
    )
