"""Brings artifacts with Maven, which knows where this machine gets them from.

An artifact is `group:name:version`, for others than jars with `:packaging`, and with a
`:classifier` behind that: `com.h2database:h2:2.2.224:jar:sources`.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>none</groupId><artifactId>none</artifactId><version>1</version><packaging>pom</packaging>
<build><plugins><plugin><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
<configuration><prependGroupId>true</prependGroupId><outputDirectory>{}</outputDirectory>
<artifactItems>{}</artifactItems></configuration></plugin></plugins></build></project>
"""
_ITEM = "<artifactItem>{}</artifactItem>"
_PARTS = ("groupId", "artifactId", "version", "type", "classifier")
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Maven's own JVM: half of the processor time."""


def fetched(
    artifacts: Iterable[str], to: Path, environment: Mapping[str, str] | None = None
) -> list[Path]:
    """Bring what is not there yet, in one run of Maven: each run takes seconds, each file few.

    Processes that want the same wait for each other.

    Args:
        artifacts: what to bring.
        to: the folder for them.
        environment: Maven's; this process's otherwise.

    Returns:
        The files, in the order of the artifacts.

    Raises:
        subprocess.CalledProcessError: Maven cannot bring them, and has said why.
    """
    to = to.resolve()  # Maven takes others for relative to where its file is
    to.mkdir(parents=True, exist_ok=True)
    wanted = {one: _file(to, *one.split(":")) for one in artifacts}
    with (to / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [one for one, file in wanted.items() if not file.exists()]
        if missing:
            pom = to / "pom.xml"
            pom.write_text(_POM.format(*_PLUGIN.split(":"), to, "".join(map(_item, missing))))
            inherited = os.environ if environment is None else environment
            subprocess.run(
                ["mvn", "--quiet", "--batch-mode", "-f", pom, f"{_PLUGIN}:copy"],
                env={"MAVEN_OPTS": _QUICK, **inherited},
                check=True,
            )
    return list(wanted.values())


def _file(
    to: Path, group: str, name: str, version: str, packaging: str = "jar", classifier: str = ""
) -> Path:
    words = [f"{group}.{name}", version, classifier]
    return to / f"{'-'.join(filter(None, words))}.{packaging}"


def _item(artifact: str) -> str:
    return _ITEM.format(
        "".join(
            f"<{part}>{text}</{part}>"
            for part, text in zip(_PARTS, artifact.split(":"), strict=False)
        )
    )
