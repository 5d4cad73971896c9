"""Instruments whole jars, directories of classes, and jars within jars."""

from __future__ import annotations

import io
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jvmti.classfile import ClassFile
from jvmti.classfile.reading import MalformedClassFile
from jvmti.display import Report
from jvmti.instrumentation.library import Instrumenter, OmittedProbe
from jvmti.instrumentation.probes import Probe
from jvmti.instrumentation.supertypes import with_supertypes
from jvmti.interface.errors import Error

_ARCHIVES = (".jar", ".war", ".ear", ".zip", ".jmod")
_SIGNATURE = re.compile(r"META-INF/([^/]+\.(SF|RSA|DSA|EC)|SIG-[^/]+)", re.IGNORECASE)
_DIGEST = re.compile(rb"^[\w-]+-Digest(-[\w-]+)?:", re.IGNORECASE)
_LONGEST_MANIFEST = 64 << 20


class Site(NamedTuple):
    """A probe in an instrumented file."""

    site: int
    """The number that the probe passes as ``site``."""
    probe: int
    """Its position in the list of probes."""
    entry: str
    """The class file: its path in the jar or directory."""
    class_name: str
    """The class, as Java writes it."""
    method: str
    """The name and descriptor of the method."""
    location: int
    """The bytecode index in the original method."""
    line: int
    """The line, 0 if unknown."""


class Summary(NamedTuple):
    """The result of instrumenting a jar or directory."""

    classes: int
    """Class files that were examined."""
    changed: int
    """Those that got a probe."""
    sites: list[Site]
    """All probes, in the order of their numbers."""
    omitted: list[tuple[str, OmittedProbe]]
    """Probes without a place, each with its class file."""
    unreadable: list[tuple[str, str]]
    """Class files that were copied unchanged, with the reason."""
    unsigned: bool
    """Whether signatures were left out, because they are invalid after the changes."""


class _Work:
    def __init__(
        self, probes: Sequence[Probe | str], files: Iterable[bytes], report: Report | None
    ) -> None:
        parsed = [Probe.parse(one) if isinstance(one, str) else one for one in probes]
        self.instrumenter = Instrumenter(with_supertypes(parsed, files))
        self.report = report
        self.classes = self.changed = 0
        self.sites: list[Site] = []
        self.omitted: list[tuple[str, OmittedProbe]] = []
        self.unreadable: list[tuple[str, str]] = []
        self.unsigned = False

    def class_file(self, entry: str, data: bytes) -> bytes:
        self.classes += 1
        if self.report is not None and self.classes % 100 == 0:
            self.report(self.classes)
        first = len(self.sites)
        try:
            made = self.instrumenter.instrument(data, first_site=first)
        except (MalformedClassFile, Error) as error:
            self.unreadable.append((entry, str(error)))
            return data
        self.omitted += [(entry, one) for one in made.omitted]
        if not made.is_changed:
            return data
        self.changed += 1
        described = ClassFile(data)
        methods = described.methods
        for number, one in enumerate(made.inserted, first):
            method = methods[one.method]
            name = f"{method.name}{method.descriptor}"
            self.sites.append(
                Site(number, one.probe, entry, described.name, name, one.location, one.line)
            )
        return made.data

    def summary(self) -> Summary:
        return Summary(
            *(self.classes, self.changed, self.sites, self.omitted, self.unreadable, self.unsigned)
        )


def instrument_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    probes: Sequence[Probe | str],
    *,
    report: Report | None = None,
) -> Summary:
    """Put probes into all classes of a jar, a directory, or a class file, and write another one.

    Entries keep their order, times and compression; jars within a jar are instrumented, too, and so
    are the classes of a multi-release jar for later releases.  ``extends`` follows superclasses and
    interfaces as far as they are among these files.  Signatures are left out, because
    they would be invalid. The target appears once it is complete; if no probe has a place, nothing
    is written.

    Args:
        source: the jar (also ``.war``, ``.ear``), directory or class file.
        target: where to write; it must not exist.
        probes: `Probe` objects or texts that `Probe.parse` reads.
        report: called with the number of classes done.

    Raises:
        BadProbe: a probe is invalid.
        Error: the source is none of these.
        OSError: a file cannot be read or written.
    """
    source, target = Path(source), Path(target)
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists")
    work = _Work(probes, _class_files(source), report)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        made = Path(folder) / "made"
        if source.is_dir():
            _directory(source, made, work)
        elif source.suffix.lower() in _ARCHIVES:
            try:
                with open(source, "rb") as read, open(made, "wb") as output:
                    _archive(read, output, work, "")
            except zipfile.BadZipFile as error:
                raise Error(f"{source} is not a jar: {error}") from None
        elif source.suffix == ".class":
            made.write_bytes(work.class_file(source.name, source.read_bytes()))
        else:
            raise Error(f"{source} is neither a directory nor a jar nor a class file")
        if work.changed:
            made.rename(target)
    return work.summary()


