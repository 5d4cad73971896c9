"""What the variables of the program Callers hold: it follows from the round."""

from __future__ import annotations

import struct
from collections import Counter
from typing import Any

import pytest

import jvmti
from jvmti.interface.errors import NotAvailable
from jvmti.model.debug.stops import Stop

_LAST = (1 << 64) - 1


def signed(number: int, bits: int = 64) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def mix(seed: int, number: int) -> int:
    """`Callers.mix`."""
    found = (seed * 0x9E3779B97F4A7C15 + number * 0xBF58476D1CE4E5B9) & _LAST
    found ^= found >> 29
    found = found * 0x94D049BB133111EB & _LAST
    return signed(found ^ (found >> 32))


def variables(method: str, seed: int) -> dict[str, Any]:
    """What the variables of a call hold."""
    long_ = mix(seed, 2) + (method == "looping")
    third = mix(seed, 3)
    rest = abs(third) % 1000
    return {
        "seed": seed,
        "below": mix(seed, 0),
        "i": signed(mix(seed, 1), 32),
        "l": signed(long_),
        "boxed": signed(long_),
        "f": float(rest if third > 0 else -rest),
        "d": mix(seed, 4) / 3.0,
        "z": bool(mix(seed, 5) & 1),
        "s": signed(mix(seed, 6), 16),
        "b": signed(mix(seed, 7), 8),
        "c": struct.pack("<H", mix(seed, 8) & 0xFFFF).decode("utf-16", "surrogatepass"),
        "at": 1,
        **dict.fromkeys(("zi", "zl", "zd", "zspent"), 0),
        "zz": False,
        "zo": None,
    }


class Seen:
    """What variables of callers were found to hold, at many stops.

    Attributes:
        kept: by method and name, how many were read.
        missing: how many were not.
    """

    def __init__(self) -> None:
        self.kept: Counter[tuple[str, str]] = Counter()
        self.missing: Counter[tuple[str, str]] = Counter()

    def look(self, stop: Stop) -> None:
        """Compare all callers of a stop with what the program means."""
        frames = [one for one in stop.frames[1:] if one.method.class_name == "Callers"]
        while frames.pop().method.name != "run":
            pass
        start = stop.frames[len(frames) + 1].locals["round"]
        seed, depth = mix(start, 9), (start & 7) + 1
        for frame in reversed(frames):
            method = frame.method.name
            if method != "next":
                seed, depth = mix(seed, 0), depth - 1
            expected = {**variables(method, seed), "depth": depth}
            found = frame.locals.read()
            for variable in frame.locals.variables:
                name = variable.name
                assert name is not None
                if name not in found:
                    self.missing[method, name] += 1
                    continue
                if name == "this":
                    assert found[name] is frame.this
                else:
                    value = found[name].value if name == "boxed" else found[name]
                    assert value == expected[name], (frame, name, start, found)
                self.kept[method, name] += 1


def shown(stop: Stop, method: str, name: str) -> str:
    """The line about a variable of the nearest call of a method."""
    frame = next(one for one in stop.frames if one.method.name == method)
    [line] = [one for one in str(frame.locals).splitlines() if f" {name} = " in one]
    if line.endswith("not kept"):
        with pytest.raises(NotAvailable, match="does not read it again"):
            frame.locals[name]
    return line


def breakpoint_in(vm: jvmti.VM, every: int) -> Any:
    return vm.breakpoint("Callers", "bottom", hits=f"every {every}")


__all__ = ["Seen", "breakpoint_in", "mix", "shown", "signed", "variables"]
