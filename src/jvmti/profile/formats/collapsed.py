"""Collapsed stacks, as the first flame graph tools read them: a line for each distinct stack.

``com.acme.Server.run;com.acme.Order.add 42``: the outermost frame first, and the weight.  Neither
times nor threads.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy

from jvmti.profile.call_tree import NO_STACK, distinct
from jvmti.profile.errors import NotAProfile
from jvmti.profile.formats.class_names import class_name
from jvmti.profile.limits import Limits
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, Threads

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["are_types", "read", "write"]

_KINDS = {
    "_[j]": FrameKind.COMPILED,
    "_[0]": FrameKind.INTERPRETED,
    "_[i]": FrameKind.INLINED,
    "_[1]": FrameKind.COMPILED,
    "_[k]": FrameKind.KERNEL,
}
"""Suffixes that async-profiler adds to names with its option ``ann``."""
_LINE = re.compile(r"(.*) (\d+)")
_THREAD = re.compile(r"\[(.*) tid=\d+\]")
_TYPE = re.compile(
    r"(?:(?:boolean|byte|char|short|int|long|float|double)(?:\[\])+"
    r"|(?:[\w$]+[./])+[A-Z$][\w$]*(?:[./+]0x[0-9a-f]+)?(?:\[\])*"
    r"|[A-Z$][\w$]*[./+]0x[0-9a-f]+)(?:_\[[ik]\])?"
)
"""An array, a class in a package, or a hidden one in any; async-profiler adds where it was
allocated."""


def write(profile: Profile, path: str, name: str) -> None:
    """Write the stacks of a profile of one kind; the weight is nanoseconds or bytes."""
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(collapsed(profile))


def collapsed(profile: Profile) -> str:
    """The lines, those with the largest weight first."""
    columns = profile._columns
    names = [clean(name) for name in columns.names]
    weights = profile.stack_weights
    method, stacks = columns.method, profile.stacks
    found: Counter[str] = Counter()
    for row in numpy.flatnonzero(weights).tolist():
        codes = method[stacks[row]].tolist()
        found[";".join([names[code] for code in reversed(codes)]) or NO_STACK] += int(weights[row])
    return "".join([f"{stack} {weight}\n" for stack, weight in found.most_common()])


def clean(name: str) -> str:
    """A name without what ends it in this format."""
    return " ".join(name.replace(";", ",").split()) or "?"


def read(path: str) -> Profile:
    """Read collapsed stacks of any tool; their kind is that of mere numbers.

    Where each ends in a class, this is that of what was allocated, or of the lock; where each
    begins with a thread, as async-profiler writes them, it is the thread of the samples.

    Raises:
        NotAProfile: a line is something else.
    """
    from jvmti.profile.profile import Profile

    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except UnicodeDecodeError:
        raise NotAProfile(
            f"{path} is no profile: neither Parquet, a recording of Flight Recorder, pprof nor "
            "collapsed stacks"
        ) from None
    texts: list[str] = []
    weights: list[int] = []
    for number, line in enumerate(lines, 1):
        parts = _LINE.fullmatch(line.rstrip())
        if parts is None:
            if not line.strip() or line.startswith("#"):
                continue
            raise NotAProfile(f"{path}, line {number}: not a stack, a space and a number")
        if int(parts[2]) >= 1 << 62:
            raise NotAProfile(f"{path}, line {number}: the number is too large")
        texts.append(parts[1])
        weights.append(int(parts[2]))
    if not texts:
        raise NotAProfile(f"{path} has no stacks")
    stacks = [text.split(";")[::-1] if text != NO_STACK else [] for text in texts]
    threads = _taken_threads(stacks)
    thread, thread_names = distinct(threads)
    codes, names = distinct([name for stack in stacks for name in stack])
    innermost = {stack[0] for stack in stacks if stack}
    types = innermost if are_types(innermost) else set()
    frames = [_type(name) if name in types else _frame(name) for name in names]
    return Profile(
        Samples(0, thread, numpy.arange(len(stacks)), weights, Kind.COUNT),
        Stacks(numpy.concatenate([[0], numpy.cumsum([len(stack) for stack in stacks])]), codes),
        Frames(
            [frame[0] for frame in frames],
            [frame[1] for frame in frames],
            kind=numpy.array([frame[2] for frame in frames], numpy.uint8),
        ),
        Threads([0] * len(thread_names), thread_names),
        [Limits(Kind.COUNT, notes=("The file says neither the kind of samples nor their times.",))],
    )


def _taken_threads(stacks: list[list[str]]) -> list[str]:
    """The thread of each stack, which is taken out of it; no names if a stack has none."""
    found = [_THREAD.fullmatch(stack[-1]) if stack else None for stack in stacks]
    if None in found:
        return [""] * len(stacks)
    for stack in stacks:
        stack.pop()
    return [one[1] for one in found if one]


def are_types(names: set[str]) -> bool:
    """Whether what ends the stacks are classes: those that were allocated, or of locks.

    Nothing in a file says so, but few methods have names that begin like those of classes, and few
    classes have others.
    """
    found = sum(_TYPE.fullmatch(name) is not None for name in names)
    return bool(names) and found >= 0.9 * len(names)


def _type(name: str) -> tuple[str, str, FrameKind]:
    return "", class_name(name[:-4] if name[-4:] in _KINDS else name), FrameKind.TYPE


def _frame(name: str) -> tuple[str, str, FrameKind]:
    kind = _KINDS.get(name[-4:], FrameKind.UNKNOWN)
    if kind:
        name = name[:-4]
    of, dot, method = name.rpartition(".")
    if not dot or not of or "::" in name or "`" in name or "(" in name:
        return "", name, kind
    return class_name(of), method, kind
