"""The whole JVM Tool Interface for Python, on a running Java virtual machine.

::

    import jvmti

    with jvmti.attach(4711) as vm:        # or "MyMainClass", or jvmti.launch(["java", "App"])
        env = vm.env                      # JVM TI, one to one
        for thread in env.get_all_threads():
            print(env.get_thread_info(thread).name, env.get_thread_state(thread))
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.reexports import reexports

if TYPE_CHECKING:
    from jvmti import errors, heap, profile
    from jvmti.env.environment import Env
    from jvmti.instrumentation.library import instrument
    from jvmti.integrations.own import attach_self
    from jvmti.integrations.spark import attach_spark, spark_executors
    from jvmti.interface.capabilities import Capabilities
    from jvmti.interface.errors import Error, JavaException, JvmtiError
    from jvmti.interface.errors import TargetLost as TargetLost
    from jvmti.jni.calls import JNI
    from jvmti.model.vm import VM
    from jvmti.report.progress import progress
    from jvmti.target.errors import AttachError
    from jvmti.target.launch import java_tool_options
    from jvmti.target.options import AgentOptions
    from jvmti.target.processes.search import Process, processes

__version__ = "0.1.0"


def attach(
    target: int | str | Process,
    *,
    timeout: float = 10.0,
    capabilities: str | Iterable[str] = (),
    emulate: bool = False,
    options: AgentOptions | None = None,
    library: str | os.PathLike[str] | None = None,
) -> VM:
    """Attach to a running JVM.

    Args:
        target: a process id, or part of a main class or jar name that matches exactly one JVM.
        timeout: total seconds until the session is open.
        capabilities: names of capabilities to add to ``vm.env``, or ``"all"`` for all available.
        emulate: environments also get capabilities that the VM does not grant and this package
            emulates; `docs/emulation.md` lists the differences. Without it ``vm.env`` is the VM's
            own JVM TI. The model always uses them.
        options: further options for the agent.
        library: the agent library, if not the packaged one.

    Returns:
        The JVM; a context manager that detaches at the end of its block.

    Raises:
        AttachError: the JVM is not found or not reachable; the message says what was tried. For a
            JVM in this process use `attach_self`.
        NotAvailable: a capability is not available.
    """
    from jvmti.model.vm import VM, add_capabilities
    from jvmti.target import attach as way

    connection = way.attach(target, timeout=timeout, options=options, library=library)
    vm = VM(connection, timeout=timeout, emulate=emulate)
    try:
        add_capabilities(vm, capabilities)
    except BaseException:
        vm.detach()
        raise
    return vm


def launch(
    argv: Sequence[str | os.PathLike[str]],
    *,
    hold: bool = False,
    capabilities: str | Iterable[str] = (),
    emulate: bool = False,
    timeout: float = 30.0,
    options: AgentOptions | None = None,
    library: str | os.PathLike[str] | None = None,
    **further: Any,
) -> VM:
    """Start a Java program with the agent in it from the beginning.

    Args:
        argv: the command, such as ``["java", "-jar", "app.jar"]``.
        hold: return while the VM is held in the OnLoad phase, where all capabilities are available;
            ``vm.proceed()`` lets it start. Otherwise it starts at once, and the call returns when
            it is live.
        capabilities: names of capabilities to add to ``vm.env`` in the OnLoad phase, or
            ``"all"`` for all that are available.
        emulate: as for `attach`, for capabilities requested when the VM is live.
        timeout: total seconds until the session is open.
        options: further options for the agent.
        library: the agent library, if not the packaged one.
        further: ``env``, ``cwd``, ``stdin``, ``stdout``, ``stderr`` and ``start_new_session`` as in
            `subprocess.Popen`; ``main`` names the JVM to wait for if the command starts several.

    Returns:
        The JVM; ``vm.popen`` is the process that was started.

    Raises:
        AttachError: the program did not start, or ended before it was live.
        NotAvailable: a capability is not available; this ends the program.
    """
    from jvmti.interface.errors import TargetLost
    from jvmti.model.vm import VM, add_capabilities
    from jvmti.target import launch as way
    from jvmti.target.errors import LaunchFailed

    connection = way.launch(argv, timeout=timeout, options=options, library=library, **further)
    popen = connection.popen
    assert popen is not None
    vm = None
    try:
        vm = VM(connection, timeout=timeout, emulate=emulate)
        add_capabilities(vm, capabilities)
        if not hold:
            vm.proceed(timeout)
    except BaseException as error:
        if vm is not None:
            vm.detach()
        connection.close()
        # The program belongs to this session, so do not leave it behind.
        lost = isinstance(error, TargetLost)
        way.end_program(popen, 2.0 if lost else 0.0)
        if lost:
            raise LaunchFailed(
                f"{popen.args!r} ended (exit status {popen.returncode}) before its JVM was live; "
                "its own output says why",
                popen.returncode,
            ) from error
        raise
    return vm


def _html(thing: object) -> str | None:
    from jvmti.report.html import html  # imported at its first use

    return html(thing)


def _progress(what: str) -> AbstractContextManager[display.Report]:
    from jvmti.report.progress import progress

    return progress(what)


def _follow(thing: Any) -> display.LiveView | None:
    from jvmti.report.profiles import LiveView
    from jvmti.report.progress import in_notebook

    return LiveView(thing, _html) if in_notebook() else None


display.set_renderers(_html, _progress, _follow)


if not TYPE_CHECKING:
    __getattr__, __dir__ = reexports(
        __name__,
        {
            "AgentOptions": "jvmti.target.options",
            "AttachError": "jvmti.target.errors",
            "Capabilities": "jvmti.interface.capabilities",
            "Env": "jvmti.env.environment",
            "Error": "jvmti.interface.errors",
            "JNI": "jvmti.jni.calls",
            "JavaException": "jvmti.interface.errors",
            "JvmtiError": "jvmti.interface.errors",
            "Process": "jvmti.target.processes.search",
            "TargetLost": "jvmti.interface.errors",
            "VM": "jvmti.model.vm",
            "attach_self": "jvmti.integrations.own",
            "attach_spark": "jvmti.integrations.spark",
            "errors": "jvmti.errors",
            "heap": "jvmti.heap",
            "instrument": "jvmti.instrumentation.library",
            "java_tool_options": "jvmti.target.launch",
            "processes": "jvmti.target.processes.search",
            "profile": "jvmti.profile",
            "progress": "jvmti.report.progress",
            "spark_executors": "jvmti.integrations.spark",
        },
    )

__all__ = [
    "JNI",
    "VM",
    "AgentOptions",
    "AttachError",
    "Capabilities",
    "Env",
    "Error",
    "JavaException",
    "JvmtiError",
    "Process",
    "attach",
    "attach_self",
    "attach_spark",
    "errors",
    "heap",
    "instrument",
    "java_tool_options",
    "launch",
    "processes",
    "profile",
    "progress",
    "spark_executors",
]
