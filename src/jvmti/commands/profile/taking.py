"""How the command takes a profile of a JVM."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.commands.failure import FAILED, USAGE, CommandFailed
from jvmti.commands.options.targets import opened, seconds
from jvmti.commands.profile.options import DURATION, ENGINES
from jvmti.commands.sigterm import EndAsked, end_asked, end_at_sigterm
from jvmti.interface.errors import TargetLost
from jvmti.text.printable import printable

if TYPE_CHECKING:
    import subprocess

    from jvmti.model.vm import VM
    from jvmti.profile.profile import Profile
    from jvmti.profiling.flight_recording import FlightRecording
    from jvmti.profiling.live_profile import LiveProfile

    Running = LiveProfile | FlightRecording

__all__ = [
    "LEAVING",
    "STEP",
    "exit_code_of",
    "import_ahead",
    "running",
    "show_taken",
    "take",
]

STEP = 0.2
"""Seconds between two looks at the clock and the target."""
_SILENT = 3.0
"""Seconds without an answer after which that is worth a word."""
LEAVING = 1.0
"""Seconds to take leave of a JVM that does not answer."""


def take(given: argparse.Namespace) -> int | None:
    """Take a profile and show it, or one after the other."""
    kinds = list(dict.fromkeys(given.kinds or ["cpu"]))
    if given.loop is not None:
        if given.output is None or "%t" not in given.output:
            given.parser.error("--loop needs a name with the time in it: -o 'profile-%t.pb.gz'")
        if given.duration is not None and given.duration < given.loop:
            given.parser.error("--duration is shorter than --loop")
        if given.begin is not None or given.end is not None:
            given.parser.error("--from and --to are for one profile: leave them out with --loop")
    if given.engine is not None and not any(given.engine in ENGINES.get(one, ()) for one in kinds):
        given.parser.error(f"--engine {given.engine} takes no samples of {' or '.join(kinds)}")
    if given.engine is not None and given.source != "agent":
        given.parser.error("--engine is for --source agent")
    texts = _intervals(given, kinds)
    intervals = {kind: _interval(texts.get(kind), kind) for kind in kinds}
    shared = {intervals[kind] for kind in kinds if kind in ("alloc", "live")}
    if len(shared) > 1:
        given.parser.error("--alloc and --live share their samples: give both the same --interval")
    end_at_sigterm()
    if given.follow or given.files:
        from jvmti.commands.profile.several import take_of_program, take_of_targets

        return (take_of_program if given.follow else take_of_targets)(given, intervals)
    # The method that handles requests is not there yet when a program begins.
    from_start = given.launched is not None and given.request is None and given.source == "agent"
    with opened(given, hold=from_start) as vm:
        _name_jvm(vm)
        try:
            if given.loop is not None:
                to_its_end, written = _go_on(given, vm, intervals)
            else:
                default = None if given.launched is not None else DURATION
                profile, to_its_end = _taken(vm, given, intervals, given.duration or default)
                written = show_taken(given, profile)
        except (ValueError, LookupError) as error:
            raise CommandFailed(printable(str(error)), USAGE) from None
        code = _status(vm) if to_its_end else None
    return code if written else FAILED


def show_taken(given: argparse.Namespace, profile: Profile) -> bool:
    """Show a profile; where its file cannot be written, on the terminal: it does not come again.

    Returns:
        Whether it is where it was to be.
    """
    from jvmti.commands.profile.output_file import NotWritten
    from jvmti.commands.profile.showing import show

    try:
        show(given, profile)
    except NotWritten as failure:
        print(f"jvmti: {failure}; this is in it:", file=sys.stderr)
        given.output = None
        show(given, profile)
        return False
    return True


def _name_jvm(vm: VM) -> None:
    """Say which JVM it is, where the program is not the JVM itself."""
    if vm.popen is not None and vm.popen.pid != vm.process.pid:
        print(
            f"jvmti: profiling {printable(vm.process.describe())}, the first JVM that the program "
            "has started; others have no samples; --follow has all of them",
            file=sys.stderr,
        )


def _status(vm: VM) -> int | None:
    """The exit code of a program that we have started and whose JVM has ended by itself.

    A script may have more to do.
    """
    return None if vm.popen is None else exit_code_of(vm.popen)


def exit_code_of(program: subprocess.Popen[bytes]) -> int:
    """The exit code of a program when it has ended, as a shell has it."""
    code = program.wait()
    return code if code >= 0 else 128 - code


def _intervals(given: argparse.Namespace, kinds: list[str]) -> dict[str, str | None]:
    """The interval of each kind as it was written: one for all, or ``cpu=1ms,alloc=512k``."""
    text: str | None = given.interval
    if text is None or "=" not in text:
        return dict.fromkeys(kinds, text)
    found: dict[str, str | None] = {}
    for one in text.split(","):
        kind, _, value = one.partition("=")
        if kind not in kinds:
            given.parser.error(f"--interval: {kind!r} is none of {', '.join(kinds)}")
        found[kind] = value
    return found


def _interval(text: str | None, kind: str) -> float | None:
    """The interval in seconds or bytes.

    Raises:
        CommandFailed: it is neither.
    """
    if text is None:
        return None
    if kind in ("alloc", "live"):
        units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
        unit = units.get(text[-1:].lower(), 1)
        number = text[:-1] if unit > 1 else text
        if number.isascii() and number.isdigit() and int(number):
            return float(int(number) * unit)
        raise CommandFailed(f"--interval: {text!r} is not a number of bytes, such as 512k", USAGE)
    try:
        return seconds(text)
    except argparse.ArgumentTypeError as error:
        raise CommandFailed(f"--interval: {error}", USAGE) from None


@contextlib.contextmanager
def running(
    vm: Any, given: argparse.Namespace, intervals: dict[str, float | None]
) -> Iterator[Running]:
    """A profile that is running, of all kinds at once; it ends with the block."""
    chosen = {kind: interval for kind, interval in intervals.items() if interval is not None}
    profile: Running | None = None
    try:
        with _before_main(vm):
            profile = vm.profile(
                *intervals,
                interval=chosen or None,
                engine=given.engine,
                by=given.request,
                source=given.source,
                max_pause=given.max_pause,
            )
        yield profile
    finally:
        if profile is not None:
            _stop(vm, profile)


def _stop(vm: VM, profile: Running) -> None:
    """Stop the profile; where the JVM does not answer, Ctrl-C leaves it at once.

    It has then what was read until half a second before it stopped answering.
    """
    hint = threading.Timer(
        _SILENT,
        lambda: print(
            "jvmti: the JVM has not answered yet; Ctrl-C does without its last samples",
            file=sys.stderr,
        ),
    )
    hint.daemon = True
    hint.start()
    try:
        profile.stop()
    except KeyboardInterrupt:
        vm.detach(LEAVING)
        profile.stop()
    finally:
        hint.cancel()


@contextlib.contextmanager
def _before_main(vm: VM) -> Iterator[None]:
    """Let a held program begin, and wait before its first class until the end of the block."""
    if not vm.held:
        yield
        return
    there, go = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def wait(event: Any) -> None:
        there.set()
        go.wait()

    def proceed() -> None:
        try:
            vm.proceed()
        except BaseException as error:  # for the thread that began it
            failures.append(error)

    handler = vm.env.on("VMInit", wait, timeout=None)
    starting = threading.Thread(target=proceed, name="jvmti start")
    starting.start()
    try:
        while not there.wait(STEP) and starting.is_alive():
            pass
        if not failures:
            yield
    finally:
        go.set()
        starting.join()
        if failures:
            raise failures[0]
    handler.cancel()


def _taken(
    vm: VM, given: argparse.Namespace, intervals: dict[str, float | None], length: float | None
) -> tuple[Profile, bool]:
    """A profile of this length in seconds; Ctrl-C or the end of the program end it early.

    Returns:
        The profile, and whether the program's end was the end of it.
    """
    to_its_end = False
    what = f"profiling {' and '.join(intervals)}"
    profile: Running | None = None
    try:
        with running(vm, given, intervals) as profile:
            began = time.monotonic()
            import_ahead(given)
            with display.progress(what) as report:
                to_its_end = _wait(vm, profile, length, report, began)
    except (KeyboardInterrupt, TargetLost) as end:
        if profile is None:
            raise
        to_its_end = isinstance(end, TargetLost)
    return profile, to_its_end


def import_ahead(given: argparse.Namespace) -> None:
    """Import what the end needs, while the samples are taken."""
    import numpy.ma  # noqa: F401 - numpy.unique would, at its first call

    import jvmti.commands.profile.showing  # noqa: F401

    if given.output is not None:
        from jvmti.profile.files import import_writer

        import_writer(given.output)


def _wait(
    vm: VM,
    profile: Running,
    length: float | None,
    report: Any,
    began: float,
    asked: EndAsked | None = None,
) -> bool:
    """Wait to the end of that length in seconds, of the program, or until an end is asked for.

    Returns:
        Whether it was the end of the program.
    """
    while asked is None or not asked.yet:
        passed = time.monotonic() - began
        if length is not None:
            report(int(passed * 10), int(length * 10))
            if passed >= length:
                return False
        if not profile.running or _has_ended(vm):
            return True
        time.sleep(STEP if length is None else max(min(STEP, length - passed), 0.001))
    return False


def _go_on(
    given: argparse.Namespace, vm: VM, intervals: dict[str, float | None]
) -> tuple[bool, bool]:
    """Write a file for each span of time until Ctrl-C; each profile is forgotten after that.

    A file that cannot be written is reported, and the next one is tried: the disk may have room
    again.

    Returns:
        Whether the end of the program was the end of it, and whether all files were written.
    """
    began = time.monotonic()
    last: Profile | None = None
    goes_on, to_its_end, written = True, False, True
    with end_asked() as asked:
        while goes_on and not asked.yet:
            with running(vm, given, intervals) as profile:
                begins = time.monotonic()
                if last is None:
                    import_ahead(given)
                else:
                    # While the next one runs, so that little time is in neither.
                    written &= _saved(given, last)
                to_its_end = _wait(vm, profile, given.loop, lambda *numbers: None, begins, asked)
            last = profile
            ended = given.duration is not None and time.monotonic() - began >= given.duration
            goes_on = not (to_its_end or ended)
    if last is not None:
        written &= _saved(given, last)
    return to_its_end, written


def _saved(given: argparse.Namespace, profile: Profile) -> bool:
    """Write one file of many, or say why that is not possible."""
    from jvmti.commands.profile.output_file import NotWritten
    from jvmti.commands.profile.showing import save_part

    try:
        save_part(given, profile)
    except NotWritten as failure:
        print(f"jvmti: {failure}", file=sys.stderr)
        return False
    finally:
        sys.stderr.flush()
    return True


def _has_ended(vm: VM) -> bool:
    """Whether the program has, if we have started it."""
    return vm.popen is not None and vm.popen.poll() is not None
