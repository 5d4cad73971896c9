"""Build the release wheels and check them.

    python scripts/build_wheels.py OUTPUT_DIRECTORY [--tested]

One wheel for each processor, and in it the libraries for both C libraries: a glibc that
is as old as 2.17, and musl. A wheel needs both, because the JVM that is looked into may
live in a container with the other one. They are cross-compiled with the compiler of the
PyPI package ziglang. The script fails if a library needs anything that its platform does
not promise, as auditwheel knows it.

With `--tested` there is what is released for this machine, with one C library; and the other C
library for the other processor, compiled without optimization, to be checked and thrown away. Each
processor and each C library is compiled then, in two fifths of the time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "release"
MACHINES = ("x86_64", "aarch64")


@dataclass(frozen=True)
class Libc:
    """A C library to build for, and the platforms that its libraries then run on."""

    name: str
    target: str
    platforms: tuple[str, ...]


LIBCS = (
    Libc("glibc", "{machine}-linux-gnu.2.17", ("manylinux_2_17", "manylinux2014")),
    Libc("musl", "{machine}-linux-musl", ("musllinux_1_2",)),
)


def main() -> None:
    """Build the libraries, then the wheels, then check every wheel."""
    parser = argparse.ArgumentParser(description="Build the release wheels and check them.")
    parser.add_argument("output", type=Path, help="the folder for them")
    parser.add_argument(
        "--tested", action="store_true", help="what the tests need, and a check of the rest"
    )
    given = parser.parse_args()
    output = given.output.absolute()
    output.mkdir(parents=True, exist_ok=True)
    glibc, musl = LIBCS
    for machine in MACHINES:
        is_own = machine == platform.machine()
        libcs = LIBCS if not given.tested else (glibc,) if is_own else (musl,)
        for libc in libcs:
            is_released = is_own or not given.tested
            build_libraries(machine, libc, "Release" if is_released else "None")
        wheel = build_wheel(machine, libcs, output)
        for libc in libcs:
            audit(wheel, machine, libc)


def build_libraries(machine: str, libc: Libc, build_type: str) -> None:
    """Cross-compile for one machine and C library, into the folder that the wheel takes."""
    variant = f"{libc.name}-{machine}"
    build = BUILD / variant
    build.mkdir(parents=True, exist_ok=True)
    toolchain = write_toolchain(build, machine, libc)
    run(
        ["cmake", "-G", "Ninja", "-S", ROOT / "native", "-B", build]
        + [f"-DCMAKE_BUILD_TYPE={build_type}", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
        + [f"-DPython_EXECUTABLE={sys.executable}", f"-DJVMTI_VARIANT={variant}"]
        # Without that, it would take twice as long; `make install` anywhere but in CI shows what a
        # file does not include.
        + ["-DJVMTI_PRECOMPILE=ON", "-DJVMTI_TOGETHER=ON"]
        # Debugging information goes, the names of functions stay for crash reports.
        + ["-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--strip-debug"]
    )
    run(["cmake", "--build", build])
    run(["cmake", "--install", build, "--prefix", BUILD / machine])
    if libc.name == "musl":
        # Zig calls musl by its own name, distributions by this one, and auditwheel knows
        # no other. musl's loader takes both for itself.
        for library in (BUILD / machine / "jvmti" / "_native" / variant).glob("*.so"):
            soname = f"libc.musl-{machine}.so.1"
            run(["patchelf", "--replace-needed", "libc.so", soname, library])


def write_toolchain(build: Path, machine: str, libc: Libc) -> Path:
    """Let CMake use Zig's compiler, which is one program with subcommands, for a target."""
    target = libc.target.format(machine=machine)
    # Zig makes the libraries of a target when it first links something for it: with the C++
    # runtime, a static C library or checks of undefined behaviour, those are thousands of files.
    # Nothing here needs any of it, and CMake's test programs do without.
    target += " -fno-sanitize=undefined"
    linked = f"cc -target {target} -dynamic -O2"
    # libc++'s headers include more than they need, for the sake of older sources: half of the time
    # that most files here take.
    lean = "-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES"
    # The program itself: `python -m ziglang` takes as long to begin as many a file to be compiled.
    found = importlib.util.find_spec("ziglang")
    assert found is not None
    assert found.origin is not None
    zig = Path(found.origin).parent / "zig"
    programs = {
        "cc": (f"cc -target {target}", linked),
        "c++": (f"c++ -target {target} {lean}", linked),
        "ar": ("ar", "ar"),
        "ranlib": ("ranlib", "ranlib"),
        "objcopy": ("objcopy", "objcopy"),
    }
    for name, (compiling, linking) in programs.items():
        program = build / name
        write(
            program,
            f"""\
#!/bin/sh
case " $* " in
  *" -c "* | *" -E "*) exec "{zig}" {compiling} "$@" ;;
  *) exec "{zig}" {linking} "$@" ;;
esac
""",
        )
        program.chmod(0o755)
    toolchain = build / "toolchain.cmake"
    write(
        toolchain,
        f"""\
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {machine})
set(CMAKE_C_COMPILER "{build}/cc")
set(CMAKE_CXX_COMPILER "{build}/c++")
set(CMAKE_AR "{build}/ar")
set(CMAKE_RANLIB "{build}/ranlib")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
""",
    )
    return toolchain


