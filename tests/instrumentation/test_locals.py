"""Locals of two slots: a probe reads a variable only while the verifier sees one there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import compiler
from jvms import Jvm
from jvmti.instrumentation import Instrumented, Probe, instrument

ISTORE_1, ISTORE_2, ILOAD_1, ILOAD_2 = b"\x3c", b"\x3d", b"\x1b", b"\x1c"
LSTORE_0, LSTORE_2, LLOAD_0, LLOAD_2 = b"\x3f", b"\x41", b"\x1e", b"\x20"
BIPUSH_7 = b"\x10\x07"

PROBES = [
    Probe.parse(f'return Halves.{method} -> Halves$Hook.say(String "{name}", {kind} local.{name})')
    for method, kind, name in (
        ("above", "long", "wide"),
        ("above", "int", "next"),
        ("below", "int", "first"),
        ("below", "int", "second"),
        ("below", "long", "wide"),
    )
]


def in_other_slots(data: bytes, *changes: tuple[bytes, bytes]) -> bytes:
    """The class file with other code of the same length; each piece of code is there once."""
    for old, new in changes:
        assert data.count(old) == 1, old
        data = data.replace(old, new)
    return data


def output(jvm: Jvm, folder: Path, made: Instrumented) -> list[str]:
    shutil.copytree(compiler.classes("Halves"), folder, dirs_exist_ok=True)
    (folder / "Halves.class").write_bytes(made.data)
    command = [jvm.java, *jvm.args, "-Xverify:all", "-cp", folder, "Halves"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def original() -> bytes:
    return (compiler.classes("Halves") / "Halves.class").read_bytes()


def test_a_long_is_read_from_its_first_slot(jvm: Jvm, tmp_path: Path, original: bytes) -> None:
    made = instrument(original, PROBES)
    assert made.omitted == []
    assert output(jvm, tmp_path, made) == [
        f"wide {1 << 40}", "next 7",
        "first 3", "second 4", f"wide {1 << 41}",
        f"8 {(1 << 41) + 1}",
    ]  # fmt: skip


def test_a_long_has_gone_when_its_second_slot_has_something_else(
    jvm: Jvm, tmp_path: Path, original: bytes
) -> None:
    changed = in_other_slots(
        original, (BIPUSH_7 + ISTORE_2 + ILOAD_2, BIPUSH_7 + ISTORE_1 + ILOAD_1)
    )
    made = instrument(changed, PROBES[:1])
    assert [one.probe for one in made.omitted] == [0]
    assert output(jvm, tmp_path, made) == [f"8 {(1 << 41) + 1}"]


def test_two_variables_have_gone_when_a_long_has_their_slots(
    jvm: Jvm, tmp_path: Path, original: bytes
) -> None:
    changed = in_other_slots(original, (LSTORE_2 + LLOAD_2, LSTORE_0 + LLOAD_0))
    made = instrument(changed, PROBES[2:4])
    assert sorted(one.probe for one in made.omitted) == [0, 1]
    assert output(jvm, tmp_path, made) == [f"8 {(1 << 41) + 1}"]
