"""Programs with the expressions of a table in them, and what the compiler makes of these.

The table of a program has a section for each place where it stops; an expression stands in its line
of the table and, compiled, in the program behind that place.
"""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import compiler
import jvmti
from jvmti.expressions import evaluated
from jvmti.interface.errors import JavaException
from jvmti.model.classes.java_class import Class

if TYPE_CHECKING:
    from jvmti.model.threads.frames import Frame

HERE = Path(__file__).parent
PRINTED = "    // PRINTED\n"
SHOWN = {
    "boolean", "byte", "short", "char", "int", "long", "float", "double", "java.lang.String",
    "java.lang.Boolean", "java.lang.Character", "java.lang.Byte", "java.lang.Short",
    "java.lang.Integer", "java.lang.Long", "java.lang.Float", "java.lang.Double",
}  # fmt: skip
"""The types that the program tells apart; all others are objects."""


class Row(NamedTuple):
    """A line of a table."""

    number: int
    place: str
    text: str


def table_of(program: str) -> list[Row]:
    """The table of a program."""
    found: list[Row] = []
    place = ""
    for line in (HERE / f"{program}.txt").read_text().splitlines():
        if line.startswith("## "):
            place = line[3:]
        elif line and not line.startswith("# "):
            found.append(Row(len(found), place, line))
    return found


def lines_of(program: str) -> dict[str, int]:
    """The lines at which a debugger is to evaluate them, by place."""
    text = _filled(program).splitlines()
    found = ((number, re.search(r"// here (\w+)", line)) for number, line in enumerate(text, 1))
    return {mark[1]: number for number, mark in found if mark}


def _filled(program: str) -> str:
    """The source of a program with the expressions in it."""
    text = compiler.source(program).path.read_text()
    text = text.replace(PRINTED, (HERE / "printed.java.txt").read_text())
    rows: dict[str, str] = {}
    for row in table_of(program):
        one = f"try {{ show({row.number}, {row.text}); }} "
        one += f"catch (Throwable e) {{ thrown({row.number}, e); }}\n"
        rows[row.place] = rows.get(row.place, "") + one
    for place, made in rows.items():
        mark = f"// EXPRESSIONS {place}\n"
        assert mark in text, place
        text = text.replace(mark, made)
    return text


def compiled(program: str) -> Path:
    """The class files of a program with the expressions of its table in it."""
    release = compiler.source(program).release
    text = _filled(program)
    command = [*compiler.compile_command(release, None), "-g"]
    digest = hashlib.sha256("\0".join([*command, text]).encode()).hexdigest()[:16]
    target = compiler.CLASSES / f"{program}-{digest}"
    if not (target / f"{program}.class").exists():
        target.mkdir(parents=True, exist_ok=True)
        written = target / f"{program}.java"
        written.write_text(text)
        done = subprocess.run(
            [*command, "-d", str(target), str(written)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return target


def escaped(text: str) -> str:
    """A text as the program prints it."""
    units = text.encode("utf-16-le", "surrogatepass")
    numbers = struct.unpack(f"<{len(units) // 2}H", units)
    return "".join(chr(one) if 32 < one < 127 and one != 92 else f"\\u{one:04x}" for one in numbers)


def verdict(frame: Frame, text: str) -> str:
    """What we make of an expression, as the program prints it."""
    try:
        found = evaluated(frame, text, timeout=30)
    except JavaException as error:
        return f"throws {error.class_name}"
    return shown(found.value, found.type)


def tried(frame: Frame, text: str) -> str:
    """The same, or the error that there should not be."""
    try:
        return verdict(frame, text)
    except jvmti.Error as error:
        return f"{type(error).__name__}: {error}"


def shown(value: Any, type_: str) -> str:
    """A value with its type, as the program prints them."""
    kind = type_ if type_ in SHOWN else "object"
    if value is None:
        return f"{kind} null"
    if kind == "float":
        return f"{kind} {struct.unpack('<i', struct.pack('<f', value))[0]}"
    if kind == "double":
        return f"{kind} {struct.unpack('<q', struct.pack('<d', value))[0]}"
    if kind == "char":
        return f"{kind} {ord(value)}"
    if kind == "boolean":
        return f"{kind} {str(value).lower()}"
    if kind == "java.lang.String":
        return f"{kind} ={escaped(value)}"
    if kind.startswith("java.lang."):
        return f"{kind} {value.to_string()}"
    if kind != "object":
        return f"{kind} {value}"
    if isinstance(value, str):
        return f"{kind} java.lang.String {escaped(value)}"
    if isinstance(value, Class):
        return f"{kind} java.lang.Class {escaped(value.to_string())}"
    if value.cls.is_array:
        return f"{kind} {value.cls.signature.replace('/', '.')} {len(value)}"
    name = value.cls.signature[1:-1].replace("/", ".")
    return f"{kind} {name} {escaped(value.to_string())}"


def printed(lines: list[str]) -> dict[int, str]:
    """What the program printed, by the rows of the table."""
    found = (re.fullmatch(r"(\d+) (.*)", line) for line in lines)
    return {int(one[1]): one[2] for one in found if one}
