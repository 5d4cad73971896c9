from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jvmti.target.errors import (
    JvmDied,
    NoMatch,
    NoSuchProcess,
    NotAJvm,
    SeveralMatch,
)
from jvmti.target.processes.search import Process, find, processes
from jvmti.text.printable import printable
from places import AS_NOBODY, skip_below_closed_folders

if TYPE_CHECKING:
    from jvms import Jvm
    from programs import JavaPrograms


def test_a_jvm_is_found_by_pid_and_described(java_program: JavaPrograms, jvm: Jvm) -> None:
    before = time.time()
    program = java_program("Idle", "one", "two words", jvm_args=["-Dmarker=a b"])
    program.expect("ready")
    process = find(program.pid)
    assert process == find(str(program.pid))
    assert process.main == process.name == "Idle"
    assert process.arguments == ("one", "two words")
    assert "-Dmarker=a b" in process.jvm_arguments
    assert process.java_version is not None
    assert process.java_version.split(".")[0] == str(jvm.feature)
    assert process.java_home is not None
    assert os.path.samefile(process.java_home, jvm.home)
    assert process.libjvm is not None
    assert process.musl is False
    assert process.namespace_pid == program.pid
    assert not process.foreign_namespaces
    assert not process.needs_helper()
    assert (process.uid, process.gid) == (os.geteuid(), os.getegid())
    assert abs(process.started - before) < 5
    assert process in processes()


def test_a_jvm_without_performance_data_is_read_from_its_command_line(
    java_program: JavaPrograms, tmp_path: Path
) -> None:
    program = java_program("Idle", "x", jvm_args=["-XX:-UsePerfData", "-Dmarker=a b"])
    program.expect("ready")
    process = find(program.pid)
    assert process.main == "Idle"
    assert process.arguments == ("x",)
    assert "-Dmarker=a b" in process.jvm_arguments
    assert process.java_version is not None


def test_tool_options_are_among_the_arguments(java_program: JavaPrograms) -> None:
    for flags in ([], ["-XX:-UsePerfData"]):
        program = java_program("Idle", jvm_args=flags, env={"JAVA_TOOL_OPTIONS": "-Dfrom=env"})
        program.expect("ready")
        assert "-Dfrom=env" in find(program.pid).jvm_arguments


def test_argument_files_are_understood(java_program: JavaPrograms, tmp_path: Path) -> None:
    program = java_program("Idle")
    program.expect("ready")
    classes = find(program.pid).jvm_arguments[-1]
    file = tmp_path / "arguments"
    for flag in ("-XX:+UsePerfData", "-XX:-UsePerfData"):
        file.write_text(f"{flag} -cp '{classes}'\nIdle from-file")
        other = java_program.start([f"@{file}", "last"])
        other.expect("ready")
        process = find(other.pid)
        assert process.main == "Idle"
        assert process.arguments == ("from-file", "last")
        assert flag in process.jvm_arguments


def test_part_of_the_name_finds_the_only_jvm_that_has_it(
    java_program: JavaPrograms, sole_jar: Path
) -> None:
    program = java_program.start(["-jar", str(sole_jar)])
    program.expect("ready")
    part = sole_jar.stem[-12:]
    for name in (str(sole_jar), sole_jar.name, part):
        assert find(name).pid == program.pid
    second = java_program.start(["-jar", str(sole_jar)])
    second.expect("ready")
    with pytest.raises(SeveralMatch, match=f"2 JVMs match '{part}'") as several:
        find(part)
    assert sorted(several.value.candidates) == sorted(
        f"{pid} {sole_jar}" for pid in (program.pid, second.pid)
    )
    with pytest.raises(NoMatch, match="running are:") as none:
        find("NoSuchProgramAnywhere")
    assert str(program.pid) in str(none.value)
    with pytest.raises(NoMatch):
        find("  ")


def test_a_name_that_is_only_in_the_arguments_is_reported(java_program: JavaPrograms) -> None:
    program = java_program("Idle", jvm_args=["-Dserver.home=/opt/Acme-Server-14"])
    program.expect("ready")
    for name in ("acme-server-14", "Acme-Server-14"):
        with pytest.raises(NoMatch) as none:
            find(name)
        reported = [
            line for line in str(none.value).splitlines() if "has it in its arguments" in line
        ]
        assert reported == [f"  {program.pid} Idle (has it in its arguments)"]


def test_what_is_no_jvm_is_refused() -> None:
    with pytest.raises(NoSuchProcess, match="no process 0"):
        find(0)
    with pytest.raises(NoSuchProcess):
        find(2**22 + 1)
    with pytest.raises(NoSuchProcess):
        find(2**80)
    with pytest.raises(NotAJvm, match="is not a JVM"):
        find(os.getpid())
    with pytest.raises(TypeError):
        find(1.5)  # type: ignore[arg-type]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        with pytest.raises(NotAJvm):
            find(other.pid)
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(NoSuchProcess, match="zombie"):
            find(other.pid)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can")
