"""``jvmti ps``."""

from __future__ import annotations

import argparse
import pwd
import time
from typing import Any

from jvmti.commands.options.targets import add_json
from jvmti.report.tables import print_json, print_table
from jvmti.target.processes.search import Process, processes
from jvmti.text.quantities import duration


class Command:
    """List the JVMs on this machine.

    For JVMs of other users it shows what the system reveals. It attaches to none of them.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_json(parser)
        parser.add_argument(
            "-a", "--arguments", action="store_true", help="show the programs' arguments too"
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print the list."""
        found = [_described(process) for process in processes()]
        if given.json:
            print_json(found)
            return
        columns = [">PID", "USER", "JAVA", ">UPTIME", "MAIN"]
        rows = []
        for one in found:
            main = one["main"] or one["executable"] or "?"
            if given.arguments:
                main = " ".join([main, *one["arguments"]])
            if one["namespaces"]:
                main += f"  (in its own {', '.join(one['namespaces'])} namespace)"
            rows.append(
                [one["pid"], one["user"], one["java_version"], duration(one["uptime"]), main]
            )
        print_table(columns, rows)


def _described(process: Process) -> dict[str, Any]:
    try:
        user = pwd.getpwuid(process.uid).pw_name
    except KeyError:
        user = str(process.uid)
    return {
        "pid": process.pid,
        "user": user,
        "java_version": process.java_version,
        "main": process.main,
        "arguments": list(process.arguments),
        "jvm_arguments": list(process.jvm_arguments),
        "java_home": process.java_home,
        "executable": process.executable,
        "started": process.started,
        "uptime": max(0.0, time.time() - process.started),
        "namespaces": sorted(process.foreign_namespaces),
    }
