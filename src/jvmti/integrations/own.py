"""Inspects the JVM in the caller's own process, such as JPype's.

A process cannot be its own controller. The agent waits for the controller's answer, the controller
needs Python's interpreter lock to answer, and the thread with that lock may itself wait for the
JVM: for a class to load, for a suspended thread, for a heap walk. So the controller is a second
process, which receives functions to call.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from multiprocessing import Pipe
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from jvmti.interface.errors import TargetLost
from jvmti.interface.frozen import frozen
from jvmti.target.errors import NotAJvm
from jvmti.target.options import AgentOptions
from jvmti.target.processes.search import inspect

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from jvmti.model.vm import VM

P = ParamSpec("P")
R = TypeVar("R")

_START = (
    "import sys; sys.path[:] = sys.argv[2:]; from jvmti.integrations.controller import main; main()"
)
_GRACE = 10.0  # seconds for the controller to leave the JVM


class RemoteTraceback(Exception):
    """The traceback of an exception in the controller, as the cause of the one raised here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@frozen
class RemoteObject:
    """Stands for an object in a controller; see `Controller.keep`."""

    key: str
    """Its name there."""
    description: str
    """Its repr there, shortened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _resolve, (self.key, self.description)


class Controller:
    """A process that is attached to the JVM of this one; `jvmti.attach_self` starts it.

    It is a context manager: leaving the block ends the session and the process.

    Attributes:
        pid: its process id.
    """

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection) -> None:
        self.pid = process.pid
        self._process = process
        self._connection = connection
        self._lock = threading.Lock()

    def call(
        self, function: Callable[Concatenate[VM, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Call a function in the controller, with the JVM as its first argument.

        The session lasts from one call to the next, with its handlers and streams. The function is
        copied with the objects that it refers to; modules are imported there. Concurrent Python
        threads wait for one another.

        Args:
            function: it may be a lambda or one of the main program. It must not need anything from
                this process, which may be blocked.
            args: further arguments, which are copied.
            kwargs: keyword arguments, which are copied.

        Returns:
            A copy of the function's result. Objects of the model do not leave the controller:
            return names and numbers.

        Raises:
            TypeError: the function, an argument or the result cannot be copied.
            TargetLost: the controller has ended.
            Exception: the function's exception, with its traceback as the cause. After an exception
                here during the wait, such as ``KeyboardInterrupt``, the session is over.
        """
        result: R = self._call(function, args, kwargs, keeping=False)
        return result

    def keep(
        self, function: Callable[Concatenate[VM, P], Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> RemoteObject:
        """Call a function in the controller and keep its result there.

        Args:
            function, args, kwargs: as for `call`.

        Returns:
            A stand-in for the result: as an argument of a later call it becomes the object itself.
            The controller keeps it until the session ends.

        Raises:
            Exception: as for `call`.
        """
        return RemoteObject(*self._call(function, args, kwargs, keeping=True))

    def close(self) -> None:
        """End the session and the process; an unfinished call is abandoned."""
        if self._lock.acquire(blocking=False):
            try:
                self._connection.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_GRACE)
            finally:
                self._lock.release()
        # The agent also undoes the work of a killed controller.
        self._process.kill()
        self._process.wait()

    @property
    def closed(self) -> bool:
        """Whether the session is over."""
        return self._connection.closed or self._process.poll() is not None

    def __enter__(self) -> Controller:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Controller {self.pid} ({'closed' if self.closed else 'open'})>"

    def _attach(self, wanted: dict[str, Any]) -> None:
        self._ask((os.getpid(), wanted))

    def _call(self, function: Any, args: Any, kwargs: Any, *, keeping: bool) -> Any:
        if not callable(function):
            raise TypeError(f"expected a function, not {type(function).__name__}")
        return self._ask((function, args, kwargs, keeping))

    def _ask(self, question: Any) -> Any:
        # Only here, because cloudpickle is an extra.
        from jvmti.integrations.copying import copied

        try:
            request = copied(question)
        except Exception as error:
            raise TypeError(
                f"the function or an argument cannot be copied to the controller: {error}"
            ) from error
        with self._lock:
            answer = self._exchange(request)
        succeeded, value, where = pickle.loads(answer)
        if succeeded:
            return value
        raise value from RemoteTraceback(where)

    def _exchange(self, request: bytes) -> bytes:
        if self._connection.closed:
            raise TargetLost("the controller has been closed; jvmti.attach_self() starts another")
        try:
            self._connection.send_bytes(request)
            return self._connection.recv_bytes()
        except (EOFError, OSError):
            self._connection.close()
            status = self._process.wait()
            raise TargetLost(
                f"the controller process {self.pid} has ended (status {status}); "
                "jvmti.attach_self() starts another"
            ) from None
        except BaseException:
            # The answer is no longer needed, and threads that the call suspended must resume.
            self._connection.close()
            self._process.kill()
            self._process.wait()
            raise


def attach_self(
    *,
    timeout: float = 10.0,
    capabilities: str | Iterable[str] = (),
    options: AgentOptions | None = None,
    library: str | os.PathLike[str] | None = None,
) -> Controller:
    """Attach to the JVM in this process, such as JPype's, from a process of its own.

    Args:
        timeout: total seconds until the session is open.
        capabilities: names of capabilities to add to ``vm.env``, or ``"all"`` for all available.
        options: further options for the agent.
        library: the agent library, if not the packaged one.

    Returns:
        The attached process; `Controller.call` calls a function there.

    Raises:
        NotAJvm: no JVM has been started in this process.
        AttachError: it is not reachable; the message says what was tried.
        NotAvailable: a capability is not available.
        ImportError: cloudpickle is not installed; ``pip install jvmti[jpype]`` does it.
    """
    _need_cloudpickle()
    try:
        inspect(os.getpid())
    except NotAJvm:
        raise NotAJvm(
            "there is no JVM in this process: start it first, as jpype.startJVM() does; "
            "jvmti.attach is for those of other processes"
        ) from None
    ours, theirs = Pipe()
    try:
        with theirs:
            # The terminal's Ctrl-C is for this process, which then ends the other.
            process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno()), *sys.path],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
    except BaseException:
        ours.close()
        raise
    controller = Controller(process, ours)
    wanted = {
        "timeout": timeout,
        "capabilities": capabilities if isinstance(capabilities, str) else tuple(capabilities),
        "options": options,
        "library": library,
    }
    try:
        controller._attach(wanted)
    except BaseException:
        controller.close()
        raise
    return controller


def _resolve(key: str, description: str) -> Any:
    """Resolve a `RemoteObject` on arrival: to the object, in the process that keeps it."""
    from jvmti.integrations import controller

    return controller.object_of(key, description)


def _need_cloudpickle() -> None:
    try:
        import cloudpickle  # noqa: F401
    except ImportError:
        raise ImportError(
            "cloudpickle, which copies functions to the controller, is not installed: "
            "pip install jvmti[jpype]"
        ) from None


__all__ = ["Controller", "RemoteObject", "attach_self"]