def test_another_user_sees_what_the_system_shows(java_program: JavaPrograms) -> None:
    skip_below_closed_folders()
    program = java_program("Idle", "x")
    program.expect("ready")
    python = "/usr/bin/python3"
    if not os.access(python, os.X_OK):
        pytest.skip("no Python that every user can run")
    source = Path(sys.modules["jvmti.target"].__path__[0]).parent
    code = (
        "import sys, types; package = types.ModuleType('jvmti')\n"
        f"package.__path__ = [{str(source)!r}]; sys.modules['jvmti'] = package\n"
        "from jvmti.target.processes.search import find, processes\n"
        f"process = find({program.pid})\n"
        "assert process in processes()\n"
        "assert process.executable is process.libjvm is None\n"
        "print(process.describe(), process.arguments, process.needs_helper())\n"
        "try:\n    find(1)\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [*AS_NOBODY, python, "-c", code], capture_output=True, text=True, timeout=30, cwd="/"
    )
    assert done.stdout.startswith(f"{program.pid} Idle ('x',) True\nNotAJvm"), done.stderr
    assert "only its own user and root" in done.stdout


def test_a_thread_is_not_a_process(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    thread = max(map(int, os.listdir(f"/proc/{program.pid}/task")))
    with pytest.raises(NoSuchProcess, match="is a thread of"):
        find(thread)


def test_a_pid_that_was_used_again_is_noticed(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    process = find(program.pid)
    earlier = dataclasses.replace(process, start_ticks=process.start_ticks - 1)
    with pytest.raises(JvmDied, match="another process"):
        earlier.open()
    program.kill()
    with pytest.raises(JvmDied, match="has ended"):
        process.open()


LAUNCHER = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
struct option { char *text; void *extra; };
struct arguments { int version, count; struct option *options; unsigned char ignore; };
int main(int argc, char **argv) {
    int (*create)(void **, void **, void *) =
        (int (*)(void **, void **, void *))dlsym(dlopen(argv[1], RTLD_NOW), "JNI_CreateJavaVM");
    struct option options[] = {{"-Dembedded=yes", NULL}};
    struct arguments arguments = {0x00010008, 1, options, 0};
    void *vm, *env;
    if (create(&vm, &env, &arguments)) return 1;
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
"""


def test_a_jvm_embedded_in_another_program_is_found(jvm: Jvm, tmp_path: Path) -> None:
    source = tmp_path / "launcher.c"
    source.write_text(LAUNCHER)
    subprocess.run(["cc", "-o", tmp_path / "launcher", source, "-ldl"], check=True)
    library = next(jvm.home.glob("lib/server/libjvm.so"), None)
    if library is None:
        pytest.skip("no server VM to embed")
    with subprocess.Popen(
        [tmp_path / "launcher", library], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as embedding:
        assert embedding.stdout is not None
        assert embedding.stdout.readline() == b"ready\n"
        process = find(embedding.pid)
        assert "-Dembedded=yes" in process.jvm_arguments
        assert process.libjvm is not None
        embedding.communicate(b"\n")


def test_a_jar_whose_path_has_blanks_is_the_main_program(
    java_program: JavaPrograms, tmp_path: Path
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    classes = find(program.pid).jvm_arguments[-1]
    directory = tmp_path / "a b"
    directory.mkdir()
    (directory / "MANIFEST.MF").write_text("Manifest-Version: 1.0\nMain-Class: Idle\n")
    import zipfile

    with zipfile.ZipFile(directory / "my app.jar", "w") as jar:
        jar.write(directory / "MANIFEST.MF", "META-INF/MANIFEST.MF")
        jar.write(f"{classes}/Idle.class", "Idle.class")
    other = java_program.start(["-jar", str(directory / "my app.jar"), "x"])
    other.expect("ready")
    process = find(other.pid)
    assert process.main == str(directory / "my app.jar")
    assert process.name == "my app.jar"
    assert process.arguments == ("x",)
    assert find("my app.jar") == process


def test_control_characters_of_a_target_are_escaped() -> None:
    assert printable("a\x1b[31mb\n\udcff\u202e") == "a\\x1b[31mb\\n\\udcff\\u202e"


def test_names_without_package_and_directory() -> None:
    def name(main: str) -> str:
        blank = dict.fromkeys(field.name for field in dataclasses.fields(Process))
        return Process(**{**blank, "main": main}).name  # type: ignore[arg-type]

    assert name("com.acme.Main") == "Main"
    assert name("acme.module/com.acme.Main") == "Main"
    assert name("/opt/my.app.jar") == "my.app.jar"
    assert name("Main") == "Main"
    assert name("") == ""
