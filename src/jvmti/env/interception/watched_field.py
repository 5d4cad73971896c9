"""Watched fields: events on reading and on writing a field.

Accesses from Java code and from JNI count, the controller's own included.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import LIVE, function
from jvmti.refs import Class, Field


class WatchedFieldFunctions(Calling):
    """The functions of the chapter "Watched Field"."""

    __slots__ = ()

    @function(
        41,
        phase=LIVE,
        capabilities=("can_generate_field_access_events",),
        errors=("DUPLICATE",),
        guard="field_of_class",
        record="set_field_access_watch",
    )
    def set_field_access_watch(self, klass: Class, field: Field) -> None:
        """Ask for a ``FieldAccess`` event whenever a field is about to be read.

        Args:
            klass: the class of the field.
            field: the field.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidFieldID: `field` is not a field of `klass`.
            Duplicate: it is already watched for reads.
            MustPossessCapability: ``can_generate_field_access_events`` has not been added.

        Example:
            >>> def read(event):
            ...     field = env.get_field_name(event.field_klass, event.field)
            ...     print(field.name, "in", event.method.name)
            >>> env.set_field_access_watch(order_class, number)
            >>> with env.on("FieldAccess", read):
            ...     jni.call_int_method(order, jni.get_method_id(order_class, "number", "()I"))
            number in number
            7
            >>> env.clear_field_access_watch(order_class, number)

        JVM TI: SetFieldAccessWatch.
        """

    @function(
        42,
        phase=LIVE,
        capabilities=("can_generate_field_access_events",),
        errors=("NOT_FOUND",),
        guard="field_of_class",
        record="clear_field_access_watch",
    )
    def clear_field_access_watch(self, klass: Class, field: Field) -> None:
        """Stop watching a field for reads.

        Args:
            klass: the class of the field.
            field: the field.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidFieldID: `field` is not a field of `klass`.
            NotFound: it is not watched for reads.
            MustPossessCapability: ``can_generate_field_access_events`` has not been added.

        Example:
            >>> env.set_field_access_watch(order_class, number)
            >>> env.clear_field_access_watch(order_class, number)

        JVM TI: ClearFieldAccessWatch.
        """

    @function(
        43,
        phase=LIVE,
        capabilities=("can_generate_field_modification_events",),
        errors=("DUPLICATE",),
        guard="field_of_class",
        record="set_field_modification_watch",
    )
    def set_field_modification_watch(self, klass: Class, field: Field) -> None:
        """Ask for a ``FieldModification`` event whenever a field is about to be written.

        Args:
            klass: the class of the field.
            field: the field.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidFieldID: `field` is not a field of `klass`.
            Duplicate: it is already watched for writes.
            MustPossessCapability: ``can_generate_field_modification_events`` has not been added.

        Example:
            >>> paid = jni.get_field_id(order_class, "paid", "Z")
            >>> env.set_field_modification_watch(order_class, paid)
            >>> with env.on("FieldModification", lambda event: print(event.new_value)):
            ...     jni.call_void_method(order, jni.get_method_id(order_class, "pay", "()V"))
            True
            >>> env.clear_field_modification_watch(order_class, paid)

        JVM TI: SetFieldModificationWatch.
        """

    @function(
        44,
        phase=LIVE,
        capabilities=("can_generate_field_modification_events",),
        errors=("NOT_FOUND",),
        guard="field_of_class",
        record="clear_field_modification_watch",
    )
    def clear_field_modification_watch(self, klass: Class, field: Field) -> None:
        """Stop watching a field for writes.

        Args:
            klass: the class of the field.
            field: the field.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidFieldID: `field` is not a field of `klass`.
            NotFound: it is not watched for writes.
            MustPossessCapability: ``can_generate_field_modification_events`` has not been added.

        Example:
            >>> env.set_field_modification_watch(order_class, number)
            >>> env.clear_field_modification_watch(order_class, number)

        JVM TI: ClearFieldModificationWatch.
        """
