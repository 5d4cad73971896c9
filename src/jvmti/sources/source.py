"""Pieces of source files with their line numbers."""

from __future__ import annotations

import re
from pathlib import Path

from jvmti.interface.errors import Error
from jvmti.interface.frozen import frozen
from jvmti.text.printable import escaped, escaped_lines, printable

_SKIPPED = re.compile(
    r"(?:\ufeff|\s|;|#![^\n]*|//[^\n]*|/\*.*?\*/|@(?:file:)?[\w.]+(?:\([^)]*\))?)*", re.DOTALL
)
"""Comments and annotations, which may stand before a package clause."""

_PACKAGE = re.compile(r"package\s+(?!object\b)([\w$.`]+)")


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
        file: the file, if it is one that an editor can open; ``None`` within an archive and for a
            disassembly.
    """

    path: str
    first: int
    lines: list[str]
    marked: int | None = None
    file: Path | None = None

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
        lines = self.lines[first - self.first : last - self.first + 1]
        return Source(self.path, first, lines, marked, self.file)

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


def package_of(text: str) -> str | None:
    """The package that a source file in Java, Kotlin, Scala or Groovy declares.

    Args:
        text: the file, or its beginning.

    Returns:
        Its name with dots, empty for the unnamed package; ``None`` if the text is cut within a
        comment, so that it is unknown.
    """
    declared = ""
    at = 0
    while True:
        found = _SKIPPED.match(text, at)
        at = found.end() if found else at
        if text.startswith("/*", at):
            return None
        clause = _PACKAGE.match(text, at)
        if clause is None:
            return declared
        name = clause[1].replace("`", "")
        # Scala nests them: `package com.acme` and then `package orders`.
        declared = f"{declared}.{name}" if declared else name
        at = clause.end()


__all__ = ["Source", "SourceNotFound", "declaration_line", "last_line", "package_of"]
