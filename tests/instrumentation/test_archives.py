"""Whole jars: signatures, entries for later releases, jars within jars; and the command."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

import compiler
import jvms
from command_line import here
from jvmti.instrumentation.archives import instrument_file, without_digests

PROBE = 'entry Probed.nothing -> Probed$Hook.say(String "seen", int site)'
MANIFEST = (
    b"Manifest-Version: 1.0\r\nMain-Class: Probed\r\nMulti-Release: true\r\n\r\n"
    b"Name: Probed.class\r\nSHA-256-Digest: c2VjcmV0\r\n c2VjcmV0\r\n\r\n"
    b"Name: kept\r\nSealed: true\r\nSHA-256-Digest: c2VjcmV0\r\n\r\n"
)


def jar_of(path: Path, *, nested: bool = False) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr("META-INF/MANIFEST.MF", MANIFEST)
        jar.writestr("META-INF/ACME.SF", b"signature")
        jar.writestr("META-INF/ACME.RSA", b"signature")
        for one in sorted(compiler.classes("Probed").glob("*.class")):
            jar.write(one, one.name)
            jar.write(one, f"META-INF/versions/11/{one.name}")
        jar.writestr("broken.class", b"\xca\xfe\xba\xbe and no more")
        if nested:
            jar.write(jar_of(path.with_suffix(".inner.jar")), "lib/inner.jar", zipfile.ZIP_STORED)
    return path


def test_a_jar_runs_with_its_probes_and_without_its_signatures(
    jvm: jvms.Jvm, tmp_path: Path
) -> None:
    done = instrument_file(jar_of(tmp_path / "app.jar"), tmp_path / "out.jar", [PROBE])
    assert done.unsigned
    assert done.changed == 2  # and that for release 11
    assert [one for one, _ in done.unreadable] == ["broken.class"]
    assert {one.method for one in done.sites} == {"nothing()V"}
    command = [str(jvm.java), "-Xverify:all", "-jar", str(tmp_path / "out.jar")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    later = next(one.site for one in done.sites if "versions/11" in one.entry)
    assert f"> seen {later}" in ran.stdout.splitlines()


def test_entries_keep_their_order_times_and_compression(tmp_path: Path) -> None:
    jar_of(tmp_path / "app.jar", nested=True)
    done = instrument_file(tmp_path / "app.jar", tmp_path / "out.jar", [PROBE])
    assert any(one.entry.startswith("lib/inner.jar!/") for one in done.sites)
    with zipfile.ZipFile(tmp_path / "app.jar") as old, zipfile.ZipFile(tmp_path / "out.jar") as new:
        kept = [one for one in old.infolist() if "ACME" not in one.filename]
        assert [(one.filename, one.date_time, one.compress_type) for one in kept] == [
            (one.filename, one.date_time, one.compress_type) for one in new.infolist()
        ]
        assert new.testzip() is None


def test_a_manifest_loses_its_digests_only() -> None:
    assert without_digests(MANIFEST) == (
        b"Manifest-Version: 1.0\r\nMain-Class: Probed\r\nMulti-Release: true\r\n\r\n"
        b"Name: kept\r\nSealed: true\r\n\r\n"
    )


def test_the_command_says_what_it_did_and_what_each_site_is(tmp_path: Path) -> None:
    jar = jar_of(tmp_path / "app.jar")
    probes = tmp_path / "probes"
    probes.write_text(f"# what to look at\n{PROBE}\n")
    out, sites = tmp_path / "out.jar", tmp_path / "sites"
    done = here("instrument", jar, "-o", out, "--probes", probes, "--sites", sites)
    assert "2 probes in 2 of 5 classes" in done.stdout
    assert "broken.class" in done.stdout
    found = [json.loads(line) for line in sites.read_text().splitlines()]
    assert [one["site"] for one in found] == [0, 1]
    done = here("instrument", jar, "-o", out, "--probe", PROBE)
    assert (done.returncode, "--force overwrites it" in done.stderr) == (2, True)
    done = here("instrument", "--json", jar, "-o", out, "--force", "--probe", PROBE)
    assert json.loads(done.stdout)["changed"] == 2


def test_without_any_place_nothing_is_written_or_replaced(tmp_path: Path) -> None:
    jar, out = jar_of(tmp_path / "app.jar"), tmp_path / "out.jar"
    nowhere = "entry com.acme.*.* -> com.acme.Hook.in()"
    assert instrument_file(jar, out, [nowhere]).changed == 0
    assert not out.exists()
    out.write_text("old")
    done = here("instrument", jar, "-o", out, "--force", "--probe", nowhere)
    assert (done.returncode, out.read_text()) == (1, "old")
    assert "nothing was written" in done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["app.jar", "out.jar"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.jar", "--probe", PROBE], "does not exist"),
        ([__file__, "--probe", PROBE], "neither a directory nor a jar"),
        ([__file__], "no probe"),
        ([__file__, "--probe", "entry a.b"], "has no '->'"),
        ([__file__, "--probes", "missing"], "cannot be read"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = here("instrument", "-o", tmp_path / "out.jar", *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []
