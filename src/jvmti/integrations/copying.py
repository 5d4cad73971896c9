"""Copies functions and what they hold from one process to another.

cloudpickle forgets in which file a function stands, so that equal functions have equal copies.
Here the file is kept: a traceback from the other process names it and shows its lines.
"""

from __future__ import annotations

import io
from collections import ChainMap
from types import CodeType
from typing import Any, ClassVar

import cloudpickle


def copied(value: Any) -> bytes:
    """Bytes from which ``pickle.loads`` makes a copy of ``value``, including functions."""
    with io.BytesIO() as file:
        _Pickler(file).dump(value)
        return file.getvalue()


def _code(code: CodeType) -> tuple[Any, tuple[Any, ...]]:
    make, arguments = cloudpickle.Pickler.dispatch_table[CodeType](code)
    return _code_of_file, (code.co_filename, make, arguments)


def _code_of_file(file: str, make: Any, arguments: tuple[Any, ...]) -> CodeType:
    code: CodeType = make(*arguments)
    return code.replace(co_filename=file)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    dispatch_table: ClassVar[Any] = ChainMap({CodeType: _code}, cloudpickle.Pickler.dispatch_table)
