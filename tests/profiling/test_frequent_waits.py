"""Profiles of locks for which threads wait often: a part of the waits are samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

MILLISECONDS = 3000


@pytest.fixture(scope="module")
def program(shared_java_program: JavaPrograms) -> JavaProgram:
    started = shared_java_program("FrequentWaits", jvm_args=["-Xmx64m"])
    started.expect("ready")
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        yield attached
    assert program.running()


@pytest.mark.parametrize(
    ("kind", "method"),
    [("monitor", "FrequentWaits$Pair.enter"), ("lock", "FrequentWaits$Pair.lock")],
)
def test_frequent_waits_have_their_sum(
    vm: jvmti.VM, program: JavaProgram, kind: str, method: str
) -> None:
    with vm.profile("lock") as profile:
        answer = program.ask(f"{kind} {MILLISECONDS}", timeout=60)
    count, shortly, at_length = map(int, answer.split()[1:])
    # Few of them are samples, so that the profile costs the program little.
    assert len(profile.by("thread")["short waiter"]) < count / 4
    waited = profile.by("thread").weights
    assert waited["short waiter"] == pytest.approx(shortly, rel=0.05)
    assert waited["long waiter"] == pytest.approx(at_length, rel=0.05)
    for name, suffix in (("short", ""), ("long", "Long")):
        part = profile.by("thread")[f"{name} waiter"]
        assert part.share(method + suffix) > 0.99, part.top()
        # Each of the two kinds of threads waits for its own.
        owners = part.by("owner").weights
        assert owners[f"{name} owner"] > 0.8 * part.weight, owners
    notes = " ".join(note for one in profile.limits for note in one.notes)
    assert "in proportion to their length" in notes
