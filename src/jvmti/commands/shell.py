"""``jvmti shell``."""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.util
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

from jvmti.agents.script import log_to_stderr
from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.targets import add_target, opened

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_STANDARD_INPUT = "-"


class Command:
    """Work on a JVM at a Python prompt.

      jvmti shell 4711
      jvmti shell MyServer -c 'print(len(vm.threads))'
      jvmti shell MyServer script.py arguments …
      jvmti shell --capabilities all -- java -jar app.jar
      jvmti shell --hold -- java -jar app.jar

    IPython, where it is installed (`pip install 'jvmti[shell]'`), otherwise Python's own prompt,
    with `vm`, `env`, `jni` and `jvmti` at hand, names of Java that Tab completes, and commands of
    its own such as %threads. Leaving it leaves the JVM; a program started after -- is ended. With
    -c, a script, or standard input that is no terminal, it runs that and gives its exit code: 1
    for an exception.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.usage = (
            f"{parser.prog} [options] TARGET [-c CODE | SCRIPT] [ARGUMENT …]\n"
            f"       {parser.prog} [options] [-c CODE | SCRIPT] [ARGUMENT …] -- java …"
        )
        parser.add_argument(
            "words",
            nargs=argparse.REMAINDER,
            metavar="SCRIPT",
            help="a Python file, - for standard input, and what it finds in sys.argv",
        )
        parser.add_argument("-c", "--code", metavar="CODE", help="run this and end")
        parser.add_argument(
            "--capabilities",
            default="",
            metavar="NAMES",
            help="take these for vm.env: names separated by commas, or all that can be had",
        )
        parser.add_argument(
            "--hold",
            action="store_true",
            help="keep the program after -- from beginning; %%go lets it go on",
        )
        parser.add_argument(
            "--no-banner", action="store_true", help="begin without saying what the JVM allows"
        )
        parser.add_argument(
            "--plain", action="store_true", help="Python's own prompt, not IPython's"
        )

    def run(self, given: argparse.Namespace) -> int:
        """Run the code, or the prompt until it is left."""
        from jvmti.model.vm import add_capabilities

        words = _words(given)
        log_to_stderr()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _leave)
        source = _source(given, words)
        with opened(given, apart=True, hold=given.hold) as vm:
            wanted = given.capabilities
            add_capabilities(vm, wanted if wanted == "all" else _names(wanted))
            if source is not None:
                from jvmti.shell import scripts

                text, file = source
                return scripts.run(vm, text, file, words)
            _prompt(vm, given)
        return 0


def _words(given: argparse.Namespace) -> list[str]:
    """What follows the target; options between the two are understood, too."""
    words: list[str] = given.words
    if given.launched is not None:
        # The target's place has the first of them then.
        return words if given.target is None else [given.target, *words]
    if words and words[0].startswith("-") and words[0] != _STANDARD_INPUT:
        target = given.target
        given.target = None
        given.parser.parse_args([*words, target], given)
        words = [given.target, *given.words][:-1]
        given.target = target
    return words


def _source(given: argparse.Namespace, words: list[str]) -> tuple[str, str] | None:
    """The code to run and what it is called; ``None`` for a prompt. Takes the script off words."""
    if given.launched is not None:
        given.target = None
    if given.code is not None:
        return given.code, "-c"
    if words and words[0] != _STANDARD_INPUT:
        file = words.pop(0)
        try:
            with open(file, encoding="utf-8") as opened_file:
                return opened_file.read(), file
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise CommandFailed(f"{file} cannot be read: {why}", USAGE) from None
    if words:
        return sys.stdin.read(), words.pop(0)
    if not sys.stdin.isatty():
        return sys.stdin.read(), _STANDARD_INPUT
    return None


def _names(text: str) -> list[str]:
    return [name for name in text.replace(",", " ").split() if name]


def _prompt(vm: VM, given: argparse.Namespace) -> None:
    from jvmti.shell.banner import banner
    from jvmti.shell.ending import Watch
    from jvmti.shell.scripts import names_at_hand

    names = names_at_hand(vm, {})
    plain = given.plain or importlib.util.find_spec("IPython") is None
    if not given.no_banner:
        coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(banner(vm, bold=coloured) + "\n", flush=True)
        if plain and not given.plain:
            print("IPython makes more of this prompt: pip install 'jvmti[shell]'\n")
    if plain:
        from jvmti.shell.plain import prompt
    else:
        # Modules are no garbage, and IPython's many objects would be searched for some repeatedly.
        gc.disable()
        from jvmti.shell.ipython import prompt

        gc.enable()
    with Watch(vm, _tell):
        prompt(vm, names)
    with contextlib.suppress(OSError):
        if not vm.closed and vm.popen is None and not given.no_banner:
            print(f"{vm.process.pid} goes on.", flush=True)


def _tell(text: str) -> None:
    # IPython draws its prompt again after this; Python's own has to be shown again.
    prompt = getattr(sys, "ps1", "") if "IPython" not in sys.modules else ""
    print(f"\n{text}\n{prompt}", end="", flush=True)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
