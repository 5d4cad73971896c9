"""Conditions whose variables the agent reads from frames; the program counts what is true."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from debug import stopping

if TYPE_CHECKING:
    from pathlib import Path

    from jvms import Jvm
    from programs import JavaPrograms

(LINE,) = stopping.marks("Varied").values()

CONDITIONS = [
    "n == 3",
    "wide == 1099511627780 and last == -4",
    "part == 1.25",
    "fraction > 3.5 and fraction <= 3.75",
    "not flag and small == -6 and medium == 306",
    "letter == 'g'",
    "text == 't7'",
    "len(array) == 8",
    "array is None",
    "maybe is None or node.number == 10",
    "local.name == 'n12'",
    "this.total > 11 and n == 12",
    "len(own) == 14",
    "node.next.boxed > 1014",
]
"""In the order in which the program counts them."""

MODES = {
    "g1": ["-XX:+UseG1GC"],
    "interpreted": ["-XX:+UseParallelGC", "-Xint"],
    "compiled": ["-XX:+UseSerialGC", "-Xcomp", "-XX:CompileCommand=quiet"]
    + ["-XX:CompileCommand=compileonly,Varied*.*"],
    "checked": ["-XX:+UseSerialGC", "-Xcheck:jni"],
    "z": ["-XX:+UseZGC"],
    "shenandoah": ["-XX:+UseShenandoahGC"],
}
ASKS_THE_VM = ("z", "shenandoah")
"""Their references are not plain addresses, and are left to the VM."""


@pytest.mark.parametrize("mode", MODES)
def test_conditions_hold_where_the_program_says_so_while_its_objects_move(
    mode: str, jvm: Jvm, java_program: JavaPrograms, tmp_path: Path
) -> None:
    options = ["-XX:+UnlockExperimentalVMOptions", *MODES[mode]]
    if mode in ASKS_THE_VM:
        try:
            jvm.run(*options, "-Xmx64m", "-version")
        except AssertionError:
            pytest.skip(f"JVM {jvm} has no {' '.join(options)}")
    log = tmp_path / "safepoints"
    options.append(f"-Xlog:safepoint*:file={log}::filecount=0")
    program = java_program("Varied", jvm_args=[*stopping.reserving(jvm), *options])
    program.expect("ready", timeout=60)
    with stopping.attached(program) as vm:
        (visit,) = (one for one in vm.find_class("Varied").methods if one.name == "visit")
        points = [visit.breakpoint(line=LINE, when=when) for when in CONDITIONS]
        asked = []
        # To ask the VM takes long, and each visit asks for fourteen conditions.
        always_asks = mode in ASKS_THE_VM or jvm.name == "zero"
        visits = 32 if always_asks else 100
        for _ in range(2):
            before = [point.hits for point in points]
            program.send(f"run {visits} 4")
            # Not what the VM says of JNI.
            answer = program.expect(re.compile(r"\[.*]"), timeout=stopping.SOON)
            held = json.loads(answer)[: len(points)]
            assert min(held) >= 4 * (visits // 16)
            assert [point.hits - hits for point, hits in zip(points, before, strict=True)] == held
            asked.append(log.read_text().count("GetOrSetLocal"))
        # First the VM is asked, too, and whatever it says the same of is read without it.
        assert asked[0] > 0
        if always_asks:
            assert asked[1] > 1.5 * asked[0]
        else:
            assert asked[1] == asked[0]
        for point in points:
            point.cancel()
        assert vm.handler_errors == []
