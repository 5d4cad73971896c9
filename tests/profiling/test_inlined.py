"""Frames of methods that are compiled into their callers, in a JVM that was not prepared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti

if TYPE_CHECKING:
    from programs import JavaPrograms

SHARES = {"half": 0.5, "third": 0.3, "fifth": 0.2}


def shares(vm: jvmti.VM, program: object) -> tuple[dict[str, float], bool | None]:
    """The part of each method in the time of their caller, and what the profile says of itself."""
    with vm.profile("cpu", interval=0.001) as profile:
        program.ask("run 2000")  # type: ignore[attr-defined]
    caller = profile.with_frame("Inlined.run")
    found = {name: caller.share(f"Inlined.{name}") for name in SHARES}
    return found, profile.limits[0].inlined_exact


def test_they_are_exact_where_the_profile_says_so(java_program: JavaPrograms) -> None:
    program = java_program("Inlined", jvm_args=["-Xmx64m"])
    program.expect("ready")
    program.ask("run 1500")
    with jvmti.attach(program.pid, timeout=30) as vm:
        found, exact = shares(vm, program)
        if exact is False:
            # Java 21 and later; the samples may be right by chance, so no more is claimed.
            assert vm.version.major > 17
            return
        # Code that was compiled before is compiled anew; the second profile has all of it.
        found, exact = shares(vm, program)
    assert exact is True
    assert found == pytest.approx(SHARES, abs=0.06)


@pytest.mark.since(21)
def test_a_flag_makes_them_exact(java_program: JavaPrograms) -> None:
    flags = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
    program = java_program("Inlined", jvm_args=["-Xmx64m", *flags])
    program.expect("ready")
    program.ask("run 1500")
    with jvmti.attach(program.pid, timeout=30) as vm:
        found, exact = shares(vm, program)
    assert exact is True
    assert found == pytest.approx(SHARES, abs=0.06)


def test_without_a_compiler_nothing_is_inlined(java_program: JavaPrograms) -> None:
    program = java_program("Inlined", jvm_args=["-Xmx64m", "-Xint"])
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm, vm.profile("cpu", interval=0.001) as profile:
        program.ask("run 100")
    assert profile.limits[0].inlined_exact is True
