"""A disassembly in place of a source file: the lines of ``javap -c -p``, with those of the source.

::

      static int price(int, java.lang.String);
        Code:
         // line 5
           0: iload_0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jvmti.classfile.disassembly import Row, class_declaration, field_lines, method_rows
from jvmti.classfile.opcodes import starts
from jvmti.classfile.structure import ClassFile
from jvmti.interface.frozen import frozen
from jvmti.sources.source import Source
from jvmti.text.printable import printable

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


def disassembled(file: ClassFile) -> Disassembly:
    """The disassembly of a class.

    Args:
        file: its class file.

    Raises:
        MalformedClassFile: the class file is cut, or breaks the format.
    """
    name = file.name.replace("/", ".")
    rows: list[tuple[str, CodeLine | None]] = []
    rows += [(f"// {line}", None) for line in _head(file)]
    rows.append((f"{class_declaration(file)} {{", None))
    rows += [(line, None) for field in file.fields for line in field_lines(field, verbose=False)]
    for method in file.methods:
        rows.append(("", None))
        code = method.code
        lines = () if code is None else code.lines
        rows += with_lines(method.name, method.descriptor, method_rows(file, method), lines)
    rows.append(("}", None))
    return as_disassembly(name, rows)


def line_in_disassembly(file: ClassFile, method: str, descriptor: str, location: int) -> int | None:
    """The answer of `Disassembly.number_of`, without the text, which takes long.

    Args:
        file: the class file.
        method: the name of the method.
        descriptor: its descriptor.
        location: the bytecode index; within an instruction counts, too.

    Raises:
        MalformedClassFile: the class file is cut, or breaks the format.
    """
    number = len(list(_head(file))) + 1 + len(file.fields)
    for one in file.methods:
        number += 2
        code = one.code
        is_it = (one.name, one.descriptor) == (method, descriptor)
        if code is None:
            if is_it:
                return None
            continue
        number += 1
        found = None
        begins = {start for start, _ in code.lines}
        for start, cases in starts(code.bytecodes):
            if is_it and start > location:
                break
            number += 2 if start in begins else 1
            found = number
            if cases is not None:
                number += cases + 2
        if is_it:
            return found
        if code.exception_table:
            number += 2 + len(code.exception_table)
    return None


def _head(file: ClassFile) -> Iterator[str]:
    yield f"disassembled: no source of {file.name.replace('/', '.')} was found"
    if file.source_file:
        yield f"compiled from {file.source_file}"


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
    "line_in_disassembly",
    "with_lines",
]
