"""Variables of callers in a JVM that was attached to late; the program says what they hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvmti
from debug.callers import Seen, breakpoint_in, shown, variables
from jvms import Jvm
from programs import JavaProgram, JavaPrograms

FLAGS = ("-XX:+UseSerialGC", "-Xmx64m")
NUMBERS = ("seed", "depth", "i", "l", "f", "d", "z", "s", "b", "c")


@pytest.fixture(scope="module")
def program(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    """A platform thread, or a virtual one where there are any."""
    kind = ("virtual",) if jvm.feature >= 21 else ()
    started = shared_java_program("Callers", *kind, jvm_args=FLAGS)
    started.expect("ready", timeout=60)
    return started


@pytest.fixture
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid) as attached:
        # Made at their first use, and kept.
        attached.breakpoints.env  # noqa: B018
        attached.env_with("can_suspend")
        yield attached


def looked_at(vm: jvmti.VM, stops: int, every: int = 1009) -> Seen:
    seen = Seen()
    with breakpoint_in(vm, every) as found:
        for _ in range(stops):
            stop = found.next(60)
            assert stop is not None
            seen.look(stop)
    return seen


def test_variables_of_callers_are_those_of_their_calls(vm: jvmti.VM) -> None:
    seen = looked_at(vm, 30)
    for method in ("all", "looping", "zeros"):
        assert seen.kept[method, "seed"] > 10
    # What the code needs after the call is never missing.
    assert not any(seen.missing["all", name] for name in NUMBERS)
    assert not any(seen.missing["looping", name] for name in ("seed", "i", "d", "l", "at"))
    assert not any(seen.missing["zeros", name] for name in ("zi", "zz", "zl", "zd"))
    assert not seen.missing["spent", "seed"]
    # Compiled code keeps nothing else.
    assert seen.missing["spent", "l"]


def test_what_compiled_code_does_not_keep_says_so(vm: jvmti.VM) -> None:
    with breakpoint_in(vm, 1009) as stops:
        for _ in range(100):
            stop = stops.next(60)
            assert stop is not None
            if not any(one.method.name == "spent" for one in stop.frames):
                continue
            # One alone may be so by chance in code that is not compiled yet.
            if [shown(stop, "spent", one) for one in ("z", "l")] == [
                "boolean z = false, or not kept",
                "long l = 0, or not kept",
            ]:
                return
    pytest.fail("everything is kept")


@pytest.mark.newest
def test_variables_without_names_are_in_their_slots(java_program: JavaPrograms) -> None:
    program = java_program("Callers", jvm_args=FLAGS, debug=False)
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid) as vm, breakpoint_in(vm, 1009) as stops:
        for _ in range(100):
            stop = stops.next(60)
            assert stop is not None
            frame = next((one for one in stop.frames if one.method.name == "all"), None)
            if frame is not None:
                break
        assert frame is not None
        expected = variables("all", frame.locals[0])
        found = frame.locals.read()
        assert [one.type for one in frame.locals.variables] == ["long", "int"]
        assert found.keys() == {0, 2, 3, 4, 6, 7, 9, 10, 11, 12}
        for slot, name in ((3, "i"), (4, "l"), (6, "f"), (7, "d"), (9, "z"), (10, "s"), (11, "b")):
            assert found[slot] == frame.locals[slot] == expected[name]
        assert found[12] == ord(expected["c"])
        assert frame.locals[9, "boolean"] is expected["z"]
        with pytest.raises(jvmti.errors.TypeMismatch, match="holds type I"):
            frame.locals[3, "float"]
        with pytest.raises(jvmti.errors.InvalidSlot):
            frame.locals[5, "int"]


@pytest.mark.newest
@pytest.mark.parametrize(
    "flags",
    [
        ("-Xint",),
        ("-XX:TieredStopAtLevel=1", "-XX:+UseZGC"),
        ("-XX:-TieredCompilation", "-XX:+UseShenandoahGC"),
    ],
    ids=("interpreter", "C1", "C2"),
)
def test_so_they_are_by_each_compiler_and_collector(
    java_program: JavaPrograms, flags: tuple[str, ...]
) -> None:
    program = java_program("Callers", jvm_args=flags)
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid) as vm:
        seen = looked_at(vm, 15, every=101 if "-Xint" in flags else 1009)
    assert not any(seen.missing["all", name] for name in NUMBERS)
    # The interpreter keeps what the code does not read again.
    assert bool(seen.missing["spent", "l"]) == ("-Xint" not in flags)
