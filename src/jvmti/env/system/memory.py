"""Memory of the target from the JVM TI allocator."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import ANY, function
from jvmti.interface.types import Long
from jvmti.refs import Memory


class MemoryFunctions(Calling):
    """The functions of the chapter "Memory Management"."""

    __slots__ = ()

    @function(
        46,
        phase=ANY,
        callback_safe=True,
        errors=("OUT_OF_MEMORY", "ILLEGAL_ARGUMENT"),
        overridden=True,
    )
    def allocate(self, size: Long) -> Memory:
        """Allocate memory in the target; free it with `deallocate`.

        Functions that return arrays and strings need no such care: the agent frees what the VM
        allocated for them before they return.

        Args:
            size: the number of bytes; 0 returns an empty block.

        Returns:
            A handle of the memory; its address stays in the target.

        Raises:
            OutOfMemory: the VM cannot provide that many bytes.
            IllegalArgument: `size` is negative.

        Example:
            >>> memory = env.allocate(64)
            >>> buffer = jni.new_direct_byte_buffer(memory, 64)
            >>> vm.write_direct_buffer(buffer, 0, b"tea")
            >>> vm.read_direct_buffer(buffer, 0, 3)
            b'tea'
            >>> env.deallocate(memory)

        JVM TI: Allocate.
        """

    @function(47, phase=ANY, callback_safe=True, overridden=True)
    def deallocate(self, mem: Memory | None) -> None:
        """Free memory that `allocate` returned.

        Args:
            mem: the memory; ``None`` is allowed and does nothing.

        Raises:
            IllegalArgument: it did not come from `allocate`, or has been freed already.

        Example:
            >>> memory = env.allocate(64)
            >>> env.deallocate(memory)
            >>> env.deallocate(memory)
            Traceback (most recent call last):
            jvmti.errors.IllegalArgument: ...

        JVM TI: Deallocate.
        """
