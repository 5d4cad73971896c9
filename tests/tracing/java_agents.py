"""An agent of somebody else, written in Java (`java/Replacing.java`), for any JVM."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import compiler
from jvmti.target.hotspot import command
from jvmti.target.processes.search import inspect

MANIFEST = """\
Manifest-Version: 1.0
Premain-Class: Replacing
Agent-Class: Replacing
Can-Retransform-Classes: true

"""


def replacing_jar(folder: Path) -> Path:
    """The jar of the agent, made in a folder."""
    path = folder / "replacing.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", MANIFEST)
        for one in compiler.classes("Replacing").glob("Replacing*.class"):
            archive.write(one, one.name)
    return path


def load(pid: int, jar: Path, options: str) -> None:
    """Load a Java agent into a JVM that runs."""
    answer = command(inspect(pid), "load", "instrument", "false", f"{jar}={options}", timeout=60)
    assert answer.strip().endswith("0"), answer


class Other:
    """The other agent, in one JVM."""

    def __init__(self, jar: Path, pid: int) -> None:
        self.jar = jar
        self.pid = pid

    def does(self, *options: str) -> None:
        """Attach it again, or for the first time, with options."""
        load(self.pid, self.jar, ",".join(options))

    def sees(self, name: str) -> bytes:
        """The class file that its hook is shown, behind those of all that are there."""
        with tempfile.NamedTemporaryFile() as file:
            self.does("write", name, file.name)
            return Path(file.name).read_bytes()
