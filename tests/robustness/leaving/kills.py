"""Ends a busy controller again and again, and looks what is left in the JVM.

python tests/robustness/leaving/kills.py --jvm 17 --kills 200
python tests/robustness/leaving/kills.py --jvm 17 --kills 200 --controller storming --how stuck
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import signal
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402
from prepared import attaching  # noqa: E402
from robustness import steady  # noqa: E402

FULL = 0.5
"""The part of its usual rate that counts as being back: other work may have one of two cores."""


@dataclass
class Outcome:
    """What the kills did."""

    kills: int = 0
    busy: int = 0
    """How many of them came when everything was held at once, not during the preparations."""
    recoveries: list[float] = field(default_factory=list)
    """Seconds from the end of the controller to the first full 10 ms of the program."""
    pauses: list[float] = field(default_factory=list)
    """The longest wait for another full one after that, with nobody attached: the machine's own."""


HOW = ("killed", "detached", "stuck")
"""By a signal that it cannot see, by leaving, or by a signal while its handlers never return."""


def kill_one(
    target: steady.Steady, rng: random.Random, seed: int, controller_name: str, how: str
) -> tuple[bool, float]:
    """Start a controller, end it at a random moment; whether it was busy, and when it ended."""
    script = str(Path(__file__).with_name(f"{controller_name}_controller.py"))
    controller = attaching(script, target.pid, seed, how)
    busy = False
    if rng.random() < 0.8:
        busy = controller.stdout.readline() == "busy\n"
        assert busy, "the controller ended by itself"
        time.sleep(rng.random() * 0.1)
    else:
        time.sleep(0.15 + rng.random() * 0.5)
    if how == "detached" and busy:
        controller.send_signal(signal.SIGINT)
    else:
        controller.kill()
    controller.wait(timeout=60)
    ended = time.monotonic()
    controller.stdin.close()
    controller.stdout.close()
    return busy, ended


def kill(
    target: steady.Steady, kills: int, seed: int, controller: str = "busy", how: str = "killed"
) -> Outcome:
    rng = random.Random(seed)
    outcome = Outcome()
    with jvmti.attach(target.pid) as vm:
        books = vm.stats.agent
    rest = target.at_rest()
    time.sleep(0.5)
    usual = statistics.median(count for _, count in target.rates(40))
    for number in range(kills):
        busy, ended = kill_one(target, rng, number, controller, how)
        outcome.kills += 1
        outcome.busy += busy
        full: list[float] = []
        while len(full) < 2:
            time.sleep(0.3)
            after = [(at - ended, count) for at, count in target.rates(1000) if at > ended]
            full = [at for at, count in after if count >= FULL * usual]
            late = time.monotonic() > ended + 10
            assert len(full) > 1 or not late, f"does not come back: {after}, usually {usual}"
        outcome.recoveries.append(full[0])
        outcome.pauses.append(max(later - one for one, later in itertools.pairwise(full)))
        assert target.settles_at(rest), (rest, target.footprint())
        assert target.prey_runs(), target.program.ask("stacks")
        assert target.locks_are_free(), "a lock of the program is held"
        if number % 5 == 4 or number == kills - 1:
            with jvmti.attach(target.pid) as vm:
                assert vm.stats.agent == books, (vm.stats.agent, books)
                if controller == "tracing":
                    for name in ("Steady$Prey", "java.util.HashMap"):
                        assert b"JvmtiProbes" not in bytes(vm.find_class(name).class_file), name
            assert target.settles_at(rest), (rest, target.footprint())
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument(
        "--controller", choices=("busy", "storming", "tracing", "profiling"), default="busy"
    )
    parser.add_argument("--how", choices=HOW, default="killed")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with programs.of_script(jvms.named(chosen.jvm), "kills") as started:
        outcome = kill(
            steady.launch(started, spins=True),
            chosen.kills,
            chosen.seed,
            chosen.controller,
            chosen.how,
        )
    times = sorted(outcome.recoveries)
    print(
        json.dumps(
            {
                "jvm": chosen.jvm,
                "controller": f"{chosen.controller}, {chosen.how}",
                "kills": outcome.kills,
                "busy": outcome.busy,
                "back in ms, median": round(times[len(times) // 2] * 1000),
                "back in ms, 95th of 100": round(times[len(times) * 95 // 100] * 1000),
                "back in ms, slowest": round(times[-1] * 1000),
                "longest pause in ms with nobody attached": round(max(outcome.pauses) * 1000),
                "pauses over 100 ms": sum(pause > 0.1 for pause in outcome.pauses),
            }
        )
    )


if __name__ == "__main__":
    main()
