"""Why a target can, or cannot, be attached to.

Each check has an answer, a detail and advice. The only change to the JVM: if its attach socket is
not open, it is asked to open it, as by every attach tool. No agent is loaded.
"""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import time
from dataclasses import dataclass, field
from typing import Any

from jvmti.interface.frozen import frozen
from jvmti.target.agent_library import library_for_process
from jvmti.target.attach_files import attach_files
from jvmti.target.errors import (
    AgentLibraryMissing,
    AttachError,
    JvmDied,
    JvmStopped,
    NotPermitted,
    TargetNotFound,
)
from jvmti.target.hotspot import last_flag, protocol_version
from jvmti.target.processes import limits
from jvmti.target.processes.procfs import ProcessHandle, Status
from jvmti.target.processes.search import Process, find
from jvmti.text.printable import printable

__all__ = ["Check", "Diagnosis", "diagnose"]

_SOLO_AGENTS = re.compile(r"jdwp|yjpagent|asyncProfiler|lightrun|debug", re.IGNORECASE)
_AGENT_ARGUMENT = re.compile(r"-(?:agentlib|agentpath|javaagent|Xrun)(?::)?(.+)", re.DOTALL)
_DYNAMIC_WARNING_SINCE = 21


@frozen
class Check:
    """One question and its answer.

    Attributes:
        name: its name, one of a fixed set.
        ok: True: no obstacle; False: an obstacle; None: unknown, or worth knowing without being an
            obstacle.
        detail: what the check found.
        advice: what to do about it; empty if nothing.
    """

    name: str
    ok: bool | None
    detail: str
    advice: str = ""


