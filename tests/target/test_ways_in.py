"""Every way into a JVM, with the agent that the package ships."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import compiler
import jvmti
from jvmti.interface.constants import VMPhase
from jvmti.interface.errors import Error, TargetLost
from jvmti.target.agent_library import own_library
from jvmti.target.errors import LaunchFailed, NoSuchProcess, OptionsError
from places import AS_NOBODY, CONTAINER, NOBODY, UNSHARE, USER, jvm_below, own_tmp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jvms import Jvm
    from programs import JavaPrograms

#: What only the OnLoad phase gives.
ONLOAD_ONLY = {
    "can_access_local_variables",
    "can_force_early_return",
    "can_generate_breakpoint_events",
    "can_generate_early_class_hook_events",
    "can_generate_early_vmstart",
    "can_generate_exception_events",
    "can_generate_field_access_events",
    "can_generate_field_modification_events",
    "can_generate_frame_pop_events",
    "can_generate_method_entry_events",
    "can_generate_method_exit_events",
    "can_generate_single_step_events",
    "can_get_current_contended_monitor",
    "can_get_owned_monitor_info",
    "can_get_owned_monitor_stack_depth_info",
    "can_get_source_debug_extension",
    "can_maintain_original_method_order",
    "can_pop_frame",
}
#: The interpreter-only VM cannot do these at all.
NOT_IN_ZERO = {"can_force_early_return", "can_pop_frame"}


def onload_only(jvm: Jvm) -> set[str]:
    return ONLOAD_ONLY - NOT_IN_ZERO if jvm.name == "zero" else ONLOAD_ONLY


def names_of(capabilities: jvmti.Capabilities) -> set[str]:
    return {str(one.name) for one in jvmti.Capabilities if one in capabilities}


def threads(vm: jvmti.VM) -> set[str]:
    return {vm.env.get_thread_info(thread).name for thread in vm.env.get_all_threads()}


def command(jvm: Jvm, name: str) -> list[str]:
    return [jvm.java, *jvm.args, "-cp", str(compiler.classes(name)), name]


def environment(**further: str) -> dict[str, str]:
    return {**os.environ, **further}


def socket_of(pid: int, uid: int | None = None) -> Path:
    return Path(f"/tmp/.jvmti-{os.geteuid() if uid is None else uid}/{pid}.sock")


def ask(vm: jvmti.VM, line: str) -> str:
    """Speak to a program that was launched with pipes."""
    assert vm.popen is not None
    assert vm.popen.stdin is not None
    assert vm.popen.stdout is not None
    vm.popen.stdin.write(f"{line}\n".encode())
    vm.popen.stdin.flush()
    answer: bytes = vm.popen.stdout.readline()
    return answer.decode().rstrip()


def first_line(vm: jvmti.VM) -> str:
    assert vm.popen is not None
    assert vm.popen.stdout is not None
    line: bytes = vm.popen.stdout.readline()
    return line.decode().rstrip()


@pytest.fixture
def launch() -> Iterator[Callable[..., jvmti.VM]]:
    """Launch with pipes; the programs end with the test, and none of them by a crash."""
    launched: list[jvmti.VM] = []

    def start(argv: list[str], **further: Any) -> jvmti.VM:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        vm = jvmti.launch(argv, **{**pipes, **further})
        launched.append(vm)
        return vm

    yield start
    for vm in launched:
        vm.detach()
        assert vm.popen is not None
        try:
            vm.popen.communicate(timeout=20)
        finally:
            vm.popen.kill()
        assert vm.popen.returncode in (0, 1), vm.popen.args


@pytest.fixture
def other_place(tmp_path: Path) -> str:
    """A copy of the agent in a directory whose name is hard to quote."""
    directory = tmp_path / 'it\'s a "place"'
    directory.mkdir()
    return shutil.copy(own_library(), directory)


# ---- attach ---------------------------------------------------------------------------------


def test_attaching_shows_the_program_as_it_sees_itself_and_leaves_it_running(
    java_program: JavaPrograms, jvm: Jvm
) -> None:
    program = java_program("Witness")
    program.expect("ready")
    with jvmti.attach(program.pid) as vm:
        assert vm.version.major >= 9
        assert vm.phase == VMPhase.LIVE
        assert not vm.held
        assert not vm.loaded_at_startup
        assert vm.process.main == "Witness"
        assert set(program.ask("threads").split()) <= {
            name.replace(" ", "\\u0020") for name in threads(vm)
        }
        assert not names_of(vm.env.get_potential_capabilities()) & ONLOAD_ONLY
    assert vm.closed
    assert program.ask("pid") == str(program.pid)


def test_a_jvm_is_attached_to_at_any_moment_of_its_start(java_program: JavaPrograms) -> None:
    for delay in (0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12):
        program = java_program("Idle")
        time.sleep(delay)
        with jvmti.attach(program.pid) as vm:
            assert vm.phase == VMPhase.LIVE
            assert "main" in threads(vm)
        program.expect("ready")
        program.stop()


def test_several_controllers_attach_at_once(java_program: JavaPrograms) -> None:
    program = java_program("Witness")
    program.expect("ready")
    with contextlib.ExitStack() as stack:
        vms = [stack.enter_context(jvmti.attach(program.pid)) for _ in range(3)]
        everybody = [threads(vm) for vm in vms]
        assert everybody[0] <= everybody[2]
        tagged = vms[0].env
        tagged.add_capabilities({"can_tag_objects"})
        thread = tagged.get_all_threads()[0]
        tagged.set_tag(thread, 7)
        assert tagged.get_tag(thread) == 7
        vms[1].env.add_capabilities({"can_tag_objects"})
        assert all(vms[1].env.get_tag(one) == 0 for one in vms[1].env.get_all_threads())
        vms[0].detach()
        assert threads(vms[1]) >= {"main", "sleeping"}


# ---- launch ---------------------------------------------------------------------------------


def test_a_launched_jvm_is_held_in_onload_and_has_every_capability_when_released(
    jvm: Jvm, launch: Callable[..., jvmti.VM]
) -> None:
    vm = launch(
        [jvm.java, *jvm.args, "-Dfrom.onload=", *command(jvm, "Witness")[-3:]],
        hold=True,
        capabilities="all",
    )
    assert vm.held
    assert vm.phase == VMPhase.ONLOAD
    assert names_of(vm.env.get_capabilities()) >= onload_only(jvm)
    vm.env.set_system_property("from.onload", "é ∑")
    assert vm.popen is not None
    assert vm.process.pid == vm.popen.pid
    time.sleep(0.3)
    assert socket_is_silent(vm)
    vm.proceed()
    assert not vm.held
    assert vm.phase == VMPhase.LIVE
    assert first_line(vm) == "ready"
    assert ask(vm, "property from.onload") == "\\u00e9\\u0020\\u2211"
    assert names_of(vm.env.get_capabilities()) >= onload_only(jvm)
    assert "sleeping" in threads(vm)


def socket_is_silent(vm: jvmti.VM) -> bool:
    assert vm.popen is not None
    assert vm.popen.stdout is not None
    os.set_blocking(vm.popen.stdout.fileno(), False)
    try:
        return not vm.popen.stdout.read()
    finally:
        os.set_blocking(vm.popen.stdout.fileno(), True)


def test_launch_returns_when_the_jvm_is_live(jvm: Jvm, launch: Callable[..., jvmti.VM]) -> None:
    vm = launch(
        command(jvm, "Idle"), capabilities={"can_access_local_variables", "can_tag_objects"}
    )
    assert vm.phase == VMPhase.LIVE
    assert names_of(vm.env.get_capabilities()) == {
        "can_access_local_variables",
        "can_tag_objects",
    }
    assert first_line(vm) == "ready"


def test_a_held_jvm_starts_when_its_controller_leaves(
    jvm: Jvm, launch: Callable[..., jvmti.VM]
) -> None:
    vm = launch(command(jvm, "Idle"), hold=True)
    vm.detach()
    assert first_line(vm) == "ready"


def test_a_jvm_that_refuses_its_options_is_reported_with_its_status(jvm: Jvm) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    began = time.monotonic()
    with pytest.raises(LaunchFailed, match="exit status 1") as failed:
        jvmti.launch([jvm.java, *jvm.args, "-XX:+NoSuchFlag", "Idle"], **quiet)
    assert failed.value.returncode == 1
    # Agents load one after the other: this one fails when ours has been let go.
    with pytest.raises(LaunchFailed, match="exit status 1"):
        jvmti.launch([jvm.java, *jvm.args, "-agentpath:/nonexistent/libother.so", "Idle"], **quiet)
    with pytest.raises(LaunchFailed, match="exit status 1"):
        jvmti.launch([jvm.java, *jvm.args, "-XX:+NoSuchFlag", "Idle"], hold=True, **quiet)
    assert time.monotonic() - began < 20


def test_a_jvm_without_its_main_class_is_lost_with_one_clear_error(jvm: Jvm) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    vm = jvmti.launch([jvm.java, *jvm.args, "no.such.Main"], hold=True, **quiet)
    assert vm.popen is not None
    with contextlib.suppress(TargetLost):
        # It is live for a moment before it looks for the class.
        vm.proceed()
    assert vm.popen.wait(20) == 1
    with pytest.raises(Error, match="ended"):
        vm.env.get_all_threads()
    vm.detach()


def test_a_program_whose_capabilities_cannot_be_had_does_not_stay_behind(jvm: Jvm) -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text()
    with pytest.raises((Error, ValueError), match="can_fly"):
        jvmti.launch(command(jvm, "Idle"), capabilities={"can_fly"}, stdin=subprocess.DEVNULL)
    assert children.read_text() == before


def test_launching_a_script_finds_the_jvm_that_it_becomes(
    jvm: Jvm, launch: Callable[..., jvmti.VM], tmp_path: Path
) -> None:
    script = tmp_path / "start me.sh"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command(jvm, "Witness"))} "$@"\n')
    script.chmod(0o755)
    vm = launch([str(script)], capabilities="all")
    assert first_line(vm) == "ready"
    assert names_of(vm.env.get_capabilities()) >= onload_only(jvm)
    assert ask(vm, "pid") == str(vm.process.pid)


# ---- JVMs that inherit the options ------------------------------------------------------------


def test_the_children_of_a_launched_jvm_start_as_usual(
    jvm: Jvm, launch: Callable[..., jvmti.VM]
) -> None:
    parent = shlex.join([*command(jvm, "Parent"), *command(jvm, "Idle")])
    vm = launch(["sh", "-c", f"exec {parent}"])
    assert first_line(vm) == "ready"
    for _ in range(2):
        began = time.monotonic()
        assert ask(vm, "run") == "0"
        assert time.monotonic() - began < 5
    assert vm.process.main.startswith("Parent")
    assert "main" in threads(vm)


def test_a_script_that_runs_a_jvm_before_its_program_hangs_neither(
    jvm: Jvm, launch: Callable[..., jvmti.VM]
) -> None:
    first, second = (shlex.join(command(jvm, name)) for name in ("Idle", "Witness"))
    # The way spark-submit starts: one JVM works out the command of the next.
    script = f'said=$({first} </dev/null); [ -n "$said" ] && exec {second}'
    vm = launch(["bash", "-c", script], main="Witness", hold=True)
    assert vm.process.main == "Witness"
    assert vm.phase == VMPhase.ONLOAD
    vm.proceed()
    assert first_line(vm) == "ready"
    # Without a name it is the first that counts, and the other starts as usual.
    vm = launch(["sh", "-c", f"{first} </dev/null; exec {second} </dev/null"])
    assert vm.process.main == "Idle"
    assert vm.popen is not None
    assert vm.popen.communicate(timeout=20)[0].split() == [b"ready", b"done", b"ready"]


def test_the_children_of_a_listening_jvm_listen_too(
    jvm: Jvm, java_program: JavaPrograms, tmp_path: Path
) -> None:
    for options in (
        jvmti.AgentOptions(listen=""),
        # One path for all: the first has it, the others take the usual place.
        jvmti.AgentOptions(listen=f"{tmp_path}/one.sock"),
    ):
        program = java_program(
            "Parent",
            *command(jvm, "Idle"),
            env={"JAVA_TOOL_OPTIONS": jvmti.java_tool_options(options)},
        )
        program.expect("ready")
        child = int(program.ask("start"))
        for pid, main in ((program.pid, "Parent"), (child, "Idle"), (program.pid, "Parent")):
            with jvmti.attach(pid) as vm:
                assert vm.loaded_at_startup
                assert vm.process.pid == pid
                assert vm.process.main.startswith(main)
                assert "main" in threads(vm)
        assert program.ask("end") == "0"
        assert not socket_of(child).exists()
        with jvmti.attach(program.pid) as vm:
            assert vm.loaded_at_startup
        program.stop()


def test_two_launches_one_around_the_other_both_get_the_jvm(
    jvm: Jvm, launch: Callable[..., jvmti.VM]
) -> None:
    from jvmti.target.launch import Launch

    with Launch(["sleep", "100"]) as outer:
        try:
            env = environment(JAVA_TOOL_OPTIONS=tool_options_of(outer.popen.pid))
            met: list[jvmti.VM] = []

            def meet() -> None:
                vm = jvmti.VM(outer.accept(20))
                met.append(vm)
                vm.proceed()

            waiting = threading.Thread(target=meet)
            waiting.start()
            vm = launch(["sh", "-c", f"exec {shlex.join(command(jvm, 'Idle'))}"], env=env)
            waiting.join(20)
            assert first_line(vm) == "ready"
            assert "main" in threads(vm)
            assert "main" in threads(met[0])
            met[0].detach()
            assert "main" in threads(vm)
        finally:
            outer.popen.kill()
            outer.popen.wait()


def tool_options_of(pid: int) -> str:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        for one in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if one.startswith(b"JAVA_TOOL_OPTIONS="):
                return os.fsdecode(one.partition(b"=")[2])
        time.sleep(0.01)  # it is not yet the program that it becomes
    pytest.fail("the program has no JAVA_TOOL_OPTIONS")


# ---- listening --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["listen", "listen=PATH", "agentlib", "environment"])
def test_an_agent_that_listens_from_the_start_is_reached_without_loading_anything(
    java_program: JavaPrograms, tmp_path: Path, other_place: str, how: str
) -> None:
    path = tmp_path / "own.sock"
    match how:
        case "listen":
            program = java_program("Witness", jvm_args=[f"-agentpath:{own_library()}=listen"])
        case "listen=PATH":
            program = java_program(
                "Witness", jvm_args=[f"-agentpath:{own_library()}=listen={path}"]
            )
        case "agentlib":
            program = java_program(
                "Witness",
                jvm_args=["-agentlib:jvmti=listen", "-XX:+DisableAttachMechanism"],
                env={"LD_LIBRARY_PATH": str(Path(own_library()).parent)},
            )
        case _:
            text = jvmti.java_tool_options(library=other_place)
            program = java_program("Witness", env={"JAVA_TOOL_OPTIONS": text})
    program.expect("ready")
    place = path if how == "listen=PATH" else socket_of(program.pid)
    about = place.lstat()
    assert stat.S_ISSOCK(about.st_mode)
    assert about.st_mode & 0o777 == 0o600
    assert place.parent == tmp_path or place.parent.stat().st_mode & 0o777 == 0o700
    for _ in range(3):
        with jvmti.attach(program.pid) as vm:
            assert vm.loaded_at_startup
            assert vm.phase == VMPhase.LIVE
            assert "sleeping" in threads(vm)
    program.stop()
    assert not place.exists()


def test_two_controllers_work_through_one_listening_agent(java_program: JavaPrograms) -> None:
    program = java_program("Witness", jvm_args=[f"-agentpath:{own_library()}=listen,reserve"])
    program.expect("ready")
    with jvmti.attach(program.pid) as one, jvmti.attach(program.pid) as other:
        assert one.loaded_at_startup
        assert other.loaded_at_startup
        one.env.add_capabilities({"can_suspend"})
        with pytest.raises(Error, match=f"controller {os.getpid()}"):
            other.env.add_capabilities({"can_suspend"})
        assert threads(one) == threads(other)
        one.detach()
        other.env.add_capabilities({"can_suspend"})
        assert "sleeping" in threads(other)


def test_a_socket_that_a_killed_jvm_left_is_taken_over(
    java_program: JavaPrograms, tmp_path: Path
) -> None:
    path = tmp_path / "left.sock"
    options = [f"-agentpath:{own_library()}=listen={path}"]
    killed = java_program("Idle", jvm_args=options)
    killed.expect("ready")
    killed.kill()
    assert path.is_socket()
    program = java_program("Idle", jvm_args=options)
    program.expect("ready")
    with jvmti.attach(program.pid) as vm:
        assert vm.loaded_at_startup
    with pytest.raises(NoSuchProcess):
        jvmti.attach(killed.pid)
    program.stop()
    assert not path.exists()


def test_what_lies_in_the_way_of_a_socket_stays_and_the_usual_place_serves(
    java_program: JavaPrograms, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    planted = tmp_path / "link.sock"
    planted.symlink_to(file)
    for path in (file, planted, tmp_path / "no" / "such" / "directory", tmp_path / ("x" * 200)):
        program = java_program("Idle", jvm_args=[f"-agentpath:{own_library()}=listen={path}"])
        program.expect("ready")
        with jvmti.attach(program.pid) as vm:
            assert vm.loaded_at_startup
        program.stop()
    assert file.read_text() == "precious"
    assert planted.is_symlink()


def test_an_agent_without_a_place_to_listen_says_so_and_the_program_runs(
    java_program: JavaPrograms, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs another user's directory in the way")
    directory = Path(f"/tmp/.jvmti-{NOBODY}")
    directory.mkdir(exist_ok=True)
    try:
        directory.chmod(0o777)
        log = tmp_path / "log"
        library = Path(f"/var/tmp/jvmti-ways-{os.getpid()}.so")
        shutil.copy(own_library(), library)
        tmp_path.chmod(0o777)
        program = java_program(
            "Idle",
            wrapper=AS_NOBODY,
            jvm_args=[f"-agentpath:{library}=listen,log=/var/tmp/jvmti-ways-{os.getpid()}.log"],
        )
        program.expect("ready")
        assert "the agent does not listen" in program.stderr
        log = Path(f"/var/tmp/jvmti-ways-{os.getpid()}.log")
        assert "is not a private directory" in log.read_text()
        program.stop()
        log.unlink()
    finally:
        library.unlink()
        directory.rmdir()


# ---- reserving --------------------------------------------------------------------------------


def test_what_was_reserved_at_the_start_can_be_had_by_those_who_attach_later(
    java_program: JavaPrograms, jvm: Jvm
) -> None:
    program = java_program("Witness", jvm_args=[f"-agentpath:{own_library()}=reserve"])
    program.expect("ready")
    for _ in range(2):
        with jvmti.attach(program.pid, capabilities=onload_only(jvm)) as vm:
            assert names_of(vm.env.get_capabilities()) == onload_only(jvm)
            # One that the VM only grants to an agent that was there from the start.
            main = next(
                thread
                for thread in vm.env.get_all_threads()
                if vm.env.get_thread_info(thread).name == "blocked"
            )
            assert vm.env.get_current_contended_monitor(main) is not None


def test_named_capabilities_are_reserved_and_no_others(java_program: JavaPrograms) -> None:
    wanted = {
        "can_generate_frame_pop_events",
        "can_access_local_variables",
        "can_get_owned_monitor_info",
    }
    options = jvmti.AgentOptions(reserve=tuple(sorted(wanted)))
    program = java_program("Idle", jvm_args=[f"-agentpath:{own_library()}={options}"])
    program.expect("ready")
    with jvmti.attach(program.pid, capabilities=wanted) as vm:
        assert names_of(vm.env.get_potential_capabilities()) & ONLOAD_ONLY == wanted
        with pytest.raises(Error):
            vm.env.add_capabilities({"can_generate_single_step_events"})
        assert names_of(vm.env.get_capabilities()) == wanted


def test_steps_are_reserved_with_leaving_frames(java_program: JavaPrograms) -> None:
    """By a step the agent knows that a frame was left, before which none else may be."""
    options = jvmti.AgentOptions(reserve=("can_pop_frame",))
    program = java_program("Idle", jvm_args=[f"-agentpath:{own_library()}={options}"])
    program.expect("ready")
    with jvmti.attach(program.pid) as vm:
        potential = names_of(vm.env.get_potential_capabilities())
        if "can_pop_frame" not in potential:
            pytest.skip("this VM cannot leave frames")
        assert potential & ONLOAD_ONLY == {"can_pop_frame", "can_generate_single_step_events"}


# ---- options that others wrote ----------------------------------------------------------------

OPTIONS = [
    "",
    "listen",
    "reserve",
    "reserve=can_pop_frame",
    "connect=/nonexistent/socket",
    "connect=/nonexistent/socket,token=00ff,timeout=5,listen,reserve",
    "token=" + "ab" * 64,
    "connect=%2Fnonexistent%2Fa%20b%2C%3D",
    # From here on none means anything.
    "=",
    ",",
    "listen,",
    ",listen",
    "listen,,reserve",
    "listen,listen",
    "connect",
    "connect=",
    "listen=",
    "frobnicate",
    "listen=%",
    "listen=%4",
    "listen=%zz",
    "listen=%00",
    "listen=/tmp/a b",
    "listen=/tmp/\udcff",
    "LISTEN",
    "timeout=0",
    "timeout=-1",
    "timeout=soon",
    "timeout=99999999999999999999",
    "token=" + "ab" * 65,
    "token=XY",
    "token=abc",
    "reserve=fly",
    "reserve=can_pop_frame+",
    "%s%s%s%n",
    "listen=" + "%s" * 30,
    "x" * 5000,
]


def test_the_agent_and_python_agree_on_every_option_string(jvm: Jvm) -> None:
    for text in OPTIONS:
        try:
            jvmti.AgentOptions.parse(text)
            right = True
        except OptionsError:
            right = False
        done = subprocess.run(
            [jvm.java, *jvm.args, f"-agentpath:{own_library()}={text}", "-Xshare:auto", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )
        assert done.returncode == (0 if right else 1), (text, done.stderr)
        assert (b"jvmti: " in done.stderr) == (not right), (text, done.stderr)


def test_a_capability_that_does_not_exist_is_not_reserved_in_silence(jvm: Jvm) -> None:
    done = jvm.run(f"-agentpath:{own_library()}=reserve=can_fly", "-version", check=False)
    assert done.returncode == 1
    assert "reserve= needs names of capabilities" in done.stderr


def test_values_that_are_too_long_are_refused(jvm: Jvm) -> None:
    for key in ("connect", "listen", "log"):
        option = f"-agentpath:{own_library()}={key}=/{'x' * 3000}"
        done = jvm.run(option, "-version", check=False)
        assert done.returncode == 1
        assert "too long" in done.stderr


# ---- nobody to connect to ---------------------------------------------------------------------


def test_a_jvm_starts_at_once_when_nobody_waits_for_it(
    java_program: JavaPrograms, tmp_path: Path
) -> None:
    path = tmp_path / "nobody"
    gone = socket.socket(socket.AF_UNIX)
    gone.bind(str(path))
    gone.close()
    for place in (path, tmp_path / "absent", tmp_path):
        began = time.monotonic()
        program = java_program("Idle", jvm_args=[f"-agentpath:{own_library()}=connect={place}"])
        program.expect("ready")
        assert time.monotonic() - began < 8
        # It is an ordinary JVM, so attaching is as usual.
        with jvmti.attach(program.pid) as vm:
            assert not vm.loaded_at_startup
        program.stop()


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 64, None])
def test_a_jvm_starts_when_what_answers_is_no_controller(
    java_program: JavaPrograms, tmp_path: Path, said: bytes | None
) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        listening.settimeout(20)
        program = java_program(
            "Idle", jvm_args=[f"-agentpath:{own_library()}=connect={path},timeout=1"]
        )
        began = time.monotonic()
        connected, _ = listening.accept()
        with connected:
            if said is not None:
                connected.sendall(said)
            if said == b"":
                connected.close()
            program.expect("ready")
        assert time.monotonic() - began < 10
        with jvmti.attach(program.pid) as vm:
            assert "main" in threads(vm)
            assert vm.stats.agent is not None
            assert vm.stats.agent.sessions == 1


# ---- elsewhere --------------------------------------------------------------------------------

PLACES = {
    # With a /tmp of its own: each namespace has a process 1, and they would share /tmp/.java_pid1.
    "namespaces": [*UNSHARE, *USER, *own_tmp()],
    "another user": AS_NOBODY,
    "container": CONTAINER,
}


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can")
@pytest.mark.parametrize("place", PLACES)
def test_a_jvm_elsewhere_is_worked_on_like_any_other(
    java_program: JavaPrograms, place: str
) -> None:
    program = java_program("Witness", wrapper=PLACES[place])
    program.expect("ready")
    process = jvm_below(program.pid)
    for _ in range(2):
        with jvmti.attach(process) as vm:
            assert not vm.loaded_at_startup
            assert "sleeping" in threads(vm)
            vm.env.add_capabilities({"can_tag_objects"})
            signatures = vm.env.map.get_class_signature(vm.env.get_loaded_classes())
            assert "LWitness;" in list(signatures.signature)
            # Large requests take shared memory, a descriptor that crosses the border too.
            many = vm.env.map.get_thread_state(vm.env.get_all_threads() * 5000)
            assert not many.status.any()
    assert program.ask("version").isdigit()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can")
def test_a_listening_agent_of_another_user_serves_root_and_nobody_else(
    java_program: JavaPrograms,
) -> None:
    library = Path(f"/var/tmp/jvmti-ways-{os.getpid()}.so")
    shutil.copy(own_library(), library)
    try:
        program = java_program(
            "Witness", wrapper=AS_NOBODY, jvm_args=[f"-agentpath:{library}=listen"]
        )
        program.expect("ready")
        with jvmti.attach(program.pid) as vm:
            assert vm.loaded_at_startup
            assert "sleeping" in threads(vm)
            # Even with the file's mode out of the way, the agent looks at who connects.
            path = socket_of(program.pid, NOBODY)
            path.parent.chmod(0o777)
            path.chmod(0o777)
            stranger = subprocess.run(
                ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "/usr/bin/python3"],
                input="import socket\ns = socket.socket(socket.AF_UNIX)\n"
                f"s.connect({str(path)!r})\ns.settimeout(10)\nprint(s.recv(100))\n",
                capture_output=True,
                text=True,
                timeout=20,
            )
            assert stranger.stdout == "b''\n", stranger.stderr
            assert "sleeping" in threads(vm)
        program.stop()
    finally:
        library.unlink()
        shutil.rmtree(f"/tmp/.jvmti-{NOBODY}", ignore_errors=True)


# ---- the end ----------------------------------------------------------------------------------


def test_a_jvm_that_is_killed_gives_one_clear_error_at_once(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    vm = jvmti.attach(program.pid)
    vm.env.get_all_threads()
    os.kill(program.pid, signal.SIGKILL)
    began = time.monotonic()
    for _ in range(2):
        with pytest.raises(Error, match="ended"):
            while True:
                vm.env.get_all_threads()
    vm.detach()
    assert time.monotonic() - began < 60
