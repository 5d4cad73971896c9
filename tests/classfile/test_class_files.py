"""Class files taken apart, beside what the JDK's own ``javap`` makes of them."""

from __future__ import annotations

import contextlib
import re
import struct
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

from jvmti.classfile import (
    ClassFile,
    ClassLiteral,
    EnumConstant,
    MalformedClassFile,
    disassemble,
    instructions,
)
from jvmti.classfile.constant_pool import java_double, java_float
from jvmti.classfile.generic import class_signature, method_signature, type_signature
from jvmti.classfile.opcodes import OPCODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

JAVAP = ("-J-Dfile.encoding=UTF-8", "-J-Dstdout.encoding=UTF-8", "-J-XX:TieredStopAtLevel=1")

_NUMBER = re.compile(r"// (float|double) (-?[\d.E-]+)[fd]$")
_THROWS = re.compile(r"(?<= throws ).*;$")


def javap(jdk: Path, files: Iterable[Path], *options: str) -> list[str]:
    """What ``javap`` writes of class files, line by line."""
    command = [jdk / "bin" / "javap", *JAVAP, *options, "-p", *files]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    return comparable(done.stdout)


def comparable(text: str) -> list[str]:
    """Lines without what javap 17 does differently for no reason of the class file's.

    It writes some numbers with more digits than tell them apart, and classes in throws clauses
    with slashes where a type variable is thrown, too.
    """
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    lines = [_NUMBER.sub(_shortened, line) for line in lines]
    return [_THROWS.sub(lambda found: found[0].replace("/", "."), line) for line in lines]


def _shortened(found: re.Match[str]) -> str:
    digits = 7 if found[1] == "float" else 15
    return f"// {found[1]} {float(found[2]):.{digits - 1}g}"


