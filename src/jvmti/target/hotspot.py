"""HotSpot's attach protocol, without a JDK.

A JVM opens ``/tmp/.java_pid<pid>`` once it finds ``/tmp/.attach_pid<pid>`` on a SIGQUIT. Over
that socket, one connection carries one command and its answer:

    version 1    "1" name argument argument argument        each text ends with a zero byte
    version 2    "2" length name argument …                 from 24 on: any number, any length
    answer       status "\\n" text, until the JVM closes the connection

:class:`AttachPoint` works where the JVM's files are; the functions of this module choose between
the caller's process and the helper of :mod:`jvmti.target.namespaces`.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import stat
import struct
import time

from jvmti.target.errors import (
    AgentLoadFailed,
    AttachDisabled,
    AttachError,
    AttachProtocolError,
    AttachRefused,
    AttachTimeout,
    DynamicLoadingRefused,
    JvmDied,
    JvmStopped,
    NotPermitted,
    OptionsTooLong,
    SuspiciousFile,
)
from jvmti.target.processes.limits import (
    DESCRIPTORS_TO_ANSWER,
    DESCRIPTORS_TO_LOAD,
    FRESH,
    THREADS_TO_LOAD,
    check_remaining,
    shortage,
)
from jvmti.target.processes.procfs import ProcessHandle, Status
from jvmti.target.processes.search import Process
from jvmti.text.printable import printable

__all__ = ["AttachPoint", "command", "load_agent", "peer_credentials", "protocol_version"]

_DIRECTORY = "/tmp"  # HotSpot uses no other, whatever TMPDIR says
_LONGEST_V1 = 1024  # bytes of one argument
_ARGUMENTS_V1 = 3
_LONGEST_V2 = 256 * 1024  # bytes of a whole request
_RESEND = 0.1  # seconds between two signals while the JVM may still be starting
_SLOWEST_RESEND = 2.0  # a JVM that ignores the trigger prints a thread dump at each signal
_DISPATCHER, _LISTENER = "Signal Dispatch", "Attach Listener"  # as the system cuts the names
_TAKERS = (_DISPATCHER, _LISTENER)
_STARTING = 5.0  # seconds for which a JVM is taken to be starting
_PATIENCE_STOPPED = 1.0  # seconds that a stopped process gets to be continued
_LONGEST_ANSWER = 1 << 30
_CREDENTIALS = struct.Struct("3i")
_RETURN_CODE = re.compile(r"^(?:return code: )?(-?\d+)\s*$", re.MULTILINE)
_LIVE_PHASE_ONLY = "only permitted in the live phase"


class _Unanswered(Exception):
    """The JVM closed the connection without an answer."""


class AttachPoint:
    """The attach socket of one JVM, for a process that shares its files and user.

    Args:
        handle: the JVM; stays the caller's.
        namespace_pid: its pid as it sees it itself, the one in the file names.
        uid: its effective user, as seen from here.
        deadline: ``time.monotonic()`` seconds at which to give up.
        started: seconds since the epoch.
    """

    def __init__(
        self,
        handle: ProcessHandle,
        namespace_pid: int,
        uid: int,
        *,
        deadline: float,
        started: float = 0.0,
        directory: str = _DIRECTORY,
    ) -> None:
        self.handle = handle
        self.uid = uid
        self.deadline = deadline
        self._started = started
        self.socket_path = f"{directory}/.java_pid{namespace_pid}"
        self.trigger_path = f"{directory}/.attach_pid{namespace_pid}"
        self._version: int | None = None
        self._stopped_since: float | None = None
        self._asked_to_listen = False
        self._checked = (0.0, 0, 0)

    # -- commands ---------------------------------------------------------------------------

    def command(self, name: str, *arguments: str) -> tuple[int, str]:
        """Send one command; returns the JVM's status and text.

        Uses version 1 of the protocol if it can, since every JVM speaks it; version 2 only for
        commands that are too long.
        """
        encoded = [os.fsencode(text) for text in (name, *arguments)]
        if any(b"\0" in text for text in encoded):
            raise AttachProtocolError(f"the attach command {name!r} cannot carry a NUL character")
        if all(len(text) < _LONGEST_V1 for text in encoded) and len(arguments) <= _ARGUMENTS_V1:
            return self._answer(_request_v1(encoded), name)
        if self.version() < 2:
            longest = max(len(text) for text in encoded)
            raise OptionsTooLong(
                f"JVM {self.handle.pid} speaks version 1 of the attach protocol, which carries "
                f"{_ARGUMENTS_V1} arguments of less than {_LONGEST_V1} bytes; {name!r} has "
                f"{len(arguments)}, the longest of {longest} bytes. Shorten the paths (a link to "
                "the library in /tmp helps), or start the program with the agent instead"
            )
        request = _request_v2(encoded)
        if len(request) > _LONGEST_V2:
            raise OptionsTooLong(
                f"the attach command {name!r} is {len(request)} bytes long; the JVM accepts "
                f"{_LONGEST_V2}"
            )
        return self._answer(request, name)

    def version(self) -> int:
        """The newest version of the protocol that the JVM speaks: 1 or 2."""
        if self._version is None:
            status, text = self._answer(_request_v1([b"getversion"]), "getversion")
            number = re.match(r"\s*(\d+)", text)
            # Older VMs do not know the command and say so in their text.
            self._version = int(number[1]) if status == 0 and number else 1
        return self._version

    def load(self, library: str, options: str) -> None:
        """Load an agent library; wait for the live phase if necessary.

        Raises:
            DynamicLoadingRefused, AgentLoadFailed: the JVM's or the agent's refusal.
            TargetExhausted: it has no descriptors or threads left for the agent.
        """
        self.check_resources_to_load()
        while True:
            status, text = self.command("load", library, "true", options)
            if _LIVE_PHASE_ONLY not in text:
                break
            # JVMs since 21 refuse while they start, older ones queue the command.
            if time.monotonic() + 0.005 > self.deadline:
                raise AttachTimeout(
                    f"JVM {self.handle.pid} did not finish starting in time: {_one_line(text)}"
                )
            time.sleep(0.005)
        if "Dynamic agent loading is not enabled" in text:
            raise DynamicLoadingRefused(self.handle.pid)
        returned = _RETURN_CODE.search(text)
        if status == 0 and returned:
            code = int(returned[1])
            if code == 0:
                return
            self.check_resources_to_load()
            raise AgentLoadFailed(
                f"the agent refused to start in JVM {self.handle.pid} (code {code}); its "
                "log, see the option log=PATH, says why",
                code,
            )
        raise AgentLoadFailed(
            f"JVM {self.handle.pid} could not load {library}: "
            f"{_one_line(text) or f'status {status}'}"
        )

    @property
    def checked(self) -> float:
        """When the target had the resources, by `time.monotonic`; 0 if it may have lacked some."""
        return self._checked[0]

    def check_resources_to_load(self) -> None:
        """Raise TargetExhausted if an agent, and the listener before it, would lack resources."""
        self._check_resources(DESCRIPTORS_TO_LOAD, THREADS_TO_LOAD, 1)

    def check_resources_to_answer(self) -> None:
        """Raise TargetExhausted if a connection, or the listener before it, would lack
        resources."""
        self._check_resources(DESCRIPTORS_TO_ANSWER, 0, 2)

    def _check_resources(self, descriptors: int, threads: int, to_listen: int) -> None:
        """Raise TargetExhausted without these, and the threads to listen if there is no listener.

        Where there are enough with those, no thread has to be looked at.
        """
        now = time.monotonic()
        when, enough, plenty = self._checked
        if now - when < FRESH and descriptors <= enough and threads + to_listen <= plenty:
            return
        if shortage(self.handle, descriptors, threads + to_listen) is not None:
            check_remaining(self.handle, descriptors, threads + to_listen * self._lacks_listener())
        else:
            self._checked = (now, descriptors, threads + to_listen)

    def _lacks_listener(self) -> bool:
        return not self.handle.thread_states((_LISTENER,))

    def _answer(self, request: bytes, name: str) -> tuple[int, str]:
        attempts = 0
        while True:
            try:
                raw = self._exchange(request, name)
                break
            except _Unanswered:
                # A JVM that just re-opened its socket drops those in the queue of the old one.
                attempts += 1
                if attempts == 3 or time.monotonic() > self.deadline:
                    raise self._dropped(name) from None
                time.sleep(0.01)
        first, _, rest = raw.partition(b"\n")
        try:
            status = int(first)
        except ValueError:
            raise AttachProtocolError(
                f"JVM {self.handle.pid} answered {name!r} with {first[:80]!r} in place of a status"
            ) from None
        if status == 101:
            raise AttachProtocolError(f"JVM {self.handle.pid} does not speak this attach protocol")
        return status, rest.decode("utf-8", "replace")

    def _exchange(self, request: bytes, name: str) -> bytes:
        chunks: list[bytes] = []
        size = 0
        with self.connect() as connection:
            try:
                connection.settimeout(self._remaining())
                connection.sendall(request)
                while True:
                    connection.settimeout(self._remaining())
                    chunk = connection.recv(1 << 16)
                    if not chunk:
                        break
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > _LONGEST_ANSWER:
                        raise AttachProtocolError(f"the answer to {name!r} does not end")
            except TimeoutError:
                raise self._silent(name) from None
            except (BrokenPipeError, ConnectionResetError):
                pass  # what came before it still counts
        if not chunks:
            raise _Unanswered
        return b"".join(chunks)

    def _remaining(self) -> float:
        return max(self.deadline - time.monotonic(), 0.001)

    # -- the socket -------------------------------------------------------------------------

    def connect(self) -> socket.socket:
        """A connection to the JVM; asks it to open its socket if necessary.

        Raises:
            AttachTimeout, JvmStopped: no socket appeared.
            AttachRefused: something else is where the socket should be.
            TargetExhausted: the JVM would lack a descriptor, or the thread that opens the socket.
            JvmDied: the process ended.
        """
        self.check_resources_to_answer()
        made_trigger = False
        began = time.monotonic()
        signal_at = 0.0
        interval = _RESEND
        signals = 0
        pause = 0.0002
        try:
            while True:
                connection = self.try_connect()
                if connection is not None:
                    return connection
                now = time.monotonic()
                if now >= signal_at:
                    status = self.handle.status()
                    if status.dead:
                        raise JvmDied(f"process {self.handle.pid} has ended")
                    if status.stopped:
                        self._wait_stopped(now)
                        signal_at = now + 0.01
                    elif signals and self._signal_on_its_way(status):
                        # One more would be answered with a thread dump.
                        signal_at = now + 0.01
                    elif signals and (connection := self.try_connect()) is not None:
                        # Its threads are at rest because the socket has come meanwhile.
                        return connection
                    elif status.catches(signal.SIGQUIT):
                        # A JVM that cannot start the listener's thread ends.
                        self.check_resources_to_answer()
                        # Without a handler the signal kills: a starting JVM has none yet.
                        made_trigger |= self._make_trigger()
                        self.handle.send(signal.SIGQUIT)
                        self._asked_to_listen = True
                        signals += 1
                        pause = 0.0002
                        if time.time() - self._started > _STARTING:
                            interval = min(interval * 2, _SLOWEST_RESEND)
                        signal_at = now + interval
                    else:
                        signal_at = now + 0.002
                if now > self.deadline:
                    raise self._no_socket(signals, now - began)
                time.sleep(pause)
                pause = min(pause * 1.2, 0.01)
        finally:
            if made_trigger:
                _remove(self.trigger_path)

    def _signal_on_its_way(self, status: Status) -> bool:
        """Whether the JVM is still busy with the last signal, as on a busy machine."""
        return status.waits(signal.SIGQUIT) or any(
            state != "S" for state in self.handle.thread_states(_TAKERS)
        )

    def try_connect(self) -> socket.socket | None:
        """A connection if the JVM's socket is there and answers; a dead one is removed."""
        pause = 0.001
        while True:
            try:
                return self._connect_once()
            except BlockingIOError:
                # Its queue is short and full.
                if time.monotonic() + pause > self.deadline:
                    raise self._silent("connect") from None
                time.sleep(pause)
                pause = min(pause * 1.5, 0.02)

    def _connect_once(self) -> socket.socket | None:
        try:
            about = os.lstat(self.socket_path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NotPermitted(f"cannot look at {self.socket_path}: {error.strerror}") from None
        if not stat.S_ISSOCK(about.st_mode) or about.st_uid != self.uid:
            raise SuspiciousFile(
                f"{self.socket_path} is not a socket of the JVM's user {self.uid} "
                f"(it belongs to user {about.st_uid}): that user put it there. Remove it and try "
                "again"
            )
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(self._remaining())
            connection.connect(self.socket_path)
            peer = peer_credentials(connection)[0]
            if peer != self.handle.pid:
                raise SuspiciousFile(
                    f"{self.socket_path} belongs to process {peer or 'unknown'}, not to the JVM "
                    f"{self.handle.pid}; two containers that share /tmp can be the cause"
                )
            if not self._asked_to_listen and self._listener_has_ended():
                # It once had no descriptor for a connection. After the socket is removed, the JVM #
                # creates a new one on request.
                _remove(self.socket_path)
                connection.close()
                return None
        except (ConnectionRefusedError, FileNotFoundError) as error:
            connection.close()
            if error.errno == errno.ECONNREFUSED:
                # Left behind by an earlier process of this pid, or by a closed listener; # while it
                # exists, the JVM takes its own listener for reachable.
                _remove(self.socket_path)
            return None
        except TimeoutError:
            connection.close()
            raise self._silent("connect") from None
        except PermissionError:
            connection.close()
            raise NotPermitted(
                f"not allowed to connect to {self.socket_path}: run as the JVM's user "
                f"{self.uid} or as root"
            ) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _listener_has_ended(self) -> bool:
        """Whether the thread that accepts connections has ended, by thread names."""
        return self._lacks_listener() and bool(self.handle.thread_states((_DISPATCHER,)))

    def _make_trigger(self) -> bool:
        """Create the trigger file; False if a usable one exists."""
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self.trigger_path, flags, 0o600))
        except FileExistsError:
            try:
                about = os.lstat(self.trigger_path)
            except FileNotFoundError:
                return self._make_trigger()
            if stat.S_ISREG(about.st_mode) and about.st_uid in (self.uid, 0):
                return False
            raise SuspiciousFile(
                f"{self.trigger_path} belongs to user {about.st_uid} and keeps the JVM of user "
                f"{self.uid} from being asked to open its attach socket. Remove it and try again"
            ) from None
        except OSError as error:
            raise NotPermitted(
                f"cannot create {self.trigger_path}: {error.strerror}. The JVM needs a writable "
                "/tmp to be attached to; without one, start it with the agent"
            ) from None
        return True

    # -- failures ---------------------------------------------------------------------------

    def _wait_stopped(self, now: float) -> None:
        if self._stopped_since is None:
            self._stopped_since = now
        if now - self._stopped_since > _PATIENCE_STOPPED or now > self.deadline:
            raise self._stopped()

    def _stopped(self) -> JvmStopped:
        pid = self.handle.pid
        return JvmStopped(
            f"process {pid} is stopped (by SIGSTOP, a terminal or a debugger) and cannot answer; "
            f"continue it with 'kill -CONT {pid}' and try again"
        )

    def _silent(self, name: str) -> AttachError:
        """The JVM's socket accepted the connection, but no answer came."""
        status = self.handle.status()
        if status.dead:
            return JvmDied(f"process {self.handle.pid} has ended")
        if status.stopped:
            return self._stopped()
        return AttachTimeout(
            f"JVM {self.handle.pid} got the attach command {name!r} and did not answer in time: "
            "it may be in a long pause, frozen with its container, or busy with another attach "
            "command. Try again with a longer timeout; 'jvmti doctor' looks closer"
        )

    def _no_socket(self, signals: int, waited: float) -> AttachError:
        status = self.handle.status()
        if status.dead:
            return JvmDied(f"process {self.handle.pid} has ended")
        if status.stopped:
            return self._stopped()
        if not signals:
            return AttachTimeout(
                f"process {self.handle.pid} has not installed the JVM's handler for SIGQUIT in "
                f"{waited:.1f} s, so it was not asked to open its attach socket: it is still "
                "starting, or it runs with -Xrs and its socket file was removed. Try again "
                "later, or start it with the agent"
            )
        return AttachTimeout(
            f"JVM {self.handle.pid} did not open {self.socket_path} in {waited:.1f} s, after "
            f"{signals} signal(s): attaching is disabled (-XX:+DisableAttachMechanism), the JVM "
            "hangs, its /tmp cannot be written, or a program that embeds it takes SIGQUIT itself "
            "(-XX:+StartAttachListener does without). 'jvmti doctor' looks closer"
        )

    def _dropped(self, name: str) -> AttachError:
        try:
            status = self.handle.status()
        except JvmDied as error:
            return error
        if status.dead:
            return JvmDied(f"process {self.handle.pid} has ended")
        return AttachRefused(
            f"JVM {self.handle.pid} closed the connection without answering {name!r}: it accepts "
            f"its own user and group ({status.uid}:{status.gid}) and root only, and the caller "
            f"is {os.geteuid()}:{os.getegid()}"
        )


