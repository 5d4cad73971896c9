"""Opens damaged files of profiles: each gives one clear error, or a profile that answers.

    python tests/profiles/damaged.py --count 1000000 --recordings 0.3 recording.jfr

The files are the recordings that are given, and small profiles that are saved here. Bytes of them
are changed, left out, doubled and swapped; in files that are compressed those below, mostly. The
work is done in two processes, with 4 GB of memory and ten seconds of processor time for each file.
A fault, a limit that is reached, a warning, or another error ends the run, and leaves the damaged
file.
"""

from __future__ import annotations

import argparse
import gzip
import multiprocessing
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import jvmti  # noqa: E402
from jvmti.profile import NotAProfile  # noqa: E402
from profiles import made  # noqa: E402

MEMORY = 4 << 30
SECONDS = 10
BATCH = 1000


def damaged(content: bytes, chance: random.Random) -> bytes:
    """A file with a few faults."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        # Half of them at the end, where recordings and tables have their types.
        first = len(data) * 3 // 4 if chance.random() < 0.5 else 0
        place = chance.randrange(first, len(data)) if len(data) > first else 0
        length = chance.choice((1, 2, 4, 8, chance.randint(1, 200)))
        match chance.randrange(8):
            case 0:
                data[place : place + length] = b""
            case 1:
                data[place:place] = data[place : place + length]
            case 2:
                data[place : place + length] = bytes(len(data[place : place + length]))
            case 3:
                data[place : place + length] = b"\xff" * len(data[place : place + length])
            case 4:
                other = chance.randrange(len(data)) if data else 0
                data[place : place + length] = data[other : other + length]
            case _:
                if data:
                    data[place % len(data)] = chance.randrange(256)
    if chance.random() < 0.1:
        del data[chance.randint(0, len(data)) :]
    return bytes(data)


@dataclass
class Outcome:
    """What came of some damaged files."""

    refused: int = 0
    opened: int = 0
    recordings: int = 0
    longest: float = 0.0
    """Seconds of processor time."""
    memory: int = 0
    """Kilobytes."""

    def __iadd__(self, other: Outcome) -> Outcome:
        self.refused += other.refused
        self.opened += other.opened
        self.recordings += other.recordings
        self.longest = max(self.longest, other.longest)
        self.memory = max(self.memory, other.memory)
        return self

    def __str__(self) -> str:
        return (
            f"{self.refused + self.opened:,} damaged files, {self.recordings:,} of them "
            f"recordings: {self.refused:,} refused, {self.opened:,} opened; at most "
            f"{self.longest:.2f} s of processor time and {self.memory >> 10} MB"
        )


Task = tuple[int, int, float, list[tuple[str, bytes]], str]


def open_some(task: Task) -> Outcome:
    """Open so many of a seed."""
    seed, count, share, contents, folder = task
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    chance = random.Random(seed)
    recordings = [one for one in contents if one[0] == ".jfr"]
    others = [one for one in contents if one[0] != ".jfr"]
    outcome = Outcome()
    for number in range(count):
        some = recordings if recordings and chance.random() < share else others
        suffix, content = chance.choice(some)
        if suffix == ".pb.gz" and chance.random() < 0.1:
            data = damaged(gzip.compress(content, 1), chance)
        else:
            data = damaged(content, chance)
            if suffix == ".pb.gz":
                data = gzip.compress(data, 1)
        path = Path(folder) / f"{seed}-{number}{suffix}"
        path.write_bytes(data)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        began = time.process_time()
        try:
            profile = jvmti.profile.open(path)
            for kind in profile.kinds:
                profile.where(profile.samples.kind == kind).top()
            outcome.opened += 1
        except NotAProfile as error:
            outcome.refused += 1
            if path.name not in str(error):
                raise
        signal.setitimer(signal.ITIMER_PROF, 0)
        outcome.longest = max(outcome.longest, time.process_time() - began)
        outcome.recordings += suffix == ".jfr"
        path.unlink()
    outcome.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return outcome


def main() -> int:
    """Open them, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="recordings")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--recordings", type=float, default=0.03, help="the part of the files")
    parser.add_argument("--seconds", type=float, default=1e9, help="no longer than this")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    contents = [(".jfr", path.read_bytes()) for path in given.files]
    for suffix in (".parquet", ".pb.gz", ".collapsed"):
        for number, profile in enumerate(
            (made.shop(), made.large(200, stacks=20, depth=8, methods=60))
        ):
            path = Path(folder) / f"{number}{suffix}"
            profile.save(path)
            content = path.read_bytes()
            contents.append((suffix, gzip.decompress(content) if suffix == ".pb.gz" else content))
    total, number, began = Outcome(), 0, time.monotonic()
    context = multiprocessing.get_context("fork")
    # A worker that ends by a fault breaks the pool.
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        waiting = set()
        while True:
            in_time = time.monotonic() - began < given.seconds
            while in_time and number * BATCH < given.count and len(waiting) < 4:
                task = (given.seed + number, BATCH, given.recordings, contents, folder)
                waiting.add(pool.submit(open_some, task))
                number += 1
            if not waiting:
                break
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in done:
                total += one.result()
                if (total.refused + total.opened) % (10 * BATCH) == 0:
                    print(total, flush=True)
    print(total)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
