"""Interception of JNI calls, VM-wide, through the JNI function table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import START, CallbackOf, function
from jvmti.interface.types import Address


class JNIFunctionInterceptionFunctions(Calling):
    """The functions of the chapter "JNI Function Interception"."""

    __slots__ = ()

    @function(
        120,
        phase=START,
        callback=CallbackOf.JNI_FUNCTIONS,
        overridden=True,
        c_name="SetJNIFunctionTable",
        runs_java=True,
    )
    def set_jni_function_table(self, function_table: Mapping[str, Callable[..., Any]]) -> None:
        """Send the JNI calls of the whole VM, present and future, to Python functions.

        The table replaces the previous one as a whole; an empty one restores the VM's own, and so
        does the end of the session. One session has it at a time.

        A function receives the original and the arguments of the call: ``original()`` makes that
        call and returns its result, ``original(...)`` with arguments makes another. The function's
        result is the result of the call, unless that is an address: then the original's counts. It
        runs like an event handler, while the calling thread waits for at most 10 seconds. If it
        raises, the VM makes the call; an exception that it throws with ``jni.throw`` or
        ``jni.throw_new`` reaches native code instead of the call and of a pending exception. Calls
        of this controller are not intercepted. The forms with ``...``, ``va_list`` and ``jvalue *``
        of a function have a name each, and all receive the Java arguments as a list.

        Memory that a call passes or returns (of regions, elements, characters, ``isCopy``) is an
        array, `jvmti.events.jni_buffers.JniBuffer`: ``buf[0]``, ``buf[1:3]`` and
        ``numpy.asarray(buf)`` read it, assignments write if C may write. That of a direct buffer
        has bytes. It is the program's own memory, and valid until the call continues.

        Args:
            function_table: the functions by JNI name, such as ``NewGlobalRef``; other JNI functions
                stay the VM's own.

        Raises:
            NotAvailable: another session has the table; the message names it.
            ValueError: there is no such function, it begins or ends a critical region, in which a
                thread must not wait, or `JNI` has no method for it; ``vm.jni.count`` counts them.

        Example:
            >>> def found(original, name):
            ...     return original()  # and here we would see who looks for which class
            >>> env.set_jni_function_table({"FindClass": found})
            >>> env.set_jni_function_table({})  # the VM's own again

        JVM TI: SetJNIFunctionTable.
        """

    @function(121, phase=START, overridden=True, c_name="GetJNIFunctionTable")
    def get_jni_function_table(self) -> list[Address]:
        """Return a copy of the JNI function table that is in force.

        Returns:
            The addresses of its entries in the order of the slots, for information only; those of
            intercepted functions lie in the agent.

        Example:
            >>> len(env.get_jni_function_table()) >= 234
            True

        JVM TI: GetJNIFunctionTable.
        """
