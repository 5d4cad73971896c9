"""Ends the adapter in the middle of a session, again and again; nothing may stay suspended.

python tests/adapter/killed_editors.py --jvm 25 --kills 100
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))

import compiler  # noqa: E402
import jvms  # noqa: E402
from adapter.client import Client, Failed, line  # noqa: E402

LINES = ("NET", "GROSS", "BOTH", "NESTED", "CAUGHT", "DEEP")


def work(client: Client, pid: int, rng: random.Random) -> None:
    """Debug a program, until the adapter is killed."""
    try:
        client.attach(pid, *(line(word) for word in rng.sample(LINES, 2)))
        while True:
            thread = client.stopped()
            client.locals(thread)
            for _ in range(rng.randrange(4)):
                client.go(rng.choice(("next", "stepIn", "stepOut")), thread)
            client.ask("continue", threadId=thread)
    except (AssertionError, Failed, OSError, ValueError, TypeError):
        return  # of the kill


def kill_one(pid: int, rng: random.Random) -> bool:
    """Begin a session, and end its adapter at a random moment; whether a thread was stopped."""
    client = Client()
    assert client.process is not None
    editor = threading.Thread(target=work, args=(client, pid, rng))
    editor.start()
    time.sleep(rng.uniform(0.5, 8))
    if rng.random() < 0.5:
        client.process.send_signal(signal.SIGKILL)
    else:
        client.process.stdin.close()  # type: ignore[union-attr]
    was_stopped = client.has_event("stopped")
    editor.join(60)
    assert not editor.is_alive(), "the adapter outlives its editor"
    client.process.wait(60)
    return was_stopped


def main() -> None:
    """Kill as many as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="25")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    java = str(jvms.named(chosen.jvm).java)
    program = subprocess.Popen(
        [java, "-cp", str(compiler.classes("Debugged")), "Debugged"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    rng = random.Random(chosen.seed)
    assert program.stdout is not None
    lines: list[bytes] = []
    threading.Thread(target=lines.extend, args=(program.stdout,), daemon=True).start()
    stopped, longest = 0, 0.0
    for number in range(chosen.kills):
        stopped += kill_one(program.pid, rng)
        began = time.monotonic()
        before = len(lines)
        while len(lines) < before + 3:
            assert time.monotonic() < began + 60, "the program works no more"
            assert program.poll() is None, "the program has ended"
            time.sleep(0.01)
        longest = max(longest, time.monotonic() - began)
        if number % 10 == 9:
            print(f"{number + 1} kills, {stopped} with a stop, {longest:.1f} s", flush=True)
    program.kill()
    program.wait()


if __name__ == "__main__":
    main()
