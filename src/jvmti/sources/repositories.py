"""The jars with sources that build tools keep in their caches.

Maven keeps ``order-1.2-sources.jar`` beside ``order-1.2.jar``; Gradle keeps each file of a version
in a folder of its own, named after its hash; Ivy keeps ``srcs`` beside ``jars``; Coursier does as
Maven. The jar that a program runs with may be a copy, or be packed into another jar, so one of that
name in any of the caches counts, too: names have versions.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

log = logging.getLogger("jvmti")

_SUFFIXES = ("-sources.jar", "-src.jar")


def default_repositories() -> list[Path]:
    """The caches of this user's build tools, where their own settings say, that are there."""
    home = Path.home()
    maven = _maven_setting(home / ".m2" / "settings.xml", home)
    gradle = Path(os.environ.get("GRADLE_USER_HOME") or home / ".gradle")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    coursier = Path(os.environ.get("COURSIER_CACHE") or cache / "coursier" / "v1")
    found = [
        maven or home / ".m2" / "repository",
        gradle / "caches" / "modules-2" / "files-2.1",
        coursier,
        home / ".ivy2" / "cache",
    ]
    return [one for one in found if one.is_dir()]


def _maven_setting(settings: Path, home: Path) -> Path | None:
    """Where Maven's settings put its local repository."""
    from xml.etree import ElementTree

    try:
        root = ElementTree.parse(settings).getroot()
    except FileNotFoundError:
        return None
    except (OSError, ElementTree.ParseError) as error:
        log.warning("Maven's settings cannot be read, so its default repository is used: %s", error)
        return None
    for one in root:
        if one.tag.rpartition("}")[2] == "localRepository" and one.text and one.text.strip():
            return Path(one.text.strip().replace("${user.home}", str(home))).expanduser()
    return None


class Repositories:
    """Finds the jar with the sources of a jar.

    Args:
        roots: the caches; by default those of `default_repositories`.
    """

    def __init__(self, roots: Iterable[Path] | None = None) -> None:
        self._given = None if roots is None else list(roots)
        self._named: dict[str, Path] | None = None

    @property
    def roots(self) -> list[Path]:
        """The caches."""
        if self._given is None:
            self._given = default_repositories()
        return self._given

    def beside(self, jar: Path) -> Path | None:
        """The jar with sources that is next to a jar, or where Gradle and Ivy put it.

        Args:
            jar: a jar of classes.
        """
        stem = jar.name.removesuffix(".jar")
        for name in (f"{stem}{suffix}" for suffix in _SUFFIXES):
            if (jar.parent / name).is_file():
                return jar.parent / name
            for root in self.roots:
                if jar.is_relative_to(root):
                    for found in sorted(jar.parent.parent.glob(f"*/{_literal(name)}")):
                        return found
        return None

    def named(self, jar_name: str) -> Path | None:
        """The jar with sources, in any of the caches, of a jar with this name.

        Args:
            jar_name: the name of a jar of classes, without folders: ``order-1.2.jar``.
        """
        if self._named is None:
            self._named = dict(self._walk())
        stem = jar_name.removesuffix(".jar")
        return next(
            (self._named[f"{stem}{one}"] for one in _SUFFIXES if f"{stem}{one}" in self._named),
            None,
        )

    def forget(self) -> None:
        """Walk the caches again when a name is asked for."""
        self._named = None

    def _walk(self) -> Iterator[tuple[str, Path]]:
        for root in self.roots:
            for folder, _, names in os.walk(root):
                for name in names:
                    if name.endswith(_SUFFIXES):
                        yield name, Path(folder, name)


def _literal(name: str) -> str:
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


__all__ = ["Repositories", "default_repositories"]
