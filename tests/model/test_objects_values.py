"""The tables of docs/values.md, row by row, in a real program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import jvmti
from jvmti.interface.signatures import parameters_of
from jvmti.model.values.conversion import natural_signature
from jvmti.model.values.overloads import overloads_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

PAGE = Path(__file__).parents[2] / "docs" / "values.md"

Row = tuple[str, str, str]


def rows(table: str) -> list[Row]:
    """The rows of a table of the page."""
    text = PAGE.read_text().partition(f"<!-- table: {table} -->")[2].partition("<!-- end -->")[0]
    lines = [line.strip("| ") for line in text.splitlines() if line.startswith("|")]
    found = [re.split(r" \| ", line) for line in lines[2:]]
    assert found
    assert all(len(row) == 3 for row in found)
    return [(row[0], row[1], row[2]) for row in found]


CONVERSIONS = rows("conversions")
OVERLOADS = rows("overloads")

METHODS = {
    "boolean": "z",
    "byte": "b",
    "short": "s",
    "char": "c",
    "int": "i",
    "long": "j",
    "float": "f",
    "double": "d",
    "Boolean": "boxZ",
    "Byte": "boxB",
    "Short": "boxS",
    "Character": "boxC",
    "Integer": "boxI",
    "Long": "boxJ",
    "Float": "boxF",
    "Double": "boxD",
    "Number": "number",
    "Object": "object",
    "String": "string",
    "CharSequence": "chars",
    "Comparable": "comparable",
    "int[]": "ints",
    "byte[]": "bytes",
    "char[]": "charArray",
    "double[]": "doubles",
    "String[]": "strings",
    "Object[]": "objects",
    "int[][]": "matrix",
    "List": "list",
    "Set": "set",
    "Map": "map",
    "Iterable": "iterable",
    "Supplier": "supplier",
    "Runnable": "runnable",
}
"""The method of the program that has one parameter of that type."""


@pytest.fixture(scope="module")
def program(shared_java_program: JavaPrograms) -> JavaProgram:
    started = shared_java_program("Values")
    started.expect("ready")
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        yield attached
    assert program.running()


def arguments_of(vm: jvmti.VM, text: str) -> tuple[Any, ...]:
    """What stands in the brackets of a row's call."""
    kept = vm.find_class("Values")["kept"]
    names = {
        "ints": "ints",
        "strings": "strings",
        "supplier": "supplier",
        "arraylist": "ArrayList",
    }
    known: dict[str, Any] = {
        name: kept.call("get", key) for name, key in names.items() if name in text
    }
    if "integer" in text:
        known["integer"] = vm.find_class("java.lang.Integer").call("valueOf", 70_000)
    found = eval(f"({text}{',' if text else ''})", {"numpy": numpy}, known)
    return tuple(found)


def of_table(text: str) -> str:
    return text.strip("`").replace("\\0", "\0")


@pytest.mark.parametrize("wanted", list(dict.fromkeys(row[1] for row in CONVERSIONS)))
def test_python_values_become_what_the_table_says(vm: jvmti.VM, wanted: str) -> None:
    cls = vm.find_class("Values$Overloads")
    method = METHODS[wanted.strip("`")]
    for given, _, becomes in (row for row in CONVERSIONS if row[1] == wanted):
        arguments = arguments_of(vm, given.strip("`"))
        if becomes.startswith("`"):
            assert cls.call(method, *arguments) == of_table(becomes), given
            continue
        kind, _, words = becomes.partition(": ")
        error = {"TypeError": TypeError, "OverflowError": OverflowError}[kind]
        with pytest.raises(error) as refused:
            cls.call(method, *arguments)
        assert words in str(refused.value), given


@pytest.mark.parametrize("methods", list(dict.fromkeys(row[1] for row in OVERLOADS)))
def test_calls_mean_the_methods_that_the_table_says(vm: jvmti.VM, methods: str) -> None:
    cls = vm.find_class("Values$Overloads")
    wanted = {text.strip("`")[2:-1] for text in re.findall(r"`[^`]*`", methods)}
    (name,) = [
        name
        for name, found in overloads_of(cls).items()
        if {simple(str(one)) for one in found} == wanted
    ]
    for call, _, means in (row for row in OVERLOADS if row[1] == methods):
        arguments = arguments_of(vm, call.strip("`")[2:-1])
        if means == "ambiguous":
            check_ambiguous(cls, name, arguments)
        elif means == "TypeError":
            with pytest.raises(TypeError):
                cls.call(name, *arguments)
        else:
            assert cls.call(name, *arguments) == means.strip("`"), call


def test_unsigned_numbers_have_the_java_type_that_holds_them() -> None:
    limit = 1 << 31
    assert natural_signature(numpy.uint32(limit - 1)) == natural_signature(limit - 1) == "I"
    assert natural_signature(numpy.uint32(limit)) == natural_signature(limit) == "J"
    assert natural_signature(numpy.uint8(255)) == "I"


def check_ambiguous(cls: Any, name: str, arguments: tuple[Any, ...]) -> None:
    """The error has all candidates, and each of them can be chosen by hand."""
    with pytest.raises(TypeError, match=r"is ambiguous: .*signature=") as error:
        cls.call(name, *arguments)
    for one in overloads_of(cls)[name]:
        assert str(one) in str(error.value)
        types = ", ".join(parameters_of(one.signature))
        chosen = cls.call(name, *arguments, signature=types)
        assert simple(f"f({types})") == chosen
        assert cls.call(name, *arguments, signature=one.signature) == chosen


def simple(declared: str) -> str:
    """The parameter types of a method without packages."""
    return re.sub(r"[a-z]+\.(?=[a-zA-Z])", "", declared[declared.index("(") + 1 : -1])


def test_fields_take_and_refuse_values_as_parameters_do(vm: jvmti.VM, program: JavaProgram) -> None:
    derived = vm.find_class("Values")["kept"].call("get", "derived")
    for name, value, shown in (
        ("yes", False, "false"),
        ("small", -5, "-5"),
        ("letter", "x", "x"),
        ("shorter", 7, "7"),
        ("number", -1, "-1"),
        ("large", 2**50, str(2**50)),
        ("real", 0.25, "0.25"),
        ("precise", 2, "2.0"),
        ("nothing", "text", "text"),
        ("nothing", None, "null"),
        ("array", [4, 5], "[4, 5]"),
        ("words", ["a"], "[a]"),
        ("boxed", 5, "5"),
    ):
        derived[name] = value
        assert program.ask(f"field Values$Derived {name} derived") == shown
    with pytest.raises(TypeError, match=r"Values\$Derived.number: expected int, got str 'x'"):
        derived["number"] = "x"
    with pytest.raises(OverflowError, match=r"128 does not fit byte"):
        derived["small"] = 128
    with pytest.raises(TypeError, match=r"expected java.util.concurrent.TimeUnit, got str"):
        derived["unit"] = "SECONDS"
    with pytest.raises(TypeError, match=r"Values\$Base.fixed is final"):
        derived["fixed"] = "other"
    with pytest.raises(KeyError, match="did you mean 'number'"):
        derived["numbr"] = 1
