"""Why a pattern matches nothing that is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from jvmti.interface.errors import Error
from jvmti.refs import ClassLoader
from jvmti.text.names import BOOTSTRAP, suggestion
from jvmti.tracing.selection import selected
from jvmti.tracing.traced_vm import TracedVM

_MOST_READ = 20
"""Classes whose class files are read for a message."""


def check_conditions(
    vm: TracedVM, classes: Sequence[Any], place: Mapping[str, Any], loader: ClassLoader | None
) -> None:
    """Refuse a condition that no class meets, although its name matches.

    Args:
        vm: the VM.
        classes: those whose names match.
        place: the properties of a probe.
        loader: of the classes.

    Raises:
        LookupError: there is one; the message has similar names.
    """
    named = place["classes"] or "*"
    annotated, extends, pattern = (place[name] for name in ("annotated", "extends", "loader"))
    of_loader = selected(vm, classes, None, pattern, loader)
    if not of_loader:
        wanted = str(loader) if pattern is None else repr(pattern)
        loaders = {str(one or BOOTSTRAP) for one in {cls.loader for cls in classes[:_MOST_READ]}}
        raise LookupError(
            f"no loaded class of {named!r} has the loader {wanted}; their loaders are "
            f"{', '.join(sorted(loaders))}"
        )
    if extends is not None and not selected(vm, of_loader, extends, None, None):
        near = "" if vm.classes(extends) else suggestion(extends, vm.classes.near(extends))
        unknown = "" if vm.classes(extends) else ", and no class of that name is loaded"
        raise LookupError(
            f"no loaded class of {named!r} extends or implements {extends!r}{unknown}{near}"
        )
    if annotated is not None and _has_method(classes, place["methods"] or "*"):
        raise LookupError(
            f"no loaded class of {named!r} has such a method with the annotation {annotated!r}"
            f"{suggestion(annotated, _annotations(classes))}; the JVM keeps nothing of one that is "
            "for class files only (RetentionPolicy.CLASS)"
        )


def unmatched_place(
    vm: TracedVM,
    text: str,
    place: Mapping[str, Any],
    classes: Sequence[Any],
    needed: str | None,
) -> str:
    """The message about a place that no code has: names that are similar, of what does not exist.

    Args:
        vm: the VM.
        text: the place.
        place: the properties of a probe there.
        classes: the loaded classes that may have such code.
        needed: a requirement on the place, as the end of a sentence.
    """
    methods = place["methods"] or "*"
    if len(classes) <= _MOST_READ and not _has_method(classes, methods):
        names = {one.name for cls in classes for one in cls.methods}
        return f"{classes[0].name} has no method {methods!r}{suggestion(methods, names)}"
    why = f"no loaded class has code for {text!r}" + ("" if needed is None else f" that {needed}")
    owner, member = place["owners"], place["members"]
    if owner is None or "[]" in owner:
        return why
    owners = vm.classes(owner)
    if not len(owners):
        return f"{why}: no class {owner!r} is loaded{suggestion(owner, vm.classes.near(owner))}"
    if member is None:
        return why
    names = set()
    methods_there = []
    for cls in owners[:_MOST_READ]:
        for one in (cls, *cls.superclasses, *cls.all_interfaces):
            names |= {found.name for found in (*one.fields, *one.methods)}
            methods_there += [found for found in one.methods if fnmatchcase(found.name, member)]
    if any(fnmatchcase(name, member) for name in names):
        types = place.get("member_descriptors")
        if types is None or any(fnmatchcase(one.signature, types) for one in methods_there):
            return why
        there = ", ".join(
            dict.fromkeys(f"{one.name}({', '.join(one.parameter_types)})" for one in methods_there)
        )
        return f"{why}: {owners[0].name} has {there}"
    return f"{why}: {owners[0].name} has no {member!r}{suggestion(member, names)}"


def _has_method(classes: Sequence[Any], pattern: str) -> bool:
    return any(fnmatchcase(one.name, pattern) for cls in classes for one in cls.methods)


def _annotations(classes: Sequence[Any]) -> set[str]:
    """The annotations of some classes and their methods."""
    found: set[str] = set()
    for cls in classes[:_MOST_READ]:
        try:
            read = cls.class_file
        except Error:
            continue  # arrays and hidden classes have none
        for one in (read, *read.methods):
            found |= {annotation.type for annotation in one.annotations}
    return found


__all__ = ["check_conditions", "unmatched_place"]
