"""``jvmti heap shell``."""

from __future__ import annotations

import argparse
from typing import Any

import jvmti
from jvmti import heap
from jvmti.agents.script import log_to_stderr
from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.commands.options.python_code import add_code, code, is_plain, words_after_target


class Command:
    """Explore a heap at a Python prompt.

      jvmti heap shell MyServer
      jvmti heap shell dump.hprof
      jvmti heap shell dump.hprof -c 'print(snapshot.leaks())'
      jvmti heap shell dump.hprof questions.py arguments …

    `snapshot` is the heap, `heap` the module `jvmti.heap`. A JVM is dumped once and
    continues; later questions reuse earlier results, such as retained sizes. IPython
    where it is installed (`pip install 'jvmti[shell]'`), otherwise Python's own prompt. With -c, a
    script, or standard input that is not a terminal, it runs that and exits with its code.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser, "[SCRIPT [ARGUMENT …]]", json=False)
        add_code(parser)

    def run(self, given: argparse.Namespace) -> int:
        """Run the code, or the prompt until it is left."""
        words = words_after_target(given)
        source = code(given, words)
        log_to_stderr()
        with snapshot_of(given) as snapshot:
            names: dict[str, Any] = {"snapshot": snapshot, "heap": heap, "jvmti": jvmti}
            if source is not None:
                from jvmti.shell import scripts

                return scripts.run(None, *source, words, names)
            print_head(snapshot)
            print(
                "snapshot.leaks(), .histogram(retained=True), .objects('com.acme.*'), "
                ".paths_to_roots(…), .report('heap.html'); heap.thread_locals(snapshot) …\n",
                flush=True,
            )
            if is_plain(given):
                from jvmti.shell.plain import prompt
            else:
                from jvmti.shell.ipython import prompt
            prompt(None, names)
        return 0
