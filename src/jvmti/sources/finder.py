"""Finds the source file of a class."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jvmti.sources.places import Place, Places
from jvmti.sources.projects import LANGUAGES, sources_beside
from jvmti.sources.repositories import Repositories
from jvmti.sources.source import Source, SourceNotFound
from jvmti.text.printable import escaped, printable

log = logging.getLogger("jvmti")

_SHOWN = 4
"""Places that a message names; the error has all."""


class SourceFinder(list[Place]):
    """The places to search for sources, in this order: directories, jars and zip files.

    A place has sources by package, ``com/acme/Order.java``, below any other folders. If none of the
    places has the file, these may: the sources beside a project's class files, the ``-sources``
    jars of Maven, Gradle and others for the jars of the program, and the JDK's ``lib/src.zip``.

    Args:
        places: where to search first.
        class_path: the program's jars and folders of class files.
        java_home: the folder of its JDK.
        repositories: the caches of build tools; by default this user's.

    Attributes:
        repositories: these caches.
    """

    def __init__(
        self,
        places: Iterable[Place] = (),
        *,
        class_path: Sequence[Path] = (),
        java_home: Path | None = None,
        repositories: Repositories | None = None,
    ) -> None:
        super().__init__(places)
        self._given_class_path = list(class_path)
        self._given_java_home = java_home
        self.repositories = repositories or Repositories()
        self._places = Places()
        self._of_jar: dict[Path, list[Path]] = {}

    @property
    def class_path(self) -> Sequence[Path]:
        """The program's jars and folders of class files."""
        return self._given_class_path

    @property
    def java_home(self) -> Path | None:
        """The folder of its JDK, if it can be read here."""
        return self._given_java_home

    def find(
        self,
        class_name: str,
        source_file: str | None = None,
        loaded_from: str | None = None,
    ) -> Source:
        """The source file that a class was compiled from.

        Args:
            class_name: as Java writes it: ``com.acme.Order$Line``.
            source_file: the name of the file, if the class file has it.
            loaded_from: the path of the jar or folder with the class, where it is known; of a jar
                within others, its name is enough.

        Raises:
            SourceNotFound: it was not found; the message lists the searched places.
            OSError: one of the places cannot be read.
        """
        package, _, last = class_name.replace("[]", "").rpartition(".")
        outer = last.partition("$")[0] or last
        names = [source_file] if source_file else [f"{outer}{kind}" for kind in LANGUAGES[:4]]
        return self.find_file(package, names, class_name, loaded_from)

    def find_file(
        self,
        package: str,
        names: Sequence[str],
        sought: str,
        loaded_from: str | None = None,
    ) -> Source:
        """The first of several source files that a place has.

        Args:
            package: the package of the file with dots; empty for the unnamed one.
            names: its name, or several that it may have.
            sought: what its source is, for the message.
            loaded_from: as for `find`.

        Raises:
            SourceNotFound, OSError: as for `find`.
        """
        searched = []
        for place in self:
            searched.append(str(place))
            for name in names:
                found = self._places.find(Path(place), package, name)
                if found is not None:
                    return found
        # The program says where these are: it cannot have other files shown to us.
        sources = [name for name in names if name.endswith(LANGUAGES)]
        for path in self._of_program(loaded_from) if sources else ():
            if str(path) in searched:
                continue
            searched.append(str(path))
            for name in sources:
                try:
                    found = self._places.find(path, package, name)
                except OSError as error:
                    log.info("no sources from %s: %s", printable(str(path)), error)
                    break
                if found is not None:
                    return found
        raise SourceNotFound(self._not_found(sought, names, searched), searched)

    def around(
        self, class_name: str, source_file: str | None, line: int, context: int = 3
    ) -> Source:
        """The lines around a line of a class's source, which is marked.

        Args:
            class_name: as Java writes it.
            source_file: the name of the file, if known.
            line: the number of the line.
            context: how many lines before and after it.

        Raises:
            SourceNotFound: the source was not found.
        """
        return self.find(class_name, source_file).part(line - context, line + context, line)

    def _of_program(self, loaded_from: str | None) -> Iterator[Path]:
        """Further places for sources of the program's classes, or of the JDK's."""
        path = self.class_path
        if loaded_from:
            yield from self._sources_of(Path(loaded_from))
        for entry in path:
            yield from self._sources_of(entry)
        home = self.java_home
        if home is not None and (home / "lib" / "src.zip").is_file():
            yield home / "lib" / "src.zip"

    def _sources_of(self, entry: Path) -> list[Path]:
        """Where the sources may be of the classes in a jar or folder."""
        if entry not in self._of_jar:
            if entry.name.endswith((".jar", ".war")):
                found = self.repositories.beside(entry) or self.repositories.named(entry.name)
                # Some jars have their sources in them.
                self._of_jar[entry] = [one for one in (found, entry) if one is not None]
            else:
                self._of_jar[entry] = list(sources_beside(entry))
        return self._of_jar[entry]

    def forget(self) -> None:
        """Search again for jars with sources that were not there before."""
        self._of_jar.clear()
        self.repositories.forget()

    @staticmethod
    def _not_found(sought: str, names: Sequence[str], searched: Sequence[str]) -> str:
        where = "nowhere to search"
        if searched:
            more = len(searched) - _SHOWN
            where = f"searched in {', '.join(searched[:_SHOWN])}"
            where += f" and {more} more" if more > 0 else ""
        name = f" ({names[0]})" if names else ""
        hint = "vm.source_path.append(…) adds a directory or a jar"
        return f"no source of {sought}{name}: {where}; {hint}"

    @escaped
    def __repr__(self) -> str:
        return f"<{type(self).__name__} {[str(place) for place in self]}>"


__all__ = ["SourceFinder"]
