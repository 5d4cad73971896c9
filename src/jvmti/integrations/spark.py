"""The JVMs behind a PySpark session: its driver's, and those of its executors.

The session's own gateway knows the driver. Executors have their application and id on their command
line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from jvmti.interface.frozen import frozen
from jvmti.target.errors import JvmDied, NoSuchProcess, TargetNotFound
from jvmti.target.processes.search import Process, inspect, processes

if TYPE_CHECKING:
    from jvmti.model.vm import VM

T = TypeVar("T")

_DRIVER = "driver"  # what Spark calls the executor that is a thread of the driver
_CLOCKS = 2.0  # seconds by which two sources of a process's start time may differ


@frozen
class SparkExecutor:
    """An executor of a Spark application.

    Attributes:
        id: as in Spark's user interface: ``"0"``, ``"1"``, …; ``"driver"`` in local mode, where
            the driver's JVM does the work.
        address: its host, with the port of its block manager once known.
        process: its JVM; None if it is not visible from here, for instance on another machine.
    """

    id: str
    address: str
    process: Process | None

    def attach(self, **further: Any) -> VM:
        """Attach to the executor's JVM.

        Args:
            further: ``timeout``, ``capabilities``, ``options`` and ``library`` as for
                `jvmti.attach`.

        Raises:
            AttachError: it is not reachable; ``NoSuchProcess`` if it is not on this machine.
        """
        if self.process is None:
            raise NoSuchProcess(
                f"the JVM of executor {self.id} at {self.address} cannot be seen from here; attach "
                "to it where it runs, where 'jvmti ps' lists it as an ExecutorBackend"
            )
        from jvmti import attach

        return attach(self.process, **further)

    def __repr__(self) -> str:
        jvm = "elsewhere" if self.process is None else f"JVM {self.process.pid}"
        return f"<SparkExecutor {self.id} at {self.address}, {jvm}>"


def attach_spark(session: Any, **further: Any) -> VM:
    """Attach to the JVM of a PySpark driver.

    Args:
        session: a ``SparkSession`` or a ``SparkContext``, stopped or not.
        further: ``timeout``, ``capabilities``, ``options`` and ``library`` as for `jvmti.attach`.

    Returns:
        The driver's JVM; a context manager that detaches at the end of its block.

    Raises:
        AttachError: it is not reachable; ``NoSuchProcess`` if it is not on this machine, as with
            Spark Connect.
        TypeError: `session` is neither a session nor a context.
    """
    from jvmti import attach

    return attach(_driver(_gateway(_context(session))), **further)


def spark_executors(session: Any) -> list[SparkExecutor]:
    """The active executors of a PySpark session, in the order of their ids.

    The driver learns of a new executor a moment after it has started.

    Args:
        session: a ``SparkSession`` or a ``SparkContext``.

    Raises:
        AttachError: the driver does not answer.
        ValueError: the session has been stopped.
        TypeError: `session` is neither a session nor a context.
    """
    context = _context(session)
    gateway = _gateway(context)
    if context._jsc is None:
        raise ValueError("the Spark session has been stopped, and its executors with it")
    # As Spark's own user interface lists them: including the driver, which executes in local mode
    # only.
    addresses = _ask(lambda: _addresses(context))
    driver = addresses.pop(_DRIVER, None)
    if driver is not None and _ask(lambda: context._jsc.sc().isLocal()):
        return [SparkExecutor(_DRIVER, driver, _driver(gateway))]
    running = {
        _option(process, "--executor-id"): process
        for process in processes()
        if process.main.endswith("ExecutorBackend")
        and _option(process, "--app-id") == context.applicationId
    }
    return [
        SparkExecutor(executor, address, running.get(executor))
        for executor, address in sorted(addresses.items(), key=lambda item: item[0].zfill(9))
    ]


def _addresses(context: Any) -> dict[str, str]:
    summaries = context._jsc.sc().statusStore().executorList(True)
    listed = [summaries.apply(at) for at in range(summaries.size())]
    return {summary.id(): summary.hostPort() for summary in listed}


def _option(process: Process, name: str) -> str | None:
    """The argument after an option on a program's command line."""
    words = dict(zip(process.arguments, process.arguments[1:], strict=False))
    return words.get(name)


def _context(session: Any) -> Any:
    """The session's context, which every classic session has."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise NoSuchProcess(
            "this is a session of Spark Connect: its JVM belongs to the server that it talks to. "
            "Attach to that on the machine where it runs; 'jvmti ps' lists it as a SparkSubmit"
        )
    context = getattr(session, "sparkContext", session)
    if not hasattr(context, "_gateway"):
        raise TypeError(
            f"expected a SparkSession or SparkContext of PySpark, not {type(session).__name__}"
        )
    return context


def _gateway(context: Any) -> Any:
    if context._gateway is None:
        raise NoSuchProcess("PySpark has started no JVM in this process")
    return context._gateway


def _driver(gateway: Any) -> Process:
    """The driver's process, as its own JVM reports it."""

    def identity() -> tuple[int, int]:
        handle = gateway.jvm.java.lang.ProcessHandle.current()
        return handle.pid(), handle.info().startInstant().get().toEpochMilli()

    pid, milliseconds = _ask(identity)
    try:
        process = inspect(pid)
    except TargetNotFound:
        process = None
    # In a container, or behind a forwarded port, another process may have that pid here.
    if process is None or abs(process.started - milliseconds / 1000) > _CLOCKS:
        raise NoSuchProcess(
            f"the driver's JVM says that it is process {pid}, and that is another or none here: "
            "it runs in a container or on another machine. Attach to it there, or from outside of "
            "the container, where 'jvmti ps' lists it as a SparkSubmit"
        )
    return process


def _ask(question: Callable[[], T]) -> T:
    """The answer of the driver's JVM. Raises JvmDied if it has ended."""
    from py4j.protocol import Py4JError

    try:
        return question()
    except (Py4JError, OSError) as error:
        raise JvmDied(
            f"the driver's JVM does not answer through PySpark's gateway ({error}); has it ended? "
            "A new SparkSession starts another"
        ) from error


__all__ = ["SparkExecutor", "attach_spark", "spark_executors"]
