"""The home of a JVM that Spark starts."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import jvms

BUILD = Path(__file__).parents[2] / "build" / "spark_homes"
MODULE = "jdk.incubator.vector"
LAUNCHER = """#!/usr/bin/env bash
for option; do [ "$option" = --add-modules={module} ] || kept+=("$option"); done
exec {java} "${{kept[@]}}"
"""


def home_for_spark(jvm: jvms.Jvm) -> Path:
    """The JVM's home, or one with its launcher, if it lacks a module that Spark always asks for.

    Spark does without it where its classes are not there: it multiplies matrices with them.
    """
    if re.search(rf"^{MODULE}\b", jvm.run("--list-modules").stdout, re.MULTILINE):
        return jvm.home
    home = BUILD / str(jvm)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(LAUNCHER.format(module=MODULE, java=shlex.quote(jvm.java)))
    launcher.chmod(0o755)
    return home
