"""A disassembly in place of a source file: the lines of ``javap -c -p``, with those of the source.

::

      static int price(int, java.lang.String);
        Code:
         // line 5
           0: iload_0
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from jvmti.classfile.opcodes import starts
from jvmti.interface.frozen import frozen
from jvmti.sources.source import Source
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.classfile.disassembly import Row
    from jvmti.classfile.structure import ClassFile

_LINE = "       // line "


@frozen
class CodeLine:
    """A line of a disassembly that begins an instruction.

    Attributes:
        method: the name of its method.
        descriptor: the method's descriptor: ``(I)V``.
        location: the bytecode index of the instruction.
    """

    method: str
    descriptor: str
    location: int


@frozen
class Disassembly(Source):
    """The disassembly of a class, or of one of its methods, as lines.

    Attributes:
        code: the numbers of its lines that begin instructions, and what they begin.
    """

    code: tuple[tuple[int, CodeLine], ...] = ()

    def number_of(self, method: str, descriptor: str, location: int) -> int | None:
        """The number of the line with an instruction; ``None`` if there is none.

        Args:
            method: the name of the method.
            descriptor: its descriptor.
            location: the bytecode index; within an instruction counts, too.
        """
        found = None
        for number, line in self.code:
            if (line.method, line.descriptor) == (method, descriptor) and line.location <= location:
                found = number
        return found

    def first_code(self, number: int) -> CodeLine | None:
        """The first instruction at a line or behind it; ``None`` if no more follow."""
        return next((line for at, line in self.code if at >= number), None)


def disassembled(file: ClassFile, first: tuple[str, str] | None = None) -> Disassembly:
    """The disassembly of a class.

    Args:
        file: its class file.
        first: the name and the descriptor of the method that comes before all else; see
            `line_in_first`.

    Raises:
        MalformedClassFile: the class file is cut, or breaks the format.
    """
    from jvmti.classfile.disassembly import class_declaration, field_lines, method_rows

    methods: list[list[tuple[str, CodeLine | None]]] = []
    at = 0
    for number, method in enumerate(file.methods):
        if (method.name, method.descriptor) == first:
            at = number
        code = method.code
        lines = () if code is None else code.lines
        rows = with_lines(method.name, method.descriptor, method_rows(file, method), lines)
        methods.append([("", None), *rows])
    fields = [(line, None) for field in file.fields for line in field_lines(field, verbose=False)]
    before = [] if first is None or not methods else methods.pop(at)
    if before and fields:
        fields.insert(0, ("", None))
    name = file.name.replace("/", ".")
    rows_of_all = [*before, *fields, *itertools.chain(*methods)]
    return whole_class(name, file.source_file, class_declaration(file), rows_of_all)


def whole_class(
    name: str,
    source_file: str | None,
    declaration: str,
    rows: Iterable[tuple[str, CodeLine | None]],
) -> Disassembly:
    """The disassembly of a class from the rows of its members.

    Args:
        name: the class, as Java writes it.
        source_file: the source file that it names.
        declaration: how it is declared.
        rows: lines, with the instructions that begin there.
    """
    head = [f"// disassembled: no source of {name} was found"]
    if source_file:
        head.append(f"// compiled from {source_file}")
    head.append(f"{declaration} {{")
    return as_disassembly(name, [*((line, None) for line in head), *rows, ("}", None)])


def line_in_first(
    source_file: str | None, code: bytes, lines: Iterable[tuple[int, int]], location: int
) -> int | None:
    """The answer of `Disassembly.number_of` for the method that is the first of its class.

    It needs no text, which takes long.

    Args:
        source_file: the source file that the class names.
        code: the bytecodes of the method.
        lines: locations with the source lines that begin there.
        location: the bytecode index; within an instruction counts, too.

    Raises:
        MalformedClassFile: an instruction is unknown, or the last one is truncated.
    """
    number = 6 if source_file else 5  # with an empty line, the method's declaration, and `Code:`
    found = None
    begins = {start for start, _ in lines}
    for start, cases in starts(code):
        if start > location:
            break
        number += 2 if start in begins else 1
        found = number
        if cases is not None:
            number += cases + 2
    return found


def with_lines(
    name: str, descriptor: str, rows: Iterable[Row], lines: Iterable[tuple[int, int]]
) -> Iterator[tuple[str, CodeLine | None]]:
    """The rows of a method, and where a line of the source begins, its number.

    Args:
        name: the method's name.
        descriptor: its descriptor.
        rows: its rows.
        lines: locations with the source lines that begin there.
    """
    begins = dict(lines)
    for text, location in rows:
        if location is None:
            yield text, None
            continue
        if location in begins:
            yield f"{_LINE}{begins[location]}", None
        yield text, CodeLine(name, descriptor, location)


def as_disassembly(name: str, rows: Iterable[tuple[str, CodeLine | None]]) -> Disassembly:
    """Rows of text as a source.

    Args:
        name: the class, as Java writes it.
        rows: lines, with the instructions that begin there.
    """
    lines: list[str] = []
    code = []
    for text, begins in rows:
        lines.append(printable(text))
        if begins is not None:
            code.append((len(lines), begins))
    return Disassembly(f"{name} (disassembled)", 1, lines, None, None, tuple(code))


__all__ = [
    "CodeLine",
    "Disassembly",
    "as_disassembly",
    "disassembled",
    "line_in_first",
    "whole_class",
    "with_lines",
]
