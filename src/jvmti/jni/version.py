"""The version of JNI that the target JVM implements."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.constants import JNIVersion
from jvmti.interface.declaration import jni_function


class VersionFunctions(Calling):
    """The functions of the chapter "Version information"."""

    @jni_function(4, runs_java=False, early=True)
    def get_version(self) -> JNIVersion:
        """Return the version of JNI that the target supports.

        Returns:
            The version: major in the upper, minor in the lower 16 bits.  It changes only with Java
            versions that bring new functions, so Java 17 reports `JNIVersion.V10`.

        Example:
            >>> jni.get_version() >= 0x000A0000  # 10 is what Java 11 answers
            True

        JNI: GetVersion.
        """
