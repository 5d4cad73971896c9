"""The sources of a project, found from the folder that its class files are in.

Build tools and development environments put class files where everybody expects them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

LANGUAGES = (".java", ".kt", ".scala", ".groovy", ".kts", ".clj", ".jsp", ".jspx", ".tag")
"""How names of source files end."""


def sources_beside(classes: Path) -> Iterator[Path]:
    """Folders that may have the sources of the class files in a folder.

    Args:
        classes: a folder of class files, as it is on a class path.
    """
    yield from (one for one in _expected(classes) if one.is_dir())


def _expected(classes: Path) -> Iterator[Path]:
    match classes.parts:
        case (*_, "target", "classes"):  # Maven
            yield classes.parent.parent / "src" / "main"
            yield classes.parent / "generated-sources"
        case (*_, "target", "test-classes"):
            yield classes.parent.parent / "src" / "test"
        case (*_, "target", scala, "classes" | "test-classes") if scala.startswith("scala-"):  # sbt
            kind = "main" if classes.name == "classes" else "test"
            yield classes.parent.parent.parent / "src" / kind
        case (*_, "build", "classes", _, kind):  # Gradle
            yield classes.parents[3] / "src" / kind
            yield classes.parents[2] / "generated"
        case (*_, "out", "production" | "test", _):  # IntelliJ IDEA
            yield classes.parents[2] / "src"
        case (*_, "bin" | "out" | "classes"):  # Eclipse, and by hand
            yield classes.parent / "src"
    # javac's default: class files beside the sources.
    yield classes


__all__ = ["LANGUAGES", "sources_beside"]
