"""Targets in other namespaces, under another root directory and of another user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stand_in import greeting

import jvms
import programs
from jvmti.target.attach import attach
from jvmti.target.diagnose import diagnose
from jvmti.target.errors import (
    AgentLoadFailed,
    AttachDisabled,
    JvmDied,
    JvmStopped,
    NotPermitted,
    SuspiciousFile,
)
from jvmti.target.hotspot import command, load_agent, protocol_version
from jvmti.target.namespaces import Helper
from jvmti.target.options import AgentOptions
from jvmti.target.processes.search import Process, find
from places import (
    AS_NOBODY,
    CONTAINER,
    NOBODY,
    UNSHARE,
    USER,
    jvm_below,
    own_tmp,
    skip_below_closed_folders,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaPrograms

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can"),
    pytest.mark.usefixtures("leftovers"),
]

PLACES = {
    "pid and mount": UNSHARE,
    "own /tmp": [*UNSHARE, *own_tmp()],
    "user": [*UNSHARE, *USER],
    "user and own /tmp": [*UNSHARE, *USER, *own_tmp()],
    "nobody": AS_NOBODY,
    "nobody and pid and mount": [*UNSHARE, *AS_NOBODY],
    "nobody's user namespace": [*AS_NOBODY, *UNSHARE, *USER],
    "nobody's own /tmp": CONTAINER,
}


@pytest.fixture(scope="module", params=PLACES.items(), ids=lambda place: place[0])
def elsewhere(
    request: pytest.FixtureRequest, jvm: jvms.Jvm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Process]]:
    """The name of an unusual place, and a JVM that runs there.

    It ends before the next begins: those in a pid namespace all have the attach socket of pid 1.
    """
    place, wrapper = request.param
    started = programs.JavaPrograms(jvm, tmp_path_factory.mktemp("elsewhere"))
    program = started("Idle", wrapper=wrapper, jvm_args=["-Dplace=elsewhere"])
    program.expect("ready")
    yield place, jvm_below(program.pid)
    started.close()


def test_a_jvm_elsewhere_is_seen_as_what_it_is(elsewhere: tuple[str, Process]) -> None:
    place, process = elsewhere
    assert process.main == "Idle"
    assert "-Dplace=elsewhere" in process.jvm_arguments
    assert process.java_version is not None
    assert ("mnt" in process.foreign_namespaces) == (place != "nobody")
    assert ("user" in process.foreign_namespaces) == ("user" in place or "nobody's" in place)
    assert process.uid == (NOBODY if "nobody" in place else 0)
    assert process.needs_helper()
    if "pid" in process.foreign_namespaces:
        assert process.namespace_pid < process.pid


def test_a_jvm_elsewhere_answers_commands(elsewhere: tuple[str, Process]) -> None:
    _, process = elsewhere
    assert "place=elsewhere" in command(process, "properties")
    assert protocol_version(process) in (1, 2)
    assert len(command(process, "inspectheap", "-live")) > 10_000


def test_the_agent_connects_back_from_elsewhere(elsewhere: tuple[str, Process], agent: str) -> None:
    place, process = elsewhere
    greetings = []
    for _ in range(3):
        with attach(process, library=agent) as connection:
            greetings.append(greeting(connection))
            assert not connection.loaded_at_startup
    # The count goes on: the JVM has not loaded the library a second time.
    first = int(greetings[0].removeprefix("onattach "))
    assert greetings == [f"onattach {count}" for count in range(first, first + 3)]
    if "own" in place:
        left = os.listdir(f"/proc/{process.pid}/root/tmp")
        assert not [name for name in left if name.startswith((".jvmti", ".attach_pid"))]


def test_the_loaded_library_is_the_copy_only_where_it_has_to_be(
    elsewhere: tuple[str, Process], open_agent: str
) -> None:
    place, process = elsewhere
    attach(process, library=open_agent).close()
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    assert (open_agent in maps) == ("own /tmp" not in place)
    if "own /tmp" in place:
        assert "/tmp/.jvmti-library-" in maps


@pytest.mark.parametrize("place", ["nobody", "own /tmp", "nobody's own /tmp"])
def test_an_agent_that_listens_elsewhere_is_found(
    java_program: JavaPrograms,
    agent: str,
    place: str,
) -> None:
    directory = Path(f"/var/tmp/jvmti-test-{os.getpid()}")
    directory.mkdir(mode=0o755)
    try:
        library = shutil.copy(agent, directory)
        program = java_program(
            "Idle", wrapper=PLACES[place], jvm_args=[f"-agentpath:{library}=listen"]
        )
        program.expect("ready")
        with attach(jvm_below(program.pid)) as connection:
            assert greeting(connection) == "listening"
            assert connection.loaded_at_startup
    finally:
        shutil.rmtree(directory)
        if place == "nobody":
            shutil.rmtree(f"/tmp/.jvmti-{NOBODY}", ignore_errors=True)


def test_failures_elsewhere_are_the_same_errors(java_program: JavaPrograms, agent: str) -> None:
    program = java_program("Idle", wrapper=AS_NOBODY)
    program.expect("ready")
    process = find(program.pid)
    with pytest.raises(AgentLoadFailed, match="code 7") as refused:
        attach(process, library=agent, options=AgentOptions(log="refuse"))
    assert refused.value.code == 7
    with pytest.raises(AgentLoadFailed, match="No such file"):
        load_agent(process, "/nonexistent.so")
    os.kill(program.pid, 19)
    try:
        with pytest.raises(JvmStopped):
            command(process, "properties", timeout=1)
    finally:
        os.kill(program.pid, 18)
    disabled = java_program("Idle", wrapper=AS_NOBODY, jvm_args=["-XX:+DisableAttachMechanism"])
    disabled.expect("ready")
    with pytest.raises(AttachDisabled):
        attach(disabled.pid, library=agent)
    program.kill()
    with pytest.raises(JvmDied):
        command(process, "properties")


def test_the_helper_is_the_target_user_and_can_do_no_more(
    java_program: JavaPrograms, tmp_path: Path
) -> None:
    program = java_program("Idle", wrapper=AS_NOBODY)
    program.expect("ready")
    with Helper(find(program.pid), timeout=10) as helper:
        pid = helper._popen.pid
        status = Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert fields["Uid"].split() == [str(NOBODY)] * 4
        assert fields["Gid"].split() == [str(NOBODY)] * 4
        assert fields["Groups"].split() == []
        assert fields["NoNewPrivs"].strip() == "1"
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(fields[kind], 16) == 0
        # Root owns what the target's user must not look into.
        assert os.stat(f"/proc/{pid}/fd").st_uid == 0
        open_files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        assert not [name for name in open_files if "/root" in name or "/tmp" in name]
    assert not Path(f"/proc/{pid}").exists()


def test_links_planted_where_the_library_would_go_are_not_followed(
    java_program: JavaPrograms, agent: str, tmp_path: Path
) -> None:
    program = java_program("Idle", wrapper=PLACES["own /tmp"])
    program.expect("ready")
    process = jvm_below(program.pid)
    inside = Path(f"/proc/{process.pid}/root/tmp")
    victim = Path(f"/tmp/jvmti-victim-{os.getpid()}")
    victim.mkdir(mode=0o700)
    try:
        (inside / ".jvmti-library-0").symlink_to(victim)
        with attach(process, library=agent) as connection:
            assert greeting(connection) == "onattach 1"
        assert os.listdir(victim) == []
        assert "/tmp/.jvmti-library-" not in Path(f"/proc/{process.pid}/maps").read_text().replace(
            "/var/tmp/.jvmti-library-", ""
        )
        (inside / f".java_pid{process.namespace_pid}").unlink()
        (inside / f".java_pid{process.namespace_pid}").symlink_to(victim / "socket")
        with pytest.raises(SuspiciousFile):
            command(process, "properties")
        (inside / f".java_pid{process.namespace_pid}").unlink()
        (inside / f".attach_pid{process.namespace_pid}").symlink_to(victim / "trigger")
        with pytest.raises(SuspiciousFile):
            command(process, "properties")
        assert os.listdir(victim) == []
    finally:
        victim.rmdir()


def test_a_directory_that_others_can_write_takes_no_copy(
    java_program: JavaPrograms, agent: str
) -> None:
    program = java_program("Idle", wrapper=PLACES["own /tmp"])
    program.expect("ready")
    process = jvm_below(program.pid)
    planted = Path(f"/proc/{process.pid}/root/tmp/.jvmti-library-0")
    planted.mkdir()
    planted.chmod(0o777)
    with attach(process, library=agent) as connection:
        assert greeting(connection) == "onattach 1"
    assert list(planted.iterdir()) == []


def test_a_tmp_without_execution_sends_the_copy_elsewhere(
    java_program: JavaPrograms, agent: str
) -> None:
    program = java_program("Idle", wrapper=[*UNSHARE, *own_tmp("size=64m,noexec")])
    program.expect("ready")
    process = jvm_below(program.pid)
    with attach(process, library=agent) as connection:
        assert greeting(connection) == "onattach 1"
    assert "/var/tmp/.jvmti-library-0/" in Path(f"/proc/{process.pid}/maps").read_text()
    assert not Path("/var/tmp/.jvmti-library-0").exists()


def test_a_tmp_that_cannot_be_written_is_named(java_program: JavaPrograms, agent: str) -> None:
    wrapper = [*UNSHARE, *own_tmp("size=64m")]
    program = java_program("Idle", wrapper=wrapper, jvm_args=["-XX:-UsePerfData"])
    program.expect("ready")
    process = jvm_below(program.pid)
    remount = ["mount", "-o", "remount,ro", "/tmp"]
    subprocess.run(["nsenter", "-t", str(process.pid), "-m", *remount], check=True)
    with pytest.raises(NotPermitted, match="Read-only file system. The JVM needs a writable /tmp"):
        attach(process, library=agent)


def test_a_changed_root_directory_is_entered(
    java_program: JavaPrograms, agent: str, tmp_path: Path
) -> None:
    # Bind mounts in a mount namespace of its own, so that nothing of them stays behind.
    script = (
        'root=$1; tests=$2; jvms=$3; shift 3; mount -t tmpfs tmpfs "$root" && cd "$root" && '
        'for d in /usr /lib /lib64 /proc /dev "$tests" "$jvms"; do [ -e "$d" ] || continue; '
        'mkdir -p "$root$d" && mount --rbind "$d" "$root$d"; done; '
        'mkdir -p "$root/etc" "$root/tmp"; chmod 1777 "$root/tmp"; exec chroot "$root" "$@"'
    )
    root = tmp_path / "root"
    root.mkdir()
    places = map(str, (root, jvms.ROOT, jvms.INSTALLED))
    program = java_program("Idle", wrapper=[*UNSHARE, "sh", "-c", script, "sh", *places])
    program.expect("ready")
    process = jvm_below(program.pid)
    with attach(process, library=agent) as connection:
        assert greeting(connection) == "onattach 1"


def test_several_controllers_attach_elsewhere_at_once(
    java_program: JavaPrograms, agent: str
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    program = java_program("Idle", wrapper=PLACES["nobody's own /tmp"])
    program.expect("ready")
    process = jvm_below(program.pid)

    def one(_: int) -> str:
        with attach(process, library=agent, timeout=30) as connection:
            return greeting(connection)

    with ThreadPoolExecutor(4) as pool:
        greetings = list(pool.map(one, range(8)))
    assert sorted(greetings) == sorted(f"onattach {count}" for count in range(1, 9))


def test_another_user_learns_whom_to_ask(java_program: JavaPrograms) -> None:
    skip_below_closed_folders()
    program = java_program("Idle")
    program.expect("ready")
    python = "/usr/bin/python3"
    if not os.access(python, os.X_OK):
        pytest.skip("no Python that every user can run")
    source = Path(sys.modules["jvmti.target"].__path__[0]).parent.parent
    code = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "import types; package = types.ModuleType('jvmti')\n"
        f"package.__path__ = [{str(source / 'jvmti')!r}]; sys.modules['jvmti'] = package\n"
        "from jvmti.target.attach import attach\n"
        "from jvmti.target.errors import NotPermitted\n"
        "from jvmti.target.diagnose import diagnose\n"
        "try:\n"
        f"    attach({program.pid}, library='/bin/true')\n"
        "except NotPermitted as error:\n"
        "    print(error)\n"
        f"found = diagnose({program.pid})\n"
        "print(found.ok, [c.name for c in found.checks if c.ok is False])\n"
    )
    done = subprocess.run(
        [*AS_NOBODY, python, "-c", code], capture_output=True, text=True, timeout=30, cwd="/"
    )
    assert "run as that user or as root" in done.stdout, done.stderr
    assert "False ['user'" in done.stdout, done.stdout


def test_a_user_reaches_into_a_user_namespace_of_his_own(
    java_program: JavaPrograms, open_agent: str
) -> None:
    python = "/usr/bin/python3"
    if not os.access(python, os.X_OK):
        pytest.skip("no Python that every user can run")
    program = java_program("Idle", wrapper=PLACES["nobody's own /tmp"])
    program.expect("ready")
    process = jvm_below(program.pid)
    source = Path(sys.modules["jvmti.target"].__path__[0]).parent.parent
    code = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "import types; package = types.ModuleType('jvmti')\n"
        f"package.__path__ = [{str(source / 'jvmti')!r}]; sys.modules['jvmti'] = package\n"
        "from jvmti.target.attach import attach\n"
        f"connection = attach({process.pid}, library={open_agent!r})\n"
        "print(connection.socket.recv(100).decode())\n"
    )
    done = subprocess.run(
        [*AS_NOBODY, python, "-c", code], capture_output=True, text=True, timeout=30, cwd="/"
    )
    assert done.stdout.startswith("onattach 1"), done.stderr


def test_the_helper_leaves_with_its_caller(java_program: JavaPrograms) -> None:
    program = java_program("Idle", wrapper=AS_NOBODY)
    program.expect("ready")
    helper = Helper(find(program.pid), timeout=10)
    listening, path = helper.listen()
    listening.close()
    assert Path(path).exists()
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(Path(path).parent).st_mode & 0o777 == 0o700
    assert os.stat(path).st_uid == NOBODY
    helper._control.close()
    deadline = time.monotonic() + 5
    while Path(path).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(path).parent.exists()
    helper.close()


@pytest.mark.parametrize("place", ["nobody", "own /tmp", "nobody's own /tmp"])
def test_the_doctor_sees_no_obstacle_elsewhere(
    java_program: JavaPrograms,
    agent: str,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JVMTI_AGENT_LIBRARY", agent)
    program = java_program("Idle", wrapper=PLACES[place])
    program.expect("ready")
    found = diagnose(jvm_below(program.pid))
    assert found.ok, found.checks
    answers = {check.name: check for check in found.checks}
    assert "a copy in" in answers["agent library"].detail
    assert answers["answers"].ok
