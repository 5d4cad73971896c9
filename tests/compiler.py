"""Compiles the Java programs of the tests.

A program is one file, `tests/java/NAME.java` for Java 11 and later, or
`tests/java/release21/NAME.java` for that release and later. The distribution's javac
compiles what it knows; for newer releases there is the Eclipse compiler, which runs on
any JVM and compiles against the class library of another. Results are kept under
`build/java` by the hash of everything that went into them, so that a second run
compiles nothing. The first program that is missing is compiled together with all others that are.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
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
    target = directory_of(program, command)
    if target.exists():
        return target
    CLASSES.mkdir(parents=True, exist_ok=True)
    with (CLASSES / ".lock").open("w") as lock:
        # Others who need a program wait here: the one that is first compiles theirs too.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            plain = debug and library is None and program.path.parent in neighbourhoods()
            if not plain or not compile_together(program, command):
                compile_to({program.path: target}, command)
    return target


def directory_of(program: Source, command: Sequence[str]) -> Path:
    """Where the classes of a program are, or will be."""
    digest = hashlib.sha256()
    for part in (*command, program.path.read_bytes()):
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return CLASSES / f"{program.name}-{digest.hexdigest()[:16]}"


def neighbourhoods() -> list[Path]:
    """The directories whose programs have no class in common, and need no library."""
    return [SOURCES, *SOURCES.glob("release*")]


def compile_together(program: Source, command: Sequence[str]) -> bool:
    """Compile a program with all beside it that were not: a run for all takes as long as for four.

    Return whether they could be compiled.
    """
    near = (source(path.stem) for path in sorted(program.path.parent.glob("*.java")))
    targets = {one.path: directory_of(one, command) for one in near}
    try:
        compile_to({path: to for path, to in targets.items() if not to.exists()}, command)
    except CompilerError:
        return False  # perhaps by a fault of another
    return True


def compile_to(targets: Mapping[Path, Path], command: Sequence[str]) -> None:
    """Run a compiler on programs, and give each a directory of its classes.

    Raises:
        CompilerError: One of them does not compile; none has a directory then.
    """
    with tempfile.TemporaryDirectory(prefix=".compiled-", dir=CLASSES) as name:
        done = subprocess.run(
            [*command, "-d", name, *map(str, targets)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CompilerError(f"{', '.join(map(str, targets))}: no classes\n{done.stdout}")
        compiled = Path(name)
        owners = {one: path for path in targets for one in outermost_classes(path)}
        places = {path: Path(tempfile.mkdtemp(dir=compiled)) for path in targets}
        for file in sorted(compiled.rglob("*.class")):
            relative = file.relative_to(compiled)
            owner = owners[relative.with_name(relative.stem.partition("$")[0]).as_posix()]
            to = places[owner] / relative
            to.parent.mkdir(parents=True, exist_ok=True)
            file.rename(to)
        for path, place in places.items():
            place.chmod(0o755)
            place.rename(targets[path])


def outermost_classes(path: Path) -> list[str]:
    """The names of a source's classes that are in no other, with slashes."""
    text = path.read_text()
    package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    folder = package.group(1).replace(".", "/") + "/" if package else ""
    declared = r"^(?:\w+ )*(?:class|interface|enum|record) (\w+)"
    return [folder + name for name in re.findall(declared, text, re.MULTILINE)]


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
