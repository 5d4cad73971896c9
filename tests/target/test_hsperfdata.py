from __future__ import annotations

import os
import pwd
import random
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jvmti.target.processes import hsperfdata
from jvmti.target.processes.search import inspect, performance_data

if TYPE_CHECKING:
    from programs import JavaPrograms


def test_what_the_jvm_says_of_itself_is_read(
    java_program: JavaPrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = java_program("Idle", "one", jvm_args=["-Dmarker=here"])
    program.expect("ready")
    data = hsperfdata.find(None, program.pid, 0)
    maps = Path(f"/proc/{program.pid}/maps").read_bytes()
    with monkeypatch.context() as context:
        context.setattr(os, "listdir", None)  # the memory map names the directory
        assert hsperfdata.find(None, program.pid, 0, {b"sun.rt.javaCommand"}, maps=maps) == {
            "sun.rt.javaCommand": "Idle one"
        }
    assert data["sun.rt.javaCommand"] == "Idle one"
    assert "-Dmarker=here" in str(data["java.rt.vmArgs"])
    assert isinstance(data["sun.rt.createVmBeginTime"], int)


def test_the_data_of_another_user_is_not_read(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    assert hsperfdata.find(None, program.pid, 4711) == {}


def test_what_another_jvm_removed_is_read_from_memory(java_program: JavaPrograms) -> None:
    """As a JVM in a container with the same /tmp does, to which every other pid is of the dead."""
    program = java_program("Idle", "one")
    program.expect("ready")
    Path(f"/tmp/hsperfdata_{pwd.getpwuid(os.geteuid()).pw_name}/{program.pid}").unlink()
    assert hsperfdata.find(None, program.pid, os.geteuid()) == {}
    data = performance_data(inspect(program.pid))
    assert data["sun.rt.javaCommand"] == "Idle one"
    assert inspect(program.pid).arguments == ("one",)


def test_a_jvm_without_performance_data_has_none(java_program: JavaPrograms) -> None:
    program = java_program("Idle", jvm_args=["-XX:-UsePerfData"])
    program.expect("ready")
    assert performance_data(inspect(program.pid)) == {}


def _sample() -> bytes:
    def entry(name: bytes, kind: bytes, count: int, value: bytes) -> bytes:
        data_at = 20 + len(name) + 1
        data_at += -data_at % 8
        length = data_at + len(value)
        length += -length % 8
        head = struct.pack("<iiiBBBBi", length, 20, count, kind[0], 0, 5, 1, data_at)
        return (head + name).ljust(data_at, b"\0") + value.ljust(length - data_at, b"\0")

    entries = entry(b"a.text", b"B", 6, b"hello\0") + entry(
        b"a.number", b"J", 0, struct.pack("<q", 42)
    )
    used = 32 + len(entries)
    return (
        struct.pack(">I", 0xCAFEC0C0)
        + struct.pack("<BBBBiiqii", 1, 2, 0, 1, used, 0, 0, 32, 2)
        + entries
    )


def test_text_and_numbers_are_parsed() -> None:
    assert hsperfdata.parse(_sample()) == {"a.text": "hello", "a.number": 42}
    assert hsperfdata.parse(_sample(), {b"a.number"}) == {"a.number": 42}


def test_damaged_data_is_refused_or_read_but_never_worse() -> None:
    whole = _sample()
    chance = random.Random(1)
    for _ in range(20_000):
        damaged = bytearray(whole[: chance.randrange(len(whole) + 1)])
        for _ in range(chance.randrange(4)):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        try:
            hsperfdata.parse(bytes(damaged))
        except ValueError:
            pass


@pytest.mark.parametrize("data", [b"", b"x" * 31, b"\0" * 64, b"\xca\xfe\xc0\xc0" + b"\0" * 60])
def test_what_is_no_performance_data_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="performance data"):
        hsperfdata.parse(data)


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    import os

    tmp = tmp_path / "tmp"
    real = tmp / "hsperfdata_x"
    real.mkdir(parents=True)
    (tmp_path / "secret").write_bytes(_sample())
    (real / "1").symlink_to(tmp_path / "secret")
    os.mkfifo(real / "2")
    (real / "3").write_bytes(_sample())
    (tmp / "hsperfdata_y").symlink_to(real)
    root = os.open(tmp_path, os.O_PATH)
    try:
        assert hsperfdata.find(root, 1, os.getuid()) == {}
        assert hsperfdata.find(root, 2, os.getuid()) == {}
        assert hsperfdata.find(root, 3, os.getuid())["a.number"] == 42
        (tmp / "hsperfdata_x" / "3").rename(tmp_path / "3")
        real.joinpath("1").unlink()
        real.joinpath("2").unlink()
        real.rmdir()
        tmp.joinpath("hsperfdata_y").unlink()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "3").rename(tmp_path / "elsewhere" / "3")
        (tmp / "hsperfdata_z").symlink_to(tmp_path / "elsewhere")
        assert hsperfdata.find(root, 3, os.getuid()) == {}
    finally:
        os.close(root)
