"""The chapter "Memory Management": memory of the target, given out and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

import jvmti
import programs
from conformance.evidence import Evidence

LARGE = 256 << 20


def reserved(pid: int) -> int:
    """The size of a process in bytes, by the kernel."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * 4096


def test_the_process_grows_by_what_is_allocated_and_shrinks_when_it_is_given_back(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("allocate", "deallocate")
    before = reserved(witness.pid)
    memory = env.allocate(LARGE)
    assert reserved(witness.pid) - before >= LARGE
    env.deallocate(memory)
    assert reserved(witness.pid) - before < LARGE // 2


def test_no_bytes_are_memory_too_and_none_is_nothing(vm: jvmti.VM, env: jvmti.Env) -> None:
    def held() -> int:
        agent = vm.stats.agent
        assert agent is not None
        return agent.memory

    before = held()
    memory = env.allocate(0)
    assert held() == before + 1
    env.deallocate(None)
    assert held() == before + 1
    env.deallocate(memory)
    assert held() == before
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.deallocate(memory)


def test_memory_cannot_be_given_back_twice(env: jvmti.Env) -> None:
    memory = env.allocate(16)
    env.deallocate(memory)
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.deallocate(memory)


def test_a_negative_size_is_refused(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.provokes("allocate", "ILLEGAL_ARGUMENT")
    for size in (-1, -(2**63)):
        with pytest.raises(jvmti.errors.IllegalArgument):
            env.allocate(size)


def test_more_than_there_can_be_is_out_of_memory(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.provokes("allocate", "OUT_OF_MEMORY")
    evidence.provokes("every function", "OUT_OF_MEMORY")
    with pytest.raises(jvmti.errors.OutOfMemory):
        env.allocate(1 << 62)
