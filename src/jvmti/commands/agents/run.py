"""``jvmti run``."""

from __future__ import annotations

import argparse
import os
import sys

from jvmti.agents.script import Script, agent_options
from jvmti.commands.failure import UNREACHABLE, CommandFailed
from jvmti.commands.options.targets import add_java, launched_command
from jvmti.target.launch import prepared


class Command:
    """Run a program with agents that are Python files.

      jvmti run agent.py -- java -jar app.jar
      jvmti run count.py=depth:3 trace.py -- ./start-server.sh

    The JVM waits in its OnLoad phase, where all capabilities are available, until each script's
    agent_onload(vm, options) has returned; if one raises an exception, the JVM does not start.
    agent_onunload(vm) runs at the JVM's death. Each script runs in a process of its own, which
    ends with the JVM. Child JVMs run without the scripts, or with --follow each with processes of
    its own. The exit code is the program's.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        parser.usage = f"{parser.prog} [options] SCRIPT[=OPTIONS] … -- java …"
        parser.set_defaults(target=None)
        parser.add_argument(
            "scripts", nargs="+", metavar="SCRIPT", help="a Python file, with text for it after ="
        )
        parser.add_argument(
            "--follow", action="store_true", help="run the scripts for child JVMs too"
        )
        parser.add_argument(
            "--start-timeout",
            type=int,
            metavar="SECONDS",
            help="how long the JVM's start waits for agent_onload (default: 60)",
        )
        parser.add_argument(
            "--unload-timeout",
            type=int,
            metavar="SECONDS",
            help="how long the JVM waits at its end for agent_onunload (default: 10)",
        )
        parser.add_argument(
            "--python", metavar="PATH", help="the interpreter for the scripts (default: this one)"
        )
        add_java(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Become the program."""
        scripts = [Script.named(word) for word in given.scripts]
        command = launched_command(given)
        options = [
            agent_options(
                script.path,
                script.options,
                python=given.python,
                follow=given.follow,
                unload=given.unload_timeout,
                timeout=given.start_timeout,
                token=os.urandom(8).hex(),
            )
            for script in scripts
        ]
        words, environment = prepared(command, options, inherited=given.follow)
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            # The JVM itself starts the scripts, so this process becomes the program.
            os.execvpe(words[0], words, environment)
        except OSError as error:
            raise CommandFailed(
                f"{words[0]!r} cannot be started: {error.strerror}", UNREACHABLE
            ) from None