def build_wheel(machine: str, libcs: tuple[Libc, ...], output: Path) -> Path:
    """Pack the Python sources and the libraries into one wheel with its platform tags."""
    platforms = [f"{one}_{machine}" for libc in libcs for one in libc.platforms]
    with tempfile.TemporaryDirectory() as place:
        run(
            [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place]
            + [f"--config-setting=cmake.define.JVMTI_PREBUILT={BUILD / machine / 'jvmti/_native'}"]
            + [ROOT]
        )
        (built,) = Path(place).glob("*.whl")
        run(
            [sys.executable, "-m", "wheel", "tags", "--remove"]
            + [f"--platform-tag={'.'.join(platforms)}", built]
        )
        (tagged,) = Path(place).glob("*.whl")
        for old in output.glob(f"jvmti-*_{machine}.whl"):
            old.unlink()
        return Path(shutil.move(tagged, output / tagged.name))


def audit(wheel: Path, machine: str, libc: Libc) -> None:
    """Let auditwheel judge the libraries for one C library.

    A wheel with two C libraries is beyond auditwheel, which wants to know the one that
    the whole wheel is for. So it gets a copy with the libraries and the tag of one.
    """
    promised = f"{libc.platforms[0]}_{machine}"
    with tempfile.TemporaryDirectory() as place:
        unpacked = Path(place) / "unpacked"
        run([sys.executable, "-m", "wheel", "unpack", "--dest", unpacked, wheel])
        (content,) = unpacked.iterdir()
        for folder in (content / "jvmti" / "_native").iterdir():
            if folder.name != f"{libc.name}-{machine}":
                shutil.rmtree(folder)
        run([sys.executable, "-m", "wheel", "pack", "--dest-dir", place, content])
        (packed,) = Path(place).glob("*.whl")
        run(
            [sys.executable, "-m", "wheel", "tags", "--remove"]
            + [f"--platform-tag={promised}", packed]
        )
        (single,) = Path(place).glob("*.whl")
        said = run([sys.executable, "-m", "auditwheel", "show", "--json", single])
        # Warnings come first.
        report = json.loads(said[said.index("{") :])
    found = report["overall_tag"]
    if not runs_on(promised, found):
        raise SystemExit(
            f"{wheel.name}: the libraries for {libc.name} fit {found} only, not {promised}\n"
            + json.dumps(report, indent=2)
        )
    print(f"{wheel.name}: the libraries for {libc.name} fit {found}")


def runs_on(promised: str, found: str) -> bool:
    """Tell whether what needs `found` runs wherever `promised` is offered."""
    pattern = r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)"
    wanted, needed = re.fullmatch(pattern, promised), re.fullmatch(pattern, found)
    if wanted is None or needed is None:
        return False
    same = wanted.group(1, 4) == needed.group(1, 4)
    return same and tuple(map(int, needed.group(2, 3))) <= tuple(map(int, wanted.group(2, 3)))


def write(path: Path, text: str) -> None:
    """Write a file unless it says that already, so that nothing is built again for it."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def run(command: list[str | Path]) -> str:
    """Run a command and return what it said; a failure ends the script with that."""
    environment = dict(os.environ)
    # The tools of this Python's environment come first: cmake, ninja, patchelf.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        words = " ".join(map(str, command))
        raise SystemExit(f"{done.stdout}\n{words}\nfailed with status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()
