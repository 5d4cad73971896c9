"""What the code of the program Callers still needs after a call; the source says so."""

from __future__ import annotations

import compiler
from jvmti.classfile import ClassFile, instructions
from jvmti.classfile.liveness import is_read_again


def after_call(method: str, callee: int = -1) -> set[str]:
    """The variables that a method reads again after one of its calls of static methods."""
    file = ClassFile((compiler.classes("Callers") / "Callers.class").read_bytes())
    code = next(one.code for one in file.methods if one.name == method)
    assert code is not None
    calls = [one for one in instructions(code.bytecodes) if one.name == "invokestatic"]
    at = calls[callee].location
    return {
        one.name
        for one in code.local_variables
        if one.start <= at < one.start + one.length and is_read_again(code.bytecodes, at, one.slot)
    }


def test_variables_are_needed_until_they_are_read_last() -> None:
    assert after_call("all") == {"seed", "depth", "i", "l", "f", "d", "z", "s", "b", "c"}
    assert after_call("spent") == {"seed"}
    assert after_call("zeros") == {"seed", "zi", "zz", "zl", "zd", "zo"}
    # The first call is inside of `mix(seed, 1)`, before the others are stored.
    assert after_call("spent", 0) == {"seed", "depth"}


def test_a_loop_needs_what_its_next_round_reads() -> None:
    assert after_call("looping") == {"this", "seed", "depth", "i", "d", "at", "l", "boxed"}