def peer_credentials(connection: socket.socket) -> tuple[int, int, int]:
    """Pid, uid and gid of the process at the other end, as seen from here; pid 0: unseen."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    return pid, uid, gid


def command(process: Process, name: str, *arguments: str, timeout: float = 10.0) -> str:
    """Run one attach command of the JVM, such as ``properties`` or ``jcmd``, and return its text.

    Args:
        process: the JVM, from :func:`jvmti.target.processes.search.find`.
        name: the command.
        arguments: its arguments; ``jcmd`` takes its whole command line as one argument.
        timeout: total seconds.

    Raises:
        AttachError: any of its kinds; ``AttachRefused`` carries the JVM's text when it fails the
            command itself.
    """
    if process.needs_helper():
        from jvmti.target.namespaces import Helper

        with process.open() as handle:
            check_resources(process, handle, to_load=False)
        with Helper(process, timeout=timeout) as helper:
            status, text = helper.command(name, *arguments)
    else:
        refuse_if_disabled(process)
        with process.open() as handle:
            status, text = _point(process, handle, timeout).command(name, *arguments)
    if status != 0:
        raise AttachRefused(
            f"JVM {process.pid} failed the attach command {name!r} (status {status}): "
            f"{_one_line(text)}"
        )
    return text


def load_agent(
    process: Process, library_path: str, options: str = "", *, timeout: float = 10.0
) -> None:
    """Load an agent library into a running JVM.

    Args:
        process: the JVM.
        library_path: absolute path of the library, as the JVM sees it.
        options: the options for the agent's ``Agent_OnAttach``.
        timeout: total seconds.

    Raises:
        AttachError: any of its kinds.
    """
    if process.needs_helper():
        from jvmti.target.namespaces import Helper

        with process.open() as handle:
            check_resources(process, handle, to_load=True)
        with Helper(process, timeout=timeout) as helper:
            helper.load(library_path, options)
    else:
        refuse_if_disabled(process)
        with process.open() as handle:
            _point(process, handle, timeout).load(library_path, options)


def protocol_version(process: Process, *, timeout: float = 10.0) -> int:
    """The newest version of the attach protocol that the JVM speaks: 1 or 2."""
    if process.needs_helper():
        from jvmti.target.namespaces import Helper

        with process.open() as handle:
            check_resources(process, handle, to_load=False)
        with Helper(process, timeout=timeout) as helper:
            return helper.version()
    refuse_if_disabled(process)
    with process.open() as handle:
        return _point(process, handle, timeout).version()


def refuse_if_disabled(process: Process) -> None:
    """Raise AttachDisabled if the JVM is known to ignore the trigger.

    Such a JVM answers each signal with a thread dump on its standard output, so do not try.
    """
    if last_flag(process, "DisableAttachMechanism"):
        raise AttachDisabled(process.pid)


def check_resources(process: Process, handle: ProcessHandle, *, to_load: bool) -> None:
    """Raise TargetExhausted if the JVM lacks resources to answer, or for an agent, too.

    The helper checks again, possibly without access to the control groups.
    """
    point = AttachPoint(handle, process.namespace_pid, process.uid, deadline=0.0)
    if to_load:
        point.check_resources_to_load()
    else:
        point.check_resources_to_answer()


def last_flag(process: Process, name: str) -> bool | None:
    """The value of a VM flag on the command line; None if absent. The last one wins."""
    value = None
    for argument in process.jvm_arguments:
        if argument == f"-XX:+{name}":
            value = True
        elif argument == f"-XX:-{name}":
            value = False
    return value


def _point(process: Process, handle: ProcessHandle, timeout: float) -> AttachPoint:
    return AttachPoint(
        handle,
        process.namespace_pid,
        process.uid,
        deadline=time.monotonic() + timeout,
        started=process.started,
    )


def _request_v1(texts: list[bytes]) -> bytes:
    padded = texts + [b""] * (1 + _ARGUMENTS_V1 - len(texts))
    return b"1\0" + b"".join(text + b"\0" for text in padded)


def _request_v2(texts: list[bytes]) -> bytes:
    body = b"".join(text + b"\0" for text in texts)
    return b"2\0" + str(len(body)).encode() + b"\0" + body


def _one_line(text: str) -> str:
    return printable(" ".join(text.split())[:500])


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # the JVM, or another tool, was faster
