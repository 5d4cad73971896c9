"""Finds running JVMs, and the one that a target names.

A process counts as a JVM if the VM library is in its memory map, if it has HotSpot performance
data, or if a ``java`` launcher started it (which may not have loaded the VM yet). HotSpot's
performance data takes precedence over the command line, because programs that embed a VM have
command lines of their own.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Container
from dataclasses import dataclass, field

from jvmti.target.errors import (
    JvmDied,
    NoMatch,
    NoSuchProcess,
    NotAJvm,
    NotPermitted,
    SeveralMatch,
    TargetNotFound,
)
from jvmti.target.processes import command_line, hsperfdata
from jvmti.target.processes.procfs import ProcessHandle, Status, same_namespace, ticks_to_epoch
from jvmti.text.printable import printable

__all__ = ["Process", "find", "inspect", "performance_data", "processes"]

_LONGEST_ARGUMENT_FILE = 1 << 20
_NAMESPACES = ("mnt", "pid", "user")
_COUNTERS = frozenset(
    (
        b"java.property.java.home",
        b"java.property.java.version",
        b"java.rt.vmArgs",
        b"java.rt.vmFlags",
        b"sun.rt.createVmBeginTime",
        b"sun.rt.javaCommand",
    )
)
"""The performance data that a search reads; a VM has hundreds."""


@dataclass(frozen=True)
class Process:
    """A running JVM, at the time of the search.

    Attributes:
        pid: its process id here.
        namespace_pid: its process id in its own pid namespace.
        uid: effective user id, as seen from here.
        gid: effective group id, as seen from here.
        main: main class, ``module/class``, or path of the jar; empty if unknown.
        arguments: the program's own arguments.
        jvm_arguments: the VM's arguments, including ``JAVA_TOOL_OPTIONS`` if known.
        java_version: such as ``17.0.9``, None when unknown.
        java_home: as a path in the target, None if unknown.
        executable: as a path in the target, None if hidden.
        libjvm: the VM library as a path in the target, None if hidden or not yet loaded.
        musl: whether its C library is musl; None when unknown.
        foreign_namespaces: which of ``mnt``, ``pid``, ``user`` are not the caller's.
        changed_root: whether its root directory differs from its mount namespace's.
        started: seconds since the epoch.
        start_ticks: clock ticks since boot; with ``pid``, the identity of the process.
    """

    pid: int
    namespace_pid: int
    uid: int
    gid: int
    main: str
    arguments: tuple[str, ...]
    jvm_arguments: tuple[str, ...]
    java_version: str | None
    java_home: str | None
    executable: str | None
    libjvm: str | None
    musl: bool | None
    foreign_namespaces: frozenset[str]
    changed_root: bool
    started: float = field(compare=False)  # computed from two clocks, it jitters
    start_ticks: int

    @property
    def name(self) -> str:
        """The main class without its package, or the jar without its directory."""
        last = os.path.basename(self.main)
        return last if last.endswith(".jar") else last.rpartition(".")[2]

    def describe(self) -> str:
        """One line for people: pid and main class, or whatever is known."""
        known = self.main or self.executable or "main class unknown"
        return f"{self.pid} {printable(known)}"

    def needs_helper(self) -> bool:
        """Whether files and the attach protocol need another process's namespaces or user."""
        if self.changed_root or self.foreign_namespaces & {"mnt", "user"}:
            return True
        return self.uid != os.geteuid() or (os.geteuid() == 0 and self.gid != os.getegid())

    def open(self) -> ProcessHandle:
        """Open the process, after checking that it is still the same one.

        Raises:
            JvmDied: it ended; another process may have its pid.
        """
        try:
            handle = ProcessHandle(self.pid)
        except NoSuchProcess:
            raise JvmDied(f"JVM {self.describe()} has ended") from None
        try:
            if handle.start_ticks() != self.start_ticks:
                raise JvmDied(
                    f"JVM {self.describe()} has ended; its pid belongs to another process"
                )
        except BaseException:
            handle.close()
            raise
        return handle


