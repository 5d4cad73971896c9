"""docs/emulation.md is what the engines say, and what each JVM has."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import jvms
import jvmti
from jvmti.interface.capabilities import ALL

PAGE = (jvms.ROOT / "docs" / "emulation.md").read_text()


def test_the_page_is_current() -> None:
    script = jvms.ROOT / "scripts" / "emulation_page.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_capability_is_on_the_page_as_a_late_agent_finds_it(
    vm: jvmti.VM, jvm: jvms.Jvm
) -> None:
    if str(jvm.feature) not in ("11", "17", "21", "25"):
        pytest.skip("the page is about other releases")
    rows = dict(
        re.findall(r"^\| `(can_\w+)` \| ((?:native|emulated|unavailable).*) \|$", PAGE, re.M)
    )
    assert set(rows) == ALL.names()
    column = ("11", "17", "21", "25").index(str(jvm.feature))
    said = {name: cells.split(" | ")[column] for name, cells in rows.items()}
    assert said == {str(one.capability): one.source.value for one in vm.capabilities.supports()}
    assert vm.emulation.emulates & ~vm.env.get_capabilities() == 0


def test_pauses_are_counted(vm: jvmti.VM) -> None:
    before = vm.emulation.pauses
    frames = vm.threads["holder"].frames
    next(frame for frame in frames if frame.method.name == "hold").locals.read()
    after = vm.emulation.pauses
    assert after.times == before.times + 1
    assert 0 < after.total - before.total <= after.longest < 1
