"""Services that handles use from the layers above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from jvmti.wire.services import Service

if TYPE_CHECKING:
    from jvmti.refs.handles import ExtensionFunction, Memory


class MemoryAccess(Protocol):
    """Reads and writes memory that was allocated by JVM TI."""

    def read_memory(self, memory: Memory, offset: int, length: int, /) -> bytes:
        """Read a part of it."""

    def write_memory(self, memory: Memory, offset: int, data: bytes, /) -> None:
        """Change a part of it."""


class ExtensionCaller(Protocol):
    """Calls functions of the VM's own."""

    def call(self, function: ExtensionFunction, arguments: tuple[Any, ...], /) -> Any:
        """Call one."""


MEMORY: Service[MemoryAccess] = Service("access to memory")
EXTENSIONS: Service[ExtensionCaller] = Service("extensions")

__all__ = ["EXTENSIONS", "MEMORY", "ExtensionCaller", "MemoryAccess"]
