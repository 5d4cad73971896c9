"""Random calls by the million, on one JVM.

    python tests/robustness/calls/fuzz_calls.py --jvm 17 --calls 1000000 --seed 1

Every few thousand calls it detaches, looks whether the program goes on, and attaches anew; handles
of the session before are then those of another session.  After a crash the frame that was on its
way lies beside the JVM's crash report, and `--replay` sends it again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402
from robustness import steady  # noqa: E402
from robustness.calls import random_calls  # noqa: E402

PER_SESSION = 20_000
PER_HEALING = 2_500


def fuzz(
    target: steady.Steady, calls: int, seed: int, directory: Path, seconds: float = 1e9
) -> random_calls.Fuzzer:
    """Make random calls until there are enough or the time is over; check after each session."""
    last = directory / "last-frame"
    fuzzer = random_calls.Fuzzer(seed, lambda payload: _write(last, payload))
    classes = compiler.classes("Steady")
    fuzzer.template = (classes / "Steady$Spare.class").read_bytes()
    jvmti.attach(target.pid).detach()  # the VM's own attach listener comes with the first
    until = time.monotonic() + seconds
    while fuzzer.calls < calls and time.monotonic() < until:
        before = target.at_rest()
        vm = jvmti.attach(target.pid)
        try:
            fuzzer.begin(vm)
            start = fuzzer.calls
            while fuzzer.calls - start < PER_SESSION and fuzzer.calls < calls:
                fuzzer.batch()
                if fuzzer.calls % PER_HEALING == 0:
                    fuzzer.heal()
                if time.monotonic() > until:
                    break
            assert vm.env.get_phase() == 4, "the agent does not answer"
            fuzzer.end()
        finally:
            vm.detach(timeout=60)
        assert target.program.running(), target.program.crash()
        assert target.settles_at(before), (before, target.footprint())
        assert target.goes_on(), "the program stands still"
        assert target.prey_runs(), target.program.ask("stacks")
        assert target.locks_are_free(), "a lock of the program is held"
    return fuzzer


def _write(path: Path, payload: bytes) -> None:
    path.write_bytes(payload)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jvm-arg", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    begun = time.monotonic()
    with programs.of_script(jvms.named(chosen.jvm), "fuzz") as started:
        target = steady.launch(started, spins=True, jvm_args=chosen.jvm_arg)
        fuzzer = fuzz(target, chosen.calls, chosen.seed, started.directory)
    successes = fuzzer.statuses[0]
    print(
        json.dumps(
            {
                "jvm": chosen.jvm,
                "seed": chosen.seed,
                "calls": fuzzer.calls,
                "seconds": round(time.monotonic() - begun),
                "functions": len(fuzzer.by_function),
                "succeeded": successes,
                "statuses": dict(sorted(fuzzer.statuses.items())),
                "never succeeded": sorted(
                    name for name, seen in fuzzer.by_function.items() if not seen[0]
                ),
            },
            indent=None if chosen.json else 1,
        )
    )


if __name__ == "__main__":
    main()
