"""The VM that a session is about, for what the model makes of handles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.wire.services import Service

if TYPE_CHECKING:
    from jvmti.model.vm import VM

MODEL: Service[VM] = Service("model")

__all__ = ["MODEL"]
