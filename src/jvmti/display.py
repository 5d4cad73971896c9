"""How what lies below reaches what draws it.

An object that a notebook shows as more than text has ``_repr_html_ = display.html`` in its class,
and work that takes long tells `progress` how far it is.  Neither knows who draws: that is
`jvmti.report`, a layer above all of them, and `jvmti` itself, which is above everything, says so
here when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

__all__ = ["Report", "Rows", "Shown", "Tabular", "drawn_by", "html", "progress"]

Item = TypeVar("Item")

Report = Callable[..., object]
"""Told now and then what is done; or that and of how much; or a step, and these two of it."""


def _text_only(thing: object) -> str | None:
    return None


def _silent(what: str) -> AbstractContextManager[Report]:
    return nullcontext(lambda *numbers: None)


_html: Callable[[object], str | None] = _text_only
_progress: Callable[[str], AbstractContextManager[Report]] = _silent


def drawn_by(
    html: Callable[[object], str | None],
    progress: Callable[[str], AbstractContextManager[Report]],
) -> None:
    """Say what draws from now on."""
    global _html, _progress
    _html, _progress = html, progress


def html(thing: object) -> str | None:
    """What a notebook shows for an object; ``None`` leaves it at its text."""
    return _html(thing)


def progress(what: str) -> AbstractContextManager[Report]:
    """Shows how far something is, as long as the block lasts, where somebody is looking.

    Args:
        what: what is done, in a few words.
    """
    return _progress(what)


class Shown:
    """For classes that take no attribute of that name: enums."""

    __slots__ = ()

    _repr_html_ = html


class Tabular:
    """What has a table, `to_arrow`: pandas, polars, DuckDB and others take it as it is.

    They ask for the Arrow PyCapsule interface: ``polars.DataFrame(table)``,
    ``pandas.DataFrame.from_arrow(table)``, ``pyarrow.table(table)``.  What is a list or a ``dict``
    as well they take for that: there it is `to_arrow` and `to_pandas`.
    """

    __slots__ = ()

    def to_arrow(self) -> Any:
        """The table, as Arrow has it."""
        raise NotImplementedError

    def to_pandas(self, **options: Any) -> Any:
        """The table as a ``pandas.DataFrame``.

        Args:
            options: those of ``pyarrow.Table.to_pandas``.

        Raises:
            ImportError: pandas or pyarrow is not installed.
        """
        return self.to_arrow().to_pandas(**options)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        stream: object = self.to_arrow().__arrow_c_stream__(requested_schema)
        return stream


class Rows(list[Item]):
    """A list that a notebook shows as a table, or in another form that suits what is in it."""

    __slots__ = ()

    _repr_html_ = html
