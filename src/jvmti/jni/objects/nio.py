"""Direct buffers: ``java.nio`` buffers over memory outside of the Java heap."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Address, Long
from jvmti.refs import Memory, Object


class BufferFunctions(Calling):
    """The functions of the chapter "NIO support"."""

    @jni_function(229, since="1.4", overridden=True)
    def new_direct_byte_buffer(self, address: Memory, capacity: Long) -> Object:
        """Make a direct ``java.nio.ByteBuffer`` over memory of the target.

        Deallocating the memory, as the end of the session does, makes its handle stale; the agent
        frees it once every buffer over it has been collected.

        Args:
            address: memory from ``Env.allocate``.
            capacity: how many of its bytes the buffer covers.

        Returns:
            The buffer.

        Raises:
            IllegalArgument: ``address`` is stale, or ``capacity`` is negative or more than the
                memory's size.
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> memory = env.allocate(64)
            >>> buffer = jni.new_direct_byte_buffer(memory, 64)
            >>> jni.get_direct_buffer_capacity(buffer)
            64
            >>> env.deallocate(memory)

        JNI: NewDirectByteBuffer.
        """

    @jni_function(230, since="1.4")
    def get_direct_buffer_address(self, buf: Object) -> Address:
        """Return the address of a direct buffer's memory.

        Args:
            buf: a direct ``java.nio.Buffer``.

        Returns:
            The address in the target, for information; 0 if ``buf`` is not a direct buffer or its
            memory is undefined.

        Raises:
            InvalidObject: ``buf`` is stale.

        Example:
            >>> memory = env.allocate(64)
            >>> buffer = jni.new_direct_byte_buffer(memory, 64)
            >>> jni.get_direct_buffer_address(buffer) > 0
            True
            >>> env.deallocate(memory)

        JNI: GetDirectBufferAddress.
        """

    @jni_function(231, since="1.4")
    def get_direct_buffer_capacity(self, buf: Object) -> Long:
        """Return the capacity of a direct buffer.

        Args:
            buf: a direct ``java.nio.Buffer``.

        Returns:
            How many elements it holds, in units of the buffer's type; -1 if ``buf`` is not a direct
            buffer.

        Raises:
            InvalidObject: ``buf`` is stale.

        Example:
            >>> jni.get_direct_buffer_capacity(prices)  # no buffer
            -1

        JNI: GetDirectBufferCapacity.
        """
