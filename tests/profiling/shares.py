"""Shares of processor time that a program knows of itself, beside those of a profile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile
    from programs import JavaProgram


def parsed(answer: str) -> dict[str, int]:
    """``loop=3 digest=4``."""
    return {name: int(value) for name, _, value in (one.partition("=") for one in answer.split())}


def known_shares(program: JavaProgram, seconds: float) -> dict[str, int]:
    """The processor time of each part of `Profiled`; the VM and others may print lines before."""
    program.send(f"mixed {seconds}")
    while not (line := program.read_line(timeout=60)).startswith("loop="):
        pass
    return parsed(line)


def of_thread(profile: Profile, name: str) -> Profile:
    """The samples of the threads of a name."""
    named = numpy.array([one.name == name for one in profile.threads], numpy.bool_)
    return profile.where(named[profile.samples.thread])


def error(profile: Profile, known: dict[str, int]) -> float:
    """The total variation distance from the known shares, in percentage points."""
    whole = sum(known.values())
    weight = profile.weight
    found = {
        name: profile.with_frame(f"Profiled.run{name.capitalize()}").weight / weight
        for name in known
    }
    apart = sum(abs(known[name] / whole - found[name]) for name in known)
    return 50 * (apart + abs(1 - sum(found.values())))


def noise(known: dict[str, int], samples: int) -> float:
    """The distance that so many samples have on average if nothing is wrong with them."""
    whole = sum(known.values())
    shares = [value / whole for value in known.values()]
    return 50 * sum(math.sqrt(2 / math.pi * p * (1 - p) / samples) for p in shares)
