"""Directories and archives with sources, and the files in them.

A file is wanted by its package and its name. It is where the package says, at any depth:
``src/main/java/com/acme/Order.java``, ``java.base/java/util/HashMap.java``. Kotlin and Scala may
leave out folders, so a file elsewhere counts if its ``package`` clause says the same.
"""

from __future__ import annotations

import io
import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from jvmti.sources.source import Source, package_of
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from zipfile import ZipFile

Place: TypeAlias = "str | Path"
"""A directory with sources, or a jar or zip file that has some."""

MOST_BYTES = 16 << 20
"""No source file is larger."""

_HEAD = 1 << 16
"""Bytes at the beginning of a file that have its package clause."""

_MOST_FILES = 200_000
"""Files of a directory tree that are looked at."""

_MOST_NAMESAKES = 50
"""Files of one name whose package clauses are read."""

_FRESH = 2.0
"""Seconds for which the list of a directory's files is believed when it lacks one."""

_NO_SOURCES = frozenset({"node_modules", "__pycache__"})

_AMBIGUOUS = ("", ".", "..")


def is_harmless(name: str) -> bool:
    """Whether a name is that of a file, and no path to another one."""
    return name not in _AMBIGUOUS and not any(one in name for one in "/\\\0")


class Places:
    """Finds files in places, and remembers the contents of these."""

    def __init__(self) -> None:
        self._archives: dict[tuple[str, int, int], dict[str, list[str]]] = {}
        self._directories: dict[Path, _Listing] = {}

    def find(self, place: Path, package: str, name: str) -> Source | None:
        """The file of a package with this name in a place; ``None`` if it is not there.

        Args:
            place: a directory, jar or zip file.
            package: the name of the package with dots; empty for the unnamed one.
            name: that of the file.

        Raises:
            OSError: the place cannot be read, or is no archive.
        """
        folders = package.split(".") if package else []
        if not all(map(is_harmless, [*folders, name])):
            return None
        if place.is_dir():
            return self._in_directory(place, folders, name)
        if place.is_file():
            return self._in_archive(place, folders, name)
        return None

    # ---- directories -----------------------------------------------------------------------

    def _in_directory(self, place: Path, folders: list[str], name: str) -> Source | None:
        direct = place.joinpath(*folders, name)
        data = _read_within(place, direct)
        if data is not None:
            return decoded(str(direct), data, direct)
        listing = self._directories.get(place)
        if listing is None or (name not in listing.folders and listing.age > _FRESH):
            listing = self._directories[place] = _Listing(place)
        package = ".".join(folders)
        paths = [os.path.join(folder, name) for folder in listing.folders.get(name, ())]

        def read(path: str, most: int) -> bytes | None:
            return _read_within(place, place / path, most)

        found = _choose(paths, os.sep.join([*folders, name]), package, read)
        if found is None:
            return None
        data = read(found, MOST_BYTES)
        return None if data is None else decoded(str(place / found), data, place / found)

    # ---- archives --------------------------------------------------------------------------

    def _in_archive(self, place: Path, folders: list[str], name: str) -> Source | None:
        entries = self._entries(place).get(name)
        if not entries:
            return None
        with _zip(place) as archive:

            def read(entry: str, most: int) -> bytes | None:
                if archive.getinfo(entry).file_size > MOST_BYTES:
                    return None
                with archive.open(entry) as opened:
                    return opened.read(most)

            found = _choose(entries, "/".join([*folders, name]), ".".join(folders), read)
            data = None if found is None else read(found, MOST_BYTES)
        return None if data is None else decoded(f"{place}!{found}", data)

    def _entries(self, archive: Path) -> dict[str, list[str]]:
        """The files in an archive, by their names without folders."""
        state = archive.stat()
        key = (str(archive), state.st_mtime_ns, state.st_size)
        if key not in self._archives:
            named: dict[str, list[str]] = {}
            with _zip(archive) as opened:
                for entry in opened.namelist():
                    if not entry.endswith(("/", ".class")):
                        named.setdefault(entry.rpartition("/")[2], []).append(entry)
            self._archives[key] = named
        return self._archives[key]


class _Listing:
    """The files of a directory tree, at the time of a walk through it.

    Attributes:
        folders: for each name of a file the folders that have one, relative to the root.
    """

    def __init__(self, root: Path) -> None:
        self.folders: dict[str, list[str]] = {}
        self._taken = time.monotonic()
        left = _MOST_FILES
        # Links are not followed: they may lead out of the place, or in circles.
        for folder, below, names in os.walk(root):
            below[:] = sorted(one for one in below if one[0] != "." and one not in _NO_SOURCES)
            relative = os.path.relpath(folder, root)
            relative = "" if relative == "." else relative
            for name in names:
                if not name.endswith((".class", ".jar")):
                    self.folders.setdefault(name, []).append(relative)
            left -= len(names)
            if left < 0:
                break

    @property
    def age(self) -> float:
        """Seconds since the walk."""
        return time.monotonic() - self._taken


def _choose(
    paths: Iterable[str], wanted: str, package: str, read: Callable[[str, int], bytes | None]
) -> str | None:
    """The path that ends as wanted, or whose file has the package; the shortest if several do."""
    candidates = sorted(paths, key=lambda path: (len(path), path))

    def declared(path: str) -> str | None:
        head = read(path, _HEAD)
        return None if head is None else package_of(head.decode("utf-8", "replace"))

    ends = [path for path in candidates if f"{os.sep}{path}".endswith(f"{os.sep}{wanted}")]
    for path in ends:
        # Folders of another package may have the same end. Not all languages have packages.
        if declared(path) in (package, "", None):
            return path
    others = [path for path in candidates if path not in ends]
    return next((path for path in others[:_MOST_NAMESAKES] if declared(path) == package), None)


def _read_within(place: Path, path: Path, most: int = MOST_BYTES) -> bytes | None:
    """The beginning of a regular file that is within a place, whatever links lead to it."""
    try:
        resolved = path.resolve(strict=True)
        if not resolved.is_relative_to(place.resolve()):
            return None
        # Opening a FIFO would wait for its writer.
        descriptor = os.open(resolved, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError, RuntimeError):
        return None  # it has gone, or a link leads to itself
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_BYTES:
            return None
        with open(descriptor, "rb", closefd=False) as opened:
            return opened.read(most)
    finally:
        os.close(descriptor)


def _zip(place: Path) -> ZipFile:
    from zipfile import BadZipFile, ZipFile  # when there is one

    try:
        return ZipFile(place)
    except BadZipFile as error:
        raise OSError(printable(f"{place} is not a jar or zip file: {error}")) from None


def decoded(path: str, data: bytes, file: Path | None = None) -> Source:
    """A source file from its bytes; what is not UTF-8 becomes replacement characters.

    Args:
        path: as it is shown.
        data: its contents.
        file: the file, if it is one of its own.
    """
    text = io.StringIO(data.decode("utf-8", "replace"), newline=None).read()
    return Source(path, 1, text.split("\n"), None, file)


__all__ = ["MOST_BYTES", "Place", "Places", "decoded", "is_harmless"]