def processes() -> list[Process]:
    """All JVMs visible to the caller, in the order of their pids.

    Those of other users have only what the system shows of them. The caller's own process is left
    out.
    """
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            found.append(inspect(int(name)))
        except (TargetNotFound, JvmDied, NotPermitted):
            continue
    return sorted(found, key=lambda process: process.pid)


def find(target: int | str | Process) -> Process:
    """The JVM that ``target`` names.

    A number, or text of digits, is a pid. Other text is part of a main class or jar name and has
    to match exactly one JVM; a JVM whose name is exactly this text comes before those that only
    contain it.

    Raises:
        NoSuchProcess, NotAJvm, NoMatch, SeveralMatch: what the message says.
    """
    if isinstance(target, Process):
        return target
    if isinstance(target, bool) or not isinstance(target, (int, str)):
        raise TypeError(f"a target is a pid or part of a name, not {type(target).__name__}")
    if isinstance(target, int) or (target.isascii() and target.isdigit()):
        try:
            return inspect(int(target))
        except JvmDied:
            raise NoSuchProcess(f"there is no process {target}: it has just ended") from None
    if not target.strip():
        raise NoMatch("an empty name matches no JVM; give a pid or part of a main class")
    running = processes()
    exact = [p for p in running if target in (p.main, p.name, os.path.basename(p.main))]
    matches = exact if len(exact) == 1 else [p for p in running if target in p.main]
    if len(matches) == 1:
        return matches[0]
    candidates = [process.describe() for process in (matches or running)]
    given = "" if matches else target.lower()
    listing = "".join(
        f"\n  {line}{_where_given(process, given)}"
        for process, line in zip(matches or running, candidates, strict=True)
    )
    if matches:
        raise SeveralMatch(
            f"{len(matches)} JVMs match {target!r}; name one by its pid:{listing}", candidates
        )
    if running:
        raise NoMatch(f"no JVM has {target!r} in its main class or jar; running are:{listing}")
    raise NoMatch(f"no JVM has {target!r} in its main class or jar: no JVM can be seen from here")


def _where_given(process: Process, text: str) -> str:
    """A note for a JVM with the text in its arguments: many servers start by another class.

    Tomcat's main class is ``Bootstrap``, Keycloak's ``QuarkusEntryPoint``.
    """
    words = (*process.jvm_arguments, *process.arguments)
    if text and any(text in word.lower() for word in words):
        return " (has it in its arguments)"
    return ""


def inspect(pid: int) -> Process:
    """Look at one process.

    Raises:
        NoSuchProcess: there is none.
        NotAJvm: it does not run a JVM.
        JvmDied: it ended meanwhile.
    """
    with ProcessHandle(pid) as handle:
        status = handle.status()
        if status.thread_group != pid:
            raise NoSuchProcess(f"{pid} is a thread of process {status.thread_group}")
        if status.dead:
            raise NoSuchProcess(f"process {pid} has ended (it is a zombie)")
        return _inspect(handle, status)


def performance_data(process: Process) -> dict[str, str | int]:
    """HotSpot's current performance counters of a JVM, by name; empty if it has none.

    Raises:
        NoSuchProcess: it has ended.
    """
    with ProcessHandle(process.pid) as handle:
        root, _ = _root(handle, "mnt" in process.foreign_namespaces)
        try:
            return _performance_data(handle, root, handle.status(), process.started)
        finally:
            if root is not None:
                os.close(root)


