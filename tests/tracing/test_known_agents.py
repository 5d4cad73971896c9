"""Probes beside agents that many programs run with: JaCoCo's, OpenTelemetry's and Byteman."""

from __future__ import annotations

import re
import struct
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import compiler
import jars
import jvms
import jvmti
from tracing.java_agents import load
from tracing.test_trace import calls_of

if TYPE_CHECKING:
    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.slow

RULE = """\
RULE counts
CLASS Traced$Order
METHOD add
AT ENTRY
IF true
DO System.err.println("byteman has seen it")
ENDRULE
"""
REQUESTS = ("add 3", "everything", "longer 7", "complain", "late 4", "threads 2", "price 2")


@pytest.fixture(scope="module")
def jacoco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JaCoCo's agent, which its jar contains."""
    (jar,) = jars.fetched(jars.JACOCO)
    with zipfile.ZipFile(jar) as archive:
        return Path(archive.extract("jacocoagent.jar", tmp_path_factory.mktemp("jacoco")))


def covered(file: Path) -> dict[str, tuple[int, bytes]]:
    """Classes in a file of JaCoCo, with the checksum of what was loaded and the probes that ran."""
    data, at = file.read_bytes(), 0
    found = {}

    def text() -> str:
        nonlocal at
        (length,) = struct.unpack_from(">H", data, at)
        at += 2 + length
        return data[at - length : at].decode()

    while at < len(data):
        kind, at = data[at], at + 1
        if kind == 0x01:  # its magic number and version
            at += 4
        elif kind == 0x10:  # a session: name, start and end
            text()
            at += 16
        else:
            assert kind == 0x11  # a class: checksum, name, bits
            (checksum,) = struct.unpack_from(">Q", data, at)
            at += 8
            name = text()
            count = shift = 0
            while True:
                byte, at = data[at], at + 1
                count |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            bits, at = data[at : at + (count + 7) // 8], at + (count + 7) // 8
            found[name] = (checksum, bits)
    return found


def test_coverage_is_the_same_with_probes(
    java_program: JavaPrograms, jacoco: Path, tmp_path: Path
) -> None:
    found = []
    for traced in (False, True):
        file = tmp_path / f"{traced}.exec"
        program = java_program("Traced", jvm_args=[f"-javaagent:{jacoco}=destfile={file}"])
        program.expect("ready")
        if traced:
            with jvmti.attach(program.pid, timeout=30) as vm:
                # One class is not loaded yet: JaCoCo sees it before our probes are in it.
                with vm.trace("Traced*.*", unloaded=True) as trace:
                    for request in REQUESTS:
                        program.ask(request)
                    methods = {one.method for one in calls_of(trace, 15)}
                assert {"add", "everything", "longer", "check", "late", "price"} <= methods
        else:
            for request in REQUESTS:
                program.ask(request)
        program.stop()
        found.append(covered(file))
    plain, with_probes = found
    assert {"Traced", "Traced$Order", "Traced$Later"} <= plain.keys()
    assert {name: with_probes.get(name) for name in plain} == plain

    # JaCoCo that comes later sees what loads then.
    file, late = tmp_path / "late.exec", late_jacoco(jacoco, tmp_path)
    program = java_program("Traced")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm, vm.trace("Traced*.*", unloaded=True) as trace:
        load(program.pid, late, f"destfile={file}")
        for request in REQUESTS:
            program.ask(request)
        assert "late" in {one.method for one in calls_of(trace, 15)}
    program.stop()
    assert covered(file)["Traced$Later"] == plain["Traced$Later"]


def late_jacoco(jar: Path, folder: Path) -> Path:
    """JaCoCo's agent as one that can be attached, which it cannot itself."""
    made = folder / "late_jacoco.jar"
    with zipfile.ZipFile(jar) as archive, zipfile.ZipFile(made, "w") as late:
        for name in archive.namelist():
            if name == "META-INF/MANIFEST.MF":
                text = archive.read(name).decode().strip()
                (premain,) = re.findall(r"Premain-Class: (\S+)", text)
                text += f"\r\nAgent-Class: Lately\r\nForwarded: {premain}\r\n\r\n"
                late.writestr(name, text)
            else:
                late.writestr(name, archive.read(name))
        late.write(compiler.classes("Lately") / "Lately.class", "Lately.class")
    return made


@pytest.fixture(scope="module")
def opentelemetry() -> Path:
    (jar,) = jars.fetched(jars.OPENTELEMETRY)
    return jar


def fetching(java_program: JavaPrograms, *jvm_args: str) -> JavaProgram:
    program = java_program(
        "Fetching",
        jvm_args=[
            *jvms.QUICK,
            *jvm_args,
            "-Dotel.traces.exporter=console",
            "-Dotel.metrics.exporter=none",
            "-Dotel.logs.exporter=none",
            # It asks less of what else is loaded.
            "-Dotel.instrumentation.common.default-enabled=false",
            "-Dotel.instrumentation.http-url-connection.enabled=true",
        ],
    )
    program.expect("ready", timeout=120)
    return program


def spans(program: JavaProgram, number: int) -> list[str]:
    """The paths that OpenTelemetry says were fetched, of so many spans."""
    until = time.monotonic() + 20
    found: list[str] = []
    while len(found) < number and time.monotonic() < until:
        time.sleep(0.05)
        found = re.findall(r"url\.full=http://[\d.:]+/(\w+)", program.stderr)
    return found


TRACED = ("java.net.HttpURLConnection.*", "sun.net.www.protocol.http.*.*")


def test_spans_are_recorded_beside_probes(java_program: JavaPrograms, opentelemetry: Path) -> None:
    program = fetching(java_program, f"-javaagent:{opentelemetry}")
    assert program.ask("before") == "200 page"
    with jvmti.attach(program.pid, timeout=60) as vm:
        connection = vm.find_class("sun.net.www.protocol.http.HttpURLConnection")
        instrumented = bytes(connection.class_file)
        assert b"io/opentelemetry" in instrumented
        with vm.trace(*TRACED, limit=None) as trace:
            assert program.ask("during") == "200 page"
            assert "getInputStream" in {one.method for one in calls_of(trace, 10)}
        assert bytes(connection.class_file) == instrumented
    assert program.ask("after") == "200 page"
    assert spans(program, 3) == ["before", "during", "after"]


def test_opentelemetry_comes_while_probes_are_there(
    java_program: JavaPrograms, opentelemetry: Path
) -> None:
    program = fetching(java_program)
    assert program.ask("before") == "200 page"
    with jvmti.attach(program.pid, timeout=60) as vm:
        connection = vm.find_class("sun.net.www.protocol.http.HttpURLConnection")
        with vm.trace(*TRACED, limit=None) as trace:
            load(program.pid, opentelemetry, "")
            trace.read()
            assert program.ask("during") == "200 page"
            assert "getInputStream" in {one.method for one in calls_of(trace, 10)}
        assert b"io/opentelemetry" in bytes(connection.class_file)
        assert b"JvmtiProbes" not in bytes(connection.class_file)
    assert program.ask("after") == "200 page"
    assert spans(program, 2) == ["during", "after"]


@pytest.fixture(scope="module")
def byteman() -> Path:
    (jar,) = jars.fetched(jars.BYTEMAN)
    return jar


@pytest.mark.parametrize("first", ["byteman", "probes"])
def test_rules_of_byteman_and_probes_work_on_one_method(
    first: str, java_program: JavaPrograms, byteman: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.btm"
    rules.write_text(RULE)
    options = f"script:{rules}"
    before = [f"-javaagent:{byteman}={options}"] if first == "byteman" else []
    program = java_program("Traced", jvm_args=before)
    program.expect("ready")
    program.ask("add 1")
    with jvmti.attach(program.pid, timeout=30) as vm:
        cls = vm.find_class("Traced$Order")
        with vm.trace("Traced$Order.add") as trace:
            if first == "probes":
                load(program.pid, byteman, options)
            program.ask("add 1")
            assert [one.method for one in calls_of(trace, 1)] == ["add"]
            with vm.breakpoint("Traced$Order", "add", do=lambda stop: None) as stops:
                program.ask("add 1")
            assert stops.hits == 1
        assert b"byteman" in bytes(cls.class_file)
        assert b"JvmtiProbes" not in bytes(cls.class_file)
    program.ask("add 1")
    assert program.stderr.count("byteman has seen it\n") == (4 if first == "byteman" else 3)
