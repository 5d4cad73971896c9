"""``jvmti agent-options``."""

from __future__ import annotations

import argparse
import os

import jvmti
from jvmti.commands.options.targets import add_json
from jvmti.interface.capabilities import Capabilities
from jvmti.report.tables import print_json
from jvmti.target.errors import OptionsError
from jvmti.target.options import AgentOptions


class Command:
    """Print a value for JAVA_TOOL_OPTIONS that loads the agent.

    Every JVM that starts with this value in its environment loads the agent. The value is quoted
    for the JVM:

      JAVA_TOOL_OPTIONS="$(jvmti agent-options --reserve)" ./start-server.sh

    With --reserve the JVM keeps the capabilities that it grants only at startup, for sessions that
    attach later. With --listen the agent waits for controllers on a Unix socket, for JVMs that
    refuse to attach. With --connect it connects to a listening controller, which decides when the
    JVM starts. With --script the agent starts a process for a Python file that is an agent; if the
    script fails, the JVM does not start. Options may be combined.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        parser.add_argument(
            "--listen",
            nargs="?",
            const="",
            metavar="SOCKET",
            help="listen for controllers; without a path, on one per process in /tmp",
        )
        parser.add_argument(
            "--reserve",
            nargs="?",
            const="",
            metavar="CAPABILITIES",
            help="keep these for later sessions, joined by + or commas; all without a list",
        )
        parser.add_argument("--connect", metavar="SOCKET", help="connect to this socket at start")
        parser.add_argument("--script", metavar="FILE", help="run this Python file as an agent")
        parser.add_argument(
            "--script-options", metavar="TEXT", help="text to pass to the script's functions"
        )
        parser.add_argument(
            "--python", metavar="PATH", help="the interpreter for the script (default: this one)"
        )
        parser.add_argument(
            "--follow", action="store_true", help="run the script for child JVMs too"
        )
        parser.add_argument(
            "--unload-timeout",
            type=int,
            metavar="SECONDS",
            help="how long the JVM's end waits for the script's agent_onunload",
        )
        parser.add_argument(
            "--token", help="hexadecimal text that the agent repeats in its greeting"
        )
        parser.add_argument(
            "--start-timeout",
            type=int,
            metavar="SECONDS",
            help="how long the start waits for the controller's first message, or for the script",
        )
        parser.add_argument("--log", metavar="FILE", help="the agent's own log")
        parser.add_argument("--library", metavar="FILE", help="another agent library")
        add_json(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Print the string."""
        reserve: tuple[str, ...] | None = None
        if given.reserve is not None:
            names = given.reserve.replace(",", "+").split("+") if given.reserve else []
            try:
                reserve = tuple(sorted(Capabilities.of(names).names()))
            except ValueError as error:
                raise OptionsError(f"--reserve: {error}") from None
        options = AgentOptions(
            connect=given.connect,
            listen=given.listen,
            reserve=reserve,
            script=os.path.abspath(given.script) if given.script else None,
            options=given.script_options,
            python=given.python,
            follow=given.follow,
            unload=given.unload_timeout,
            token=given.token,
            timeout=given.start_timeout,
            log=given.log,
        )
        if not str(options):
            given.parser.error("nothing to do: give --reserve, --listen, --connect or --script")
        text = jvmti.java_tool_options(options, given.library)
        if given.json:
            print_json({"JAVA_TOOL_OPTIONS": text, "options": str(options)})
        else:
            print(text)
