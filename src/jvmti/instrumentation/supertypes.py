"""The supertypes of the classes of a jar or directory, as far as its files show them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import translate

from jvmti.classfile import ClassFile
from jvmti.classfile.reading import MalformedClassFile
from jvmti.instrumentation.probes import Probe


def with_supertypes(probes: Sequence[Probe], class_files: Iterable[bytes]) -> list[Probe]:
    """Probes whose ``extends`` names classes in between, too.

    A class file names its superclass and interfaces only. What these are below is in other files.

    Args:
        probes: the probes.
        class_files: all that may be in between; read only if a probe has ``extends``.
    """
    wanted = {one.extends for one in probes if one.extends is not None}
    if not wanted:
        return list(probes)
    children: dict[str, set[str]] = {}
    for data in class_files:
        for parent, child in _relations(data):
            children.setdefault(parent, set()).add(child)
    patterns = {one: _with_those_between(one, children) for one in wanted}
    return [
        one if one.extends is None else replace(one, extends=patterns[one.extends])
        for one in probes
    ]


def _relations(data: bytes) -> list[tuple[str, str]]:
    """Pairs of a supertype that a class file names, and its own name."""
    try:
        read = ClassFile(data)
        above = [one for one in (read.superclass, *read.interfaces) if one is not None]
        name = read.name.replace("/", ".")
    except MalformedClassFile:
        return []  # it gets no probes, and is reported then
    return [(one.replace("/", "."), name) for one in above]


def _with_those_between(pattern: str, children: dict[str, set[str]]) -> str:
    matching = re.compile("|".join(map(translate, pattern.split("\n")))).match
    waiting = [one for one in children if matching(one)]
    known = set(waiting)
    while waiting:
        new = children[waiting.pop()] - known
        known |= new
        waiting += [one for one in new if one in children]
    between = sorted(one for one in known if one in children and not matching(one))
    return "\n".join([pattern, *between])


__all__ = ["with_supertypes"]
