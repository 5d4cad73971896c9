"""``jvmti shell``."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

from jvmti.agents.script import log_to_stderr
from jvmti.commands.options.python_code import add_code, code, is_plain, words_after_target
from jvmti.commands.options.targets import add_emulate, add_target, opened

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class Command:
    """Work on a JVM at a Python prompt.

      jvmti shell 4711
      jvmti shell MyServer -c 'print(len(vm.threads))'
      jvmti shell MyServer script.py arguments …
      jvmti shell --capabilities all -- java -jar app.jar
      jvmti shell --hold -- java -jar app.jar

    IPython, if it is installed (`pip install 'jvmti[shell]'`), otherwise Python's own prompt,
    with the variables `vm`, `env`, `jni` and `jvmti`, Tab completion of Java names, and commands
    such as %threads. Leaving the prompt leaves the JVM; a program started after -- ends. With -c, a
    script, or standard input that is not a terminal, it runs that and exits with its code: 1 for an
    exception.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.usage = (
            f"{parser.prog} [options] TARGET [-c CODE | SCRIPT] [ARGUMENT …]\n"
            f"       {parser.prog} [options] [-c CODE | SCRIPT] [ARGUMENT …] -- java …"
        )
        add_code(parser)
        parser.add_argument(
            "--capabilities",
            default="",
            metavar="NAMES",
            help="take these for vm.env: names separated by commas, or all that are available",
        )
        add_emulate(parser)
        parser.add_argument(
            "--hold",
            action="store_true",
            help="hold the program after -- before its first bytecode; %%go starts it",
        )
        parser.add_argument("--no-banner", action="store_true", help="start without the banner")

    def run(self, given: argparse.Namespace) -> int:
        """Run the code, or the prompt until it is left."""
        from jvmti.model.vm import add_capabilities

        words = words_after_target(given)
        log_to_stderr()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _leave)
        source = code(given, words)
        with opened(given, apart=True, hold=given.hold) as vm:
            wanted = given.capabilities
            add_capabilities(vm, wanted if wanted == "all" else _names(wanted))
            if source is not None:
                from jvmti.shell import scripts

                text, file = source
                return scripts.run(vm, text, file, words)
            _prompt(vm, given)
        return 0


def _names(text: str) -> list[str]:
    return [name for name in text.replace(",", " ").split() if name]


def _prompt(vm: VM, given: argparse.Namespace) -> None:
    from jvmti.shell.banner import banner
    from jvmti.shell.exit_watcher import ExitWatcher
    from jvmti.shell.notices import notice
    from jvmti.shell.scripts import predefined_names

    names = predefined_names(vm, {})
    plain = is_plain(given)
    if not given.no_banner:
        coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(banner(vm, bold=coloured) + "\n", flush=True)
        if plain and not given.plain:
            print("for a better prompt, install IPython: pip install 'jvmti[shell]'\n")
    if plain:
        from jvmti.shell.plain import prompt
    else:
        # Modules are not garbage, and collections would traverse IPython's many objects repeatedly.
        gc.disable()
        from jvmti.shell.ipython import prompt

        gc.enable()
    with ExitWatcher(vm, notice):
        prompt(vm, names)
    with contextlib.suppress(OSError):
        if not vm.closed and vm.popen is None and not given.no_banner:
            print(f"{vm.process.pid} keeps running.", flush=True)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
