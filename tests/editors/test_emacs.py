"""Emacs with dap-mode debugs a program that runs, with the configuration of its page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import compiler
from debug.stopping import LINE, SOON, start
from editors.configurations import configuration

if TYPE_CHECKING:
    from jvms import Jvm
    from programs import JavaPrograms

EMACS = shutil.which("emacs")
HAS_DAP_MODE = any(Path("/usr/share/emacs/site-lisp/elpa-src").glob("dap-mode-*"))


@pytest.mark.newest
@pytest.mark.slow
@pytest.mark.skipif(
    EMACS is None or not HAS_DAP_MODE,
    reason="no Emacs with dap-mode: apt-get install emacs-nox elpa-dap-mode",
)
def test_emacs_stops_looks_steps_and_lets_go(
    java_program: JavaPrograms, jvm: Jvm, tmp_path: Path
) -> None:
    (tmp_path / "jvmti.el").write_text(configuration("emacs", "jvmti.el"))
    source = shutil.copy(compiler.source("Stopping").path, tmp_path)
    program = start(java_program, jvm, late=True)
    assert EMACS is not None
    session = Path(__file__).with_name("emacs_session.el")
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CONFIGURATION": str(tmp_path / "jvmti.el"),
        "SOURCE": str(source),
        "LINE": str(LINE["sum"]),
        "JVM": str(program.pid),
    }
    with subprocess.Popen(
        [EMACS, "--batch", "-l", str(session)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as emacs:
        # Again and again, because Emacs has its breakpoint when it has it.
        sums = set()
        while emacs.poll() is None and program.ask("start one add 1"):
            sums.add(program.ask("join one", timeout=2 * SOON))
        assert emacs.stdout is not None
        said = emacs.stdout.read()
    assert emacs.returncode == 0, said
    assert f"frame Stopping.add(int, String) line {LINE['sum']}" in said
    assert f"cursor line {LINE['sum']}" in said
    assert "variable n = 0" in said
    assert 'variable name = "x0"' in said
    assert f"stepped to line {LINE['return']}" in said
    assert "4000" in sums, "it returned early"
    assert said.rstrip().endswith("done")
    assert program.ask("start two add 2")
    assert program.ask("join two") == "6"
