"""Work inside the target's namespaces, or as its user.

    caller ──── control socket ────► helper: joins user and mount namespace, enters the target's
           ◄─── descriptors ────────         root, takes its groups, gid and uid, then does all
                                             file and attach work

The helper is a process of its own, because one with several threads cannot join a user namespace,
and because the caller must not look up what the target controls with its own rights: the target
could have planted symbolic links that lead out of its tree. After joining, the helper imports
nothing more, and as the target's user it can do no more than the target itself. It does not join
the pid namespace: signals go through a pidfd, and the kernel translates the pids of peer
credentials.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from typing import Any, NoReturn

from jvmti.target import errors, listening
from jvmti.target.attach_files import COPY_PARENTS, attach_files
from jvmti.target.errors import AttachError, AttachTimeout, NotPermitted, SuspiciousFile
from jvmti.target.hotspot import AttachPoint
from jvmti.target.listener import Listener, private_directory
from jvmti.target.processes.procfs import ProcessHandle, same_namespace
from jvmti.target.processes.search import Process

__all__ = ["Helper"]

_LENGTH = struct.Struct("!I")
_LONGEST_MESSAGE = 1 << 30
_GRACE = 2.0  # grace time after the deadline for the helper's report, in seconds
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_LONGEST_LIBRARY = 256 << 20

# Makes the package importable without running its __init__, which loads far more than this.
_BOOTSTRAP = """
import sys, types
package = types.ModuleType("jvmti")
package.__path__ = [sys.argv[1]]
sys.modules["jvmti"] = package
from jvmti.target.namespaces import _serve
_serve(*map(int, sys.argv[2:]))
"""


class Helper:
    """The caller's side of the helper process. Use it in a ``with`` statement.

    Args:
        process: the JVM.
        timeout: total seconds for all operations.

    Raises:
        NotPermitted: the caller may not take the target's user or join its namespaces.
        JvmDied: the target has ended.
    """

    def __init__(self, process: Process, *, timeout: float) -> None:
        self._process = process
        self._deadline = time.monotonic() + timeout
        if os.geteuid() != 0 and "user" not in process.foreign_namespaces:
            raise NotPermitted(_why_not(process))
        if not sys.executable:
            raise AttachError(
                "cannot start the helper process: this Python does not know its own executable"
            )
        self._control, theirs = socket.socketpair()
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        try:
            with process.open() as handle:
                passed = [theirs.fileno(), handle.fileno()]
                if handle.pidfd is not None:
                    passed.append(handle.pidfd)
                pidfd = -1 if handle.pidfd is None else handle.pidfd
                numbers = (*passed[:2], pidfd, process.pid, process.namespace_pid)
                self._popen = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, package, *map(str, numbers)],
                    pass_fds=passed,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    cwd="/",
                    # The caller handles Ctrl-C.
                    start_new_session=True,
                )
        except BaseException:
            self._control.close()
            raise
        finally:
            theirs.close()
        try:
            self._call("join", deadline=self._deadline, started=process.started)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Helper:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the helper, which removes its files."""
        self._control.close()
        try:
            self._popen.wait(1.0)
        except subprocess.TimeoutExpired:
            self._popen.terminate()
            try:
                self._popen.wait(2.0)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()
        if self._popen.stderr is not None:
            self._popen.stderr.close()

    def command(self, name: str, *arguments: str) -> tuple[int, str]:
        """Run an attach command; see :meth:`jvmti.target.hotspot.AttachPoint.command`."""
        status, text = self._call("command", words=[name, *arguments])
        return status, text

    def version(self) -> int:
        """The newest version of the attach protocol that the JVM speaks."""
        return int(self._call("version"))

    def load(self, library: str, options: str) -> None:
        """Load a library by its path in the target's file system."""
        self._call("load", library=library, options=options)

    def load_copy(self, library: str, options: str) -> None:
        """Load a library of the caller, or a copy if the target cannot read it."""
        file = os.open(library, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._call("load_copy", send=file, library=library, options=options)
        finally:
            os.close(file)

    def can_read(self, library: str) -> bool:
        """Whether the target can load a file of the caller by its path."""
        file = os.open(library, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return bool(self._call("can_read", send=file, library=library))
        finally:
            os.close(file)

    def state(self) -> dict[str, Any]:
        """The attach files in the target's /tmp: see :mod:`jvmti.target.attach_files`."""
        found: dict[str, Any] = self._call("state")
        return found

    def listen(self) -> tuple[socket.socket, str]:
        """A listening socket in the target's file system, and its path there."""
        path = self._call("listen", receive=True)
        assert self._received is not None
        return self._received, path

    def connect_listening(self) -> socket.socket | None:
        """A connection to an agent that already listens in the target."""
        found = self._call(
            "connect_listening", receive=True, arguments=list(self._process.jvm_arguments)
        )
        return self._received if found else None

    def _call(
        self, operation: str, *, send: int | None = None, receive: bool = False, **request: Any
    ) -> Any:
        request["operation"] = operation
        self._received: socket.socket | None = None
        self._control.settimeout(max(self._deadline - time.monotonic(), 0) + _GRACE)
        try:
            _send(self._control, request, send)
            reply, descriptors = _receive(self._control)
        except TimeoutError:
            raise AttachTimeout(
                f"the helper for process {self._process.pid} did not finish {operation!r} in time"
            ) from None
        except (OSError, EOFError):
            raise AttachError(
                f"the helper for process {self._process.pid} ended unexpectedly: "
                f"{self._last_words()}"
            ) from None
        if descriptors:
            first, *others = descriptors
            for other in others:
                os.close(other)
            self._received = socket.socket(fileno=first)
        if "error" in reply:
            raise _rebuild(reply)
        return reply["value"]

    def _last_words(self) -> str:
        try:
            _, errors_text = self._popen.communicate(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "no message"
        text = errors_text.decode("utf-8", "replace").strip()
        return text.splitlines()[-1] if text else f"exit status {self._popen.returncode}"


def _why_not(process: Process) -> str:
    if process.uid != os.geteuid():
        return (
            f"JVM {process.pid} belongs to user {process.uid}, and the caller is user "
            f"{os.geteuid()}: run as that user or as root"
        )
    if process.foreign_namespaces:
        kinds = ", ".join(sorted(process.foreign_namespaces))
        return (
            f"JVM {process.pid} is in other namespaces ({kinds}), which only root can join: "
            "run as root, or inside its container"
        )
    return f"JVM {process.pid} has another root directory, which only root can enter: run as root"


def _rebuild(reply: dict[str, Any]) -> Exception:
    kind = getattr(errors, reply["error"], AttachError)
    message = reply["message"]
    if kind is errors.AgentLoadFailed:
        return errors.AgentLoadFailed(message, reply.get("code"))
    error: Exception = kind(message)
    return error


# -- messages -------------------------------------------------------------------------------


def _send(control: socket.socket, message: dict[str, Any], descriptor: int | None = None) -> None:
    body = json.dumps(message).encode()
    header = _LENGTH.pack(len(body))
    if descriptor is None:
        control.sendall(header)
    else:
        socket.send_fds(control, [header], [descriptor])
    control.sendall(body)


def _receive(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    header, descriptors, _, _ = socket.recv_fds(control, _LENGTH.size, 4, socket.MSG_CMSG_CLOEXEC)
    if not header:
        raise EOFError
    header += _exactly(control, _LENGTH.size - len(header))
    (length,) = _LENGTH.unpack(header)
    if length > _LONGEST_MESSAGE:
        raise EOFError
    message: dict[str, Any] = json.loads(_exactly(control, length))
    return message, list(descriptors)


def _exactly(control: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = control.recv(min(length - len(data), 1 << 20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


# -- inside the helper ----------------------------------------------------------------------


def _serve(control_fd: int, directory: int, pidfd: int, pid: int, namespace_pid: int) -> NoReturn:
    """The helper's main loop: answer requests until the caller closes the socket."""
    signal.signal(signal.SIGTERM, _terminated)
    control = socket.socket(fileno=control_fd)
    for descriptor in (control_fd, directory, pidfd):
        if descriptor >= 0:
            os.set_inheritable(descriptor, False)
    handle = ProcessHandle.adopt(pid, directory, pidfd if pidfd >= 0 else None)
    inside: _Inside | None = None
    try:
        while True:
            try:
                request, descriptors = _receive(control)
            except (EOFError, OSError):
                break
            passed: int | None = None
            try:
                operation = request.pop("operation")
                if operation == "join":
                    _join(handle)
                    inside = _Inside(handle, namespace_pid, **request)
                    value: Any = None
                else:
                    assert inside is not None
                    if descriptors:
                        request["file"] = descriptors[0]
                    value, passed = getattr(inside, operation)(**request)
                reply: dict[str, Any] = {"value": value}
            except AttachError as error:
                reply = {
                    "error": type(error).__name__,
                    "message": str(error),
                    "code": getattr(error, "code", None),
                }
            except Exception as error:
                reply = {"error": "AttachError", "message": f"{type(error).__name__}: {error}"}
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            try:
                _send(control, reply, passed)
            except OSError:
                break
    finally:
        if inside is not None:
            inside.close()
    # Nothing is left to flush, and interpreter shutdown might open files.
    os._exit(0)


def _terminated(*_: object) -> NoReturn:
    raise SystemExit(1)


def _join(handle: ProcessHandle) -> None:
    """Become a process of the target's user in the target's namespaces, for good."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    # Processes of the target's user must not trace the helper, which began with more rights.
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    new_user = same_namespace(handle, "user") is False
    new_mount = same_namespace(handle, "mnt") is False
    try:
        root = handle.open("root", os.O_PATH | os.O_DIRECTORY)
        files = []
        if new_user:
            files.append((handle.open("ns/user"), _CLONE_NEWUSER))
        if new_mount:
            files.append((handle.open("ns/mnt"), _CLONE_NEWNS))
        for file, kind in files:
            if libc.setns(file, kind):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
            os.close(file)
        # Read only now: ids appear as the joined user namespace maps them.
        status = handle.status()
        os.fchdir(root)
        here, top = os.stat("."), os.stat("/")
        if (here.st_dev, here.st_ino) != (top.st_dev, top.st_ino):
            os.chroot(".")
        os.close(root)
        os.chdir("/")
    except (FileNotFoundError, ProcessLookupError):
        raise errors.JvmDied(f"process {handle.pid} has ended") from None
    except OSError as error:
        raise NotPermitted(
            f"cannot join the namespaces of process {handle.pid}: {error.strerror}; run as root "
            "on the host, or inside the container as the JVM's user"
        ) from None
    # From here on every path is the target's: import nothing more.
    sys.path.clear()
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()
    sys.meta_path.clear()
    try:
        try:
            os.setgroups(status.groups)
        except OSError:
            # A user namespace can forbid it, or not map all groups; then the helper's groups have
            # no meaning for files outside either.
            if not new_user:
                raise
        os.setresgid(status.gid, status.gid, status.gid)
        os.setresuid(status.uid, status.uid, status.uid)
    except OSError as error:
        raise NotPermitted(
            f"cannot become user {status.uid}:{status.gid} of process {handle.pid}: "
            f"{error.strerror}"
        ) from None
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.umask(0o077)


class _Inside:
    """The helper's operations after joining; each returns a value and a descriptor to pass."""

    def __init__(
        self, handle: ProcessHandle, namespace_pid: int, *, deadline: float, started: float
    ) -> None:
        self._handle = handle
        self._namespace_pid = namespace_pid
        self._deadline = deadline
        self._point = AttachPoint(
            handle, namespace_pid, os.geteuid(), deadline=deadline, started=started
        )
        self._listener: Listener | None = None
        self._connection: socket.socket | None = None

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def command(self, words: list[str]) -> tuple[tuple[int, str], None]:
        return self._point.command(*words), None

    def version(self) -> tuple[int, None]:
        return self._point.version(), None

    def load(self, library: str, options: str) -> tuple[None, None]:
        self._point.load(library, options)
        return None, None

    def load_copy(self, library: str, options: str, file: int) -> tuple[None, None]:
        if _is_same_file(library, file):
            self._point.load(library, options)
        else:
            with _LibraryCopy(file, self._deadline) as copy:
                self._point.load(copy.path, options)
        return None, None

    def can_read(self, library: str, file: int) -> tuple[bool, None]:
        return _is_same_file(library, file), None

    def state(self) -> tuple[dict[str, Any], None]:
        return attach_files(self._handle, self._namespace_pid, os.geteuid()), None

    def listen(self) -> tuple[str, int]:
        if self._listener is None:
            self._listener = Listener(private_directory())
        return self._listener.path, self._listener.socket.fileno()

    def connect_listening(self, arguments: list[str]) -> tuple[bool, int | None]:
        paths = listening.socket_paths(arguments, os.geteuid(), self._namespace_pid)
        self._connection = listening.connect(paths, self._handle.pid, os.geteuid(), self._deadline)
        if self._connection is None:
            return False, None
        return True, self._connection.fileno()


def _is_same_file(path: str, file: int) -> bool:
    """Whether ``path`` is readable here and the same file as ``file``."""
    try:
        here = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        ours, theirs = os.fstat(here), os.fstat(file)
        return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
    finally:
        os.close(here)


class _LibraryCopy:
    """A copy of the agent library where the target can read it, while it loads.

    The file's name is a hash of its content, so that the dynamic loader recognises the same
    library; a lock on the directory keeps two controllers from removing each other's copy.
    """

    def __init__(self, file: int, deadline: float) -> None:
        self._content = _read_all(file)
        self._deadline = deadline
        self._directory = -1
        self._parent = ""
        self._name = f"libjvmti-{hashlib.sha256(self._content).hexdigest()[:16]}.so"
        self.path = ""

    def __enter__(self) -> _LibraryCopy:
        failures = []
        for base in COPY_PARENTS:
            try:
                self._place(base)
            except (OSError, SuspiciousFile) as error:
                failures.append(f"{base}: {getattr(error, 'strerror', None) or error}")
                if self._directory >= 0:
                    os.close(self._directory)
                    self._directory = -1
                continue
            return self
        raise NotPermitted(
            "the target cannot read the agent library, and no directory of its own takes a "
            f"copy ({'; '.join(failures)})"
        )

    def _place(self, base: str) -> None:
        about = os.stat(base)
        if about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX:
            raise SuspiciousFile("everybody can write it and it has no sticky bit")
        if os.statvfs(base).f_flag & os.ST_NOEXEC:
            raise SuspiciousFile("mounted noexec")
        self._parent = f"{base}/.jvmti-library-{os.geteuid()}"
        while True:
            try:
                os.mkdir(self._parent, 0o700)
            except FileExistsError:
                pass
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            self._directory = os.open(self._parent, flags)
            about = os.fstat(self._directory)
            if about.st_uid != os.geteuid() or about.st_mode & 0o077:
                raise SuspiciousFile(f"{self._parent} is not a private directory of the JVM's user")
            self._lock()
            if self._still_there(about):
                break
            os.close(self._directory)
            self._directory = -1
        partial = f"{self._name}.part"
        try:
            os.unlink(partial, dir_fd=self._directory)
        except FileNotFoundError:
            pass
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(partial, flags, 0o500, dir_fd=self._directory)
        try:
            view = memoryview(self._content)
            while view:
                view = view[os.write(file, view) :]
        except BaseException:
            os.unlink(partial, dir_fd=self._directory)
            raise
        finally:
            os.close(file)
        os.rename(partial, self._name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self.path = f"{self._parent}/{self._name}"

    def _lock(self) -> None:
        while True:
            try:
                fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > self._deadline:
                    raise AttachTimeout(
                        f"another controller keeps {self._parent} locked; try again later"
                    ) from None
                time.sleep(0.005)

    def _still_there(self, about: os.stat_result) -> bool:
        try:
            now = os.lstat(self._parent)
        except OSError:
            return False
        return (now.st_dev, now.st_ino) == (about.st_dev, about.st_ino)

    def __exit__(self, *exc: object) -> None:
        try:
            os.unlink(self._name, dir_fd=self._directory)
        except OSError:
            pass
        try:
            os.rmdir(self._parent)
        except OSError:
            pass
        os.close(self._directory)
        self._directory = -1


def _read_all(file: int) -> bytes:
    size = os.fstat(file).st_size
    if size > _LONGEST_LIBRARY:
        raise AttachError(f"the agent library is implausibly large ({size} bytes)")
    content = os.pread(file, size, 0)
    while len(content) < size:
        more = os.pread(file, size - len(content), len(content))
        if not more:
            break
        content += more
    return content
