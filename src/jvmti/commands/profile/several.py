"""Profiles of several JVMs as one: all that a program starts, or several that run already."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import jvmti
from jvmti import display
from jvmti.commands.failure import FAILED, UNREACHABLE, USAGE, CommandFailed
from jvmti.commands.options.targets import PATIENCE, launched_command, named_target
from jvmti.commands.profile.options import DURATION
from jvmti.commands.profile.taking import (
    LEAVING,
    STEP,
    exit_code_of,
    import_ahead,
    running,
    show_taken,
)
from jvmti.interface.errors import Error, TargetLost
from jvmti.model.vm import VM
from jvmti.target.errors import AttachError, JvmDied, LaunchFailed
from jvmti.target.launch import Launch
from jvmti.target.options import AgentOptions
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.commands.profile.taking import Running
    from jvmti.profile.profile import Profile
    from jvmti.target.connection import Connection

__all__ = ["take_of_program", "take_of_targets"]

Intervals = dict[str, float | None]
Part = tuple[str, "Running"]
"""A JVM's name, and its profile."""


def take_of_targets(given: argparse.Namespace, intervals: Intervals) -> int | None:
    """Take a profile of several running JVMs; one that ends early keeps its samples."""
    parts: list[Part] = []
    with contextlib.ExitStack() as sessions:
        vms: dict[int, VM] = {}
        for name in (named_target(given), *given.files):
            vm = sessions.enter_context(jvmti.attach(name, timeout=given.timeout))
            if vm.process.pid in vms:
                raise CommandFailed(f"{vm.process.describe()} is named twice", USAGE)
            vms[vm.process.pid] = vm
        try:
            with contextlib.ExitStack() as block:
                for vm in vms.values():
                    profile = block.enter_context(running(vm, given, intervals))
                    parts.append((vm.process.describe(), profile))
                began = time.monotonic()
                import_ahead(given)
                _wait(
                    f"profiling {len(parts)} JVMs",
                    began,
                    given.duration or DURATION,
                    lambda: not any(profile.running for _, profile in parts),
                )
        except (KeyboardInterrupt, TargetLost):
            if len(parts) < len(vms):
                raise
        except (ValueError, LookupError) as error:
            raise CommandFailed(printable(str(error)), USAGE) from None
        written = show_taken(given, _as_one(parts))
    return None if written else FAILED


def take_of_program(given: argparse.Namespace, intervals: Intervals) -> int | None:
    """Take a profile of all JVMs of a program, from the start of each to its end.

    The program has ended when what it has started has, too: a script may start its JVM in the
    background.
    """
    if given.target is not None:
        given.parser.error("either a target or -- java …, not both")
    command = launched_command(given)
    try:
        started = Launch(
            command, options=AgentOptions(reserve=()), stdout=sys.stderr, inherited=True
        )
    except OSError as error:
        if error.filename is None:
            raise
        why = f"{command[0]!r} cannot be started: {error.strerror}"
        raise CommandFailed(printable(why), UNREACHABLE) from None
    followed = _Followed(started, given, intervals)
    code = None
    try:
        followed.wait()
        if followed.to_its_end:
            code = exit_code_of(started.popen)
        written = show_taken(given, followed.profile())
    except BaseException:
        followed.end_program()
        raise
    followed.end_program()
    return code if written else FAILED


def _wait(what: str, began: float, length: float | None, over: Callable[[], bool]) -> bool:
    """Wait to the end of that length in seconds since then, or until it is over.

    Returns:
        Whether it was over.
    """
    with display.progress(what) as report:
        while not over():
            passed = time.monotonic() - began
            if length is not None:
                report(int(passed * 10), int(length * 10))
                if passed >= length:
                    return False
            time.sleep(STEP if length is None else max(min(STEP, length - passed), 0.001))
    return True


def _as_one(parts: list[Part]) -> Profile:
    first, *others = [profile for _, profile in parts]
    return first.merge(*others, processes=[name for name, _ in parts])