def _class_files(source: Path) -> Iterator[bytes]:
    """The class files of a jar, a directory or a class file, if it is one of these."""
    if source.is_dir():
        for path in source.rglob("*.class"):
            yield path.read_bytes()
    elif source.suffix == ".class":
        yield source.read_bytes()
    elif zipfile.is_zipfile(source):
        yield from _entries(source)


def _entries(archive: Path | io.BytesIO) -> Iterator[bytes]:
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if name.endswith(".class"):
                yield opened.read(name)
            elif name.lower().endswith(_ARCHIVES):
                inner = io.BytesIO(opened.read(name))
                if zipfile.is_zipfile(inner):
                    yield from _entries(inner)


def _directory(source: Path, target: Path, work: _Work) -> None:
    for path in [source, *sorted(source.rglob("*"))]:
        to = target / path.relative_to(source)
        if path.is_dir():
            to.mkdir(parents=True, exist_ok=True)
        elif path.suffix == ".class":
            to.write_bytes(work.class_file(str(path.relative_to(source)), path.read_bytes()))
            shutil.copystat(path, to)
        else:
            shutil.copy2(path, to)


def _archive(
    read: io.BufferedIOBase | io.BytesIO, output: io.IOBase, work: _Work, inside: str
) -> None:
    with zipfile.ZipFile(read) as old, zipfile.ZipFile(output, "w") as new:
        new.comment = old.comment
        signed = any(_SIGNATURE.fullmatch(one.filename) for one in old.infolist())
        for info in old.infolist():
            name = info.filename
            if _SIGNATURE.fullmatch(name):
                work.unsigned = True
                continue
            data = old.read(info)
            if name.endswith(".class"):
                data = work.class_file(inside + name, data)
            elif name.lower().endswith(_ARCHIVES) and zipfile.is_zipfile(io.BytesIO(data)):
                nested = io.BytesIO()
                _archive(io.BytesIO(data), nested, work, f"{inside}{name}!/")
                data = nested.getvalue()
            elif (
                signed and name.upper() == "META-INF/MANIFEST.MF" and len(data) <= _LONGEST_MANIFEST
            ):
                data = without_digests(data)
            new.writestr(_like(info), data)


def _like(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    copy = zipfile.ZipInfo(info.filename, info.date_time)
    copy.compress_type = (
        info.compress_type if info.compress_type == zipfile.ZIP_STORED else zipfile.ZIP_DEFLATED
    )
    copy.external_attr = info.external_attr
    copy.create_system = info.create_system
    copy.comment = info.comment
    return copy


def without_digests(manifest: bytes) -> bytes:
    """A manifest without the digests of signed entries, and without entries that become empty."""
    ending = b"\r\n" if b"\r\n" in manifest else b"\n"
    sections = re.split(rb"(?:\r\n|\n|\r(?!\n)){2,}", manifest)
    sections_left = [sections[0]]
    for section in sections[1:]:
        lines: list[bytes] = []
        dropped = False
        for line in re.split(rb"\r\n|\n|\r", section):
            # A line that begins with a space continues the previous one.
            if not line.startswith(b" "):
                dropped = _DIGEST.match(line) is not None
            if not dropped and line:
                lines.append(line)
        if [one for one in lines if not one.startswith((b"Name:", b" "))]:
            sections_left.append(ending.join(lines))
    return (ending * 2).join(one.strip(b"\r\n") for one in sections_left) + ending * 2


__all__ = ["Site", "Summary", "instrument_file", "without_digests"]
