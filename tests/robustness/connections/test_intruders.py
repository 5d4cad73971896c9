"""Strangers get no connection and no memory, and no path of theirs is followed."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.env.interface import FUNCTIONS
from jvmti.target import listener, listening
from jvmti.target.agent_library import own_library
from jvmti.target.errors import SuspiciousFile
from jvmti.wire.channel import Request
from jvmti.wire.protocol import Flag, Kind
from jvmti.wire.session import Session
from robustness import steady

if TYPE_CHECKING:
    from collections.abc import Iterator

    import programs

NOBODY = 65534
INTERPRETER = "/usr/bin/python3"
"""One that other users may run; the test's own may lie where they cannot look."""
as_root = pytest.mark.skipif(
    os.geteuid() != 0 or not os.path.exists(INTERPRETER), reason="takes on another user's number"
)


@pytest.fixture(scope="module")
def listening_at() -> Iterator[str]:
    """A path that every user can reach, so that only the socket itself is in the way."""
    directory = tempfile.mkdtemp(prefix="jvmti-test-")
    os.chmod(directory, 0o711)
    path = os.path.join(directory, "listening.sock")
    yield path
    if os.path.lexists(path):
        os.unlink(path)
    os.rmdir(directory)


@pytest.fixture(scope="module")
def target(listening_at: str, shared_java_program: programs.JavaPrograms) -> steady.Steady:
    """A program with an agent that listens."""
    path = listening_at
    option = f"-agentpath:{own_library()}=listen={path},reserve"
    started = steady.launch(shared_java_program, reserve=False, jvm_args=[option])
    assert steady.wait_until(lambda: os.path.exists(path))
    return started


@pytest.fixture
def vm(target: steady.Steady) -> Iterator[jvmti.VM]:
    with jvmti.attach(target.pid) as attached:
        yield attached


