"""Capabilities: the available optional features, and those that this environment holds."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.capabilities import Capabilities, WantedCapabilities
from jvmti.interface.declaration import ANY, ONLOAD, function


class CapabilityFunctions(Calling):
    """The functions of the chapter "Capability"."""

    __slots__ = ()

    @function(140, phase=ONLOAD)
    def get_potential_capabilities(self) -> Capabilities:
        """Return the capabilities that this environment could have now.

        Returns:
            Those it has, and those it could add in this phase while no other environment holds them
            alone.

        Example:
            >>> "can_tag_objects" in [one.name for one in env.get_potential_capabilities()]
            True

        JVM TI: GetPotentialCapabilities.
        """

    @function(142, phase=ONLOAD, errors=("NOT_AVAILABLE",), overridden=True)
    def add_capabilities(self, capabilities: WantedCapabilities) -> None:
        """Add capabilities to those that this environment holds.

        Args:
            capabilities: what to add; either all are added or none.

        Raises:
            NotAvailable: one of them is not available on this VM, in this phase, or while another
                environment holds it.

        Example:
            >>> mine = vm.new_env()
            >>> mine.add_capabilities({"can_tag_objects", "can_get_line_numbers"})
            >>> mine.set_tag(order, 7)
            >>> mine.dispose_environment()

        JVM TI: AddCapabilities.
        """

    @function(143, phase=ONLOAD, overridden=True)
    def relinquish_capabilities(self, capabilities: WantedCapabilities) -> None:
        """Relinquish capabilities, so that other environments may take them.

        Args:
            capabilities: what to relinquish; others are ignored.

        Example:
            >>> mine = vm.new_env()
            >>> mine.add_capabilities({"can_get_line_numbers"})
            >>> mine.relinquish_capabilities({"can_get_line_numbers"})
            >>> mine.get_line_number_table(price)
            Traceback (most recent call last):
            jvmti.errors.MustPossessCapability: ...
            >>> mine.dispose_environment()

        JVM TI: RelinquishCapabilities.
        """

    @function(89, phase=ANY)
    def get_capabilities(self) -> Capabilities:
        """Return the capabilities that this environment has.

        Returns:
            Those that were added and not relinquished.

        Example:
            >>> mine = vm.new_env()
            >>> mine.get_capabilities()
            <Capabilities: 0>
            >>> mine.add_capabilities({"can_tag_objects"})
            >>> [one.name for one in mine.get_capabilities()]
            ['can_tag_objects']
            >>> mine.dispose_environment()

        JVM TI: GetCapabilities.
        """
