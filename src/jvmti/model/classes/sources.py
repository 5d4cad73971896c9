"""Source code: where to search for it, and pieces of it with their line numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from jvmti.interface.errors import Error
from jvmti.interface.frozen import frozen
from jvmti.text.printable import escaped, escaped_lines, printable

if TYPE_CHECKING:
    from zipfile import ZipFile

    from jvmti.model.vm import VM

Place: TypeAlias = "str | Path"
"""A directory with sources, or a jar or zip file that has some."""


class SourceNotFound(Error, LookupError):
    """No source of a class was found; the message lists the searched places.

    Attributes:
        searched: the places.
    """

    def __init__(self, message: str, searched: list[str]) -> None:
        self.searched = searched
        super().__init__(message)


@frozen
class Source:
    """A piece of a source file, or all of it.

    Attributes:
        path: its path; within a jar after an exclamation mark.
        first: the number of its first line, from 1.
        lines: its lines, without their ends.
        marked: the number of the line of interest, if there is one.
    """

    path: str
    first: int
    lines: list[str]
    marked: int | None = None

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    def line(self, number: int) -> str:
        """A line by its number in the file.

        Raises:
            IndexError: it is not among these.
        """
        if not self.first <= number < self.first + len(self.lines):
            raise IndexError(
                printable(
                    f"line {number} is not among lines {self.first} to "
                    f"{self.first + len(self.lines) - 1} of {self.path}"
                )
            )
        return self.lines[number - self.first]

    def part(self, first: int, last: int, marked: int | None = None) -> Source:
        """Some of its lines, both ends included, clipped to this piece."""
        first = max(first, self.first)
        last = min(last, self.first + len(self.lines) - 1)
        return Source(
            self.path, first, self.lines[first - self.first : last - self.first + 1], marked
        )

    @escaped_lines
    def __str__(self) -> str:
        width = len(str(self.first + len(self.lines)))
        return "\n".join(
            f"{'>' if number == self.marked else ' '} {number:{width}d}  {line}".rstrip()
            for number, line in enumerate(self.lines, self.first)
        )

    @escaped
    def __repr__(self) -> str:
        last = self.first + len(self.lines) - 1
        return f"<Source {self.path}, lines {self.first} to {last}>"


class SourcePath(list[Place]):
    """The places to search for sources, in this order: directories, jars and zip files.

    A place has sources by package, ``com/acme/Order.java``, or by module and package, as in the
    JDK's ``lib/src.zip``, which is searched last if the target has it.
    """

    def __init__(self, vm: VM, places: Iterable[Place] = ()) -> None:
        super().__init__(places)
        self._vm = vm
        self._archives: dict[tuple[str, int], dict[str, str]] = {}

    def find(self, class_name: str, source_file: str | None = None) -> Source:
        """The source file that a class was compiled from.

        Args:
            class_name: as Java writes it: ``com.acme.Order$Line``.
            source_file: the name of the file, if the class file has it.

        Raises:
            SourceNotFound: it was not found; the message lists the searched places.
            OSError: a place cannot be read.
        """
        package, _, last = class_name.replace("[]", "").rpartition(".")
        names = [source_file] if source_file else [f"{last.partition('$')[0]}.java"]
        folder = package.replace(".", "/")
        searched = []
        for place in [*self, *self._jdk()]:
            path = Path(place)
            searched.append(str(path))
            for name in names:
                wanted = f"{folder}/{name}" if folder else name
                found = self._in(path, wanted)
                if found is not None:
                    return found
        where = f"searched in {', '.join(searched)}" if searched else "vm.source_path is empty"
        raise SourceNotFound(
            f"no source of {class_name} ({names[0]}): {where}; "
            "vm.source_path.append(…) adds a directory or a jar",
            searched,
        )

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

    def _jdk(self) -> Iterator[Place]:
        home = self._vm.properties.get("java.home")
        if home and (Path(home) / "lib" / "src.zip").is_file():
            yield Path(home) / "lib" / "src.zip"

    def _in(self, place: Path, wanted: str) -> Source | None:
        if place.is_dir():
            for path in (place / wanted, *sorted(place.glob(f"*/{_literal(wanted)}"))):
                if path.is_file():
                    return _source(str(path), path.read_bytes())
            return None
        if not place.is_file():
            return None
        entry = self._entries(place).get(wanted)
        if entry is None:
            return None
        with _zip(place) as archive:
            return _source(f"{place}!{entry}", archive.read(entry))

    def _entries(self, archive: Path) -> dict[str, str]:
        """The sources in an archive, by their names with and without a module before them."""
        key = (str(archive), archive.stat().st_mtime_ns)
        if key not in self._archives:
            with _zip(archive) as opened:
                names = [name for name in opened.namelist() if not name.endswith(("/", ".class"))]
            known = {name.partition("/")[2]: name for name in names if "/" in name}
            self._archives[key] = known | {name: name for name in names}
        return self._archives[key]

    @escaped
    def __repr__(self) -> str:
        return f"<SourcePath {[str(place) for place in self]}>"


def declaration_line(source: Source, name: str, first: int) -> int:
    """The line in which a method's declaration begins, searched upwards from its first statement.

    Args:
        source: the whole file.
        name: the name before the parentheses: that of the method, or of the class.
        first: the line of its first statement.
    """
    declared = re.compile(rf"\b{re.escape(name)}\s*\(")
    for number in range(first, max(first - 60, source.first - 1), -1):
        if declared.search(source.line(number)):
            return number
    return first


def last_line(source: Source, last: int) -> int:
    """The line with the closing brace of a method, given the line of its last statement."""
    end = source.first + len(source.lines) - 1
    if last < end and source.line(last + 1).strip() == "}" and "}" not in source.line(last):
        return last + 1
    return last


def _literal(pattern: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", pattern)


def _zip(place: Path) -> ZipFile:
    from zipfile import ZipFile  # when there is one

    return ZipFile(place)


def _source(path: str, data: bytes) -> Source:
    text = io.StringIO(data.decode("utf-8", "replace"), newline=None).read()
    return Source(path, 1, text.split("\n"))


__all__ = ["Place", "Source", "SourceNotFound", "SourcePath", "declaration_line", "last_line"]
