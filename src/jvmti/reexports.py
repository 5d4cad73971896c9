"""Names that a package offers from its modules, imported at their first use.

A package whose ``__init__`` imports its own modules makes a circle, because importing a module
imports its package first.  Two threads that enter the circle at different places wait for each
other; Python ends that with a `DeadlockError` or a half-imported module.  A package of this kind
imports nothing until somebody asks for a name.  ``jvmti --help`` does not wait for modules that it
does not use, either.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["reexports"]


def reexports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        package: its ``__name__``.
        homes: for each name the module that has it; ``module:other`` if it is called otherwise
            there.  A name whose home is its own path is the module itself.
    """

    def attribute(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        path, _, other = home.partition(":")
        module = importlib.import_module(path)
        found = module if path == f"{package}.{name}" else getattr(module, other or name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return attribute, names
