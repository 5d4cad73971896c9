"""Why there are no probes at a place."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Any, NoReturn

from jvmti.instrumentation.probes import CONDITIONS
from jvmti.interface.errors import ClassNotPrepared
from jvmti.layouts.probes import Site as Where
from jvmti.tracing.places import Place
from jvmti.tracing.probe_set import ProbeSet, values_of
from jvmti.tracing.traced_vm import TracedVM
from jvmti.tracing.unmatched import check_conditions, unmatched_place


def refuse_place(probes: ProbeSet, place: Place, text: str, when: str | None) -> NoReturn:
    """Raise the reason why no loaded class has a probe at a place.

    Args:
        probes: the probes for it.
        place: the place.
        text: the same as its user wrote it.
        when: the condition there.

    Raises:
        LookupError: no loaded class has such a place; the message has similar names.
        Error: the classes could not get probes.
    """
    if place.site not in (Where.ENTRY, Where.LINE, Where.INDEX):
        probes._failed_for(text)
        (owner, named), *_ = place.owners
        wanted = {**place.more, "classes": owner, "methods": named}
        loaded = probes._classes_named([owner or "*"])
        check_conditions(probes._vm, loaded, wanted, probes._loader)
        why = unmatched_place(probes._vm, text, wanted, loaded, values_of(when))
        raise LookupError(why + probes.WAITING)
    loaded = probes._classes_named([classes or "*" for classes, _ in place.owners])
    cls = loaded[-1]
    _, method = next(
        one for one in reversed(place.owners) if cls in probes._vm.classes(one[0] or "*")
    )
    methods = [one for one in cls.methods if fnmatch.fnmatchcase(one.name, method or "*")]
    probes._failed_for(text)
    wanted = {name: getattr(probes._plan[-1], name) for name in ("classes", *CONDITIONS)}
    check_conditions(probes._vm, loaded, {**wanted, "methods": method}, probes._loader)
    if methods and place.site is Where.LINE:
        _refuse_line(probes._vm, cls, methods, place.number)
    no_code = "has an instruction that begins there"
    probes._refuse(text, loaded, method or "*", values_of(when) or no_code)


def _refuse_line(vm: TracedVM, cls: Any, methods: Sequence[Any], line: int) -> None:
    lines = {entry.line_number for one in methods for entry in one.lines}
    if not lines:
        raise LookupError(
            f"{cls.name} was compiled without line numbers (javac -g:none); name a bytecode "
            "index, CLASS.METHOD@INDEX"
        )
    if line not in lines:
        for one in vm.classes(f"{cls.name}$*"):
            if _has_line(one, line):
                raise LookupError(
                    f"{cls.name} has no code at line {line}, but {one.name} has: {one.name}:{line}"
                )
        nearest = sorted(sorted(lines, key=lambda one: abs(one - line))[:4])
        raise LookupError(
            f"{cls.name} has no code at line {line}; the nearest lines with code: "
            f"{', '.join(map(str, nearest))}"
        )


def _has_line(cls: Any, line: int) -> bool:
    try:
        return any(entry.line_number == line for one in cls.methods for entry in one.lines)
    except ClassNotPrepared:
        return False


__all__ = ["refuse_place"]
