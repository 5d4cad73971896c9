"""Breakpoints."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import LIVE, function
from jvmti.interface.types import Location
from jvmti.refs import Method


class BreakpointFunctions(Calling):
    """The functions of the chapter "Breakpoint"."""

    __slots__ = ()

    @function(
        38,
        phase=LIVE,
        capabilities=("can_generate_breakpoint_events",),
        errors=("DUPLICATE",),
        record="set_breakpoint",
        overridden=True,
    )
    def set_breakpoint(self, method: Method, location: Location) -> None:
        """Ask for a ``Breakpoint`` event whenever an instruction is about to run.

        Redefining the class clears it.

        Args:
            method: the method.
            location: the index of the instruction in the method's bytecodes.

        Raises:
            InvalidMethodID: `method` is not a method.
            InvalidLocation: no instruction begins there.
            Duplicate: the instruction has a breakpoint already.
            MustPossessCapability: ``can_generate_breakpoint_events`` has not been added.

        Example:
            >>> env.set_breakpoint(price, 0)
            >>> with env.on("Breakpoint", lambda event: print("in", event.method.name)):
            ...     jni.call_static_int_method(shop, price, [3])
            in price
            15
            >>> env.clear_breakpoint(price, 0)

        JVM TI: SetBreakpoint.
        """

    @function(
        39,
        phase=LIVE,
        capabilities=("can_generate_breakpoint_events",),
        errors=("NOT_FOUND",),
        record="clear_breakpoint",
        overridden=True,
    )
    def clear_breakpoint(self, method: Method, location: Location) -> None:
        """Remove a breakpoint.

        Args:
            method: the method.
            location: the index of the instruction in the method's bytecodes.

        Raises:
            InvalidMethodID: `method` is not a method.
            InvalidLocation: no instruction begins there.
            NotFound: there is no breakpoint at it.
            MustPossessCapability: ``can_generate_breakpoint_events`` has not been added.

        Example:
            >>> env.set_breakpoint(price, 0)
            >>> env.clear_breakpoint(price, 0)
            >>> env.clear_breakpoint(price, 0)
            Traceback (most recent call last):
            jvmti.errors.NotFound: ...

        JVM TI: ClearBreakpoint.
        """