def class_files(jdk: Path, module: str, count: int, choose: str) -> dict[str, bytes]:
    """Class files of a module, every so many of those that fit, as the JDK was built from them."""
    with zipfile.ZipFile(jdk / "jmods" / f"{module}.jmod") as archive:
        names = sorted(name for name in archive.namelist() if re.fullmatch(choose, name))
        return {name: archive.read(name) for name in names[:: max(1, len(names) // count)]}


@pytest.fixture(scope="module")
def described(java_classes: Callable[..., Path]) -> dict[str, ClassFile]:
    """The classes of the test program, by what stands behind the dollar."""
    found = sorted(java_classes("Described").glob("*.class"))
    return {file.stem.partition("$")[2]: ClassFile(file.read_bytes()) for file in found}


@pytest.mark.parametrize(
    ("module", "choose"),
    [
        ("java.base", r"classes/java/(util|lang|io|time|text|math)/.*\.class"),
        ("jdk.compiler", r"classes/com/sun/tools/javac/.*\.class"),
    ],
)
def test_a_class_is_disassembled_as_javap_does(
    jdk: Path, tmp_path: Path, module: str, choose: str
) -> None:
    written = []
    own: list[str] = []
    names = set()
    for number, data in enumerate(class_files(jdk, module, 90, choose).values()):
        path = tmp_path / f"C{number}.class"
        path.write_bytes(data)
        written.append(path)
        file = ClassFile(data)
        own += comparable(disassemble(file))
        for method in file.methods:
            names |= {one.name for one in method.code.instructions} if method.code else set()
    assert own == javap(jdk, written, "-c")
    assert len(own) > 8_000
    assert len(names) > 100


def test_the_test_program_is_disassembled_as_javap_does(
    jdk: Path, java_classes: Callable[..., Path]
) -> None:
    files = sorted(java_classes("Described").glob("*.class"))
    own = [line for file in files for line in comparable(disassemble(ClassFile(file.read_bytes())))]
    assert own == javap(jdk, files, "-c")


def test_verbose_text_has_the_constants_lines_and_variables_of_javap(
    jdk: Path, java_classes: Callable[..., Path]
) -> None:
    file = java_classes("Described") / "Described$Circle.class"
    theirs = {line.strip() for line in javap(jdk, [file], "-c", "-v")}
    own = [
        line.strip() for line in disassemble(ClassFile(file.read_bytes()), verbose=True).split("\n")
    ]
    tables = [
        line
        for line in own
        if re.match(r"line \d+: \d+$|\d+ +\d+ +\d+ +\w+   \S+$|stack=|flags:|descriptor:", line)
    ]
    assert len(tables) > 80
    assert [line for line in tables if not line.startswith("stack=") and line not in theirs] == []
    constants = [" ".join(line.split()) for line in own if re.match(r"#\d+ = ", line)]
    assert len(constants) > 100
    spaced = {" ".join(line.split()) for line in theirs}
    assert [line for line in constants if line not in spaced] == []


def test_every_instruction_is_known_by_its_number() -> None:
    assert len(OPCODES) == 202
    assert OPCODES[0xBA] == ("invokedynamic", "n")
    assert OPCODES[0xC9] == ("jsr_w", "J")


def test_instructions_that_compilers_do_not_write_are_taken_apart() -> None:
    code = bytes([0xC4, 0x84, 1, 0, 0xFF, 0xFE, 0xC4, 0x15, 2, 1, 0xC8, 0, 0, 0, 5, 0xA9, 3])
    wide, load, goto, ret = instructions(code)
    assert (wide.name, wide.local, wide.value, wide.size) == ("iinc_w", 256, -2, 6)
    assert (load.name, load.local) == ("iload_w", 513)
    assert (goto.name, goto.target) == ("goto_w", 15)
    assert (ret.name, ret.local) == ("ret", 3)


def test_switches_begin_at_multiples_of_four() -> None:
    lookup = bytes([0, 0xAB, 0, 0]) + struct.pack(">iiiiii", 30, 2, -5, 10, 9, 20)
    nop, switch = instructions(lookup)
    assert nop.name == "nop"
    assert switch.cases == {-5: 11, 9: 21}
    assert switch.target == 31


def test_annotations_have_values_of_every_sort(described: dict[str, ClassFile]) -> None:
    mark, unseen = described["Circle"].annotations
    assert (mark.type, mark.visible) == ("Described$Mark", True)
    assert mark["number"] == 11
    assert mark["text"] == 'a "circle"'
    assert mark["ratios"] == [1.5]
    assert mark["color"] == EnumConstant("Described$Color", "GREEN")
    assert mark["type"] == ClassLiteral("java.util.Map")
    assert (unseen.type, unseen.visible) == ("Described$Unseen", False)
    assert str(mark).startswith('@Described$Mark(number=11, text="a \\"circle\\"", ratios={1.5}')
    with pytest.raises(KeyError, match="has no explicit 'letter'"):
        mark["letter"]
    defaults = {one.name: one.annotation_default for one in described["Mark"].methods}
    assert defaults["number"] == 7
    assert defaults["ratios"] == [0.5, 1e10]
    assert defaults["type"] == ClassLiteral("int[]")
    assert defaults["letter"] == "x"
    assert defaults["truth"] is True
    assert defaults["inner"].elements == {"value": "deep"}


def test_methods_have_annotations_of_their_parameters(described: dict[str, ClassFile]) -> None:
    mixed = next(one for one in described["Circle"].methods if one.name == "mixed")
    assert [one.type for one in mixed.annotations] == ["Described$Mark", "java.lang.Deprecated"]
    assert mixed.annotations[0].elements == {"letter": "é", "truth": False}
    assert mixed.is_deprecated
    first, second, third = mixed.parameter_annotations
    assert [one.elements for one in first] == [{"number": 1}]
    assert second == []
    assert [(one.type, one.visible) for one in third] == [("Described$Unseen", False)]


def test_code_has_its_handlers_lines_and_variables(described: dict[str, ClassFile]) -> None:
    mixed = next(one for one in described["Circle"].methods if one.name == "mixed")
    assert mixed.code is not None
    assert mixed.exceptions == ["java/lang/Exception", "java/io/IOException"]
    caught = [one.catches for one in mixed.code.exception_table]
    assert caught[0] == "java/lang/NullPointerException"
    assert None in caught
    variables = {one.name: one for one in mixed.code.local_variables}
    assert variables["wide"].descriptor == "J"
    assert variables["key"].signature == "TK;"
    assert {"this", "sum", "row", "failed"} <= set(variables)
    assert len({line for _, line in mixed.code.lines}) > 8


def test_a_class_knows_its_place_among_others(described: dict[str, ClassFile]) -> None:
    circle = described["Circle"]
    assert circle.version == (55, 0)
    assert circle.nest_host == "Described"
    assert "Described$Circle" in described[""].nest_members
    local = described["Circle$1Local"]
    assert local.enclosing_method is not None
    assert local.enclosing_method[:2] == ("Described$Circle", "later")
    inner = {one.name: one for one in circle.inner_classes}
    assert inner["Described$Circle"].simple_name == "Circle"
    assert str(inner["Described$Circle"].modifiers) == "static final"
    assert inner["Described$Circle$1"].simple_name is None
    assert {one.method.value.member.name for one in circle.bootstrap_methods} >= {"metafactory"}
    values = {one.name: one.constant_value for one in circle.fields}
    assert values["NAME"] == "circle"
    assert values["BIG"] == 1 << 40
    assert values["HALF"] == 0.5
    assert values["parts"] is None


@pytest.mark.parametrize("cut", [0, 3, 9, 11, 100, 500, -1])
def test_a_class_file_that_breaks_off_says_so(described: dict[str, ClassFile], cut: int) -> None:
    with pytest.raises(MalformedClassFile):
        disassemble(ClassFile(bytes(described["Circle"])[:cut]))


def test_damaged_class_files_are_refused_or_read_but_never_break_it(
    described: dict[str, ClassFile],
) -> None:
    data = bytes(described["Circle"])
    for at in range(4, len(data), 41):
        damaged = ClassFile(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        with contextlib.suppress(MalformedClassFile, KeyError):
            disassemble(damaged, verbose=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (123456.75, "123456.75"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (1e-4, "1.0E-4"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (1.4e-45, "1.4E-45"), (3.4028235e38, "3.4028235E38")]
)
def test_floats_are_written_with_the_digits_that_they_have(value: float, text: str) -> None:
    (single,) = struct.unpack(">f", struct.pack(">f", value))
    assert java_float(single) == text


def test_generic_signatures_are_written_as_in_source_code() -> None:
    enum = class_signature("<E:Ljava/lang/Enum<TE;>;>Ljava/lang/Object;Ljava/util/List<TE;>;")
    assert enum.type_parameters == ["E extends java.lang.Enum<E>"]
    assert enum.interfaces == ["java.util.List<E>"]
    method = method_signature("<T:Ljava/lang/Object;:Ljava/lang/Comparable<-TT;>;>([TT;)V")
    assert method.type_parameters == ["T extends java.lang.Comparable<? super T>"]
    assert method.parameters == ["T[]"]
    assert type_signature("Lp/Outer<TT;>.Inner<*>;") == "p.Outer<T>.Inner<?>"
    with pytest.raises(MalformedClassFile):
        type_signature("Lp/Outer")
