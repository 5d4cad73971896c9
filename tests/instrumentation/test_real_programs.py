"""Programs that nobody here wrote do the same with probes in every place of their code."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import compiler
import jars
import jvms
import jvmti
from jvmti.instrumentation.archives import instrument_file
from programs import JavaPrograms

COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"
PROBES = [
    "entry *.* -> began = Counting.entered(int site, Object this, Object[] args)",
    "return *.* -> Counting.left(int site, Object value, long began)",
    "unwind *.* -> Counting.unwound(int site, Throwable value, long began)",
    "line *.* -> Counting.line(int line, Object this)",
    "read *.* in *.* -> Counting.field(int site, Object target, Object value)",
    "write *.* in *.* -> Counting.field(int site, Object target, Object value)",
    "called *.* in *.* -> Counting.called(int site, Object target, Object value)",
    "new * in *.* -> Counting.made(int site, Object value)",
    "monitor-enter *.* -> Counting.monitor(int site, Object target)",
    "monitor-exit *.* -> Counting.monitor(int site, Object target)",
]


SOURCES = ("Probed", "Containers", "Values")
MORE_SOURCES = ("Witness", "Walked", "Streamed")
"""They take as much time again: compiled only with `--every-jvm`."""


def compiled_by(
    jvm: jvms.Jvm, jar: Path, to: Path, names: Sequence[str]
) -> tuple[dict[str, bytes], str]:
    """Compile some programs of the tests: the class files, and what was printed."""
    sources = Path(__file__).parents[1] / "java"
    path = f"{jar}:{compiler.classes('Counting')}"
    command = [
        jvm.java,
        *jvms.QUICK,
        "-Xmx1g",
        "-cp",
        path,
        COMPILER,
        "-11",
        "-g",
        "-nowarn",
        "-d",
        to,
    ]
    done = subprocess.run(
        [*map(str, command), *(str(sources / f"{name}.java") for name in names)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {one.name: one.read_bytes() for one in sorted(to.glob("*.class"))}, done.stderr


@pytest.mark.newest
def test_the_eclipse_compiler_makes_the_same_with_probes_everywhere(
    jvm: jvms.Jvm, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    names = (*SOURCES, *(MORE_SOURCES if request.config.option.every_jvm else ()))
    jar = jars.eclipse_compiler(jvm)
    done = instrument_file(jar, tmp_path / "probes.jar", PROBES)
    assert not done.unreadable
    assert done.changed > 500
    plain, _ = compiled_by(jvm, jar, tmp_path / "plain", names)
    made, said = compiled_by(jvm, tmp_path / "probes.jar", tmp_path / "made", names)
    assert len(plain) > 10
    assert made == plain
    check_counts(said)


def check_counts(said: str) -> None:
    """Calls begin and end, and each kind of probe was reached."""
    counted = next(line for line in said.splitlines() if line.startswith("counted"))
    entered, left, unwound, *others = map(int, counted.split()[1:])
    # Each call that begins ends in one of two ways, but for those that run while the VM ends.
    assert 0 <= entered - left - unwound < 100
    assert unwound > 0
    assert all(others)


def queried(jvm: jvms.Jvm, jar: Path) -> tuple[str, str]:
    """Use the database from two threads: what was found, and what else was printed."""
    path = ":".join(map(str, (jar, compiler.classes("Counting"), compiler.classes("Querying"))))
    command = [
        jvm.java,
        *jvms.QUICK,
        "-Xmx1g",
        "-cp",
        path,
        "Querying",
        "jdbc:h2:mem:orders",
        "2",
        "4",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.newest
@pytest.mark.slow
def test_a_database_answers_the_same_with_probes_everywhere(
    jvm: jvms.Jvm, java_program: JavaPrograms, tmp_path: Path
) -> None:
    (jar,) = jars.fetched(jars.DATABASE)
    plain, _ = queried(jvm, jar)
    assert len(plain) > 3000
    done = instrument_file(jar, tmp_path / "probes.jar", PROBES)
    assert not done.unreadable
    assert done.changed > 900
    found, said = queried(jvm, tmp_path / "probes.jar")
    assert found == plain
    check_counts(said)
    # And with probes that come while it runs, also into classes that are loaded later.
    path = f"{jar}:{compiler.classes('Querying')}"
    command = [
        *jvms.QUICK,
        "-Xmx1g",
        "-cp",
        path,
        "Querying",
        "jdbc:h2:mem:orders",
        "2",
        "4",
        "hold",
    ]
    program = java_program.start(command)
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with vm.trace("org.h2.*.*", "org.h2.*.<init>", "Querying.*", limit=None) as trace:
            assert trace.classes > 200
            program.send("")
            lines = [program.read_line(timeout=120) for _ in plain.splitlines()]
            assert trace.dropped + len(trace.read()) > 100_000
    assert lines == plain.splitlines()
