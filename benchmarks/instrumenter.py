"""Measures how fast class files get probes, beside ASM in its fastest way.

    python benchmarks/instrumenter.py [JAR …]

Both put a probe at the entry, each return, and where an exception leaves, into all methods of the
same classes (without jars: the Eclipse compiler's), in rounds that take turns; of each the fastest
counts, so ASM's code is compiled. The JVM has two processors for compiling and collecting, this
package one.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "java"
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

import jvms  # noqa: E402
import maven  # noqa: E402
from jvmti.instrumentation.library import plan_of  # noqa: E402
from jvmti.instrumentation.probes import Probe  # noqa: E402
from jvmti.target.agent_library import own_folder  # noqa: E402

ASM = "org.ow2.asm:asm:9.8"
HELPER = "java.lang.Probed"
PROBES = (
    f"entry *.* -> {HELPER}.entry(int site)",
    f"return *.* -> {HELPER}.left(int site)",
    f"unwind *.* -> {HELPER}.unwound(int site)",
)
ROUNDS = 12
LEAST_MEGABYTES, LEAST_TIMES = 200, 5


def classes_of(jars: list[Path]) -> list[bytes]:
    """All class files of some jars."""
    found = []
    for path in jars:
        with zipfile.ZipFile(path) as jar:
            names = [one for one in jar.namelist() if one.endswith(".class")]
            found += [jar.read(one) for one in names if "module-info" not in one]
    return found


def seconds(command: list[object]) -> list[float]:
    """The seconds of each round that a program prints."""
    done = subprocess.run([str(one) for one in command], check=True, capture_output=True, text=True)
    return [float(line.split()[0]) for line in done.stdout.splitlines()]


def main() -> int:
    """Measure, and say whether the limits are met."""
    jars = [Path(one) for one in sys.argv[1:]] or [ROOT / ".jvms" / "ecj" / "ecj.jar"]
    classes = classes_of(jars)
    size = sum(map(len, classes))
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK; `make java` installs one")
    (asm,) = maven.fetched([ASM], ROOT / "build" / "maven")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan, data, program = folder / "plan", folder / "classes", folder / "instrumenter"
        plan.write_bytes(plan_of([Probe.parse(one) for one in PROBES]))
        data.write_bytes(b"".join(struct.pack("<I", len(one)) + one for one in classes))
        library = Path(own_folder()) / "libjvmti_classfile.so"
        compiling = ["c++", "-O2", f"-I{ROOT / 'native'}", HERE / "instrumenter.cpp", library]
        subprocess.run([*compiling, f"-Wl,-rpath,{library.parent}", "-o", program], check=True)
        javac = [jdk / "bin" / "javac", "-cp", asm, "-d", folder, PROGRAMS / "AsmProbes.java"]
        subprocess.run(javac, check=True)
        ours, theirs = [], []
        for _ in range(2):
            ours += seconds([program, plan, data, ROUNDS])
            java = [jdk / "bin" / "java", "-Xmx2g", "-cp", f"{folder}:{asm}", "AsmProbes"]
            theirs += seconds([*java, data, ROUNDS])
    fast, first, warm = min(ours), theirs[0], min(theirs)
    megabytes = size / 1e6
    print(f"{len(classes):,} classes, {megabytes:.1f} MB")
    for who, took in (("jvmti", fast), ("ASM, warm", warm), ("ASM, first round", first)):
        each = took / len(classes) * 1e6
        print(f"{who:17} {each:6.1f} µs a class, {megabytes / took:6.0f} MB/s")
    met = megabytes / fast >= LEAST_MEGABYTES and warm / fast >= LEAST_TIMES
    print(
        f"{warm / fast:.1f} × ASM's fastest; at least {LEAST_TIMES} × and {LEAST_MEGABYTES} MB/s: "
        f"{'met' if met else 'missed'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