@dataclass
class Diagnosis:
    """The result of :func:`diagnose`. The first failed check is usually the cause of the others."""

    target: str
    process: Process | None = None
    checks: list[Check] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is no obstacle."""
        return all(check.ok is not False for check in self.checks)

    def add(self, name: str, ok: bool | None, detail: str, advice: str = "") -> None:
        """Append a check."""
        self.checks.append(Check(name, ok, detail, advice))

    def as_json(self) -> dict[str, Any]:
        """The same as plain values for :mod:`json`."""
        process = None
        if self.process is not None:
            process = dataclasses.asdict(self.process)
            process["foreign_namespaces"] = sorted(self.process.foreign_namespaces)
        return {
            "target": self.target,
            "ok": self.ok,
            "process": process,
            "checks": [dataclasses.asdict(check) for check in self.checks],
        }


def diagnose(target: int | str | Process, *, timeout: float = 3.0) -> Diagnosis:
    """Examine a target, check by check; findings never raise.

    Args:
        target: pid, part of a main class or jar name, or a ``Process``.
        timeout: seconds for each answer of the JVM.
    """
    name = target.describe() if isinstance(target, Process) else str(target)
    diagnosis = Diagnosis(name)
    try:
        process = find(target)
    except (TargetNotFound, NotPermitted) as error:
        diagnosis.add("process", False, str(error), "check the pid or the name against 'jvmti ps'")
        return diagnosis
    diagnosis.process = process
    version = f", Java {process.java_version}" if process.java_version else ""
    diagnosis.add("process", True, f"JVM {process.describe()}{version}")
    try:
        with process.open() as handle:
            _examine(diagnosis, process, handle, timeout)
    except JvmDied as error:
        diagnosis.add("alive", False, str(error), "start it again")
    return diagnosis


def _examine(diagnosis: Diagnosis, process: Process, handle: ProcessHandle, timeout: float) -> None:
    status = handle.status()
    _check_state(diagnosis, process, status)
    reachable = _check_user(diagnosis, process)
    disabled = _check_flags(diagnosis, process)
    remaining = _check_resources(diagnosis, handle)
    helper_trouble = _check_files(diagnosis, process, handle, reachable, timeout)
    if disabled:
        diagnosis.add("answers", False, "not tried: attaching is disabled")
    elif status.stopped:
        diagnosis.add("answers", False, "not tried: the process is stopped")
    elif not remaining:
        diagnosis.add("answers", False, "not tried: too few descriptors or threads left")
    elif not reachable or helper_trouble:
        diagnosis.add("answers", None, "not tried: the JVM's files cannot be reached")
    else:
        _check_answers(diagnosis, process, handle, timeout)
    _check_agents(diagnosis, process, handle)


def _check_state(diagnosis: Diagnosis, process: Process, status: Status) -> None:
    pid = process.pid
    if status.stopped:
        diagnosis.add(
            "running",
            False,
            f"the process is stopped (state {status.state})",
            f"continue it: kill -CONT {pid}; if a debugger holds it, detach that",
        )
        return
    age = time.time() - process.started
    if process.libjvm is None and process.executable is not None:
        diagnosis.add(
            "running",
            None,
            f"the launcher runs for {age:.1f} s and has not loaded the VM yet",
            "try again in a moment: attaching waits for the JVM",
        )
    elif status.catches(signal.SIGQUIT):
        diagnosis.add("running", True, f"the process is running, for {age:.0f} s")
    elif "-Xrs" in process.jvm_arguments:
        diagnosis.add(
            "running", True, "the process is running with -Xrs: its attach socket is always open"
        )
    else:
        diagnosis.add(
            "running",
            None,
            "the JVM has not installed its signal handlers: it is still starting, or the "
            "program it is embedded in replaced them",
            "try again in a moment: attaching waits for the JVM",
        )


def _check_user(diagnosis: Diagnosis, process: Process) -> bool:
    ours = (os.geteuid(), os.getegid())
    theirs = (process.uid, process.gid)
    kinds = ", ".join(sorted(process.foreign_namespaces))
    if not process.needs_helper():
        if ours[0] != 0 and ours[1] != theirs[1]:
            diagnosis.add(
                "user",
                False,
                f"same user {ours[0]}, but the JVM's group is {theirs[1]} and the caller's "
                f"{ours[1]}; the JVM insists on both",
                f"run with the JVM's group (newgrp, sg or setpriv --regid {theirs[1]}), or as root",
            )
            return False
        diagnosis.add("user", True, f"same user {ours[0]}, same namespaces")
        return True
    where = f" in other namespaces ({kinds})" if kinds else ""
    if process.changed_root:
        where += " under another root directory"
    who = f"the JVM belongs to user {theirs[0]}{where}; the caller is user {ours[0]}"
    if ours[0] == 0:
        diagnosis.add("user", True, f"{who}, and acts through a helper process")
        return True
    if "user" in process.foreign_namespaces:
        diagnosis.add("user", None, f"{who}; a helper process tries to join its user namespace")
        return True
    diagnosis.add("user", False, who, f"run as user {theirs[0]} or as root")
    return False


def _check_flags(diagnosis: Diagnosis, process: Process) -> bool:
    disabled = last_flag(process, "DisableAttachMechanism") is True
    if disabled:
        diagnosis.add(
            "attach mechanism",
            False,
            "disabled by -XX:+DisableAttachMechanism",
            "start the JVM without it, or with what `jvmti agent-options --listen` prints",
        )
    else:
        diagnosis.add("attach mechanism", True, "not disabled by any option that can be seen")
    loading = last_flag(process, "EnableDynamicAgentLoading")
    feature = _feature(process.java_version)
    if loading is False:
        diagnosis.add(
            "dynamic loading",
            False,
            "refused by -XX:-EnableDynamicAgentLoading",
            "start the JVM without it, or with what `jvmti agent-options --listen` prints",
        )
    elif loading is None and feature is not None and feature >= _DYNAMIC_WARNING_SINCE:
        diagnosis.add(
            "dynamic loading",
            True,
            f"allowed; Java {feature} prints a warning of three lines to the program's standard "
            "error when an agent is first loaded",
            "-XX:+EnableDynamicAgentLoading at its start avoids the warning",
        )
    else:
        diagnosis.add("dynamic loading", True, "allowed")
    return disabled


def _check_resources(diagnosis: Diagnosis, handle: ProcessHandle) -> bool:
    """Descriptors and threads. False: a request could kill the JVM."""
    open_more, start_more = limits.descriptors(handle), limits.threads(handle)
    enough = True
    for name, remaining, to_answer, to_load in (
        (
            "descriptors",
            open_more,
            limits.DESCRIPTORS_TO_ANSWER,
            limits.DESCRIPTORS_TO_LOAD,
        ),
        ("threads", start_more, 2, limits.THREADS_TO_LOAD + 1),
    ):
        if remaining is None:
            detail = "no limit, or none visible from here"
            diagnosis.add(name, True if name == "threads" else None, detail)
            continue
        detail = f"{remaining.left:,} more of {remaining.limit:,} by {remaining.what}"
        if remaining.left >= to_load:
            diagnosis.add(name, True, detail)
            continue
        enough = enough and remaining.left >= to_answer
        diagnosis.add(
            name,
            False,
            f"{detail}; an attach takes {to_load}",
            "raise the limit, or try again when the program has closed some",
        )
    return enough


def _check_files(
    diagnosis: Diagnosis,
    process: Process,
    handle: ProcessHandle,
    reachable: bool,
    timeout: float,
) -> bool:
    """The attach socket, the trigger and the agent library. True: they are not accessible."""
    try:
        library = library_for_process(process)
    except AgentLibraryMissing as error:
        library = None
        diagnosis.add("agent library", False, str(error), "install a wheel for this platform")
    if not reachable:
        return True
    readable = True
    if process.needs_helper():
        from jvmti.target.namespaces import Helper

        try:
            with Helper(process, timeout=timeout) as helper:
                found = helper.state()
                if library is not None:
                    readable = helper.can_read(library)
        except JvmDied:
            raise
        except (AttachError, OSError) as error:
            diagnosis.add("namespaces", False, str(error), "run as root, or inside the container")
            return True
        diagnosis.add("namespaces", True, "the helper can act as the JVM's user where it runs")
    else:
        found = attach_files(handle, process.namespace_pid, process.uid)
        if library is not None:
            readable = os.access(library, os.R_OK)
    if library is not None:
        if readable:
            diagnosis.add("agent library", True, f"{library}, readable by the JVM")
        elif found["copies"]:
            diagnosis.add(
                "agent library",
                True,
                f"{library} is unreadable where the JVM runs; a copy in {found['copies'][0]} will "
                "be used",
            )
        else:
            diagnosis.add(
                "agent library",
                False,
                f"{library} is unreadable where the JVM runs, and none of its directories takes "
                "a copy",
                "give the container a writable /tmp that is not mounted noexec",
            )
    _report_socket(diagnosis, process, found)
    return False


def _report_socket(diagnosis: Diagnosis, process: Process, found: dict[str, Any]) -> None:
    path = found["path"]
    if found["socket"] == "foreign":
        diagnosis.add(
            "attach socket",
            False,
            f"{path} is not a socket of the JVM's user",
            f"another user put it there: remove {path}",
        )
    elif found["trigger"]:
        diagnosis.add(
            "attach socket",
            False,
            f"/tmp/.attach_pid{process.namespace_pid} is not a file of the JVM's user",
            "another user put it there: remove it",
        )
    elif found["removed"]:
        diagnosis.add(
            "attach socket",
            None,
            f"{path} was removed while the JVM listens on it; the JVM is asked to open a new one",
            "keep programs that clean /tmp away from .java_pid files",
        )
    elif found["socket"] == "open":
        diagnosis.add("attach socket", True, f"{path} is there")
    elif found["writable"]:
        diagnosis.add("attach socket", True, "not open yet; the JVM opens it when asked")
    else:
        diagnosis.add(
            "attach socket",
            False,
            "not open, and the JVM's user cannot write /tmp where the JVM runs",
            "give it a writable /tmp, or start it with the agent",
        )


def _check_answers(
    diagnosis: Diagnosis, process: Process, handle: ProcessHandle, timeout: float
) -> None:
    began = time.monotonic()
    try:
        # The only command that runs no Java code: "properties" does, and in a JVM that is still
        # starting it can fail inside the class library.
        version = protocol_version(process, timeout=timeout)
    except JvmStopped as error:
        diagnosis.add("answers", False, str(error), f"continue it: kill -CONT {process.pid}")
    except JvmDied:
        raise
    except AttachError as error:
        diagnosis.add(
            "answers",
            False,
            str(error),
            "see whether it hangs: its threads' processor times in 'top -H', a thread dump "
            f"by 'kill -QUIT {process.pid}' on its standard output",
        )
    else:
        elapsed = (time.monotonic() - began) * 1000
        diagnosis.add(
            "answers",
            True,
            f"the JVM answered an attach command in {elapsed:.1f} ms (protocol {version})",
        )


def _check_agents(diagnosis: Diagnosis, process: Process, handle: ProcessHandle) -> None:
    agents = []
    for argument in process.jvm_arguments:
        found = _AGENT_ARGUMENT.match(argument)
        if found:
            agents.append(found[1].partition("=")[0])
    loaded = _loaded_libraries(handle)
    known = {os.path.basename(agent) for agent in agents}
    for path in loaded:
        base = os.path.basename(path)
        if _SOLO_AGENTS.search(base) and base not in known:
            stem = base.removeprefix("lib").removesuffix(".so")
            if stem not in known:
                agents.append(path)
    if not agents:
        diagnosis.add("other agents", True, "none in the options or the loaded libraries")
        return
    names = printable(", ".join(agents))
    solo_agents = [agent for agent in agents if _SOLO_AGENTS.search(agent)]
    diagnosis.add(
        "other agents",
        None,
        f"loaded: {names}"
        + (
            "; a debugger's or profiler's agent may hold capabilities that only one can have "
            "(breakpoints, watchpoints, suspend, allocation sampling)"
            if solo_agents
            else ""
        ),
        "start the JVM without that agent to have all of them" if solo_agents else "",
    )


def _loaded_libraries(handle: ProcessHandle) -> list[str]:
    try:
        maps = handle.read("maps").decode("utf-8", "surrogateescape")
    except OSError:
        return []
    paths = {
        fields[5].removesuffix(" (deleted)")
        for fields in (line.split(None, 5) for line in maps.splitlines())
        if len(fields) == 6 and ".so" in fields[5]
    }
    return sorted(paths)


def _feature(version: str | None) -> int | None:
    """11 of "11.0.13", 8 of "1.8.0_392"."""
    if not version:
        return None
    numbers = re.findall(r"\d+", version)
    if not numbers:
        return None
    return int(numbers[1]) if numbers[0] == "1" and len(numbers) > 1 else int(numbers[0])