def connected_as_nobody(path: str) -> str:
    """What another user gets who connects there and listens for a greeting."""
    program = (
        "import socket, sys\n"
        "intruder = socket.socket(socket.AF_UNIX)\n"
        "intruder.settimeout(10)\n"
        "try:\n"
        "    intruder.connect(sys.argv[1])\n"
        "    print(len(intruder.recv(100)), 'bytes')\n"
        "except OSError as error:\n"
        "    print(type(error).__name__)\n"
    )
    done = subprocess.run(
        [INTERPRETER, "-S", "-c", program, path],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.root
@as_root
def test_another_user_cannot_connect_to_a_listening_agent(
    target: steady.Steady, listening_at: str, vm: jvmti.VM
) -> None:
    assert stat.S_IMODE(os.stat(listening_at).st_mode) == 0o600
    rest = target.at_rest()
    assert connected_as_nobody(listening_at) == "PermissionError"
    assert target.settles_at(rest)


@pytest.mark.root
@as_root
def test_an_agent_drops_a_peer_of_another_user_who_got_hold_of_the_socket(
    target: steady.Steady, listening_at: str
) -> None:
    jvmti.attach(target.pid).detach()
    rest = target.at_rest()
    os.chmod(listening_at, 0o666)
    try:
        assert connected_as_nobody(listening_at) in ("0 bytes", "ConnectionResetError")
    finally:
        os.chmod(listening_at, 0o600)
    assert target.settles_at(rest)


@pytest.mark.root
@as_root
def test_a_controller_drops_a_socket_behind_which_another_process_is(
    target: steady.Steady, tmp_path: Path
) -> None:
    path = str(tmp_path / "planted.sock")
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind(path)
        planted.listen()
        deadline = time.monotonic() + 5
        assert listening.connect([path], target.pid, os.geteuid(), deadline) is None
        os.chown(path, NOBODY, NOBODY)
        assert listening.connect([path], target.pid, os.geteuid(), deadline) is None


def test_a_symlink_to_the_socket_is_not_followed(
    target: steady.Steady, listening_at: str, tmp_path: Path
) -> None:
    link = tmp_path / "link.sock"
    link.symlink_to(listening_at)
    deadline = time.monotonic() + 5
    assert listening.connect([str(link)], target.pid, os.geteuid(), deadline) is None
    real = listening.connect([listening_at], target.pid, os.geteuid(), deadline)
    assert real is not None
    real.close()


def test_a_directory_that_others_can_change_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(SuspiciousFile):
        listener.private_directory(str(shared))
    shared.chmod(0o1777)
    made = listener.private_directory(str(shared))
    assert stat.S_IMODE(os.stat(made).st_mode) == 0o700


@pytest.mark.not_sanitized(reason="another user's JVM does not preload the runtime")
@pytest.mark.root
@as_root
@pytest.mark.parametrize("planted", ["symlink", "open directory", "directory of another user"])
def test_an_agent_does_not_listen_in_a_planted_directory(
    planted: str, java_program: programs.JavaPrograms, tmp_path: Path
) -> None:
    # The usual place is one directory a user: a user of its own keeps others out of the way.
    user = 61_234
    place = Path(f"/tmp/.jvmti-{user}")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.chown(elsewhere, user, user)
    assert not os.path.lexists(place)
    log = tmp_path / "agent.log"
    log.touch()
    os.chown(log, user, user)
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    try:
        if planted == "symlink":
            place.symlink_to(elsewhere)
            os.lchown(place, user, user)
        else:
            place.mkdir()
            place.chmod(0o777 if planted == "open directory" else 0o700)
            os.chown(place, *((user, user) if planted == "open directory" else (NOBODY, NOBODY)))
        arguments = [f"-agentpath:{own_library()}=listen,log={log}", "-version"]
        done = subprocess.run(
            [java_program.jvm.java, *java_program.jvm.args, *arguments],
            user=user,
            group=user,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "not a private directory" in log.read_text()
        assert list(elsewhere.iterdir()) == []
        if place.is_dir() and not place.is_symlink():
            assert list(place.iterdir()) == []
    finally:
        if place.is_symlink():
            place.unlink()
        elif place.exists():
            place.rmdir()


# Shared memory ---------------------------------------------------------------------------------

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


def memory(size: int, seals: int) -> int:
    descriptor = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def map_request(vm: jvmti.VM, descriptor: int) -> Any:
    """A map request of get_phase in the given memory."""
    number = FUNCTIONS["get_phase"].number
    return vm._session.channel().request(
        Request(Kind.MAP, number, 1, timeout=10, flags=int(Flag.SHARED), descriptor=descriptor)
    )


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("unsealed", "sealed"),
        ("growing", "sealed"),
        ("empty", "empty|sealed"),
        ("small", "too short"),
        ("huge request", "too short"),
        ("device", "not a memfd"),
        ("file", "not a memfd"),
        ("pipe", "not a memfd"),
        ("read-only", "cannot be mapped"),
    ],
)
def test_the_agent_refuses_memory_that_is_not_as_it_must_be(
    kind: str, why: str, vm: jvmti.VM, tmp_path: Path
) -> None:
    extra = -1
    if kind == "device":
        descriptor = os.open("/dev/zero", os.O_RDWR)
    elif kind == "file":
        descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
        os.ftruncate(descriptor, 4096)
    elif kind == "pipe":
        descriptor, extra = os.pipe()
    elif kind == "read-only":
        extra = memory(4096, SEALS)
        descriptor = os.open(f"/proc/self/fd/{extra}", os.O_RDONLY)
    else:
        size = {"empty": 0, "small": 4}.get(kind, 4096)
        seals = {"unsealed": 0, "growing": fcntl.F_SEAL_SHRINK}.get(kind, SEALS)
        descriptor = memory(size, seals)
        if kind == "huge request":
            os.pwrite(descriptor, struct.pack("<Q", 2**64 - 9), 0)
    try:
        reply = map_request(vm, descriptor)
        assert reply.kind == Kind.MALFORMED
        assert any(word in bytes(reply.payload).decode() for word in why.split("|"))
    finally:
        os.close(descriptor)
        if extra >= 0:
            os.close(extra)
    assert vm.env.get_phase() == 4


def test_memory_that_shrinks_cannot_be_sealed_so_the_agent_never_maps_it(vm: jvmti.VM) -> None:
    descriptor = memory(4096, fcntl.F_SEAL_GROW)
    reply = map_request(vm, descriptor)
    assert reply.kind == Kind.MALFORMED
    os.ftruncate(descriptor, 0)
    os.close(descriptor)
    assert vm.env.get_phase() == 4


def test_the_controller_refuses_a_reply_beyond_its_shared_memory(
    vm: jvmti.VM, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = vm.env.get_all_threads() * 5000
    real = vm._session.request

    def lying(request: Request) -> Any:
        reply = real(request)
        if request.descriptor is not None:
            # What an agent that has been taken over could write there.
            os.pwrite(request.descriptor, struct.pack("<Q", 2**40), 0)
            reply.flags |= Flag.SHARED
        return reply

    monkeypatch.setattr(vm._session, "request", lying)
    with pytest.raises(jvmti.errors.ProtocolError, match="shared memory"):
        vm.env.map.get_thread_state(threads)


def test_an_agent_that_sends_nonsense_is_refused_at_once() -> None:
    for greeting in (b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"\xff" * 64):
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(greeting)
            theirs.shutdown(socket.SHUT_WR)
            with pytest.raises(jvmti.Error):
                Session(ours, {}, timeout=2)
