"""Let a JVM's verifier look at the classes of some hundred jars with every kind of probe in them.

    python scripts/verify_jars.py 17 25 [--jars DIRECTORY] [--only PATTERN] [--probes recording]

The jars are those of `tests/instrumentation/jars.txt`, which Maven brings to the directory.  Each
has all the others behind it on its class path.  A class that the verifier refuses with probes, but
takes without, is a failure.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import jvms  # noqa: E402
import maven  # noqa: E402
from instrumentation import verification  # noqa: E402
from jvmti import classfile  # noqa: E402

LISTED = ROOT / "tests" / "instrumentation" / "jars.txt"


def listed(pattern: str = "*") -> list[str]:
    """The jars of the list, as `group:name:version`, whose names match."""
    lines = (line.partition("#")[0].strip() for line in LISTED.read_text().splitlines())
    return [line for line in lines if line and fnmatch.fnmatchcase(line, pattern)]


def described(files: list[Path]) -> Counter[str]:
    """What is remarkable about the class files of jars."""
    found: Counter[str] = Counter()
    for path in files:
        with zipfile.ZipFile(path) as jar:
            names = [name for name in jar.namelist() if name.endswith(".class")]
            for name in names:
                data = jar.read(name)
                found["class files"] += 1
                found["before version 50"] += int.from_bytes(data[6:8]) < 50
                found["without lines"] += b"LineNumberTable" not in data
                if b"\xa8" not in data and len(data) < 60_000:
                    continue
                try:
                    methods = classfile.ClassFile(data).methods
                    codes = [one.code.bytecodes for one in methods if one.code is not None]
                    found["methods beyond 60,000 bytes"] += sum(len(one) > 60_000 for one in codes)
                    jumps = any(
                        one.name in ("jsr", "jsr_w")
                        for code in codes
                        if b"\xa8" in code or b"\xc9" in code
                        for one in classfile.instructions(code)
                    )
                    found["with jsr"] += jumps
                except classfile.MalformedClassFile:
                    found["malformed"] += 1
    return found


def main() -> int:
    """Fetch, verify on each JVM, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jvms", nargs="*", help="11, 17, 21 or 25")
    parser.add_argument("--jars", type=Path, default=ROOT / "build" / "jars", help="where they are")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="those with such names")
    parser.add_argument("--probes", choices=verification.PROBES, default="everything")
    parser.add_argument(
        "--from", type=int, default=0, dest="first", metavar="N", help="leave out the first N"
    )
    parser.add_argument("--describe", action="store_true", help="say what is among them")
    given = parser.parse_args()
    files = maven.fetched(listed(), given.jars)
    chosen = maven.fetched(listed(given.only), given.jars)[given.first :]
    if given.describe:
        print(len(chosen), "jars:", dict(described(chosen)))
    failed = 0
    for name in given.jvms:
        began = time.monotonic()
        jvm = jvms.named(name)
        found = verification.run(jvm, chosen, verification.PROBES[given.probes], beside=files)
        failed += len(found.failed)
        print(f"{name}: {len(chosen)} jars, {time.monotonic() - began:.0f} s: {found}")
        for one, why in found.failed.items():
            print(f"  {one}: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
