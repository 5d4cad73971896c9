"""Reads damaged recordings of the Flight Recorder, with the sanitizers in the native half.

    python tests/robustness/faults/fuzz_recordings.py RECORDING [MUTATIONS] [SEED]

Whatever is in a file, opening it gives a profile or `jvmti.profile.NotAProfile`. A child that dies,
takes too long, or raises something else is a failure, whose file is kept. Half of the damage is at
the end of chunks, where the constants and the types are.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import jvms  # noqa: E402
import jvmti.profile  # noqa: E402
from jvmti.target import own_libraries  # noqa: E402
from robustness.faults.fuzz_dumps import COMPILE, with_sanitizer  # noqa: E402

NATIVE = jvms.ROOT / "native"
BATCH, SECONDS = 500, 20


def use_sanitized() -> None:
    """Build the library with the sanitizers, for the package to load."""
    path = jvms.ROOT / "build" / "sanitized" / "libjvmti_recording.so"
    path.parent.mkdir(parents=True, exist_ok=True)
    sources = sorted((NATIVE / "recording").glob("*.cpp"))
    subprocess.run([*COMPILE.split(), f"-I{NATIVE}", *sources, "-o", path], check=True)
    vars(own_libraries)["own_folder"] = lambda: str(path.parent)
    ctypes.CDLL(str(path))


def mutated(content: bytes, seed: int, number: int) -> bytes:
    """The recording with some damage."""
    chance = random.Random(seed * 1_000_003 + number)
    data = bytearray(content)
    first = len(data) * 3 // 4 if chance.random() < 0.5 else 0
    for _ in range(chance.choice([1, 1, 2, 3, 8, 40])):
        at = chance.randrange(first, len(data))
        kind = chance.random()
        if kind < 0.6:
            data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        elif kind < 0.8:
            data[at : at + 9] = b"\xff" * chance.randint(1, 9)
        elif kind < 0.9:
            other, length = chance.randrange(len(data)), chance.randint(1, 200)
            data[at : at + length] = data[other : other + length]
        else:
            del data[at : at + chance.randint(1, 100)]
    if chance.random() < 0.05:
        del data[chance.randrange(len(data)) :]
    return bytes(data)


def child(content: bytes, seed: int, numbers: range, path: Path) -> None:
    """Read some mutations; `path` has the one that is read."""
    refused = 0
    for number in numbers:
        path.write_bytes(mutated(content, seed, number))
        signal.alarm(SECONDS)
        try:
            jvmti.profile.open(path)
        except jvmti.profile.NotAProfile:
            refused += 1
    signal.alarm(0)
    print(f"{numbers.stop:,} mutations, of the last {len(numbers):,} {refused:,} were refused")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path)
    parser.add_argument("mutations", type=int, nargs="?", default=10_000)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    chosen = parser.parse_args()
    with_sanitizer()
    use_sanitized()
    content = chosen.recording.read_bytes()
    path = Path(tempfile.gettempdir()) / f"jvmti-fuzz-{chosen.seed}-{os.getpid()}.jfr"
    began = time.monotonic()
    for at in range(0, chosen.mutations, BATCH):
        numbers = range(at, min(at + BATCH, chosen.mutations))
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                child(content, chosen.seed, numbers, path)
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        status = os.waitpid(pid, 0)[1]
        if status:
            raise SystemExit(f"a mutation of seed {chosen.seed} failed ({status:#x}): {path}")
    path.unlink()
    print(f"{chosen.mutations / (time.monotonic() - began):,.0f} a second")


if __name__ == "__main__":
    main()
