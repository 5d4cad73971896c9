"""Java expressions are what the compiler makes of them: value, type and exception."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

import jvmti
from debug.stopping import SOON
from expressions import judged
from expressions.conftest import started
from jvmti.errors import ExpressionError
from jvmti.expressions import evaluate, evaluated

if TYPE_CHECKING:
    from jvms import Jvm
    from jvmti.model.threads.frames import Frame
    from programs import JavaPrograms

BY_OBJECT = {
    # Type variables: the compiler goes by type arguments, we by the object, and null has none.
    "Judged": ['map.get("none")', 'map.put("n", 4)'],
    "Nested": [
        "items.get(1)",
        "base.best()",
        "base.kept",
        "base.all.get(0)",
        "numbers.get(1)",
        "nested.get(0).get(1)",
        "raw.get(0)",
        "java.util.Collections.max(items)",
        "new Base<>(first).best()",
    ],
    "Modern": [],
}
UNWRITTEN = [
    # A probe does not know of all variables what they take.
    "o = 5",
    "o",
    'nothing = text = "both"',
    "nothing",
]


@pytest.mark.parametrize("way", ["natively", "late"])
@pytest.mark.parametrize(
    "name", ["Judged", "Nested", pytest.param("Modern", marks=pytest.mark.since(21))]
)
def test_each_expression_has_the_value_and_the_type_that_the_compiler_gives_it(
    jvm: Jvm, java_program: JavaPrograms, name: str, way: str
) -> None:
    program = started(java_program, jvm, name, late=way == "late")
    table, lines = judged.table_of(name), judged.lines_of(name)
    places = list(dict.fromkeys(row.place for row in table))
    ours = {}
    with jvmti.attach(program.pid, timeout=30) as vm, contextlib.ExitStack() as stack:
        vm.timeout = SOON
        stops = {
            place: stack.enter_context(vm.breakpoint(f"{name}*", line=lines[place]))
            for place in places
        }
        program.send("")
        for place in places:
            stop = stops[place].next(SOON)
            assert stop is not None, place
            frame = stop.frame
            for row in table:
                if row.place == place:
                    ours[row.number] = judged.tried(frame, row.text)
            stops[place].cancel()
    program.expect("done", timeout=60)
    theirs = judged.printed(program.lines)
    assert len(theirs) == len(ours) == len(table) > 40
    different = [
        (row.place, row.text, ours[row.number], theirs[row.number])
        for row in table
        if ours[row.number] != theirs[row.number]
    ]
    allowed = [*BY_OBJECT[name], *(UNWRITTEN if (name, way) == ("Judged", "late") else ())]
    assert [one for one in different if one[1] not in allowed] == []
    if way == "natively":
        for _, text, mine, compiled in different:
            assert text in BY_OBJECT[name]
            assert without_type(mine) == without_type(compiled)


def without_type(verdict: str) -> str:
    """The value of a verdict."""
    return verdict.rpartition(" ")[2].lstrip("=")


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("i > 40", True, "boolean"),
        ("c", "x", "char"),
        ("nothing", None, "java.lang.String"),
        ("number7", 7, "java.lang.Object"),
        ("text", "text", "java.lang.String"),
        ("null", None, "null"),
        ("stopped()", None, "void"),
        ("list.get(0)", "first", "java.lang.String"),
        ("1f / 4", 0.25, "float"),
    ],
)
def test_a_value_is_the_models_and_has_its_static_type(
    frame: Frame, text: str, value: object, type_: str
) -> None:
    found = evaluated(frame, text)
    assert found.type == type_
    if text == "number7":
        assert found.value.value == value
    else:
        assert found.value == value
    assert type(frame.evaluate(text)) is type(found.value)


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("numbr + 1", "there is no variable, field or type 'numbr'; did you mean 'number'", 0),
        ("1 + text.lenght()", "java.lang.String has no method 'lenght'; did you mean 'length'", 4),
        ("i +", "the expression is not complete", 3),
        ("i + (", "'(' is not closed", 5),
        ("a b", "this is not Java", 0),
        ("i % 2 == 0 and i > 3", "this is not Java at '0'; Java writes '&&' for Python's 'and'", 9),
        ("i); f(1", "not one expression", 0),
        ("", "there is no expression", 0),
        ("inner.dept", "Judged$Inner has no field 'dept'; did you mean 'depth'", 0),
        ("yes + 1", "a number is needed here, not a value of type boolean", 0),
        ("i && yes", "a boolean is needed here, not a value of type int", 0),
        ("1 == yes", "is not compared with", 0),
        ("(String) 1", "a value of type int cannot be cast to java.lang.String", 0),
        ("(boolean) i", "cannot be cast to boolean", 0),
        ("i = 2.5", "a value of type double cannot be assigned to int", 0),
        ("b = 300", "a value of type int cannot be assigned to byte", 0),
        ("5 = i", "this is not Java at '5'", 0),
        ("name = text", "Judged.name is final", 0),
        ("i.length", "a value of type int has no fields", 0),
        ("i[0]", "int is no array", 0),
        ("ints[l]", "an index is an int, not a long", 5),
        ("g(1, 2)", "no Judged.g takes (int, int); there are", 0),
        ("Judged.work(true, null, 1)", "Judged.work is not static: it needs an object", 0),
        ("String", "java.lang.String is a type, not a value", 0),
        ("new Nowhere()", "there is no type 'Nowhere'", 4),
        ("new Runnable()", "java.lang.Runnable is an interface", 4),
        ("new Color()", "Judged$Color is an enum", 4),
        ("new Object() {}", "an anonymous class would need a new class", 0),
        ("x -> 1", "a lambda becomes an object where an interface is wanted", 0),
        ("String::length", "a lambda becomes an object where an interface is wanted", 0),
        ("list.stream().filter(x -> x.nothing).count()", "has no field 'nothing'", 26),
        ("list.stream().map(x -> { int y; return x; })", "only expressions and `return`", 25),
        ("list.stream().anyMatch(x -> { i = 5; return true; })", "are not assigned to", 30),
        ("list.forEach(() -> 1)", "takes (a lambda)", 0),
        ("switch (i) { case 1: yield 2; }", "cases are evaluated that have an arrow", 13),
        ("switch (i) { case 1 -> 2; }", "no case matches", 0),
        ("2147483648", "too large for int", 0),
        ("'ab'", "", 0),
        ("stopped() + 1", "the method returns nothing", 0),
        ("java.util.Nothing.x", "there is no variable, field or type 'java'", 0),
        ("é + numbr", "'é'", 0),
        ("1e400", "does not fit double", 0),
    ],
)
def test_a_mistake_is_named_with_its_column(
    frame: Frame, text: str, reason: str, column: int
) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(frame, text)
    assert reason in str(caught.value)
    assert caught.value.column == column
    assert caught.value.text == text
    assert isinstance(caught.value, ValueError)
    assert frame.evaluate("i") == 42


def test_an_expression_is_text(frame: Frame) -> None:
    with pytest.raises(TypeError, match="an expression is text, not int: 3"):
        frame.evaluate(3)  # type: ignore[arg-type]
