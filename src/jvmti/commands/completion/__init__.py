"""``jvmti completion``."""

from __future__ import annotations

import argparse

from jvmti.commands.completion.scripts import SHELLS, Words, script
from jvmti.commands.failure import USAGE, CommandFailed


class Command:
    """Print a completion script for bash, zsh or fish.

      eval "$(jvmti completion bash)"                          in ~/.bashrc
      eval "$(jvmti completion zsh)"                           in ~/.zshrc, after compinit
      jvmti completion fish > ~/.config/fish/completions/jvmti.fish

    It completes commands, options and their values, events, and the pids and names of running JVMs.
    The script contains all that does not change, so Tab answers at once; for JVMs it asks `jvmti
    completion --targets`.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        parser.usage = f"{parser.prog} ({' | '.join(SHELLS)})"
        parser.add_argument("shell", nargs="?", choices=SHELLS, help="which shell")
        parser.add_argument(
            "--targets", action="store_true", help="print the running JVMs: pids and main classes"
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print it."""
        if given.targets:
            _print_targets()
        elif given.shell is None:
            raise CommandFailed(f"for which shell: {', '.join(SHELLS)}?", USAGE)
        else:
            print(script(given.shell, _words()), end="")


def _words() -> Words:
    from jvmti.commands import prepare

    made = Words.of(prepare(), "")
    from jvmti.env.events import EVENTS

    made.below["events"].plain.extend(sorted(cls.__name__ for cls in EVENTS.values()))
    return made


def _print_targets() -> None:
    from jvmti.target.processes.search import processes
    from jvmti.text.printable import printable

    for process in processes():
        # Skip names that a shell would split or interpret.
        name = process.main.rpartition("/")[2] if process.main.endswith(".jar") else process.main
        print(f"{process.pid}\t{printable(name)}")
