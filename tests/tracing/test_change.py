"""Changes: calls of a running JVM that return something else, throw, or take longer."""

from __future__ import annotations

import os
import signal
import textwrap
import threading
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from command_line import begun, run
from jvmti.instrumentation.probes import BadProbe
from prepared import attaching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

SHOP = "Changed$Shop"


@pytest.fixture(scope="module")
def shop(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Changed", jvm_args=["-Xmx64m"])
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def vm(shop: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(shop.pid, timeout=30) as attached:
        yield attached
    assert shop.running()


def said(shop: JavaProgram, request: str) -> str:
    """What the program says to a request."""
    return shop.ask(request).partition("|")[0]


def took(shop: JavaProgram, request: str) -> int:
    """The milliseconds that it takes."""
    return int(shop.ask(request).partition("|")[2])


@pytest.mark.parametrize(
    ("method", "value", "seen", "before"),
    [
        ("pieces", -7, "-7", "3"),
        ("pieces", 2**31 - 1, "2147483647", "3"),
        ("fixed", 40, "40", "3"),
        ("total", 2**40, "1099511627776", "30"),
        ("price", 2.25, "2.25", "1.5"),
        ("price", float("nan"), "NaN", "1.5"),
        ("price", 3, "3.0", "1.5"),
        ("weight", 2.25, "2.25", "0.75"),
        ("weight", -4, "-4.0", "0.75"),
        ("open", True, "true", "false"),
        ("grade", ord("z"), "z", "d"),
        ("shelf", -300, "-300", "3"),
        ("level", 100, "100", "3"),
        ("name", "täuschung", "täuschung", "name 3"),
        ("name", None, "null", "name 3"),
        ("thing", "another", "another", "thing 3"),
        ("boxed", None, "null", "3"),
    ],
)
def test_calls_return_something_else(
    vm: jvmti.VM, shop: JavaProgram, method: str, value: object, seen: str, before: str
) -> None:
    with vm.change(f"{SHOP}.{method}", returns=value) as change:
        assert said(shop, f"{method} 3") == seen
        assert (change.made, change.failed) == (1, 0)
    assert said(shop, f"{method} 3") == before


def test_calls_throw(vm: jvmti.VM, shop: JavaProgram) -> None:
    with vm.change(f"{SHOP}.close", throws="java.io.IOException: no route: 7") as change:
        assert said(shop, "close 1") == "java.io.IOException: no route: 7"
        assert change.made == 1
    assert said(shop, "close 1") == "closed"
    with vm.change(f"{SHOP}.*", throws="java.lang.OutOfMemoryError"):
        assert said(shop, "pieces 1") == "java.lang.OutOfMemoryError: "
    # One that nothing has loaded yet.
    assert not len(vm.classes("java.net.NoRouteToHostException"))
    with vm.change(f"{SHOP}.close", throws="java.net.NoRouteToHostException: gone"):
        assert said(shop, "close 1") == "java.net.NoRouteToHostException: gone"


def test_an_exception_of_the_programs_own(vm: jvmti.VM, shop: JavaProgram) -> None:
    with pytest.raises(LookupError, match="no class 'Changed\\$Owl' is loaded"):
        vm.change(f"{SHOP}.close", throws="Changed$Owl")
    vm.jni.find_class("Changed$Own")
    with vm.change(f"{SHOP}.close", throws="Changed$Own: ignored"):
        assert said(shop, "close 1") == "Changed$Own: own"


def test_what_is_no_exception_is_not_thrown(vm: jvmti.VM, shop: JavaProgram) -> None:
    with pytest.raises(BadProbe, match=r"java\.lang\.String is no exception"):
        vm.change(f"{SHOP}.close", throws="java.lang.String: x")
    assert said(shop, "close 1") == "closed"


def test_calls_take_longer(vm: jvmti.VM, shop: JavaProgram) -> None:
    with vm.change(f"{SHOP}.open", delay=0.3):
        assert took(shop, "open 1") >= 290
    assert took(shop, "open 1") < 290


def test_the_end_of_a_change_ends_the_waiting(vm: jvmti.VM, shop: JavaProgram) -> None:
    change = vm.change(f"{SHOP}.open", delay=600)
    closer = threading.Timer(0.3, change.close)
    closer.start()
    assert took(shop, "open 1") < 60_000
    closer.join()


def test_only_some_calls(vm: jvmti.VM, shop: JavaProgram) -> None:
    with vm.change(f"{SHOP}.pieces", returns=0, when="n > 2") as change:
        assert [said(shop, f"pieces {n}") for n in (1, 2, 3, 4)] == ["1", "2", "0", "0"]
        assert (change.reached, change.made) == (2, 2)
    with vm.change(f"{SHOP}.pieces", returns=0, when="value == 4"):
        assert [said(shop, f"pieces {n}") for n in (3, 4)] == ["3", "0"]
    with vm.change(f"{SHOP}.pieces", returns=0, every=3) as change:
        assert [said(shop, "pieces 5") for _ in range(7)] == ["0", "5", "5", "0", "5", "5", "0"]
        assert (change.reached, change.made) == (7, 3)
    with vm.change(f"{SHOP}.close", throws="java.io.IOException", times=2) as change:
        assert not change.wait(0.05)
        answers = [said(shop, "close 1") for _ in range(4)]
        assert answers == ["java.io.IOException: ", "java.io.IOException: ", "closed", "closed"]
        assert change.wait(5)
        assert change.made == 2
    with vm.change(f"{SHOP}.close", delay=0.2, when="arg0 == 7"):
        assert took(shop, "close 1") < 190 <= took(shop, "close 7")


def test_calls_change_where_they_are_made(vm: jvmti.VM, shop: JavaProgram) -> None:
    where = "in Changed.answer"
    with vm.change(f"call {SHOP}.close {where}", throws="java.io.IOException: no route") as change:
        # The other calls of the method, and code before this one, run as before.
        assert said(shop, "pieces 3") == "3"
        assert said(shop, "close 1") == "java.io.IOException: no route"
        assert (change.reached, change.made) == (1, 1)
    with vm.change(f"call {SHOP}.open {where}", delay=0.3):
        assert took(shop, "pieces 1") < 290 <= took(shop, "open 1")
    for value, seen in (
        (
            7,
            {
                "pieces 3": "7",
                "fixed 3": "7",
                "price 3": "7.0",
                "open 2": "true",
                "name 3": "name 3",
            },
        ),
        ("x", {"name 3": "x", "thing 3": "x", "pieces 3": "3", "boxed 3": "3"}),
        (True, {"open 3": "true", "level 3": "3"}),
        (None, {"boxed 3": "null", "name 3": "null", "pieces 3": "3"}),
    ):
        with vm.change(f"call {SHOP}.* {where}", returns=value) as change:
            assert {request: said(shop, request) for request in seen} == seen
            assert change.failed == 0
    with vm.change(f"call {SHOP}.pieces {where}", returns=0, when="passed0 > 2 and value < 4"):
        assert [said(shop, f"pieces {n}") for n in (2, 3, 4)] == ["2", "0", "4"]
    with vm.change("call java.lang.Integer.parseInt", delay=0.2, when="passed0 == '77'"):
        assert said(shop, "pieces 77") == "77"


def test_the_class_is_afterwards_what_it_was(vm: jvmti.VM, shop: JavaProgram) -> None:
    cls = vm.find_class(SHOP)
    with vm.change(f"{SHOP}.open", delay=0.01):
        pass
    before = bytes(cls.class_file)
    with vm.change(f"{SHOP}.*", returns=1):
        assert bytes(cls.class_file) != before
    assert bytes(cls.class_file) == before


_CONTROLLER = """
    import sys, time, jvmti
    vm = jvmti.attach(int(sys.argv[1]), timeout=30)
    change = vm.change("Changed$Shop.open", delay=600)
    print("armed", flush=True)
    time.sleep(60)
"""


def test_a_killed_controller_leaves_nobody_waiting(vm: jvmti.VM, shop: JavaProgram) -> None:
    controller = attaching("-c", textwrap.dedent(_CONTROLLER), shop.pid)
    assert controller.stdout.readline() == "armed\n"
    killer = threading.Timer(0.3, os.kill, (controller.pid, signal.SIGKILL))
    killer.start()
    assert 200 <= took(shop, "open 1") < 60_000
    killer.join()
    controller.communicate()
    assert took(shop, "open 1") < 60_000


@pytest.mark.parametrize(
    ("pattern", "options", "kind", "message"),
    [
        (f"{SHOP}.pieces", {}, BadProbe, "say what changes"),
        (f"{SHOP}.pieces", {"returns": "x"}, LookupError, "can return 'x': what .* is int"),
        (f"{SHOP}.pieces", {"returns": 2**40}, LookupError, "can return 1099511627776"),
        (f"{SHOP}.pieces", {"returns": 2**64}, BadProbe, "does not fit a long"),
        (f"{SHOP}.pieces", {"returns": b"x"}, BadProbe, "cannot be returned"),
        (f"{SHOP}.pices", {"returns": 1}, LookupError, "no method 'pices'.*pieces"),
        ("Chonged.pieces", {"returns": 1}, LookupError, "no loaded class matches.*Changed"),
        (f"{SHOP}.pieces", {"returns": 1, "throws": "x.Y"}, BadProbe, "either returns= or throws="),
        (f"{SHOP}.pieces", {"returns": 1, "delay": 1}, BadProbe, "one change at a time"),
        (f"{SHOP}.pieces", {"delay": -1}, BadProbe, "of 0 to 3,600 seconds"),
        (f"{SHOP}.pieces", {"delay": 1, "every": 0}, BadProbe, "count from 1"),
        (f"{SHOP}.pieces", {"delay": 1, "when": "value == 1"}, BadProbe, "nothing is returned"),
        (f"{SHOP}.pieces", {"returns": 1, "when": "exception != None"}, BadProbe, "thrown nothing"),
        (
            f"{SHOP}.pieces",
            {"delay": 1, "when": "m == 1"},
            LookupError,
            "'m' is none; there are 'n', 'this'",
        ),
        (f"{SHOP}.close", {"throws": ": no class"}, BadProbe, "names no class"),
        (f"write {SHOP}.x", {"delay": 1}, BadProbe, "is a place, as logpoints take it; this takes"),
        (f"called {SHOP}.close", {"delay": 1}, BadProbe, "'call CLASS.METHOD in CLASS.METHOD'"),
        (f"call {SHOP}.clse", {"delay": 1}, LookupError, r"Shop has no 'clse'; did you mean"),
        (f"call {SHOP}.total", {"returns": True}, LookupError, "can return True"),
        (f"{SHOP}.close", {"throws": 3}, TypeError, "throws= is a text"),
        (f"{SHOP}.close", {"throws": "java.io.IOExeption"}, LookupError, "similar ones: java.io"),
        (f"{SHOP}.close", {"throws": "java.lang.String"}, BadProbe, "not below Throwable"),
    ],
)
def test_what_makes_no_sense_is_refused(
    vm: jvmti.VM, pattern: str, options: dict[str, object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        vm.change(pattern, **options)
    with pytest.raises(BadProbe, match="different changes: open two"):
        vm.change(f"{SHOP}.close", f"call {SHOP}.close", delay=1)
    assert b"JvmtiProbes" not in bytes(vm.find_class(SHOP).class_file)


def test_a_class_that_is_loaded_later_is_changed(java_program: JavaPrograms) -> None:
    program = java_program("Traced")
    program.expect("ready")
    with (
        jvmti.attach(program.pid, timeout=30) as vm,
        vm.change("Traced$Later.late", returns=-1, unloaded=True),
    ):
        assert program.ask("late 5") == "-1"


def test_a_change_takes_a_limit_for_its_pauses(vm: jvmti.VM, shop: JavaProgram) -> None:
    with pytest.raises(jvmti.errors.PauseTooLong, match="the limit is 1e-06 s"):
        vm.change(f"{SHOP}.close", delay=1e-6, max_pause=1e-6)
    with vm.change(f"{SHOP}.*", delay=1e-6, max_pause=1.0) as change:
        assert all(0 < pause for pause in change.pauses)
        assert len(change.pauses) >= 1
    words = ["change", str(shop.pid), f"{SHOP}.close", "--delay", "1ms", "--max-pause", "1us"]
    ended = run(*words)
    assert ended.returncode == 1
    assert "would stop the program for about" in ended.stderr


def test_the_command_changes_calls(shop: JavaProgram) -> None:
    words = ["--throw", "java.io.IOException: injected", "--times", "2"]
    command = begun("change", shop.pid, f"{SHOP}.close", *words)
    assert command.stderr is not None
    assert "changing 1 method of 1 class" in command.stderr.readline()
    assert said(shop, "close 1") == "java.io.IOException: injected"
    time.sleep(0.1)
    assert said(shop, "close 1") == "java.io.IOException: injected"
    out, err = command.communicate(timeout=30)
    assert command.returncode == 0
    assert out == ""
    assert err.startswith("2 of 2 calls changed in ")
    assert said(shop, "close 1") == "closed"
    words = [f"call {SHOP}.close in Changed.answer", "--delay", "1ms", "--duration", "0.1"]
    ended = run("change", str(shop.pid), *words)
    assert "until they return: Changed.main" in ended.stderr
    assert "0 of 0 calls changed" in ended.stderr
