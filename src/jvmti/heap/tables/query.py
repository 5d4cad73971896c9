"""Queries of a snapshot: Python expressions over its columns.

::

    expression = Expression('objects("com.acme.Order")["customer"]["name"]')
    expression.evaluate(snapshot)

An expression is the user's own Python and runs unrestricted.  It has these
names, and Python's own:

- what `Snapshot` has: ``objects``, ``classes``, ``static``, ``histogram``, ``roots``, ``threads``,
  ``loaders``, ``dominators``, ``paths_to_roots``, ``retained_size``, …
- ``snapshot`` itself, and ``heap``, the module `jvmti.heap`: ``heap.leak_suspects(snapshot)``
- ``np``: NumPy
- the columns of a table, if it is evaluated over one
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.heap.errors import HeapError, near_it
from jvmti.interface.errors import Error
from jvmti.text.names import similar_names

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Expression", "QueryError", "expressions"]

_FILE = "<query>"


class QueryError(HeapError):
    """An expression cannot be evaluated; the message says where and why.

    Attributes:
        answered: whether the heap gave the error, for instance about an unknown class; otherwise
            the expression itself is wrong.
    """

    def __init__(self, message: str, *, answered: bool = False) -> None:
        super().__init__(message)
        self.answered = answered


class Expression:
    """A parsed expression.

    Attributes:
        text: what the user wrote.
        name: the name of its value: the one before ``:=``, else the text.
        used: the names that occur in it.

    Raises:
        QueryError: it is not a Python expression.
    """

    def __init__(self, source: str, node: ast.expr | None = None) -> None:
        node = _parsed(source) if node is None else node
        self._source = source
        self.text = self.name = ast.get_source_segment(_wrapped(source), node) or source
        if isinstance(node, ast.NamedExpr):
            self.name, node = node.target.id, node.value
        self.used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        self._code: CodeType = compile(ast.Expression(node), _FILE, "eval")

    def evaluate(self, snapshot: Snapshot, columns: Mapping[str, Any] | None = None) -> Any:
        """Its value.

        Args:
            snapshot: whose names it has.
            columns: further names, which take precedence over those of the snapshot.

        Raises:
            QueryError: it failed.
        """
        from jvmti import heap

        try:
            names: dict[str, Any] = {"np": numpy, "heap": heap, "snapshot": snapshot}
            for name in self.used:
                if columns is not None and name in columns:
                    names[name] = columns[name]
                elif name in _names(snapshot):
                    names[name] = getattr(snapshot, name)
            return eval(self._code, names)
        except Exception as error:
            place = self._place(error.__traceback__)
            message = f"{place}{_message(error, [*names, *_names(snapshot), *(columns or ())])}"
            raise QueryError(message, answered=isinstance(error, Error)) from error

    def _place(self, trace: TracebackType | None) -> str:
        """The failing part of the text; unknown before Python 3.11."""
        found = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == _FILE and sys.version_info >= (3, 11):
                found = list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2]
            trace = trace.tb_next
        if found is None or None in found:
            return ""
        line, last, begin, end = (number or 0 for number in found)
        lines = _wrapped(self._source).encode().split(b"\n")
        piece = lines[line - 1][begin : end if last == line else None].decode(errors="replace")
        column = len(lines[line - 1][:begin].decode(errors="replace")) + (line != 1)
        return f"at {_at(self._source, line, column)}, {piece}: "


def expressions(text: str) -> list[Expression]:
    """The expressions of a list with commas, each with an optional name.

    ``number, name := customer["name"], total / 100``
    """
    node = _parsed(text)
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    return [Expression(text, one) for one in nodes]


def _parsed(text: str) -> ast.expr:
    if not text.strip():
        raise QueryError("the expression is empty")
    try:
        return ast.parse(_wrapped(text), _FILE, "eval").body
    except SyntaxError as error:
        line, column = error.lineno or 1, (error.offset or 1) - (error.lineno == 1)
        if line > text.count("\n") + 1:  # only the added bracket is wrong
            try:
                ast.parse(text, _FILE, "eval")
            except SyntaxError as own:
                error, line, column = own, own.lineno or 1, own.offset or len(text) + 1
        raise QueryError(f"at {_at(text, line, max(column, 1))}: {error.msg}") from error
    except (ValueError, MemoryError, RecursionError) as error:
        raise QueryError(f"not an expression: {error}") from error


def _wrapped(text: str) -> str:
    """In brackets it may span lines and have names."""
    return f"({text}\n)"


def _at(text: str, line: int, column: int) -> str:
    """A place; of an expression of one line only the column."""
    return f"line {line}, column {column}" if "\n" in text.strip() else f"column {column}"


def _message(error: Exception, names: list[str]) -> str:
    if isinstance(error, Error):
        return str(error)
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, NameError) and error.name:
        return text + near_it(similar_names(error.name, names))
    if isinstance(error, AttributeError) and error.name:
        public = [name for name in dir(error.obj) if not name.startswith("_")]
        return text + near_it(similar_names(error.name, public))
    return text


def _names(snapshot: Snapshot) -> list[str]:
    return [name for name in dir(snapshot) if not name.startswith("_")]
