"""Chooses loaded classes: by their names, their supertypes and their loaders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jvmti.interface.signatures import matcher
from jvmti.refs import ClassLoader
from jvmti.tracing.traced_vm import TracedVM

_ARRAY = re.compile(rb"\[")


def check_loader(loader: object) -> None:
    """Check that what is to choose classes by their loader is one, or nothing.

    Raises:
        TypeError: it is something else.
    """
    if loader is not None and not isinstance(loader, ClassLoader):
        raise TypeError(
            f"loader= is a class loader, such as vm.find_class(…).loader, not {loader!r}; a "
            "pattern for its name or class goes behind the place: 'com.acme.*.* loader shop'"
        )


def named(classes: Sequence[Any], pattern: str | None) -> Sequence[Any]:
    """Those of some classes whose names match a shell pattern.

    Args:
        classes: the classes.
        pattern: the pattern; ``None`` for all.
    """
    if pattern is None:
        return classes
    matches = matcher(pattern)
    return [one for one in classes if matches(one.name)]


def selected(
    vm: TracedVM,
    classes: Sequence[Any],
    extends: str | None,
    loader_pattern: str | None,
    loader: ClassLoader | None,
) -> Sequence[Any]:
    """Those of some classes that have such supertypes and such a loader.

    Args:
        vm: the VM.
        classes: the classes.
        extends: a pattern for one of their superclasses or interfaces, however far up.
        loader_pattern: a pattern for their loader.
        loader: the loader itself.
    """
    if not classes or (extends is None and loader_pattern is None and loader is None):
        return classes
    chosen = vm._agent.select_classes(classes, extends, loader_pattern, loader)
    return [one for one, is_chosen in zip(classes, chosen, strict=True) if is_chosen]


def referring(vm: TracedVM, classes: Sequence[Any], *patterns: str | None) -> Sequence[Any]:
    """Those of some classes whose constants have what patterns leave no choice about.

    Args:
        vm: the VM.
        classes: the classes.
        patterns: for a member and its class; ``None`` for all.
    """
    pools = vm.lookup_env.map.get_constant_pool(classes)
    needed = [
        max(re.split(r"\*|\?|\[.*?\]", pattern.replace(".", "/")), key=len).encode()
        for pattern in patterns
        if pattern is not None
    ]
    # An array type of primitives is no constant.
    needed = [one for one in needed if not _ARRAY.search(one)]
    return [
        one
        for one, pool in zip(classes, pools.constant_pool_bytes, strict=True)
        if all(text in pool for text in needed)
    ]


__all__ = ["check_loader", "named", "referring", "selected"]
