"""A function of a future version of JVM TI takes one edited Python file and no C++.

The header of a future JDK is made from the present one by giving a reserved slot a name; then the
function is declared in a copy of the package, the agent is built from it, and called.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import agent_builds
import jvms
import programs

SPARE_SLOT = 105

DECLARATION = '''
    @function(105, phase=ANY, since="1.0")
    def get_spare_number(self, thread: Thread | None = None) -> Int:
        """A number that a future version could have."""
'''

USE = """
import sys
# An editable installation finds the package before PYTHONPATH does.
redirecting = "ScikitBuildRedirectingFinder"
sys.meta_path = [one for one in sys.meta_path if type(one).__name__ != redirecting]
import jvmti
from jvmti.env.interface import FUNCTIONS

with jvmti.attach(int(sys.argv[1])) as vm:
    declaration = FUNCTIONS["get_spare_number"]
    assert declaration.c_name == "GetSpareNumber" and declaration.slot == 105
    thread = vm.env.get_all_threads()[0]
    for call in (lambda: vm.env.get_spare_number(thread), lambda: vm.env.get_spare_number()):
        try:
            call()
        except NotImplementedError as error:
            print(error)
    print(vm.env.map.get_spare_number([thread, thread]).status.tolist())
"""


def built(directory: Path, headers: Path) -> Path:
    """The agent of the sources in a directory.

    What the declaration does not change is taken as `make install` has compiled it: where a
    reserved slot of the VM's table has a name now, what does not use the name is the same.
    """
    tools = Path(sys.executable).parent
    ninja = str(tools / "ninja")
    build = directory / "build"
    configure = [tools / "cmake", "-G", "Ninja", "-S", directory / "native", "-B", build]
    configure += [f"-DCMAKE_MAKE_PROGRAM={ninja}", f"-DJVMTI_JDK_INCLUDE={headers}"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=None"]
    present = agent_builds.static().parent
    cache = (present.parent / "CMakeCache.txt").read_text()
    configure += [
        f"-D{one}" for one in re.findall(r"^JVMTI_(?:PRECOMPILE|TOGETHER).*", cache, re.M)
    ]
    done(*configure)
    agent, library = build / "agent", Path("agent", "libjvmti.so")
    comparison = filecmp.cmpfiles(
        present / "generated", agent / "generated", os.listdir(agent / "generated"), shallow=False
    )
    changed = {*comparison[1], *comparison[2]}
    assert "thunks.cpp" in changed
    assert [name for name in changed if name.endswith(".h")] == [], "that would reach other sources"
    objects = Path("CMakeFiles", "jvmti_agent_objects.dir")
    probes = Path("classfile", "CMakeFiles", "jvmti_classfile_objects.dir")
    shutil.copytree(present / objects, agent / objects, dirs_exist_ok=True)
    shutil.copytree(present.parent / probes, build / probes, dirs_exist_ok=True)
    sources = [name for name in changed if name.endswith(".cpp")]
    done(ninja, "-C", build, *("agent" / objects / "generated" / f"{one}.o" for one in sources))
    link = done(ninja, "-C", build, "--quiet", "-t", "commands", "-s", library)
    done("sh", "-ec", f"cd '{build}'; {link}")
    return build / library


def done(*command: str | Path) -> str:
    """Run a command, which must succeed; what it printed."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_spare_slot_is_declared_in_one_file_and_built(tmp_path: Path) -> None:
    for folder in ("src", "native"):
        ignored = shutil.ignore_patterns("_native", "__pycache__")
        shutil.copytree(jvms.ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(jvms.ROOT / "pyproject.toml", tmp_path)

    edited = tmp_path / "src" / "jvmti" / "env" / "threads" / "thread.py"
    text = edited.read_text()
    text = text.replace(
        "from jvmti.interface.declaration import ",
        "from jvmti.interface.declaration import ANY, ",
        1,
    ).replace("ANY, ANY, ", "ANY, ", 1)
    if not re.search(r"interface\.types import .*\bInt\b", text):
        text = text.replace("\n\n\nclass", "\nfrom jvmti.interface.types import Int\n\n\nclass", 1)
    edited.write_text(text.rstrip() + "\n" + DECLARATION)

    headers = tmp_path / "include"
    shutil.copytree(jvms.named("25").home / "include", headers)
    header = headers / "jvmti.h"
    future = re.sub(
        rf"void\s*\*\s*reserved{SPARE_SLOT};",
        "jvmtiError (JNICALL *GetSpareNumber) (jvmtiEnv*, jthread, jint*);",
        header.read_text(),
    )
    assert "GetSpareNumber" in future, "the slot is not spare any more; take another"
    header.chmod(0o644)
    header.write_text(future)

    library = built(tmp_path, headers)

    java_programs = programs.JavaPrograms(jvms.named("25"), tmp_path)
    program = java_programs("Idle")
    program.expect("ready")
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path / "src"),
        "JVMTI_AGENT_LIBRARY": str(library),
    }
    used = subprocess.run(
        [sys.executable, "-c", USE, str(program.pid)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert used.returncode == 0, used.stderr
    lines = used.stdout.splitlines()
    # No VM has it, so the agent refuses; that it knows of it at all came from the one file.
    assert lines[:2] == ["get_spare_number needs a VM of version 1.0 or later"] * 2
    assert lines[2] == "[1002, 1002]"
    assert program.running()
    java_programs.close()
