"""The rows of a profile: methods, lines or classes, the largest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from jvmti import display
from jvmti.text.printable import escaped_lines, printable

__all__ = ["Top", "Use"]


class Use(NamedTuple):
    """A row of `Profile.top`: what a method, class or line used."""

    name: str
    """The method, class, line, …, as was asked for."""
    own: int
    """The weight of the samples in which it was the innermost frame."""
    total: int
    """The weight of the samples that have it on the stack, each counted once."""
    own_share: float
    """``own`` as a part of the whole profile, 0 to 1."""
    share: float
    """``total`` as a part of the whole profile, 0 to 1."""


class Top(display.Rows[Use], display.Tabular):
    """The rows of `Profile.top`: a list; a notebook shows a table, ``str`` and ``print`` lines.

    Attributes:
        amount: formats a weight: a duration, a number of bytes, or a number.
    """

    __slots__ = ("amount",)

    def __init__(self, uses: Iterable[Use], amount: Callable[[int], str]) -> None:
        super().__init__(uses)
        self.amount = amount

    def to_arrow(self) -> Any:
        """The rows as a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed.
        """
        from jvmti.profile.formats.arrow import rows_table

        return rows_table(self, Use)

    @escaped_lines
    def __str__(self) -> str:
        lines = [f"{'self':>9} {'':>6} {'total':>9}"]
        for one in self:
            own, total = self.amount(one.own), self.amount(one.total)
            shares = f"{one.own_share:6.1%}", f"{one.share:6.1%}"
            lines.append(f"{own:>9} {shares[0]} {total:>9} {shares[1]}  {printable(one.name)}")
        return "\n".join(lines)
