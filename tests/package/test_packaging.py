"""What is installed is what was promised.

One wheel for every Python, with an agent that needs nothing of its target but the C
library and exports no more names than the VM looks up.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import jvms
import jvmti

sys.path.append(str(jvms.ROOT / "native" / "agent" / "generate"))

import probe_helper

NATIVE = Path(jvmti.__file__).parent / "_native"
HERE = f"glibc-{platform.machine()}"

ENTRY_POINTS = {
    f"Agent_{when}{suffix}"
    for when in ("OnLoad", "OnAttach", "OnUnload")
    for suffix in ("", "_jvmti")
}

NATIVES = "Java_" + probe_helper.helper_name().replace("/", "_")

# The dynamic loader counts as part of the C library: on some machines symbols come from it.
C_LIBRARY = re.compile(
    r"(libc|libpthread|libdl|librt)\.so\.\d+|ld-linux[-\w]*\.so\.\d+"
    r"|libc\.musl-\w+\.so\.1"
)


def readelf(*options: str, library: Path) -> str:
    if shutil.which("readelf") is None:
        pytest.skip("no readelf here")
    return subprocess.run(
        ["readelf", "--wide", *options, str(library)],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.fixture(
    params=sorted(NATIVE.glob("*/*.so")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def library(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from these sources where there is no JDK."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAVA", "JDK"))}
    # The directory of `make install`: the same options, so what that has compiled is there.
    build = jvms.ROOT / "build"
    settings = [f"--config-settings=build-dir={build / 'dev'}"]
    # It goes on with the tools that it was configured with: this environment may be a passing one.
    note = jvms.ROOT / "src" / "jvmti" / "_native" / "python"
    if note.exists():
        python = Path(note.read_text().strip())
        chosen = {"Python_EXECUTABLE": python, "CMAKE_MAKE_PROGRAM": python.with_name("ninja")}
        settings += [f"--config-settings=cmake.define.{name}={chosen[name]}" for name in chosen]
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", *settings, "--wheel-dir", str(target)]
    build.mkdir(exist_ok=True)
    with (build / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run(
            [*command, str(jvms.ROOT)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_has_the_examples(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    there = {path.name for path in (jvms.ROOT / "examples" / "agents").glob("*.py")}
    prefix = "jvmti/examples/agents/"
    assert {name.removeprefix(prefix) for name in names if name.startswith(prefix)} == there


def test_there_is_an_agent_for_this_machine() -> None:
    assert (NATIVE / HERE / "libjvmti.so").is_file()


def test_a_library_needs_the_c_library_only(library: Path) -> None:
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", library=library))
    assert [name for name in needed if not C_LIBRARY.fullmatch(name)] == []


def test_a_library_has_no_thread_local_storage(library: Path) -> None:
    segments = readelf("--program-headers", library=library)
    assert "LOAD" in segments
    assert not re.search(r"^\s+TLS\s", segments, re.MULTILINE)
    assert "__tls_get_addr" not in readelf("--dyn-syms", library=library)


def test_a_library_is_hardened(library: Path) -> None:
    segments = readelf("--program-headers", library=library)
    assert "GNU_RELRO" in segments
    assert re.search(r"GNU_STACK.* RW ", segments)
    dynamic = readelf("--dynamic", library=library)
    assert "NOW" in dynamic
    assert "TEXTREL" not in dynamic
    assert "RUNPATH" not in dynamic
    assert "RPATH" not in dynamic


def test_the_agent_exports_its_entry_points_only(library: Path) -> None:
    if library.name != "libjvmti.so":
        pytest.skip("not the agent")
    natives = {
        f"{NATIVES}_{name}"
        for name in ("control", "halt", "key", "object", "parked", "pause", "raise", "test")
    }
    assert exported(library) == ENTRY_POINTS | natives


def test_a_library_of_the_controller_exports_its_header_only(library: Path) -> None:
    name = library.stem.removeprefix("lib")
    if name == "jvmti":
        pytest.skip("the agent")
    header = jvms.ROOT / "native" / name.removeprefix("jvmti_") / f"{name}.h"
    declared = re.findall(rf"^\w+ ({name}_\w+)\(", header.read_text(), re.MULTILINE)
    assert exported(library) == {*declared}


def exported(library: Path) -> set[str]:
    names = set()
    for line in readelf("--dyn-syms", library=library).splitlines():
        columns = line.split()
        if len(columns) >= 8 and columns[4] in ("GLOBAL", "WEAK") and columns[6] != "UND":
            names.add(columns[7])
    return names


def test_every_jvm_can_load_the_agent(jvm: jvms.Jvm) -> None:
    agent = NATIVE / HERE / "libjvmti.so"
    done = jvm.run(f"-agentpath:{agent}=help", "-version", check=False)
    assert "Could not find agent library" not in done.stdout + done.stderr


def test_the_wheel_serves_every_python(wheel: Path) -> None:
    name, version, python, abi, target = wheel.stem.split("-")
    assert (name, version) == ("jvmti", metadata.version("jvmti"))
    assert (python, abi) == ("py3", "none")
    assert target.startswith("linux_")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert f"jvmti/_native/{HERE}/libjvmti.so" in names
    for part in ("heap", "classfile", "recording"):
        assert f"jvmti/_native/{HERE}/libjvmti_{part}.so" in names
    assert "jvmti/py.typed" in names
    assert {f"jvmti/profile/formats/flame.{kind}" for kind in ("html", "css", "js")} <= {*names}
    assert {f"jvmti/heap/html/report.{kind}" for kind in ("html", "css", "js")} <= {*names}
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    strangers = [name for name in names if not name.startswith(("jvmti/", "jvmti-"))]
    assert strangers == []
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []


def each_example() -> set[str]:
    agents = jvms.ROOT / "examples" / "agents"
    return {f"examples/agents/{path.name}" for path in agents.glob("*.py")}


def test_the_wheel_holds_every_module_of_the_sources(wheel: Path) -> None:
    sources = jvms.ROOT / "src"
    modules = {path.relative_to(sources).as_posix() for path in sources.glob("jvmti/**/*.py")}
    # `jvmti examples` copies these out of the package.
    modules |= {f"jvmti/{path}" for path in each_example()}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.endswith(".py")}
    assert packed == modules


def test_the_static_agent_holds_the_entry_points(static_agent: Path) -> None:
    listing = readelf("--syms", library=static_agent)
    defined = {
        columns[7]
        for line in listing.splitlines()
        if len(columns := line.split()) >= 8 and columns[4] == "GLOBAL" and columns[6] != "UND"
    }
    assert defined >= ENTRY_POINTS
