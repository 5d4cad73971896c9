"""Measures how long `jvmti shell` takes from the start of its process to the prompt.

    python benchmarks/shell.py [--jvm 17,25] [--rounds 11]

On a pseudo-terminal, until the first prompt is on the screen; beside IPython alone, started in the
same way, and the imports that both need.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pexpect

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from run import compile_program, machine, target  # noqa: E402

import jvms  # noqa: E402

LIMIT = 0.5

IPYTHON = """
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from traitlets.config import Config
config = Config()
config.TerminalInteractiveShell.banner1 = ""
TerminalInteractiveShell.instance(config=config).mainloop()
"""


def seconds(command: list[str], prompt: str, rounds: int) -> float:
    """The median time to a prompt; the first round, which fills caches, is not counted."""
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        started = pexpect.spawn(command[0], command[1:], timeout=30, dimensions=(40, 100))
        started.expect(prompt)
        times.append(time.perf_counter() - began)
        started.close(force=True)
    return median(times[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    # Python keeps compiled modules as for every user, whatever the caller's environment says.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    python = sys.executable
    end = "print(chr(62) * 3, flush=True); input()"
    print(f"Measured on {machine()}.\n")
    print("| from the start of the process to | seconds |\n| --- | --- |")
    for name, code in (
        ("Python", end),
        ("`import numpy`", f"import numpy; {end}"),
        ("`import jvmti`", f"import jvmti; {end}"),
    ):
        print(f"| {name} | {seconds([python, '-c', code], '>>>', given.rounds):.3f} |")
    alone = seconds([python, "-c", IPYTHON], r"In \[", given.rounds)
    print(f"| IPython's prompt, started in the same way | {alone:.3f} |")
    missed = False
    jdk = jvms.distribution_jdk()
    assert jdk is not None, "no javac; `make java` installs one"
    with tempfile.TemporaryDirectory() as directory:
        compile_program(jdk, "Target", Path(directory))
        for name in given.jvm.split(","):
            with target(jvms.named(name), Path(directory)) as (pid, _):
                command = [python, "-m", "jvmti", "shell", str(pid)]
                ours = seconds(command, r"In \[", given.rounds)
                plain = seconds([*command, "--plain"], ">>> ", given.rounds)
            missed |= ours > LIMIT
            verdict = "met" if ours <= LIMIT else "missed"
            print(f"| `jvmti shell` on {name} (≤ {LIMIT}: {verdict}) | {ours:.3f} |")
            print(f"| `jvmti shell --plain` on {name} | {plain:.3f} |")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
