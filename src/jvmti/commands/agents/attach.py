"""``jvmti attach``."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING

import jvmti
from jvmti.agents.script import Script, log_to_stderr, print_error
from jvmti.commands.failure import FAILED
from jvmti.commands.options.targets import add_emulate, add_target, named_target
from jvmti.commands.sigterm import end_at_sigterm

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class Command:
    """Run agents that are Python files on a running JVM.

      jvmti attach 4711 agent.py
      jvmti attach MyServer count.py=depth:3 trace.py

    It calls each script's agent_onattach(vm, options), or agent_onload if there is none. The
    scripts stay until the JVM ends or you press Ctrl-C; then their agent_onunload(vm) runs, and the
    session undoes what they did to the JVM.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser, launches=False)
        parser.usage = f"{parser.prog} [options] TARGET SCRIPT[=OPTIONS] …"
        parser.add_argument(
            "scripts", nargs="+", metavar="SCRIPT", help="a Python file, with text for it after ="
        )
        add_emulate(parser)
        parser.add_argument(
            "--unload-timeout",
            type=int,
            default=10,
            metavar="SECONDS",
            help="how long the JVM waits at its end for agent_onunload (default: 10)",
        )

    def run(self, given: argparse.Namespace) -> int:
        """Start the scripts and stay."""
        scripts = [Script.named(word) for word in given.scripts]
        target = named_target(given)
        log_to_stderr()
        end_at_sigterm()
        sessions: list[VM] = []
        try:
            for script in scripts:
                vm = jvmti.attach(target, timeout=given.timeout, emulate=given.emulate)
                sessions.append(vm)
                try:
                    script.start(vm, given.unload_timeout)
                except Exception as error:
                    print_error(error)
                    return FAILED
            for vm in sessions:
                vm.wait()
        except KeyboardInterrupt:
            pass  # the normal way to end it
        finally:
            _leave(sessions, scripts)
        return 0


def _leave(sessions: list[VM], scripts: list[Script]) -> None:
    # A second Ctrl-C ends an agent_onunload that takes too long.
    for vm, script in zip(sessions, scripts, strict=False):
        with contextlib.suppress(KeyboardInterrupt):
            if script.started:
                script.unload()
                script.wait_unloaded(1.0)
        sys.stdout.flush()
        vm.detach()
