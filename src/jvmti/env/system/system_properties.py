"""System properties as the VM sees them, which may differ from ``java.lang.System``'s."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import ONLOAD, ONLOAD_ONLY, function
from jvmti.interface.types import Text


class SystemPropertiesFunctions(Calling):
    """The functions of the chapter "System Properties"."""

    __slots__ = ()

    @function(130, phase=ONLOAD)
    def get_system_properties(self) -> list[Text]:
        """Return the names of the VM's system properties.

        Returns:
            The keys that `get_system_property` knows; there may be more later.

        Example:
            >>> "java.vm.name" in env.get_system_properties()
            True

        JVM TI: GetSystemProperties.
        """

    @function(131, phase=ONLOAD, errors=("NOT_AVAILABLE",))
    def get_system_property(self, property: Text) -> Text:
        """Return the value of one of the VM's system properties.

        Args:
            property: the key, as ``java.class.path``.

        Returns:
            The value; later changes by Java code do not show.

        Raises:
            NullPointer: `property` is ``None``.
            NotAvailable: the VM has no such property.

        Example:
            >>> env.get_system_property("java.vm.specification.name")
            'Java Virtual Machine Specification'

        JVM TI: GetSystemProperty.
        """

    @function(132, phase=ONLOAD_ONLY, errors=("NOT_AVAILABLE",), overridden=True)
    def set_system_property(self, property: Text, value: Text | None = None) -> None:
        """Set one of the VM's system properties, before Java code runs.

        Args:
            property: the key.
            value: the value; ``None`` sets nothing, and only checks whether the property is
                writable. (HotSpot 11 to 25 crash with a null; the agent checks in another way.)

        Raises:
            NullPointer: `property` is ``None``.
            NotAvailable: the VM has no such property, or it cannot be written.
            WrongPhase: the OnLoad phase is over.

        Example:
            >>> with jvmti.launch(java, hold=True) as held:  # in the OnLoad phase
            ...     held.env.set_system_property("java.vm.info", "watched")
            ...     held.env.get_system_property("java.vm.info")
            'watched'

        JVM TI: SetSystemProperty.
        """
