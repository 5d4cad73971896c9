"""Probes come and go while a program does everything else at the same time."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import pytest

import compiler
import jvmti
from jvmti.classfile import ClassFile
from jvmti.env.structures import ClassDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from jvmti.tracing.records.calls import Call
    from programs import JavaProgram, JavaPrograms

LONG = float(os.environ.get("JVMTI_TEST_UNDER_FIRE", "0"))
"""Seconds for a long run: all of what the compilers do, too."""
SECONDS = LONG or 0.5
"""How long each engine is under fire; eight times as long with `--every-jvm`."""
CONSTRUCTORS = ("UnderFire*.<init>", "java.lang.Throwable.*")
PATTERNS: tuple[tuple[str, ...], ...] = (
    ("UnderFire.*",),
    ("UnderFire*.*", "UnderFire$Fresh.twice"),
    ("java.lang.ClassLoader.*", "java.util.concurrent.atomic.*.*"),
    CONSTRUCTORS,
)
OPTIONS: tuple[dict[str, object], ...] = (
    {},
    {"limit": None},
    {"when": "arg0 > 3 or thread.name == 'main'"},
    {"stack": 4},
)
ENGINES = {
    "interpreter": ["-Xint"],
    "compiler": ["-Xcomp", "-XX:TieredStopAtLevel=1"],
    **({"compilers": ["-Xcomp"]} if LONG else {}),
    "Serial": ["-XX:+UseSerialGC"],
    "Parallel": ["-XX:+UseParallelGC"],
    "G1": ["-XX:+UseG1GC"],
    "ZGC": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
    "Shenandoah": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
}


def started(java_program: JavaPrograms, jvm: Jvm, flags: list[str]) -> JavaProgram:
    """The program, with these flags of the VM; skips where it does not know them."""
    known = subprocess.run(
        [jvm.java, *jvm.args, *flags, "-version"], capture_output=True, check=False
    )
    if known.returncode != 0:
        pytest.skip(f"this VM does not start with {' '.join(flags)}")
    program = java_program("UnderFire", jvm_args=[*flags, "-Xmx128m"])
    program.expect("ready", timeout=60)
    return program


def checked(program: JavaProgram) -> int:
    """How often the program went round; all that it computed is right."""
    rounds, wrong = map(int, program.ask("check", timeout=60).split())
    assert wrong == 0, program.stderr
    return rounds


def sizes(file: ClassFile) -> dict[str, int]:
    """How long the code of each method is."""
    return {one.name + one.descriptor: len(one.code.bytecodes) for one in file.methods if one.code}


@contextlib.contextmanager
def redefining(program: JavaProgram, name: str) -> Iterator[list[int]]:
    """Another controller that redefines a class with its own class file, over and over."""
    data = (compiler.classes("UnderFire") / f"{name}.class").read_bytes()
    done = [0]
    leaving = threading.Event()
    with jvmti.attach(program.pid, timeout=60) as vm:
        env = vm.new_env()
        env.add_capabilities({"can_redefine_classes"})
        cls = vm.jni.find_class(name)

        def work() -> None:
            took = 0.0
            # A fifth of the time is its own: the VM does one redefinition after the other.
            while not leaving.wait(max(0.1, 4 * took)):
                began = time.monotonic()
                env.redefine_classes([ClassDefinition(cls, data)])
                took = time.monotonic() - began
                done[0] += 1

        thread = threading.Thread(target=work, name="redefining")
        thread.start()
        try:
            yield done
        finally:
            leaving.set()
            thread.join()


# JDK 11 keeps older versions of redefined classes until a full collection, and walks all of them
# at each redefinition: there the VM thread works for minutes.
@(pytest.mark.since(17) if LONG else pytest.mark.newest)
@pytest.mark.slow
@pytest.mark.stress
@pytest.mark.timeout(120 + 4 * LONG)
@pytest.mark.parametrize("engine", ENGINES)
def test_probes_come_and_go_while_classes_load_throw_and_are_redefined(
    java_program: JavaPrograms, jvm: Jvm, engine: str, request: pytest.FixtureRequest
) -> None:
    seconds = SECONDS * (8 if request.config.option.every_jvm else 1)
    program = started(java_program, jvm, ENGINES[engine])
    rng = random.Random(engine)
    armed = 0
    seen = 0
    with jvmti.attach(program.pid, timeout=60) as vm, redefining(program, "UnderFire") as redefined:
        before = checked(program)
        until = time.monotonic() + seconds
        while time.monotonic() < until or armed < 3:
            with contextlib.ExitStack() as stack:
                for _ in range(rng.randint(1, 3)):
                    options, patterns = rng.choice(OPTIONS), rng.choice(PATTERNS)
                    if patterns is CONSTRUCTORS and "when" in options:
                        options = {}  # the classes that are there may have no number to compare
                    trace = stack.enter_context(vm.trace(*patterns, unloaded=True, **options))
                    seen += len(trace.read(0.05))
                armed += 1
            checked(program)
        with vm.trace("UnderFire.add", limit=None, when="thread.name == 'main'") as trace:
            assert program.ask("call 5", timeout=60) == "20"
            calls = list(trace.read(5.0))
            while len(calls) < 5:
                calls += trace.read(5.0)
        assert [one.value for one in calls] == [0, 2, 4, 6, 8]
        assert redefined[0] > 0
        rounds = checked(program)
        print(f"{armed} sets of probes, {seen:,} calls, {redefined[0]:,} redefinitions, "
              f"{rounds - before:,} rounds of the program")  # fmt: skip
        while checked(program) == rounds:
            time.sleep(0.05)
        assert seen > 0
    with jvmti.attach(program.pid, timeout=60) as vm:
        # Constants of what was there before stay in the pool of a class that was redefined.
        compiled = (compiler.classes("UnderFire") / "UnderFire.class").read_bytes()
        assert sizes(vm.find_class("UnderFire").class_file) == sizes(ClassFile(compiled))


@pytest.mark.slow
def test_a_heap_that_is_full_harms_no_probe(java_program: JavaPrograms) -> None:
    program = java_program("UnderFire", jvm_args=["-Xmx24m", "-XX:+UseSerialGC"])
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        conditions = (None, "arg1 == '' and arg0 >= 0")
        for when in conditions:
            with vm.trace("UnderFire.add", limit=None, when=when, stack=2) as trace:
                assert program.ask("full 500", timeout=60) == "500"
                mine: list[Call] = []
                until = time.monotonic() + 30
                while len(mine) < 500 and time.monotonic() < until:
                    mine += [one for one in trace.read(0.1) if one.thread == "main"]
            assert [one.value for one in mine] == list(range(500))
        add = "UnderFire.add"
        with (
            vm.trace(add, by="arg1"),
            vm.logpoint(add, by="caller"),
            vm.logpoint(add, "{arg0} {arg1} {type(arg1)} {thread}", stack=4),
            vm.change(add, returns=3, when="len(arg1) == -1"),
            vm.change(add, throws="UnderFire$Failure", when="arg0 == -1"),
            vm.breakpoint("UnderFire", "add", when="first == -1", do=print),
        ):
            assert program.ask("full 500", timeout=60) == "500"
        checked(program)


@pytest.mark.parametrize("ends", ["the command closes", "the controller stays"])
def test_probes_run_while_the_vm_ends(java_program: JavaPrograms, ends: str) -> None:
    program = java_program("UnderFire", jvm_args=["-Xmx64m"])
    program.expect("ready")
    vm = jvmti.attach(program.pid, timeout=30)
    traces = [
        vm.trace("UnderFire*.*", limit=None),
        vm.trace("java.lang.Shutdown.*", "java.lang.Thread.*", unloaded=True),
        vm.trace("UnderFire.*", summary=True),
    ]
    if ends == "the command closes":

        def close() -> None:
            for trace in traces:
                trace.close()

        closing = threading.Timer(0.02, close)
        closing.start()
        program.send("exit")
        closing.join()
    else:
        program.send("exit")
    assert program.expect("hook 199990000 wrong 0", timeout=60)
    assert program.process.wait(60) == 0
    assert program.crash() is None
    with contextlib.suppress(jvmti.Error):
        vm.detach()
