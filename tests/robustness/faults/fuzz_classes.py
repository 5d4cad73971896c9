"""Instruments damaged class files with the sanitizers of addresses and undefined behaviour.

    python tests/robustness/faults/fuzz_classes.py [CASES] [SEED] [CLASSES …]

Whatever is in a class file or a plan, instrumenting it gives a class file or a refusal.  What is
damaged are the classes of the tests' programs, and the class files and jars that are named; a case
that ends the program is kept and named.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import compiler  # noqa: E402
import jvms  # noqa: E402
from instrumentation.verification import EVERYTHING, RECORDING, STOPPING  # noqa: E402
from jvmti.instrumentation.library import plan_of  # noqa: E402
from jvmti.instrumentation.probes import Probe  # noqa: E402

PROGRAMS = ("Probed", "Containers", "Values", "Workload", "Shop", "Leaks")
COMPILE = (
    "c++ -std=c++17 -O1 -g1 -fno-omit-frame-pointer -fno-exceptions -fno-rtti "
    "-fsanitize=address,undefined -fno-sanitize-recover=undefined -Wall -Wextra"
)


def build(folder: Path) -> Path:
    """The program that damages and instruments, with the library in it."""
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
        *(f"-I{one}" for one in folders),
        *map(str, sources),
        "-o",
        program,
    ]
    subprocess.run(command, check=True, timeout=300)
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


def fuzz(
    cases: int, seed: int, paths: Iterable[Path], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Instrument so many damaged class files."""
    plan, classes, kept = folder / "plan", folder / "classes", folder / f"case-{seed}.class"
    plan.write_bytes(
        plan_of(
            [
                one if isinstance(one, Probe) else Probe.parse(one)
                for one in (*EVERYTHING, *RECORDING, *STOPPING)
            ]
        )
    )
    classes.write_bytes(b"".join(struct.pack("<I", len(one)) + one for one in class_files(paths)))
    return subprocess.run(
        [build(folder), plan, classes, str(cases), str(seed), kept],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120 + cases / 50,  # before pytest's limit, whose traceback hides what happened
        check=False,
    )


def main() -> int:
    """Fuzz, and say what came of it."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    paths = [Path(one) for one in sys.argv[3:]] or [compiler.classes(name) for name in PROGRAMS]
    folder = Path(tempfile.mkdtemp(prefix="jvmti-fuzz-"))
    done = fuzz(cases, seed, paths, folder)
    print(done.stdout, end="")
    if done.returncode:
        print(f"ended with {done.returncode}; the class file is {folder}/case-{seed}.class")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
