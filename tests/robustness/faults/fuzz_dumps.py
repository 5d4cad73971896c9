"""Reads damaged heap dumps, in children whose memory is limited.

    python tests/robustness/faults/fuzz_dumps.py [MUTATIONS] [SEED] [--jvms 17,25] [--sanitized]

Whatever is in a file, opening it gives a snapshot or one of the package's own errors, and the
questions asked of a snapshot have answers. A child that dies, takes too long, or runs into its
limit of memory is a failure; the file that it was at is kept.

What is damaged are small dumps made by hand and, with `--jvms`, dumps of these JVMs: whole, and
copies of a part of them in all the forms that the format allows, compressed too. With
`--sanitized` the heap library is built with the address and undefined behaviour sanitizers, and
asked without Python (`tests/native/fuzz_dumps.cpp`); the package asks one of two hundred.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import numpy  # noqa: E402

import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti.heap  # noqa: E402
from heap.hprof import small  # noqa: E402
from heap.hprof_copy import copy_of  # noqa: E402
from jvmti.heap import files, library  # noqa: E402
from jvmti.target import hotspot, own_libraries  # noqa: E402
from jvmti.target.processes.search import inspect  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Bytes of address space of a child, of which more is reserved than used; the sanitizer takes
#: address space as it likes, so there it is memory in use.
MEMORY, SANITIZED_MEMORY = 3 << 30, 2 << 30
#: Mutations that one child reads; seconds of processor time, and of any, that one may take.
BATCH, PROCESSOR_SECONDS, SECONDS = 2000, 10, 120
#: One of so many that the sanitizers see is asked by the package as well.
EVERY = 200

NATIVE = jvms.ROOT / "native" / "heap"
QUESTIONS = TESTS / "native" / "fuzz_dumps.cpp"
COMPILE = (
    "c++ -std=c++17 -O2 -g -fno-omit-frame-pointer -fno-exceptions -fno-rtti -shared -fPIC "
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined -Wall -Wextra -pthread"
)

#: Classes that a copy has, with the objects of them.
KINDS = (
    "Dumped*", "java/lang/Object", "java/lang/String", "java/lang/Class", "java/lang/Thread",
    "java/lang/ref/WeakReference", "java/lang/ref/SoftReference", "java/util/ArrayList",
    "java/util/HashMap*Node", "java/net/URLClassLoader", "jdk/internal/loader/*$AppClassLoader",
    "[[]?", "[[]Ljava/lang/String;", "[[]Ljava/lang/Object;",
)  # fmt: skip


class Seed(NamedTuple):
    """A sound dump, compressed or not, and how often it is taken."""

    data: bytes
    weight: int


SEEDS = [
    Seed(small(), 200),
    Seed(small(segment=1), 200),
    Seed(small(id_size=4, version=1, segment=None), 200),
    Seed(small(id_size=4, segment=200), 200),
    Seed(small(version=1, segment=None), 200),
]


def compressed(data: bytes, block: int = 1 << 13) -> bytes:
    """As HotSpot compresses: a member of gzip for each block."""
    members = []
    for at in range(0, len(data), block):
        packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        members.append(packer.compress(data[at : at + block]) + packer.flush())
    return b"".join(members)


def dump(jvm: jvms.Jvm, program: str) -> bytes:
    """The heap of a program on a JVM."""
    command = [jvm.java, *jvm.args, "-XX:+UseSerialGC", "-cp", str(compiler.classes(program))]
    with (
        tempfile.TemporaryDirectory() as directory,
        subprocess.Popen(
            [*command, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as java,
    ):
        assert java.stdin is not None
        assert java.stdout is not None
        assert java.stdout.readline() == b"ready\n"
        path = Path(directory) / "heap.hprof"
        hotspot.command(inspect(java.pid), "dumpheap", str(path), timeout=60)
        java.stdin.close()
        return path.read_bytes()


def real_seeds(names: str) -> list[Seed]:
    """Dumps of JVMs, and copies of parts of them."""
    seeds = []
    for jvm in map(jvms.named, names.split(",")):
        if jvm.missing:
            raise SystemExit(jvm.missing)
        whole = dump(jvm, "Dumped")
        # Only where there is much to read do several threads read it.
        seeds += [Seed(whole, 1), Seed(dump(jvm, "Idle"), 2)]
        part = copy_of(whole, most=5, patterns=KINDS)
        for most in (1, 5):
            forms = [
                copy_of(part, most=most),
                copy_of(part, most=most, segment=1000),
                copy_of(part, most=most, version=1, segment=None),
                copy_of(part, most=most, id_size=4),
                copy_of(part, most=most, id_size=4, version=1, segment=None),
            ]
            seeds += [Seed(form, 100) for form in forms]
            seeds.append(Seed(compressed(forms[0]), 50))
        seeds.append(Seed(compressed(small()), 50))
    return seeds


INTERESTING = [0, 1, 2, 7, 0x20, 0x21, 0x22, 0x23, 0x7F, 0x80, 0xFF]
LENGTHS = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000, 0xFFFFFF00]


WEIGHTS: list[int] = []


def mutated(chance: random.Random) -> bytes:
    """One of the seeds with some damage."""
    data = bytearray(chance.choices(SEEDS, WEIGHTS)[0].data)
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


def unpacked(data: bytes) -> NDArray[numpy.uint8]:
    """The bytes of a file, mapped or unpacked as `jvmti.heap.open` does."""
    descriptor = os.memfd_create("fuzz")
    try:
        os.write(descriptor, data)
        return files.map_descriptor(descriptor, "the file").data
    finally:
        os.close(descriptor)


def ask(data: bytes) -> None:
    """Open a dump, and ask it everything."""
    try:
        opened = library.Dump(unpacked(data), threads=2)
    except jvmti.heap.HeapError:
        return
    snapshot = jvmti.heap.Snapshot(opened, unreachable="keep")
    snapshot.histogram(retained=True)
    every = snapshot.objects("*")
    assert len(every) == len(opened.class_of)
    assert int(opened.targets.max(initial=0)) < max(1, len(every))
    snapshot.dominators(weak=False).accumulation_points()
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


def sanitized() -> ctypes.CDLL:
    """The heap library with the sanitizers, and what asks it; needs `with_sanitizer`."""
    path = jvms.ROOT / "build" / "sanitized" / "libjvmti_heap.so"
    sources = [*sorted(NATIVE.rglob("*.cpp")), QUESTIONS]
    newest = max(file.stat().st_mtime for file in [*sources, *NATIVE.rglob("*.h")])
    if not path.exists() or path.stat().st_mtime < newest:
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*COMPILE.split(), f"-I{NATIVE}", *sources, "-o", path], check=True)
    vars(own_libraries)["own_folder"] = lambda: str(path.parent)
    return ctypes.CDLL(str(path))


def with_sanitizer() -> None:
    """Start this process again with the sanitizer in it, which has to come before all else."""
    if os.environ.pop("LD_PRELOAD", None):  # which is not for the JVMs and the compiler
        return
    found = subprocess.run(["c++", "-print-file-name=libasan.so"], capture_output=True, check=True)
    limit = f"hard_rss_limit_mb={SANITIZED_MEMORY >> 20}"
    environment = {
        **os.environ,
        "LD_PRELOAD": os.path.realpath(found.stdout.decode().strip()),
        # What Python itself keeps at its end is no leak of ours. What is freed lies idle until so
        # much came after it, which is more than any file here needs.
        "ASAN_OPTIONS": f"detect_leaks=0:quarantine_size_mb=16:malloc_context_size=5:{limit}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


class Reader:
    """Reads mutations in a child, and says which one it is at."""

    def __init__(self, seed: int, native: ctypes.CDLL | None) -> None:
        self.seed = seed
        self.native = native

    def mutation(self, number: int) -> bytes:
        return mutated(random.Random(self.seed * 1_000_003 + number))

    def read(self, number: int) -> None:
        data = self.mutation(number)
        if not data:
            return
        if self.native is not None:
            try:
                content = unpacked(data).tobytes() if data[:2] == b"\x1f\x8b" else data
            except jvmti.heap.HeapError:
                return
            line = self.native.jvmti_heap_fuzz(content, ctypes.c_uint64(len(content)))
            assert line <= 0, f"the check in line {line} of {QUESTIONS.name} failed"
            if number % EVERY or len(data) > 1_000_000:
                return
        ask(data)

    def child(self, first: int, count: int, current: str) -> None:
        if self.native is None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open(current, "r+b") as file:
            for number in range(first, first + count):
                file.seek(0)
                file.write(struct.pack("<Q", number))
                file.flush()
                signal.setitimer(signal.ITIMER_VIRTUAL, PROCESSOR_SECONDS)
                signal.alarm(SECONDS)
                self.read(number)

    def in_child(self, first: int, count: int, current: str) -> int:
        """The status that a child ended with."""
        pid = os.fork()
        if pid:
            return os.waitpid(pid, 0)[1]
        status = 1

        def work() -> None:
            nonlocal status
            self.child(first, count, current)
            status = 0

        try:
            # Not in the main thread, where the package starts another for each long call.
            worker = threading.Thread(target=work)
            worker.start()
            worker.join()
        finally:
            os._exit(status)


def run(reader: Reader, first: int, mutations: int) -> None:
    """Read so many mutations; the first failure ends it."""
    started = time.monotonic()
    with tempfile.NamedTemporaryFile() as current:
        for at in range(first, first + mutations, BATCH):
            count = min(BATCH, first + mutations - at)
            current.seek(0)
            current.write(bytes(8))
            current.flush()
            status = reader.in_child(at, count, current.name)
            if status:
                current.seek(0)
                (number,) = struct.unpack("<Q", current.read(8))
                kept = Path(tempfile.gettempdir()) / f"jvmti-fuzz-{reader.seed}-{number}.hprof"
                kept.write_bytes(reader.mutation(number))
                raise SystemExit(
                    f"mutation {number} of seed {reader.seed} failed ({status:#x}): {kept}"
                )
            done = at + count - first
            if sys.stdout.isatty() or at // BATCH % 25 == 0 or done == mutations:
                rate = done / (time.monotonic() - started)
                print(f"{done:,} mutations, {rate:,.0f} a second", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mutations", type=int, nargs="?", default=1_000_000)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation")
    parser.add_argument("--jvms", help="such as 17,25: damage dumps of these as well")
    parser.add_argument("--sanitized", action="store_true")
    arguments = parser.parse_args()
    if arguments.sanitized:
        with_sanitizer()
    native = sanitized() if arguments.sanitized else None
    if arguments.jvms:
        SEEDS.extend(real_seeds(arguments.jvms))
    WEIGHTS[:] = [seed.weight for seed in SEEDS]
    run(Reader(arguments.seed, native), arguments.first, arguments.mutations)


if __name__ == "__main__":
    main()
