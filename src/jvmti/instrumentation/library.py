"""The class file library, ``libjvmti_classfile.so``, through ctypes.

The functions are those of ``native/classfile/jvmti_classfile.h``.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from jvmti.classfile.reading import MalformedClassFile
from jvmti.instrumentation.plans import plan_of
from jvmti.instrumentation.probes import BadProbe, Probe
from jvmti.interface.errors import Error
from jvmti.interface.frozen import frozen
from jvmti.layouts.probes import INSERTED, OMITTED, LeftOut
from jvmti.target.own_libraries import load_library

_OK, _OUT_OF_MEMORY, _MALFORMED, _BAD_PLAN, _TOO_LARGE = range(5)

TOO_LARGE = "the method would be larger than 65,535 bytes"
"""Why a whole method has no probes."""
_WHY = {
    LeftOut.TOO_LARGE: TOO_LARGE,
    LeftOut.NO_SUCH_VALUE: "there is no such value there, or not of this type",
}


class InsertedProbe(NamedTuple):
    """The place of a probe."""

    probe: int
    """Its position in the list of probes."""
    method: int
    """The method's position in the class file."""
    location: int
    """Its bytecode index in the original method."""
    line: int
    """The line, 0 if unknown."""


class OmittedProbe(NamedTuple):
    """A place that should have a probe and has none."""

    probe: int
    """Its position in the list of probes."""
    method: int
    """The method's position in the class file."""
    location: int
    """The bytecode index."""
    why: str
    """The reason."""


@frozen
class Instrumented:
    """A class file with probes in it.

    Attributes:
        data: the class file; the original if no probe has a place in it.
        is_changed: whether any probe has a place.
        inserted: the places of probes; a probe passes its position in this list, plus the first
            number, as ``site``.
        omitted: places without their probe.
    """

    data: bytes
    is_changed: bool
    inserted: list[InsertedProbe]
    omitted: list[OmittedProbe]


class _Result(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
        ("inserted", ctypes.c_void_p),
        ("inserted_count", ctypes.c_uint64),
        ("omitted", ctypes.c_void_p),
        ("omitted_count", ctypes.c_uint64),
    )


@functools.cache
def _load() -> ctypes.CDLL:
    place, size = ctypes.c_void_p, ctypes.c_uint64
    functions: dict[str, list[Any]] = {
        "plan_open": [ctypes.c_char_p, size, place],
        "open": [place],
        "instrument": [place, place, ctypes.c_char_p, size, ctypes.c_uint32, place],
    }
    return load_library("classfile", functions, closing=["plan_close", "close"], failure=Error)


class Instrumenter:
    """Puts the same probes into many class files; for one thread at a time.

    Args:
        probes: the probes, or texts that `Probe.parse` reads.

    Raises:
        BadProbe: one is invalid.
    """

    def __init__(self, probes: Sequence[Probe | str]) -> None:
        self.probes = [Probe.parse(one) if isinstance(one, str) else one for one in probes]
        loader = next((one.loader for one in self.probes if one.loader is not None), None)
        if loader is not None:
            raise BadProbe(
                f"'loader {loader}': a class file has no loader yet; classes in a running JVM have "
                "one, for jvmti trace, jvmti logpoint and jvmti change"
            )
        data = plan_of(self.probes)
        self._library = _load()
        self._plan = ctypes.c_void_p()
        self._work = ctypes.c_void_p()
        status = self._library.jvmti_classfile_plan_open(data, len(data), ctypes.byref(self._plan))
        if status == _BAD_PLAN:
            raise BadProbe(
                "a probe uses a value that its place does not have, or its call is too long"
            )
        self._check(status)
        self._end_plan = weakref.finalize(
            self, self._library.jvmti_classfile_plan_close, self._plan
        )
        self._check(self._library.jvmti_classfile_open(ctypes.byref(self._work)))
        self._end_work = weakref.finalize(self, self._library.jvmti_classfile_close, self._work)

    def instrument(self, class_bytes: bytes, *, first_site: int = 0) -> Instrumented:
        """Put the probes into a class file.

        Args:
            class_bytes: the class file.
            first_site: the number of the first ``site``.

        Raises:
            MalformedClassFile: it is not one, or its code is invalid.
            Error: the class has no space for the constants of the probes.
        """
        if not isinstance(class_bytes, bytes):
            raise TypeError(f"a class file is bytes, not {type(class_bytes).__name__}")
        result = _Result()
        self._check(
            self._library.jvmti_classfile_instrument(
                *(self._work, self._plan, class_bytes, len(class_bytes), first_site),
                ctypes.byref(result),
            )
        )
        inserted, omitted = (
            ctypes.string_at(at, count * layout.size) if count else b""
            for at, count, layout in (
                (result.inserted, result.inserted_count, INSERTED),
                (result.omitted, result.omitted_count, OMITTED),
            )
        )
        return Instrumented(
            ctypes.string_at(result.file, result.size) if result.file else class_bytes,
            result.file is not None,
            [InsertedProbe(*row[:-1]) for row in INSERTED.struct.iter_unpack(inserted)],
            [
                OmittedProbe(probe, method, location, _WHY[LeftOut(why)])
                for probe, method, location, why in OMITTED.struct.iter_unpack(omitted)
            ],
        )

    @staticmethod
    def _check(status: int) -> None:
        if status == _OK:
            return
        if status == _OUT_OF_MEMORY:
            raise MemoryError("there is not enough memory for instrumenting a class")
        if status == _TOO_LARGE:
            raise Error("the class has no space for the constants of the probes: use fewer of them")
        raise MalformedClassFile("not a class file, or one with invalid code")


def instrument(class_bytes: bytes, probes: Sequence[Probe | str] | Probe | str) -> Instrumented:
    """Put probes into a class file.

    Args:
        class_bytes: the class file.
        probes: their places and calls: `Probe` objects, or texts for `Probe.parse`,
            such as ``"entry com.acme.Order.* -> com.acme.Hook.entered(String method)"``.

    Returns:
        The class file with the probes, and where they are.

    Raises:
        BadProbe: a probe is invalid.
        MalformedClassFile: it is not a class file.
        TypeError: an argument is of another type.
    """
    listed = [probes] if isinstance(probes, (Probe, str)) else probes
    if not isinstance(listed, (list, tuple)):
        raise TypeError(f"probes are a list of Probe or text, not {type(probes).__name__}")
    return Instrumenter(listed).instrument(class_bytes)


__all__ = ["Instrumented", "Instrumenter", "OmittedProbe", "InsertedProbe", "instrument"]
