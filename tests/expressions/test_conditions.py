"""Java conditions of breakpoints: what the agent can decide never comes to Python."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from debug import stopping
from debug.stopping import LINE, SOON, method
from jvmti.errors import ExpressionError
from jvmti.expressions import JavaCondition, PythonCondition, condition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms


@pytest.mark.parametrize(
    ("text", "in_agent", "remaining"),
    [
        ("n > 1000", "n > 1000", None),
        ("1000L <= n", "1000 <= n", None),
        ("n == -1", "n == -1", None),
        ("n == 0x10", "n == 16", None),
        ("c == 'x'", "c == 120", None),
        ("d < 1.5", "d < 1.5", None),
        ("d < -0.1f", "d < -0.10000000149011612", None),
        ("flag", "flag", None),
        ("!flag", "(not flag)", None),
        ("flag == true", "flag == True", None),
        ("o != null", "o != None", None),
        ('name.equals("Host")', "name == 'Host'", None),
        ('"it\'s".equals(name)', 'name == "it\'s"', None),
        ('n > 1 && "a".equals(s)', "n > 1 and s == 'a'", None),
        ("(n > 1) && (m < 2 || !flag)", "n > 1 and (m < 2 or (not flag))", None),
        ("n > 1 && order.isOpen()", "n > 1", "order.isOpen()"),
        ("order.isOpen() && n > 1", "n > 1", "order.isOpen()"),
        ("this.total > 5 && n > 1 && m > n", "n > 1", "this.total > 5 && m > n"),
        ("n > 1 || order.isOpen()", None, "n > 1 || order.isOpen()"),
        ("!(n > 1 && order.isOpen())", None, "!(n > 1 && order.isOpen())"),
        ('name == "Host"', None, 'name == "Host"'),
        ("n % 2 == 0", None, "n % 2 == 0"),
        ("o instanceof String", None, "o instanceof String"),
        ("true", None, "true"),
    ],
)
def test_the_part_that_the_agent_decides(
    text: str, in_agent: str | None, remaining: str | None
) -> None:
    found = condition(text)
    assert (found.in_agent, found.remaining) == (in_agent, remaining)


def test_a_condition_that_is_not_java_is_refused() -> None:
    with pytest.raises(ExpressionError):
        condition("n > ")


@pytest.mark.parametrize(
    "text", ["n = 3", "(n = 3)", "a && (open = true)", "!(n++ > 1) || m++", "n += 1"]
)
def test_a_condition_that_would_write_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="writes to the program at each hit"):
        condition(text)
    assert condition("sum(n = 3) > 2").remaining  # where it is meant


class Counted(JavaCondition):
    """Counts how often Python is asked."""

    asked = 0

    def __call__(self, stop: Any) -> bool:
        self.asked += 1
        return super().__call__(stop)


@pytest.fixture(scope="module", params=["natively", "late"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(jvm: Jvm, way: str, shared_java_program: JavaPrograms) -> JavaProgram:
    return stopping.start(shared_java_program, jvm, late=way == "late")


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with stopping.attached(program) as attached:
        yield attached


@pytest.mark.parametrize(
    ("text", "hits", "asked"),
    [
        ("n == 7", [7], 0),
        ('n > 3 && name.equals("x8")', [8], 0),
        ("n > 90 && twice / 2 % 5 == 0", [95], 9),
        ("n >= 98 && name.endsWith(String.valueOf(n))", [98, 99], 2),
        ("name.length() == 2 && n > 1000", [], 0),
        ("twice == 2 * n && n < 2", [0, 1], 2),
        ("n == 5 ? true : n == 6", [5, 6], 100),
    ],
)
def test_false_conditions_that_the_agent_decides_do_not_come_to_python(
    vm: jvmti.VM, program: JavaProgram, way: str, text: str, hits: list[int], asked: int
) -> None:
    when = Counted(text)
    seen = []
    with method(vm, "add").breakpoint(
        line=LINE["sum"], when=when, do=lambda stop: seen.append(stop.locals["n"])
    ):
        assert program.ask("start t add 100") == "started"
        program.ask("join t", timeout=SOON)
    assert seen == hits
    assert when.asked == asked
    assert when.problem is None


class CountedPython(PythonCondition):
    """Counts how often Python is asked."""

    asked = 0

    def __call__(self, stop: Any) -> bool:
        self.asked += 1
        return super().__call__(stop)


@pytest.mark.parametrize(
    ("text", "hits", "asked"),
    [
        ("=py n == 7 and name == 'x7'", [7], 0),
        ("=py n % 50 == 7", [7, 57], 100),
        ("=py twice == limit", [4], 100),
    ],
)
def test_conditions_in_python_are_decided_by_the_agent_too(
    vm: jvmti.VM, program: JavaProgram, text: str, hits: list[int], asked: int
) -> None:
    when = CountedPython(text, {"limit": 8})
    seen = []
    with method(vm, "add").breakpoint(
        line=LINE["sum"], when=when, do=lambda stop: seen.append(stop.locals["n"])
    ):
        assert program.ask("start t add 100") == "started"
        program.ask("join t", timeout=SOON)
    assert (seen, when.asked, when.problem) == (hits, asked, None)


def test_a_condition_that_is_no_boolean_stops_the_thread(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    when = condition("n - n")
    with method(vm, "add").breakpoint(line=LINE["sum"], when=when) as stops:
        program.ask("start t add 2")
        assert stops.next(SOON) is not None
    program.ask("join t", timeout=SOON)
    assert when.problem == "a condition is a boolean, not int (column 1 of 'n - n')"


def test_a_condition_that_fails_stops_the_thread(vm: jvmti.VM, program: JavaProgram) -> None:
    when = condition("n == 3 && nowhere > 1")
    with method(vm, "add").breakpoint(line=LINE["sum"], when=when) as stops:
        program.ask("start t add 5")
        stop = stops.next(SOON)
        assert stop is not None
        assert stop.locals["n"] in (0, 3)
    program.ask("join t", timeout=SOON)
    assert when.problem is not None
    assert "'nowhere'" in when.problem


FIELDS = [
    ("price == 7", True),
    ("this.price != 7", False),
    ("self.price == 7", True),  # not that of the subclass
    ("self.price == 1", False),
    ("limit > 1000", True),  # which the method has assigned to
    ("limit < 1000", False),
    ('name.equals("tea") && sizes.length == 2', True),
    ('self.name.length() == 3 && "tea".equals(self.name)', True),
    ('name.equals("coffee") || name == null', False),
    ("open && self.open == true && !(this.open == false)", True),
    ("!open", False),
    ("next == null && self != null", True),
    ("self.next.price < 9", False),
    ("grade == 'x' && share < 0.6 && boxed >= 5", True),
    ("boxed > 5", False),
]


@pytest.fixture(scope="module")
def debugged(jvm: Jvm, shared_java_program: JavaPrograms) -> Iterator[jvmti.VM]:
    """A program that was attached to late, and works on."""
    program = shared_java_program("Debugged", jvm_args=["-Xmx64m"])
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as attached:
        yield attached
    assert program.running()


def is_hit(vm: jvmti.VM, when: Any, line: int, name: str, expected: bool) -> bool:
    """Whether a breakpoint is hit by the program, which comes by every few milliseconds."""
    hit = threading.Event()
    with vm.breakpoint(name, line=line, when=when, do=lambda stop: hit.set()):
        return hit.wait(SOON if expected else 0.2)


@pytest.mark.oldest_and_newest
def test_conditions_on_fields_are_decided_in_the_agent(debugged: jvmti.VM) -> None:
    """With the types that the method's own variables and the loaded classes have."""
    line = stopping.marks_of("Debugged", r"// (CHEAP|HALF)")
    # Where the class is not loaded yet, Python decides until it is.
    assert is_hit(debugged, condition("price == 7"), line["CHEAP"], "Debugged$Priced", True)
    wrong = []
    for text, holds in FIELDS:
        when = Counted(text)
        hit = is_hit(debugged, when, line["CHEAP"], "Debugged$Priced", holds)
        if hit != holds or when.asked:
            wrong.append((text, hit, when.asked))
    assert not wrong
    inherited = Counted("open && price == 1 && this.name != null")
    assert is_hit(debugged, inherited, line["HALF"], "Debugged$Reduced", True)
    assert not inherited.asked
    # Python decides the rest, where the agent's part holds.
    mixed = Counted("price == 7 && limit % 2 == 0")
    assert is_hit(debugged, mixed, line["CHEAP"], "Debugged$Priced", True)
    assert mixed.asked
    never = Counted("price == 8 && limit % 2 == 0")
    assert not is_hit(debugged, never, line["CHEAP"], "Debugged$Priced", False)
    assert not never.asked
