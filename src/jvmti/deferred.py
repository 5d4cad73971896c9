"""Modules that are imported when one of their names is first used.

``from jvmti.deferred import numpy`` stands where ``import numpy`` would.  NumPy takes a third of
the time in which a command or a debugger starts, and many of them never use it.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeGuard

from jvmti.interruption import apart

if TYPE_CHECKING:
    import base64 as base64
    import datetime as datetime
    import decimal as decimal
    import difflib as difflib
    import fractions as fractions
    import hmac as hmac
    import shutil as shutil
    import subprocess as subprocess
    import tempfile as tempfile
    import uuid as uuid

    import numpy as numpy


class _Deferred:
    """Stands for a module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self._name)
        # One that another thread is importing has not all of its names yet.
        if module is None or getattr(module.__spec__, "_initializing", False):
            # Not interrupted by Ctrl-C: half of NumPy cannot be imported again.
            module = apart(lambda: importlib.import_module(self._name))
        found = getattr(module, name)
        self.__dict__[name] = found  # from now on it costs no more than the module's own
        return found


@contextmanager
def without_collections() -> Iterator[None]:
    """Import much in a process of this package's own.

    What modules make stays: the garbage collector need not look through it, neither now nor later.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if is_on:
            gc.enable()


def _has_numpy() -> bool:
    """Whether there may be anything of NumPy: it has been imported, all of it."""
    module = sys.modules.get("numpy")
    return module is not None and not getattr(module.__spec__, "_initializing", False)


def is_array(value: object) -> TypeGuard[numpy.ndarray[Any, Any]]:
    """Whether it is an array of NumPy, which is not imported to find out."""
    return _has_numpy() and isinstance(value, numpy.ndarray)


def is_scalar(value: object) -> TypeGuard[numpy.generic]:
    """Whether it is a number, or another value, of NumPy."""
    return _has_numpy() and isinstance(value, numpy.generic)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is an integer of Python or NumPy; ``bool`` counts, as in Python."""
    return isinstance(value, int) or (is_scalar(value) and isinstance(value, numpy.integer))


def is_boolean(value: object) -> TypeGuard[bool]:
    """Whether it is a ``bool`` of Python or NumPy."""
    return isinstance(value, bool) or (is_scalar(value) and isinstance(value, numpy.bool_))


if not TYPE_CHECKING:
    base64 = _Deferred("base64")
    datetime = _Deferred("datetime")
    decimal = _Deferred("decimal")
    difflib = _Deferred("difflib")
    fractions = _Deferred("fractions")
    hmac = _Deferred("hmac")  # loads all of OpenSSL
    numpy = _Deferred("numpy")
    shutil = _Deferred("shutil")
    subprocess = _Deferred("subprocess")
    tempfile = _Deferred("tempfile")
    uuid = _Deferred("uuid")

__all__ = [
    "base64",
    "datetime",
    "decimal",
    "difflib",
    "fractions",
    "hmac",
    "is_array",
    "is_boolean",
    "is_scalar",
    "is_whole",
    "numpy",
    "shutil",
    "subprocess",
    "tempfile",
    "uuid",
    "without_collections",
]
