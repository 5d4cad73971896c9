"""General functions: phase, version, error names, storage, verbose output, disposal."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.constants import JlocationFormat, VerboseFlag, VMPhase
from jvmti.interface.declaration import ANY, function
from jvmti.interface.errors import ErrorCode
from jvmti.interface.types import Boolean, Int, StoredObject, Text


class GeneralFunctions(Calling):
    """The functions of the chapter "General"."""

    __slots__ = ()

    @function(133, phase=ANY)
    def get_phase(self) -> VMPhase:
        """Return the phase that the VM is in.

        Returns:
            The phase, from OnLoad to dead.

        Example:
            >>> env.get_phase()
            <VMPhase.LIVE: 4>

        JVM TI: GetPhase.
        """

    @function(127, phase=ANY, overridden=True)
    def dispose_environment(self) -> None:
        """Dispose of this environment, with its capabilities, events and native method prefixes.

        The environment cannot be used afterwards.  The specification leaves suspended threads,
        memory and raw monitors as they are; the agent looks after those of its sessions.

        Example:
            >>> mine = vm.new_env()
            >>> mine.dispose_environment()
            >>> mine.get_capabilities()
            Traceback (most recent call last):
            jvmti.errors.InvalidEnvironment: ...

        JVM TI: DisposeEnvironment.
        """

    @function(148, phase=ANY, callback_safe=True, overridden=True)
    def set_environment_local_storage(self, data: StoredObject = None) -> None:
        """Attach a Python object to this environment.

        The object stays with the controller; the VM keeps a token for it.

        Args:
            data: any object; ``None`` clears the storage.

        Example:
            >>> env.set_environment_local_storage({"orders": 0})
            >>> env.get_environment_local_storage()
            {'orders': 0}
            >>> env.set_environment_local_storage(None)

        JVM TI: SetEnvironmentLocalStorage.
        """

    @function(147, phase=ANY, callback_safe=True, overridden=True)
    def get_environment_local_storage(self) -> StoredObject:
        """Return the object that `set_environment_local_storage` attached to this environment.

        Returns:
            The same object, or ``None`` if none was set.

        Example:
            >>> env.get_environment_local_storage()  # nothing has been stored

        JVM TI: GetEnvironmentLocalStorage.
        """

    @function(88, phase=ANY)
    def get_version_number(self) -> Int:
        """Return the version of JVM TI that the VM implements.

        Returns:
            A number with the fields of `VersionMask` and `VersionShift`: interface type, major,
            minor and micro version.

        Example:
            >>> env.get_version_number() >> 16 & 0xFFF >= 11  # the major version
            True

        JVM TI: GetVersionNumber.
        """

    @function(128, phase=ANY)
    def get_error_name(self, error: ErrorCode | str) -> Text:
        """Return the specification's name of an error code.

        Args:
            error: the code.

        Returns:
            The name, as ``JVMTI_ERROR_NOT_FOUND``.

        Raises:
            IllegalArgument: there is no such error.

        Example:
            >>> from jvmti.interface.errors import ErrorCode
            >>> env.get_error_name(ErrorCode.INVALID_THREAD)
            'JVMTI_ERROR_INVALID_THREAD'

        JVM TI: GetErrorName.
        """

    @function(150, phase=ANY, record="set_verbose_flag")
    def set_verbose_flag(self, flag: VerboseFlag | str, value: Boolean) -> None:
        """Switch verbose output of the VM on or off, for the whole VM.

        The VM writes it to its own output, not to the controller; the flag is restored when the
        controller leaves.

        Args:
            flag: the kind of output: garbage collection, classes, JNI or other.
            value: on or off.

        Raises:
            IllegalArgument: there is no such flag.

        Example:
            >>> from jvmti.interface.constants import VerboseFlag
            >>> env.set_verbose_flag(VerboseFlag.GC, True)  # the JVM logs collections to its output
            >>> env.set_verbose_flag(VerboseFlag.GC, False)

        JVM TI: SetVerboseFlag.
        """

    @function(129, phase=ANY, c_name="GetJLocationFormat")
    def get_jlocation_format(self) -> JlocationFormat:
        """Return the meaning of locations on this VM.

        Returns:
            ``JVMBCI`` on HotSpot: an index into the bytecodes of the method.

        Example:
            >>> env.get_jlocation_format()
            <JlocationFormat.JVMBCI: 1>

        JVM TI: GetJLocationFormat.
        """
