"""Which line of which file a line number means: source maps in class files (SMAP, JSR 45).

A line number in a class file is one of the file that the compiler read. Kotlin's compiler gives the
lines of a function that it has inlined numbers behind the end of the file, and the servlet
compiler translates a page to Java first. The attribute SourceDebugExtension says what they mean::

    SMAP
    Orders.kt
    Kotlin
    *S Kotlin
    *F
    + 1 Orders.kt
    com/acme/OrdersKt
    + 2 Prices.kt
    com/acme/PricesKt
    *L
    1#1,50:1
    7#2,3:51
    *E

Lines 51 to 53 are lines 7 to 9 of ``Prices.kt``. Each language in a map is a *stratum*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jvmti.interface.errors import Error
from jvmti.interface.frozen import frozen
from jvmti.text.printable import printable

_LINES = re.compile(r"([0-9]+)(?:#([0-9]+))?(?:,([0-9]+))?:([0-9]+)(?:,([0-9]+))?\Z")

_MOST = 1 << 31
"""Larger numbers are no lines."""


class MalformedSourceMap(Error, ValueError):
    """A class file has a source map that JSR 45 does not describe."""


@frozen
class OriginalLine:
    """A line of the file that a person wrote.

    Attributes:
        file: the name of the file.
        path: its path as the map has it: for Kotlin the internal name of a class of the file, for
            a page its path in the application; ``None`` if the map has none.
        line: the number of the line, from 1.
    """

    file: str
    path: str | None
    line: int


@frozen
class _Lines:
    """Lines of a file, and what the class file has in their place."""

    first: int
    file: int
    count: int
    output: int
    step: int

    def original(self, line: int) -> int | None:
        """The line that a line number of the class file means."""
        # With a step of 0 all lines are translated to one.
        if not self.output <= line < self.output + max(self.count * self.step, 1):
            return None
        return self.first + ((line - self.output) // self.step if self.step else 0)

    def numbers(self, line: int) -> Iterator[int]:
        """The line number with which the class file has a line."""
        if self.first <= line < self.first + self.count:
            yield self.output + (line - self.first) * self.step


class _Stratum:
    def __init__(self) -> None:
        self.files: dict[int, tuple[str, str | None]] = {}
        self.lines: list[_Lines] = []


class SourceMap:
    """The source map of a class.

    Attributes:
        generated: the name of the file that the line numbers are of.
        default: the name of the stratum that debuggers show.
    """

    def __init__(self, text: str) -> None:
        """
        Args:
            text: the SourceDebugExtension of a class file.

        Raises:
            MalformedSourceMap: it is no source map, or breaks the rules for one.
        """
        lines = re.split(r"\r\n|\r|\n", text)
        if len(lines) < 3 or lines[0] != "SMAP":
            raise MalformedSourceMap("a source map begins with SMAP, a file and a stratum")
        self.generated, self.default = lines[1], lines[2]
        self._strata: dict[str, _Stratum] = {}
        self._read(lines[3:])

    def _read(self, lines: list[str]) -> None:
        stratum: _Stratum | None = None
        section = ""
        file = 0
        at = 0
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.startswith("*"):
                section = line[1:2]
                if section == "E":
                    return
                if section == "S":
                    stratum = self._strata.setdefault(line[2:].strip(), _Stratum())
                    file = 0
                continue
            if not line.strip() or section not in ("F", "L"):
                continue  # vendors may add sections of their own
            if stratum is None:
                raise MalformedSourceMap("a source map has lines before its first stratum")
            if section == "L":
                file = self._read_lines(line, stratum, file)
                continue
            has_path = line.startswith("+")
            number, _, name = line[has_path:].strip().partition(" ")
            if not number.isascii() or not number.isdecimal() or not name:
                raise self._wrong(line)
            path = None
            if has_path:
                path = lines[at] if at < len(lines) else None
                at += 1
            stratum.files[int(number)] = name, path
        raise MalformedSourceMap("a source map ends with *E")

    def _read_lines(self, line: str, stratum: _Stratum, file: int) -> int:
        found = _LINES.match(line.strip())
        if found is None:
            raise self._wrong(line)
        first, of, count, output, step = found.groups()
        file = file if of is None else int(of)
        each = 1 if step is None else int(step)
        lines = _Lines(int(first), file, int(count or 1), int(output), each)
        if max(lines.first, lines.count, lines.output, lines.step) >= _MOST:
            raise self._wrong(line)
        stratum.lines.append(lines)
        return file

    @staticmethod
    def _wrong(line: str) -> MalformedSourceMap:
        return MalformedSourceMap(printable(f"a source map has the line {line[:60]!r}"))

    @property
    def strata(self) -> list[str]:
        """The names of the strata: languages, and KotlinDebug for where inlined code is called."""
        return list(self._strata)

    def original(self, line: int, stratum: str | None = None) -> OriginalLine | None:
        """The line that a line number of the class file means.

        Args:
            line: the number in the class file.
            stratum: the stratum; without it, the default one.

        Returns:
            The line; ``None`` if the map does not say, so that the number means itself.
        """
        chosen = self._strata.get(self.default if stratum is None else stratum)
        for lines in chosen.lines if chosen else ():
            original = lines.original(line)
            if original is not None and chosen is not None and lines.file in chosen.files:
                name, path = chosen.files[lines.file]
                return OriginalLine(name, path, original)
        return None

    def numbers(self, file: str, line: int) -> list[int]:
        """The line numbers with which the class file has a line of a file.

        Args:
            file: the name of the file.
            line: the number of the line in it.
        """
        found: set[int] = set()
        chosen = self._strata.get(self.default)
        for lines in chosen.lines if chosen else ():
            if chosen is not None and chosen.files.get(lines.file, ("", None))[0] == file:
                found.update(lines.numbers(line))
        return sorted(found)

    @property
    def files(self) -> list[tuple[str, str | None]]:
        """The files of the default stratum, each with its path in the map."""
        chosen = self._strata.get(self.default)
        return list(chosen.files.values()) if chosen else []


__all__ = ["MalformedSourceMap", "OriginalLine", "SourceMap"]