def _inspect(handle: ProcessHandle, status: Status) -> Process:
    pid = handle.pid
    ticks = handle.start_ticks()
    words = handle.arguments()
    executable = handle.link("exe")
    maps = _maps(handle)
    libjvm, musl = (None, None) if maps is None else _libraries(maps)
    launcher = os.path.basename(executable or (words[0] if words else "")) == "java"
    # Without permission to read the map (another user's process), only the name helps.
    if libjvm is None and not launcher and (musl is not None or not words):
        raise NotAJvm(_not_a_jvm(pid, words, hidden=musl is None))
    foreign = frozenset(kind for kind in _NAMESPACES if same_namespace(handle, kind) is False)
    root, changed_root = _root(handle, "mnt" in foreign)
    started = ticks_to_epoch(ticks)
    try:
        data = _performance_data(handle, root, status, started, _COUNTERS, maps or b"")
        home = _text(data, "java.property.java.home") or _home_of(libjvm)
        version = _text(data, "java.property.java.version")
        if not version and home:
            version = _release_version(root, home)
    finally:
        if root is not None:
            os.close(root)
    if libjvm is None and not launcher and "sun.rt.javaCommand" not in data:
        raise NotAJvm(_not_a_jvm(pid, words, hidden=musl is None))

    local = "mnt" not in foreign and not changed_root
    line = command_line.parse(words[1:], _argument_file_reader(handle, status, local))
    if not launcher:
        # A program that embeds the VM: its arguments are not the VM's.
        line = command_line.CommandLine((), "", tuple(words[1:]), False)
    main, arguments = _main(line, _text(data, "sun.rt.javaCommand"))
    return Process(
        pid=pid,
        namespace_pid=status.namespace_pid,
        uid=status.uid,
        gid=status.gid,
        main=main,
        arguments=arguments,
        jvm_arguments=_jvm_arguments(line, data, handle),
        java_version=version or None,
        java_home=home or None,
        executable=executable,
        libjvm=libjvm,
        musl=musl,
        foreign_namespaces=foreign,
        changed_root=changed_root,
        started=started,
        start_ticks=ticks,
    )


def _not_a_jvm(pid: int, words: list[str], *, hidden: bool) -> str:
    what = printable(" ".join(words)[:120]) if words else "it has no command line"
    if hidden:
        return (
            f"process {pid} does not look like a JVM ({what}), and only its own user and root may "
            "look closer; run as one of them if it is"
        )
    return (
        f"process {pid} is not a JVM: no libjvm.so in its memory map and no performance data "
        f"({what}); 'jvmti ps' lists the JVMs"
    )


def _maps(handle: ProcessHandle) -> bytes | None:
    """The memory map; ``None`` when hidden."""
    try:
        return handle.read("maps")
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.ENOENT):
            raise JvmDied(f"process {handle.pid} has ended") from None
        return None


def _libraries(maps: bytes) -> tuple[str | None, bool]:
    """Path of libjvm.so, and whether the C library is musl."""
    musl = b"/ld-musl-" in maps or b"/libc.musl-" in maps
    at = maps.find(b"/libjvm.so")
    if at < 0:
        return None, musl
    start = maps.rfind(b"\n", 0, at) + 1
    end = maps.find(b"\n", at)
    fields = maps[start : end if end >= 0 else None].split(None, 5)
    if len(fields) < 6:
        return None, musl
    return os.fsdecode(fields[5].removesuffix(b" (deleted)")), musl


def _performance_data(
    handle: ProcessHandle,
    root: int | None,
    status: Status,
    started: float,
    names: Container[bytes] | None = None,
    maps: bytes = b"",
) -> dict[str, str | int]:
    data = hsperfdata.find(root, status.namespace_pid, status.uid, names, maps=maps)
    begun = data.get("sun.rt.createVmBeginTime")
    if isinstance(begun, int) and begun and begun / 1000 < started - 5:
        data = {}  # left behind by an earlier process of the same pid
    return data or hsperfdata.mapped(handle, names)


def _root(handle: ProcessHandle, foreign: bool) -> tuple[int | None, bool]:
    """A descriptor of the target's root directory, if it differs from the caller's."""
    try:
        root = handle.open("root", os.O_PATH | os.O_DIRECTORY)
    except OSError:
        return None, False
    theirs, ours = os.fstat(root), os.stat("/")
    if (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino):
        if not foreign:
            os.close(root)
            return None, False
        return root, False
    return root, not foreign


