"""The emulating engines: each session makes one of every class here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.emulation.class_files import ClassFileEngine
from jvmti.emulation.locals import LocalsEngine
from jvmti.emulation.monitors import MonitorEngine
from jvmti.model.debug.late.probed_events import ProbedEventEngine
from jvmti.model.debug.late.probed_frames import ProbedFrameEngine

if TYPE_CHECKING:
    from jvmti.emulation.declared import Engine

ENGINES: tuple[type[Engine], ...] = (
    MonitorEngine,
    ClassFileEngine,
    LocalsEngine,
    ProbedEventEngine,
    ProbedFrameEngine,
)
"""Later ones are asked first."""

__all__ = ["ENGINES"]
