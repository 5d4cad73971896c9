"""Why the conditions of a pattern match nothing that is loaded."""

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


__all__ = ["check_conditions"]
