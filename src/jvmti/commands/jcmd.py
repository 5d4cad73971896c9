"""``jvmti jcmd``."""

from __future__ import annotations

import argparse

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.options.targets import add_json, add_target, named_target
from jvmti.model.diagnostics import DiagnosticCommands
from jvmti.report.tables import print_json
from jvmti.target.processes.search import find
from jvmti.text.printable import printable


class Command:
    """Run one of the VM's own diagnostic commands.

      jvmti jcmd 4711
      jvmti jcmd 4711 GC.heap_info
      jvmti jcmd MyServer VM.flags -all
      jvmti jcmd MyServer help GC.class_histogram

    Like the JDK's jcmd, but without a JDK and without starting another JVM. Without a command it
    lists the VM's commands. It loads no agent.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser, launches=False)
        parser.usage = f"{parser.prog} [options] TARGET [COMMAND [ARGUMENT …]]"
        add_json(parser)
        parser.add_argument(
            "words",
            nargs=argparse.REMAINDER,
            metavar="COMMAND",
            help="a diagnostic command and its arguments; options of jvmti come before TARGET",
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print the VM's answer."""
        process = find(named_target(given))
        commands = DiagnosticCommands(process, given.timeout)
        words: list[str] = given.words
        if words and words[0] == "--json":
            given.json = True
            words = words[1:]
        if not words:
            if given.json:
                print_json({"pid": process.pid, "commands": commands.names()})
            else:
                print("\n".join(map(printable, commands.names())))
            return
        line = " ".join(words)
        try:
            text = commands.run(line)
        except (KeyError, ValueError) as error:
            raise CommandFailed(printable(str(error.args[0])), USAGE) from None
        if given.json:
            print_json({"pid": process.pid, "command": line, "output": text})
            return
        for one in text.rstrip("\n").split("\n"):
            print("\t".join(map(printable, one.split("\t"))))