class _Followed:
    """The JVMs of a program, each with a thread that takes its samples.

    Attributes:
        to_its_end: whether it was the program's end that ended the profile.
    """

    def __init__(self, started: Launch, given: argparse.Namespace, intervals: Intervals) -> None:
        self.to_its_end = False
        self._started = started
        self._given = given
        self._intervals = intervals
        self._began = time.monotonic()
        self._over = threading.Event()
        self._mistake: BaseException | None = None
        self._vms: list[VM] = []
        self._parts: list[Part] = []
        self._threads: list[threading.Thread] = []
        self._reported = False
        self._accepting = threading.Thread(target=self._accept, name="jvmti accept", daemon=True)
        self._accepting.start()

    def wait(self) -> None:
        """Wait for the end of the program, or of the time, or for Ctrl-C; then stop all profiles.

        Raises:
            CommandFailed: the options are wrong.
            LaunchFailed: there was no JVM.
        """
        try:
            import_ahead(self._given)
            what = f"profiling {' and '.join(self._intervals)}"
            length = self._given.duration
            self.to_its_end = _wait(what, self._began, length, self._has_ended)
        except KeyboardInterrupt:
            if not self._vms:
                raise
        finally:
            self._stop()
        if self._mistake is not None:
            raise CommandFailed(printable(str(self._mistake)), USAGE) from None
        if not self._vms:
            raise self._started.failure(self._given.duration or 0)
        if not self._parts:
            raise CommandFailed("no JVM of the program has samples")

    def profile(self) -> Profile:
        """The samples of all, in the order in which the JVMs came."""
        order = {vm.process.describe(): number for number, vm in enumerate(self._vms)}
        return _as_one(sorted(self._parts, key=lambda part: order[part[0]]))

    def end_program(self) -> None:
        """End the program and its JVMs, those that have not by themselves."""
        popen = self._started.popen
        popen.terminate()  # first, or a script would start its next JVM
        self._send(signal.SIGTERM)
        until = time.monotonic() + PATIENCE
        try:
            while popen.poll() is None or any(map(_is_alive, self._vms)):
                if time.monotonic() > until:
                    what = f"the program did not end within {PATIENCE:.0f} s of SIGTERM"
                    print(f"jvmti: {what}, and was killed", file=sys.stderr)
                    break
                time.sleep(0.02)
        finally:
            popen.kill()
            self._send(signal.SIGKILL)
            popen.wait()

    def _send(self, number: signal.Signals) -> None:
        for vm in self._vms:
            if vm.process.pid != self._started.popen.pid:
                with contextlib.suppress(AttachError), vm.process.open() as handle:  # it has ended
                    handle.send(number)

    def _has_ended(self) -> bool:
        if self._mistake is not None:
            return True
        if self._started.popen.poll() is None:
            return False
        if not self._started.anything_left():
            return True
        if not self._reported:
            self._reported = True
            what = "the program has ended, but what it started has not; Ctrl-C ends the profile"
            print(f"jvmti: {what}", file=sys.stderr)
        return False

    def _stop(self) -> None:
        """Stop the profiles; where a JVM does not answer, Ctrl-C leaves all of them at once."""
        self._over.set()
        try:
            self._join()
        except KeyboardInterrupt:
            for vm in self._vms:
                vm.detach(LEAVING)
            self._join()

    def _join(self) -> None:
        self._accepting.join()
        self._started.close()  # JVMs that are still held start as usual
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection = self._started.accept(STEP)
            except LaunchFailed:
                self._over.wait(STEP if self._started.popen.returncode is not None else 0)
                continue
            thread = threading.Thread(target=self._take, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _take(self, connection: Connection) -> None:
        """Take the profile of a JVM that is held, to its end or that of all."""
        name = printable(connection.process.describe())
        profile: Running | None = None
        try:
            vm = VM(connection, timeout=max(self._given.timeout, 30.0))
            self._vms.append(vm)
            with vm:
                try:
                    if self._given.source != "agent":
                        vm.proceed()
                    with running(vm, self._given, self._intervals) as profile:
                        self._parts.append((vm.process.describe(), profile))
                        print(f"jvmti: profiling {name}", file=sys.stderr)
                        while profile.running and not self._over.wait(STEP):
                            pass
                finally:
                    if vm.held:
                        os.kill(vm.process.pid, signal.SIGKILL)  # leaving would let it start
        except (ValueError, LookupError) as error:
            self._mistake = error
        except (Error, AttachError, OSError) as error:
            connection.close()
            if profile is None:
                print(printable(f"jvmti: {name} has no samples: {error}"), file=sys.stderr)


def _is_alive(vm: VM) -> bool:
    try:
        with vm.process.open() as handle:
            return handle.alive()
    except JvmDied:
        return False
    except AttachError:
        return True
