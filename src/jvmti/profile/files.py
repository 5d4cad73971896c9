"""Files of profiles: which format a name or a content has."""

from __future__ import annotations

import dataclasses
import importlib
import os
from typing import TYPE_CHECKING, Any

from jvmti.profile.errors import NotAProfile
from jvmti.profile.tables import Kind, Samples

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = [
    "SUFFIXES",
    "import_writer",
    "open_profile",
    "save_profile",
    "suffix_of",
    "takes_one_kind",
]

_FORMATS = "jvmti.profile.formats"
_WRITERS = {
    ".parquet": "arrow",
    ".html": "flame",
    ".collapsed": "collapsed",
    ".txt": "collapsed",
    ".pb.gz": "pprof",
    ".pprof": "pprof",
    ".speedscope.json": "speedscope",
    ".perfetto-trace": "perfetto",
    ".pftrace": "perfetto",
    ".otlp": "otlp",
    ".json": "firefox",
    ".json.gz": "firefox",
}
"""Modules with a function ``write(profile, path)``; an ending comes after those that end in it."""

_OF_ONE_KIND = {"collapsed", "firefox", "perfetto"}
"""The modules that refuse a profile with samples of several kinds."""

SUFFIXES = tuple(_WRITERS)
"""The endings of names that `save_profile` writes."""

_READERS = (
    (b"PAR1", "arrow"),
    (b"FLR\0", "jfr"),
    (b"\x1f\x8b", "pprof"),
)
"""The first bytes of files, and modules with a function ``read(path)``."""


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The ending of a name that chooses its format.

    Raises:
        ValueError: it has none of these endings.
    """
    name = os.fspath(path).lower()
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix
    raise ValueError(f"{os.fspath(path)}: the name must end in one of {', '.join(SUFFIXES)}")


def takes_one_kind(path: str | os.PathLike[str]) -> bool:
    """Whether the format of a name has no place for samples of several kinds."""
    return _WRITERS[suffix_of(path)] in _OF_ONE_KIND


def import_writer(path: str | os.PathLike[str]) -> Any:
    """The module that writes a file of this name; importing one takes a while.

    Raises:
        ValueError: the name has none of the endings.
        ImportError: the format needs what is not installed.
    """
    return importlib.import_module(f"{_FORMATS}.{_WRITERS[suffix_of(path)]}")


def save_profile(profile: Profile, path: str | os.PathLike[str]) -> None:
    """Write a file; see `jvmti.profile.Profile.save`.

    The file appears when it is complete, so no reader sees half of it, and an earlier one stays
    if it cannot be written.

    Raises:
        OSError: it cannot be written.
    """
    module = import_writer(path)
    path = os.fspath(path)
    partial = f"{path}.{os.getpid()}.part"
    try:
        module.write(profile, partial, path)
        os.replace(partial, path)
    except BaseException as error:
        if os.path.exists(partial):
            os.unlink(partial)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, path) from None
        raise


def open_profile(path: str | os.PathLike[str], kind: str | Kind | None = None) -> Profile:
    """Open a file: one that `jvmti.profile.Profile.save` wrote, or of another profiler.

    It reads this package's Parquet, recordings of the JDK's Flight Recorder and of async-profiler
    (``.jfr``), pprof, and collapsed stacks. Parquet and recordings have the times and threads of
    samples; pprof has none of the times, and collapsed stacks neither. Nor do these say of what
    kind their numbers are::

        jvmti.profile.open("cpu.collapsed", kind="cpu")

    Args:
        path: the file; its content decides what it is, not its name.
        kind: the kind of the samples if the file does not say it. Its weights are then nanoseconds
            or bytes; without a kind, mere numbers.

    Raises:
        NotAProfile: it is something else, or damaged.
        ValueError: there is no such kind, or the file says another.
        OSError: it cannot be read.
        ImportError: it is Parquet, and pyarrow is not installed.
    """
    with open(path, "rb") as file:
        first = file.read(8)
    name = next((name for magic, name in _READERS if first.startswith(magic)), None)
    if name is None:
        # Some writers of pprof do not compress it. Its first field has a byte that no text has.
        name = "pprof" if first.startswith(b"\n") and b"\x08" in first else "collapsed"
    module: Any = importlib.import_module(f"{_FORMATS}.{name}")
    profile: Profile = module.read(os.fspath(path))
    return profile if kind is None else _of_kind(profile, kind, os.fspath(path))


def _of_kind(profile: Profile, wanted: str | Kind, path: str) -> Profile:
    """The profile with samples of a kind."""
    try:
        kind = Kind[wanted.upper()] if isinstance(wanted, str) else Kind(wanted)
    except KeyError:
        names = ", ".join(one.name.lower() for one in Kind)
        raise ValueError(f"kind={wanted!r} is none of {names}") from None
    if profile.kinds == (kind,):
        return profile
    if profile.kinds != (Kind.COUNT,):
        names = ", ".join(one.name.lower() for one in profile.kinds)
        raise ValueError(f"{path} has samples of {names}, not of {kind.name.lower()}")
    columns = profile.samples.columns() | {"kind": kind}
    limits = [dataclasses.replace(one, kind=kind) for one in profile.limits]
    return type(profile)(
        *(Samples(**columns), profile.stacks, profile.frames, profile.threads),
        limits,
        profile.labels,
    )


def not_a_profile(path: str, why: object) -> NotAProfile:
    """The error for a file."""
    return NotAProfile(f"{path}: {why}")
