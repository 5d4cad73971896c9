"""`JVMTI_TRACE=frames`: both sides say which frames pass, with names, in one order of time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import programs

CONTROLLER = """
import sys
import jvmti

with jvmti.attach(int(sys.argv[1])) as vm:
    vm.env.get_phase()
    seen = []
    vm.env.on("ClassPrepare", seen.append, own=True)
    vm.jni.find_class("java/util/UUID")
print("done")
"""

LINE = re.compile(
    r"(\d+\.\d{6}) (controller|agent) (\d+) ([<>]) ([A-Z]+)( \S.*?)? "
    r"seq (\d+) conv (\d+) env (\d+): (\d+) bytes(, after \d+ us)?"
)


def test_each_frame_is_traced_at_both_ends(
    tmp_path: Path, java_program: programs.JavaPrograms
) -> None:
    log = tmp_path / "agent.log"
    program = java_program("Idle", env={"JVMTI_TRACE": "frames", "JVMTI_LOG": str(log)})
    done = subprocess.run(
        [sys.executable, "-c", CONTROLLER, str(program.pid)],
        env={**os.environ, "JVMTI_TRACE": "frames"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "done\n"
    ours = [found for line in done.stderr.splitlines() if (found := LINE.fullmatch(line))]
    assert len(ours) == len(done.stderr.splitlines())
    theirs = [found for found in map(LINE.search, log.read_text().splitlines()) if found]

    def named(lines: list[re.Match[str]], sign: str, kind: str) -> list[str]:
        return [(one[6] or "").strip() for one in lines if one[4] == sign and one[5] == kind]

    assert named(ours, "<", "GREETING") == [""]
    assert "GetPhase" in named(ours, ">", "CALL")
    assert "ClassPrepare" in " ".join(named(ours, "<", "EVENT"))
    # What one side sends the other one receives: nothing was lost, and both know the names.
    assert sorted(named(ours, ">", "CALL")) == sorted(named(theirs, "<", "CALL"))
    assert len(named(ours, "<", "RETURN")) == len(named(theirs, ">", "RETURN"))
    answered = [one for one in ours if one[5] == "RETURN" and one[4] == "<"]
    assert all(one[11] for one in answered)
    times = [float(one[1]) for one in [*ours, *theirs]]
    assert max(times) - min(times) < 60


def test_without_the_variable_nothing_is_written(java_program: programs.JavaPrograms) -> None:
    program = java_program("Idle")
    environment = {name: value for name, value in os.environ.items() if name != "JVMTI_TRACE"}
    done = subprocess.run(
        [sys.executable, "-c", CONTROLLER, str(program.pid)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
