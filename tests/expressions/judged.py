"""The program Judged with the expressions of a table in it, and what the compiler makes of them."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import compiler
from jvmti.interface.errors import JavaException
from jvmti.model.classes.java_class import Class

if TYPE_CHECKING:
    from jvmti.model.threads.frames import Frame

MARK = "        // EXPRESSIONS\n"
SHOWN = {
    "boolean", "byte", "short", "char", "int", "long", "float", "double", "java.lang.String",
    "java.lang.Boolean", "java.lang.Character", "java.lang.Byte", "java.lang.Short",
    "java.lang.Integer", "java.lang.Long", "java.lang.Float", "java.lang.Double",
}  # fmt: skip


def expressions(table: str) -> list[str]:
    """The expressions of a table."""
    lines = (Path(__file__).parent / table).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def stop_line(program: str) -> int:
    """The line at which a debugger is to evaluate them."""
    lines = compiler.source(program).path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if "stopped(); // here" in line)


def compiled(program: str, table: str) -> Path:
    """The class files of a program with the expressions of a table in it."""
    source = compiler.source(program)
    rows = "".join(
        f"        try {{ show({row}, {one}); }} catch (Throwable e) {{ thrown({row}, e); }}\n"
        for row, one in enumerate(expressions(table))
    )
    text = source.path.read_text().replace(MARK, rows)
    command = [*compiler.compile_command(source.release, None), "-g"]
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
    from jvmti.expressions import evaluated

    try:
        found = evaluated(frame, text, timeout=30)
    except JavaException as error:
        return f"throws {error.class_name}"
    return shown(found.value, found.type)


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
    if kind == "object":
        if isinstance(value, str):
            return f"{kind} java.lang.String {escaped(value)}"
        if isinstance(value, Class):
            return f"{kind} java.lang.Class {escaped(value.to_string())}"
        name = value.cls.signature[1:-1].replace("/", ".")
        if value.cls.is_array:
            return f"{kind} {value.cls.signature.replace('/', '.')} {len(value)}"
        return f"{kind} {name} {escaped(value.to_string())}"
    return f"{kind} {value}"


def printed(lines: list[str]) -> dict[int, str]:
    """What the program printed, by the rows of the table."""
    found = (re.fullmatch(r"(\d+) (.*)", line) for line in lines)
    return {int(one[1]): one[2] for one in found if one}
