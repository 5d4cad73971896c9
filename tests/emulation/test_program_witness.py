"""Probes report what the VM's own events do while a program that others wrote runs.

`witnesses/program_witness.py` compares the same of more classes, and each kind of place, and of a
database, too.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import jvms
from emulation.witnesses.program_witness import EVENTS, compared, compiling, first_difference
from programs import JavaPrograms


@pytest.mark.newest
def test_lines_values_and_exits_of_a_compiler_are_those_of_the_vm(
    jvm: jvms.Jvm, java_program: JavaPrograms, tmp_path: Path
) -> None:
    work = compiling(tmp_path, jvm)
    # Each breakpoint that variables are read at takes as long as a class takes to get probes.
    work = work._replace(classes=work.closely, closely=(), places=())
    (native, late) = (found["events"] for found in compared(jvm, java_program, work))
    assert late == native, first_difference(native, late)
    counts = Counter(row[0] for row in native)
    without_exceptions = [event for event in EVENTS if event != "ExceptionCatch"]
    assert min(counts[event] for event in ("Line", *without_exceptions)) > 10, counts