def _argument_file_reader(
    handle: ProcessHandle, status: Status, local: bool
) -> Callable[[str], str | None] | None:
    if not local or status.uid != os.geteuid():
        return None

    def read(name: str) -> str | None:
        try:
            start = handle.open("cwd", os.O_PATH | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=start)
        except (OSError, ValueError):
            return None
        finally:
            os.close(start)
        try:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode) or about.st_size > _LONGEST_ARGUMENT_FILE:
                return None
            return os.read(file, _LONGEST_ARGUMENT_FILE).decode("utf-8", "surrogateescape")
        except OSError:
            return None
        finally:
            os.close(file)

    return read


def _text(data: dict[str, str | int], name: str) -> str:
    value = data.get(name, "")
    return value if isinstance(value, str) else ""


def _main(line: command_line.CommandLine, command: str) -> tuple[str, tuple[str, ...]]:
    """Main class or jar and the program's arguments, from both sources.

    HotSpot's own text is joined by blanks, so only the command line
    shows where a jar path with blanks ends; it only counts if HotSpot's text agrees.
    """
    if not command or command == "Unknown":
        return line.main, line.arguments
    if line.main and (command == line.main or command.startswith(line.main + " ")):
        return line.main, line.arguments
    if line.main and command.split(" ", 1)[0].endswith("/" + line.main):
        return command.split(" ", 1)[0], line.arguments  # the launcher named the module
    words = command.split()
    return (words[0], tuple(words[1:])) if words else (line.main, line.arguments)


def _jvm_arguments(
    line: command_line.CommandLine, data: dict[str, str | int], handle: ProcessHandle
) -> tuple[str, ...]:
    """The VM's arguments: exact words where known, split at blanks before a dash otherwise."""
    flags = tuple(_text(data, "java.rt.vmFlags").split())
    vm_args = _text(data, "java.rt.vmArgs")
    if vm_args:
        # Class path options are the launcher's; the VM sees them as -Djava.class.path.
        exact = " ".join(line.jvm_arguments)
        if exact and vm_args.endswith(exact):
            return flags + _split_dashes(vm_args[: -len(exact)]) + line.jvm_arguments
        extra = [word for word in _split_dashes(vm_args) if word not in line.jvm_arguments]
        return flags + tuple(extra) + line.jvm_arguments
    environment = handle.environment() or {}
    from_environment: list[str] = []
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        if environment.get(name):
            from jvmti.target.tool_options import split_tool_options

            try:
                from_environment += split_tool_options(environment[name])
            except ValueError:
                from_environment += environment[name].split()
    return tuple(from_environment) + line.jvm_arguments


def _split_dashes(text: str) -> tuple[str, ...]:
    words: list[str] = []
    for word in text.split():
        if word.startswith("-") or not words:
            words.append(word)
        else:
            words[-1] += " " + word
    return tuple(words)


def _home_of(libjvm: str | None) -> str | None:
    """The Java home that a VM library belongs to: …/lib/server/libjvm.so."""
    if libjvm is None:
        return None
    directory = os.path.dirname(os.path.dirname(libjvm))
    while os.path.basename(directory) not in ("lib", ""):
        directory = os.path.dirname(directory)
    return os.path.dirname(directory) if os.path.basename(directory) == "lib" else None


def _release_version(root: int | None, home: str) -> str:
    """The version in the file that every Java home has; no link on the way to it is followed."""
    file = -1
    try:
        file = os.open("/", os.O_PATH) if root is None else os.dup(root)
        steps = [part for part in home.split("/") if part not in ("", ".")]
        if ".." in steps:
            return ""
        for name in (*steps, "release"):
            flags = os.O_RDONLY | os.O_NONBLOCK if name == "release" else os.O_PATH
            deeper = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=file)
            os.close(file)
            file = deeper
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        text = os.read(file, 1 << 16).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        if file >= 0:
            os.close(file)
    for row in text.splitlines():
        if row.startswith("JAVA_VERSION="):
            return row.partition("=")[2].strip().strip('"')
    return ""
