"""Compiles the Java programs of the tests.

A program is one file, `tests/java/NAME.java` for Java 11 and later, or
`tests/java/release21/NAME.java` for that release and later. The distribution's javac
compiles what it knows; for newer releases there is the Eclipse compiler, which runs on
any JVM and compiles against the class library of another. Results are kept under
`build/java` by the hash of everything that went into them, so that a second run
compiles nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import jvms

SOURCES = Path(__file__).parent / "java"
CLASSES = jvms.ROOT / "build" / "java"
OLDEST = 11


class CompilerError(Exception):
    """A program does not compile, or there is nothing to compile it with."""


@dataclass(frozen=True)
class Source:
    """A test program, and the oldest release that it runs on."""

    name: str
    path: Path
    release: int


def source(name: str) -> Source:
    """Find a program by the name of its main class."""
    relative = Path(*name.split(".")).with_suffix(".java")
    for path in (SOURCES / relative, *SOURCES.glob(f"release*/{relative}")):
        if path.exists():
            newer = re.search(r"/release(\d+)/", path.as_posix())
            return Source(name, path, int(newer.group(1)) if newer else OLDEST)
    raise CompilerError(f"there is no Java program {name} under {SOURCES}")


def classes(
    name: str,
    *,
    debug: bool = True,
    compiler: str | None = None,
    library: Path | None = None,
) -> Path:
    """Compile a program and return the directory of its class files.

    Args:
        name: The program's main class.
        debug: Whether with lines, local variables and source (`-g`) or none of it (`-g:none`).
        compiler: "javac" or "ecj" where a test depends on it.
        library: A jar that the program needs.
    """
    program = source(name)
    command = [*compile_command(program.release, compiler), "-g" if debug else "-g:none"]
    if library is not None:
        command += ["-cp", str(library)]
    digest = hashlib.sha256()
    for part in (*command, program.path.read_bytes()):
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    target = CLASSES / f"{name}-{digest.hexdigest()[:16]}"
    if target.exists():
        return target

    CLASSES.mkdir(parents=True, exist_ok=True)
    # Several test runs may compile at once: each in its own place, the first one wins.
    place = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=CLASSES))
    place.chmod(0o755)
    done = subprocess.run(
        [*command, "-d", str(place), str(program.path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    try:
        if done.returncode:
            raise CompilerError(f"{program.path} does not compile\n{done.stdout}")
        place.rename(target)
    except OSError:
        if not target.exists():
            raise
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return target


def compile_command(release: int, compiler: str | None) -> list[str]:
    """Return the command line for a release, up to the options about the program."""
    if compiler in (None, "javac"):
        home = javac_home(release)
        if home is not None:
            quick = [f"-J{option}" for option in jvms.QUICK]
            return [str(home / "bin" / "javac"), *quick, "-proc:none", "--release", str(release)]
    if compiler in (None, "ecj"):
        jar = Path(os.environ.get("JVMTI_ECJ", jvms.INSTALLED / "ecj" / "ecj.jar"))
        runtime = next(
            (jvm for jvm in map(jvms.named, ("25", "21", "17")) if not jvm.missing), None
        )
        library = jvms.named(str(release))
        if jar.exists() and runtime is not None and not library.missing:
            command = [runtime.java, *jvms.QUICK, "-jar", str(jar)]
            command += ["-nowarn", "-proc:none", "-encoding", "UTF-8"]
            command += ["-source", str(release), "-target", str(release)]
            return [*command, "--system", str(library.home)]
    raise CompilerError(
        f"nothing here compiles Java {release}: neither {compiler or 'javac or ecj'} was found. "
        "`make java` installs both."
    )


def javac_home(release: int) -> Path | None:
    """Find a JDK whose javac knows a release: ours, or else the machine's."""
    homes = [jvms.distribution_jdk()]
    if "JAVA_HOME" in os.environ:
        homes.append(Path(os.environ["JAVA_HOME"]))
    on_path = shutil.which("javac")
    if on_path is not None:
        homes.append(Path(on_path).resolve().parent.parent)
    for home in homes:
        if home is None or not (home / "bin" / "javac").exists():
            continue
        if jvms.feature_of(home) >= release:
            return home
    return None
