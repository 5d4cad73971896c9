"""Kills controllers again and again that have probes in the hottest method of a program.

python tests/robustness/leaving/probed_kills.py --jvm 17 --kills 20
python tests/robustness/leaving/probed_kills.py --jvm 25 --kills 100 --probes everything --virtual

No agent is there when the JVM starts, so that breakpoints are probes as well.  After each kill the
program must be as fast as before, and another agent's hook must be shown the class files of before.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402
from prepared import attaching  # noqa: E402
from robustness.steady import wait_until  # noqa: E402
from tracing.java_agents import Other, replacing_jar  # noqa: E402

CLASSES = ("UnderFire", "java.util.HashMap")
FULL = 0.5
"""The part of its usual rate that counts as being back: other work may have one of two cores."""


@dataclass
class Outcome:
    """What the kills did."""

    usual: float = 0.0
    """Rounds of the program a second before the first."""
    after: float = 0.0
    """The same behind the last."""
    recoveries: list[float] = field(default_factory=list)
    """Seconds from each kill until the program had its rate again."""


def rounds(program: programs.JavaProgram) -> int:
    """How often the program went round; all that it computed is right."""
    done, wrong = map(int, program.ask("check", timeout=60).split())
    assert wrong == 0, program.stderr
    return done


def rate(program: programs.JavaProgram, seconds: float) -> float:
    """Its rounds a second."""
    began, before = time.monotonic(), rounds(program)
    time.sleep(seconds)
    return (rounds(program) - before) / (time.monotonic() - began)


def same(one: Any, other: Any) -> bool:
    """Whether the agent has the same sessions, environments, objects and memory."""
    names = ("sessions", "service_threads", "environments", "objects", "monitors", "memory")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def kill(program: programs.JavaProgram, jar: Path, kills: int, seed: int, probes: str) -> Outcome:
    """Kill controllers of a program that is ready."""
    rng = random.Random(seed)
    with jvmti.attach(program.pid, timeout=60) as vm:
        # Until a hook changes something, HotSpot makes a class file anew for each retransformation,
        # and no two need be the same.
        vm.trace("UnderFire.add", "java.util.HashMap.size").close()
        books = vm.stats.agent
        other = Other(jar, program.pid)
        before = {name: other.sees(name) for name in CLASSES}
        outcome = Outcome(statistics.median(rate(program, 0.1) for _ in range(5)))
        script = Path(__file__).with_name("probing_controller.py")
        for number in range(kills):
            controller = attaching(str(script), program.pid, seed + number, probes)
            assert controller.stdout.readline() == "busy\n", "the controller ended by itself"
            assert number or b"JvmtiProbes" in other.sees(CLASSES[0])
            time.sleep(rng.random() * 0.1)
            controller.kill()
            ended = time.monotonic()
            controller.wait(timeout=60)
            assert wait_until(lambda: rate(program, 0.05) >= FULL * outcome.usual, 30), outcome
            outcome.recoveries.append(time.monotonic() - ended)
            controller.stdin.close()
            controller.stdout.close()
            assert wait_until(lambda: {name: other.sees(name) for name in CLASSES} == before)
            assert wait_until(lambda: same(vm.stats.agent, books)), (vm.stats.agent, books)
        outcome.after = statistics.median(rate(program, 0.1) for _ in range(5))
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--probes", choices=("breakpoints", "everything"), default="breakpoints")
    parser.add_argument("--virtual", action="store_true", help="virtual threads do the work")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    words = ["virtual"] if chosen.virtual else []
    with (
        tempfile.TemporaryDirectory() as folder,
        programs.of_script(jvms.named(chosen.jvm), "kills") as started,
    ):
        program = started("UnderFire", *words, jvm_args=["-Xmx128m"])
        program.expect("ready", timeout=60)
        jar = replacing_jar(Path(folder))
        outcome = kill(program, jar, chosen.kills, chosen.seed, chosen.probes)
    times = sorted(outcome.recoveries)
    print(
        json.dumps(
            {
                "jvm": chosen.jvm,
                "probes": chosen.probes,
                "threads": "virtual" if chosen.virtual else "platform",
                "kills": len(times),
                "back in ms, median": round(times[len(times) // 2] * 1000),
                "back in ms, slowest": round(times[-1] * 1000),
                "rounds a second before": round(outcome.usual),
                "rounds a second after": round(outcome.after),
            }
        )
    )


if __name__ == "__main__":
    main()
