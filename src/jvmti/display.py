"""Connects objects and long operations with the code that renders them.

A class whose objects a notebook renders has ``_repr_html_ = display.html``, and a long operation
reports to `progress`.  Neither knows the renderer: `jvmti.report` is a layer above them, and the
package sets it here when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

__all__ = [
    *("Report", "Rows", "HtmlRepr", "Tabular", "LiveView"),
    *("set_renderers", "html", "follow", "progress"),
]

Item = TypeVar("Item")

Report = Callable[..., object]
"""Called with the amount done; or with that and the total; or with a step, and both."""


class LiveView(Protocol):
    """Something in a notebook that changes."""

    def in_this_cell(self) -> bool:
        """Whether it is part of the cell that runs."""

    def refresh(self) -> None:
        """Show it as it is now."""


def _text_only(thing: object) -> str | None:
    return None


def _silent(what: str) -> AbstractContextManager[Report]:
    return nullcontext(lambda *numbers: None)


def _not_shown(thing: object) -> None:
    return None


_html: Callable[[object], str | None] = _text_only
_follow: Callable[[Any], LiveView | None] = _not_shown
_progress: Callable[[str], AbstractContextManager[Report]] = _silent


def set_renderers(
    html: Callable[[object], str | None],
    progress: Callable[[str], AbstractContextManager[Report]],
    follow: Callable[[Any], LiveView | None],
) -> None:
    """Set the functions that render from now on."""
    global _html, _progress, _follow
    _html, _progress, _follow = html, progress, follow


def html(thing: object) -> str | None:
    """The HTML of an object for a notebook; ``None`` leaves its text."""
    return _html(thing)


def follow(thing: object) -> LiveView | None:
    """Show in a notebook something that changes, again and again while it does.

    Returns:
        What is shown; ``None`` outside of a notebook.
    """
    return _follow(thing)


def progress(what: str) -> AbstractContextManager[Report]:
    """Show the progress of an operation during the block, on a terminal or in a notebook.

    Args:
        what: the operation, in a few words.
    """
    return _progress(what)


class HtmlRepr:
    """Adds ``_repr_html_`` to enums, whose bodies cannot define it."""

    __slots__ = ()

    _repr_html_ = html


class Tabular:
    """Has a table, `to_arrow`: pandas, polars, DuckDB and others accept the object itself.

    They use the Arrow PyCapsule interface: ``polars.DataFrame(table)``,
    ``pandas.DataFrame.from_arrow(table)``, ``pyarrow.table(table)``.  If the object is also a list
    or a ``dict`` they treat it as that; call `to_arrow` or `to_pandas` then.
    """

    __slots__ = ()

    def to_arrow(self) -> Any:
        """The table as a ``pyarrow.Table``."""
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
    """A list that a notebook renders as a table, or in a form that suits its items."""

    __slots__ = ()

    _repr_html_ = html
