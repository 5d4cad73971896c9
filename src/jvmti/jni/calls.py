"""JNI on a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from jvmti.interface.constants import RefType
from jvmti.interface.declaration import Declaration, name_of
from jvmti.interface.errors import InvalidObject
from jvmti.jni.interface import FUNCTIONS, Functions
from jvmti.refs import Object
from jvmti.text.printable import escaped
from jvmti.wire.batch import Batch, Deferred
from jvmti.wire.services import Service
from jvmti.wire.session import Session


class CallCounter(Protocol):
    """Counts the JNI calls of the VM."""

    def count(self, environment: int, names: tuple[str, ...], /) -> Any:
        """Begin to count; see `JNI.count`."""


COUNTER: Service[CallCounter] = Service("counts of JNI calls")


class JNI(Functions):
    """The JNI function table: a method for each function.

    Calls run on the service thread that faces the calling Python thread, or in a handler on the
    event's own thread.  Java exceptions are raised as `JavaException`.
    """

    __slots__ = ("_number", "_session", "_timeout")

    def __init__(self, session: Session, number: int = 1, timeout: float | None = None) -> None:
        self._session = session
        self._number = number
        self._timeout = timeout

    def _call(self, declaration: Declaration, arguments: tuple[Any, ...]) -> Any:
        return self._session.call(declaration, self._number, arguments, self._timeout)

    def get_object_ref_type(self, obj: Object) -> RefType:
        """As declared: returns `RefType.INVALID` for a stale reference, which is an error
        elsewhere."""
        try:
            return super().get_object_ref_type(obj)
        except InvalidObject:
            return RefType.INVALID

    def with_timeout(self, timeout: float | None) -> JNI:
        """The same with a time limit on every call, in seconds."""
        return JNI(self._session, self._number, timeout)

    def function(self, name: str) -> Callable[..., Any]:
        """A function by its name in the specification: ``vm.jni.function("FindClass")``.

        Raises:
            LookupError: no function has that name; the message suggests similar names.
        """
        method: Callable[..., Any] = getattr(self, name_of(name, FUNCTIONS))
        return method

    def count(self, *names: str) -> Any:
        """Count and time the JNI calls of the whole VM, in the agent and without Python.

        Calls of this package itself are left out::

            with vm.jni.count("FindClass", "CallObjectMethodV") as counting:
                ...
                print(counting.read()["FindClass"].calls)

        Args:
            names: the functions by their names in C; without any, all of them.

        Returns:
            A `Counting`: ``read()`` returns a `JniCount` for each function called so far,
            ``stop()`` or the end of the ``with`` block ends it.

        Raises:
            NotAvailable: another session has the JNI function table; the message names it.
        """
        return self._session.services[COUNTER].count(self._number, names)

    @contextmanager
    def batch(self) -> Iterator[Any]:
        """Collect calls and send them as one message; as `Env.batch`."""
        batch = Batch(self._session)
        yield BatchedJNI(batch, self._number)
        batch.send()

    @escaped
    def __repr__(self) -> str:
        return f"<JNI of {len(FUNCTIONS)} functions>"


class BatchedJNI(Functions):
    """JNI inside a batch: methods give a `Deferred`."""

    __slots__ = ("_batch", "_number")

    def __init__(self, batch: Batch, number: int) -> None:
        self._batch = batch
        self._number = number

    def _call(self, declaration: Declaration, arguments: tuple[Any, ...]) -> Deferred:
        return self._batch.add(declaration, self._number, arguments)
