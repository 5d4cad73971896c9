"""Instruments damaged class files with the sanitizers of addresses and undefined behaviour.

    python tests/robustness/faults/fuzz_classes.py [CASES] [SEED] [CLASSES …]
    python tests/robustness/faults/fuzz_classes.py 1000000 2001 --parts 100 --record FILE

Whatever is in a class file or a plan, instrumenting it gives a class file or a refusal.  What is
damaged are the classes of the tests' programs, and the class files and jars that are named; a case
that ends the program is kept and named.

With a record the cases are run in parts, with a seed each.  Each part that has ended is written to
the record, and not run again by the next start with that record.
"""

from __future__ import annotations

import argparse
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import compiler  # noqa: E402
import jvms  # noqa: E402
from instrumentation.verification import EVERYTHING, HELPER, RECORDING, STOPPING  # noqa: E402
from jvmti.instrumentation.plans import plan_of  # noqa: E402
from jvmti.instrumentation.probes import Probe  # noqa: E402

CHOOSING = (
    f"entry *.* annotated java.lang.Deprecated -> {HELPER}.entry(int site)",
    f"return *.* annotated *Mapped -> {HELPER}.left(int site)",
    f"line *.* extends Matched$Served annotated *[!a-z]* -> {HELPER}.line(int line)",
)
PLANS = ((*EVERYTHING, *RECORDING, *STOPPING), EVERYTHING, RECORDING, STOPPING, CHOOSING)
"""A case has one of these.  All of them together outgrow many methods, which ends them early."""
PROGRAMS = ("Probed", "Containers", "Values", "Workload", "Shop", "Leaks", "Matched")
COMPILE = (
    "c++ -std=c++17 -g1 -fno-omit-frame-pointer -fno-exceptions -fno-rtti "
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined -Wall -Wextra"
)


def build(folder: Path, optimization: str = "-O2") -> Path:
    """The program that damages and instruments, with the library in it.

    Without optimization it is there in a third of the time, and each case takes five times as long.
    The compiler reads all files as one, and the headers that they share once.
    """
    native = jvms.ROOT / "native"
    generated = folder / "generated"
    subprocess.run(
        [sys.executable, native / "agent" / "generate", generated], check=True, timeout=120
    )
    program = folder / "fuzz_classes"
    sources = [
        *sorted((native / "classfile").rglob("*.cpp")),
        TESTS / "native" / "fuzz_classes.cpp",
    ]
    folders = [native, folder]
    command = [
        *COMPILE.split(),
        optimization,
        *(f"-I{one}" for one in folders),
        "-o",
        program,
        *("-x", "c++", "-"),
    ]
    together = "".join(f'#include "{one}"\n' for one in sources)
    subprocess.run(command, input=together, text=True, check=True, timeout=300)
    return program


def class_files(paths: Iterable[Path]) -> Iterator[bytes]:
    """The class files in directories, jars and files."""
    for path in paths:
        if path.is_dir():
            yield from (one.read_bytes() for one in sorted(path.rglob("*.class")))
        elif path.suffix == ".class":
            yield path.read_bytes()
        else:
            with zipfile.ZipFile(path) as jar:
                yield from (jar.read(one) for one in jar.namelist() if one.endswith(".class"))


def framed(parts: Iterable[bytes]) -> bytes:
    """Each part behind its length."""
    return b"".join(struct.pack("<I", len(one)) + one for one in parts)


class Fuzzer:
    """The program that is built, with its plans and classes."""

    def __init__(self, paths: Iterable[Path], folder: Path, optimization: str = "-O2") -> None:
        self.folder = folder
        self.program = build(folder, optimization)
        self.plans, self.classes = folder / "plans", folder / "classes"
        self.plans.write_bytes(framed(plan_of(list(map(parsed, probes))) for probes in PLANS))
        self.classes.write_bytes(framed(class_files(paths)))

    def kept(self, seed: int) -> Path:
        """The class file that has ended the program."""
        return self.folder / f"case-{seed}.class"

    def run(self, cases: int, seed: int) -> subprocess.CompletedProcess[str]:
        """Instrument so many damaged class files."""
        return subprocess.run(
            [self.program, self.plans, self.classes, str(cases), str(seed), self.kept(seed)],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )


def parsed(probe: str | Probe) -> Probe:
    """A probe that may be text."""
    return probe if isinstance(probe, Probe) else Probe.parse(probe)


def sums(record: Path) -> Counter[str]:
    """What came of all parts of a record."""
    found: Counter[str] = Counter()
    for line in record.read_text().splitlines():
        for number, what in re.findall(r"(\d+) ([a-z ]+)", line.partition(": ")[2]):
            found[what] += int(number)
    return found


def main() -> int:
    """Fuzz, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="?", type=int, default=100_000)
    parser.add_argument("seed", nargs="?", type=int, default=1, help="that of the first part")
    parser.add_argument("classes", nargs="*", type=Path, help="directories, jars and class files")
    parser.add_argument("--record", type=Path, help="what has been run, and is not run again")
    parser.add_argument("--parts", type=int, default=1, help="how many parts these cases have")
    given = parser.parse_intermixed_args()
    paths = given.classes or [compiler.classes(name) for name in PROGRAMS]
    folder = Path(tempfile.mkdtemp(prefix="jvmti-fuzz-"))
    fuzzer = Fuzzer(paths, folder)
    record = given.record or folder / "record"
    record.touch()
    for seed in range(given.seed, given.seed + given.parts):
        if f"seed {seed}: " in record.read_text():
            continue
        done = fuzzer.run(given.cases // given.parts, seed)
        print(f"seed {seed}: {done.stdout}", end="", flush=True)
        if done.returncode:
            print(f"ended with {done.returncode}; the class file is {fuzzer.kept(seed)}")
            return 1
        with record.open("a") as file:
            file.write(f"seed {seed}: {done.stdout}")
    print(dict(sums(record)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
