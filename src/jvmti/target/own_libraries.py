"""The package's libraries for this process, which know no JVM: heap, class files, recordings."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jvmti.target.agent_library import own_folder


def load_library(
    name: str,
    functions: Mapping[str, Sequence[Any]],
    *,
    closing: Iterable[str] = (),
    failure: type[Exception],
) -> ctypes.CDLL:
    """One of the libraries, with the types of its functions.

    Args:
        name: ``"heap"`` for ``libjvmti_heap.so``, whose functions begin with ``jvmti_heap_``.
        functions: the types of arguments of those that return a status.
        closing: those that take one address and return nothing.
        failure: what is raised if the library cannot be loaded.
    """
    try:
        library = ctypes.CDLL(os.path.join(own_folder(), f"libjvmti_{name}.so"))
    except OSError as error:
        raise failure(f"the {name} library cannot be loaded: {error}") from None
    for one, arguments in functions.items():
        function = getattr(library, f"jvmti_{name}_{one}")
        function.argtypes = arguments
        function.restype = ctypes.c_int32
    for one in closing:
        function = getattr(library, f"jvmti_{name}_{one}")
        function.argtypes = [ctypes.c_void_p]
        function.restype = None
    return library


__all__ = ["load_library"]
