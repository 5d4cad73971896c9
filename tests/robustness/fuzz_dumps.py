"""Reads damaged heap dumps, in children whose memory is limited.

    python tests/robustness/fuzz_dumps.py [MUTATIONS] [SEED]

Whatever is in a file, opening it gives a snapshot or one of the package's own errors, and the
questions asked of a snapshot have answers. A child that dies, takes too long, or runs into its
limit of memory is a failure; the file that it was at is kept.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy

import jvmti.heap
from heap.hprof import small
from jvmti.heap.library import Dump

#: Bytes of address space of a child. What is reserved is more than what is used.
MEMORY = 3 << 30
#: Mutations that one child reads, and seconds that it may take.
BATCH, SECONDS = 2000, 60

SEEDS = [
    small(),
    small(segment=1),
    small(id_size=4, version=1, segment=None),
    small(id_size=4, segment=200),
    small(version=1, segment=None),
]
INTERESTING = [0, 1, 2, 7, 0x20, 0x21, 0x22, 0x23, 0x7F, 0x80, 0xFF]
LENGTHS = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000, 0xFFFFFF00]


def mutated(chance: random.Random) -> bytes:
    """One of the seeds with some damage."""
    data = bytearray(chance.choice(SEEDS))
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        at = chance.randrange(len(data))
        kind = chance.randrange(9)
        if kind <= 1:
            data[at] = chance.randrange(256)
        elif kind == 2:
            data[at] = chance.choice(INTERESTING)
        elif kind == 3:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 4:
            data[at : at + 4] = struct.pack(">I", chance.choice(LENGTHS))
        elif kind == 5:
            del data[at : at + chance.randrange(1, 40)]
        elif kind == 6:
            other = chance.randrange(len(data))
            piece = data[other : other + chance.randrange(1, 60)]
            data[at:at] = piece
        elif kind == 7:
            other = chance.randrange(len(data))
            piece = data[other : other + 8]
            data[at : at + len(piece)] = piece
        else:
            del data[at:]
        if not data:
            break
    return bytes(data)


def ask(data: bytes) -> None:
    """Open a dump, and ask it everything."""
    if not data:
        return
    try:
        dump = Dump(numpy.frombuffer(data, numpy.uint8), threads=1)
    except jvmti.heap.HeapError:
        return
    snapshot = jvmti.heap.Snapshot(dump, unreachable="keep")
    snapshot.histogram(retained=True)
    every = snapshot.objects("*")
    assert len(every) == len(dump.class_of)
    assert int(dump.targets.max(initial=0)) < max(1, len(every))
    snapshot.dominators(weak=False).drops()
    tree = snapshot.paths_to_roots(every)
    tree.lines(depth=4, width=3)
    every.strings(most=100)
    snapshot.referrers(every)
    for name in ("name", "next", "value", "age"):
        try:
            every[name]
        except jvmti.heap.HeapError:
            pass
    for obj in every[:40]:
        assert obj is not None
        repr(obj)
        obj.fields()
        if obj.length is not None:
            len(obj.array)
    repr(snapshot.threads)
    repr(snapshot.loaders)
    for root in snapshot.roots:
        repr(root)


def child(seed: int, first: int, count: int, current: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(SECONDS)
    with open(current, "r+b") as file:
        for number in range(first, first + count):
            data = mutated(random.Random(seed * 1_000_003 + number))
            file.seek(0)
            file.write(struct.pack("<Q", number))
            file.flush()
            ask(data)


def run(mutations: int, seed: int) -> None:
    """Read so many mutations; the first failure ends it."""
    started = time.monotonic()
    with tempfile.NamedTemporaryFile() as current:
        for first in range(0, mutations, BATCH):
            count = min(BATCH, mutations - first)
            current.seek(0)
            current.write(bytes(8))
            current.flush()
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    child(seed, first, count, current.name)
                    status = 0
                except BaseException:
                    import traceback

                    traceback.print_exc()
                finally:
                    os._exit(status)
            _, status = os.waitpid(pid, 0)
            if status:
                current.seek(0)
                (number,) = struct.unpack("<Q", current.read(8))
                kept = Path(tempfile.gettempdir()) / f"jvmti-fuzz-{seed}-{number}.hprof"
                kept.write_bytes(mutated(random.Random(seed * 1_000_003 + number)))
                raise SystemExit(f"mutation {number} of seed {seed} failed ({status:#x}): {kept}")
            if sys.stdout.isatty() or (first // BATCH) % 25 == 0:
                rate = (first + count) / (time.monotonic() - started)
                print(f"{first + count:,} mutations, {rate:,.0f} a second", flush=True)


if __name__ == "__main__":
    run(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 1,
    )
