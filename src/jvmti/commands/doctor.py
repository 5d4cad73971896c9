"""``jvmti doctor``."""

from __future__ import annotations

import argparse
import time
from typing import Any

import jvmti
from jvmti.commands.failure import FAILED, NOT_FOUND
from jvmti.commands.options.targets import add_json, add_target, named_target
from jvmti.interface.capabilities import ONLOAD_ONLY, SOLO
from jvmti.interface.errors import Error, JvmtiError
from jvmti.report.tables import console, print_json
from jvmti.target.diagnose import Diagnosis, diagnose
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity


class Command:
    """Check whether attaching to a JVM works, and if not, say why and what to do.

    It changes at most one thing: it asks the JVM to open its attach socket, like every attach tool.
    With --attach it loads the agent, opens a session, finds out which capabilities other agents
    hold, and leaves.

    Exit code 0: attaching works; 1: it does not; 3: no such JVM.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser, launches=False)
        add_json(parser)
        parser.add_argument(
            "--attach", action="store_true", help="try it: load the agent and open a session"
        )

    def run(self, given: argparse.Namespace) -> int:
        """Print the results."""
        diagnosis = diagnose(named_target(given), timeout=min(given.timeout, 3.0))
        if given.attach and diagnosis.process is not None:
            _try(diagnosis, given.timeout)
        if given.json:
            print_json(diagnosis.as_json())
        else:
            _print(diagnosis)
        if diagnosis.process is None:
            return NOT_FOUND
        return 0 if diagnosis.ok else FAILED


def _try(diagnosis: Diagnosis, timeout: float) -> None:
    """Open a session and find out which capabilities others hold."""
    began = time.monotonic()
    try:
        assert diagnosis.process is not None
        with jvmti.attach(diagnosis.process, timeout=timeout) as vm:
            phase = vm.phase.name
            took = time.monotonic() - began
            available = vm.env.get_potential_capabilities()
            emulated = len(vm.capabilities.status().emulated)
            held = []
            reserved = bool(available & ONLOAD_ONLY & ~SOLO)
            for one in SOLO & ~available:
                if one & ONLOAD_ONLY and not reserved:
                    continue  # not held by anyone: it was available at the start only
                held.append((str(one.name), _refusal(vm, str(one.name))))
            diagnosis.add(
                "session",
                True,
                f"attached in {took * 1000:.0f} ms; the VM is in the {phase} phase and "
                f"{quantity(len(available), 'capability')} are available"
                + (f", {emulated} more are emulated" if emulated else ""),
            )
            for name, text in held:
                diagnosis.add(
                    "solo capability",
                    None,
                    f"{name} is held by another agent: {text}",
                    "end the tool that holds it, or do without",
                )
    except Error as error:
        diagnosis.add("session", False, str(error), "the checks above say why")


def _refusal(vm: Any, name: str) -> str:
    try:
        env = vm.new_env()
        env.add_capabilities({name})
    except JvmtiError as error:
        return error.detail or str(error)
    env.relinquish_capabilities({name})
    return "it is available again"


def _print(diagnosis: Diagnosis) -> None:
    out = console()
    marks = {True: ("ok", "green"), False: ("FAIL", "bold red"), None: ("note", "yellow")}
    width = max((len(check.name) for check in diagnosis.checks), default=0)
    for check in diagnosis.checks:
        mark, style = marks[check.ok]
        out.print(f"{mark:<5}", style=style, end="")
        detail = "\n".join(printable(line) for line in check.detail.split("\n"))
        out.print(f"{check.name:<{width}}  {detail}")
        if check.advice:
            out.print(f"{'':<{width + 7}}→ {printable(check.advice)}")
    if diagnosis.process is not None:
        out.print(
            "\nAttaching works."
            if diagnosis.ok
            else "\nAttaching does not work; the first FAIL is usually the cause."
        )
