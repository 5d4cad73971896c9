"""The emulating engines: each session makes one of every class here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from jvmti.emulation.declared import Engine
    from jvmti.model.vm import VM

ENGINES: tuple[Callable[[VM], Engine], ...] = ()
"""Later ones are asked first."""

__all__ = ["ENGINES"]
