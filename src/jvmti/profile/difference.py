"""Changes between two profiles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.profile.tables import Kind
from jvmti.text.printable import escaped, escaped_lines, printable

if TYPE_CHECKING:
    from jvmti.profile.formats.flame import FlameGraph
    from jvmti.profile.profile import Profile

__all__ = ["Change", "Changes", "Difference"]


class Change(NamedTuple):
    """A row of a `Difference`: a method's parts of the two profiles."""

    name: str
    """The method."""
    own_before: float
    """The weight that it used itself, before."""
    own_after: float
    """The same, after."""
    before: float
    """The weight that it used with all that it called, before."""
    after: float
    """The same, after."""

    @property
    def own_change(self) -> float:
        """How much more it used itself."""
        return self.own_after - self.own_before

    @property
    def change(self) -> float:
        """How much more it used with all that it called."""
        return self.after - self.before


class Changes(display.Rows[Change], display.Tabular):
    """The rows of `Difference.top`: a list; a notebook shows a table, ``str`` and ``print`` lines.

    Attributes:
        difference: what they are rows of.
    """

    __slots__ = ("difference",)

    def __init__(self, changes: Iterable[Change], difference: Difference) -> None:
        super().__init__(changes)
        self.difference = difference

    def to_arrow(self) -> Any:
        """The rows as a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed.
        """
        from jvmti.profile.formats.arrow import rows_table

        return rows_table(self, Change)

    @escaped_lines
    def __str__(self) -> str:
        amount = self.difference.amount
        return "\n".join(
            [
                self.difference.unit,
                *(f"{amount(one.own_change, '+'):>10}  {printable(one.name)}" for one in self),
            ]
        )


class Difference:
    """Two profiles of one kind, compared method by method.

    All amounts are in one unit, ``per``: ``"second"`` is seconds of threads, or bytes, in each
    second; ``"share"`` is parts of the whole, 0 to 1. The second hides that a program did more.

    Attributes:
        before: the earlier profile.
        after: the later one; both have the tables of both.
        per: the unit of the amounts.
    """

    def __init__(self, before: Profile, after: Profile, per: str | None = None) -> None:
        """Compare two profiles.

        Args:
            before: the earlier one.
            after: the later one.
            per: ``"second"`` or ``"share"``; by default seconds, if both profiles know their
                durations and are of one kind.

        Raises:
            ValueError: the profiles are of different kinds, or ``per`` is something else.
            SeveralKinds: a profile has samples of several kinds.
        """
        kinds = {before.kind, after.kind}
        named = f"{before.kind.name.lower()} and {after.kind.name.lower()}"
        # A file that only has numbers may be of any kind.
        if len(kinds) > 1 and Kind.COUNT not in kinds:
            raise ValueError(f"profiles of {named} cannot be compared")
        lengths = [(one.ended - one.began) / 1e9 for one in (before, after)]
        if per is None:
            per = "second" if all(lengths) and len(kinds) == 1 else "share"
        if per not in ("second", "share"):
            raise ValueError(f"per={per!r} is neither second nor share")
        if per == "second" and len(kinds) > 1:
            raise ValueError(f"profiles of {named} have different units: compare shares")
        if per == "second" and not all(lengths):
            raise ValueError("a profile does not say how long it took: compare shares")
        self.per = per
        both = before.merge(after)
        self.before = both.where(slice(0, len(before)))
        self.after = both.where(slice(len(before), None))
        # One without samples has the kind of its own limits.
        self.before._limits, self.after._limits = before._limits, after._limits
        unit = 1e9 if before.kind.unit == "ns" else 1.0
        self._scales = [
            1 / (unit * length) if per == "second" else 1 / (one.weight or 1)
            for one, length in zip((before, after), lengths, strict=True)
        ]

    @property
    def kind(self) -> Kind:
        """The kind of the earlier profile, and of the later one unless that only has numbers."""
        return self.before.kind

    @property
    def stack_amounts(self) -> tuple[NDArray[numpy.floating], NDArray[numpy.floating]]:
        """The amount of each stack, before and after."""
        before, after = self._scales
        return self.before.stack_weights * before, self.after.stack_weights * after

    def top(self, most: int | None = 20) -> Changes:
        """The methods whose own use changed most, in either direction."""
        columns = self.before._columns
        innermost = columns.innermost(skip_types=True)
        has = innermost >= 0
        own_code = columns.method[innermost[has]]
        stacks, codes = columns.methods_on_stacks
        number = len(columns.names)
        found = []
        for amounts in self.stack_amounts:
            found.append(numpy.bincount(own_code, amounts[has], number))
            found.append(numpy.bincount(codes, amounts[stacks], number))
        own_before, before, own_after, after = found
        order = numpy.lexsort((-abs(after - before), -abs(own_after - own_before)))
        order = order[(before + after)[order] > 0][:most]
        return Changes(
            (
                Change(
                    columns.names[row],
                    *(float(one[row]) for one in (own_before, own_after, before, after)),
                )
                for row in order.tolist()
            ),
            self,
        )

    def flame(self, title: str = "") -> FlameGraph:
        """A flame graph whose frames are red where they have grown, and blue where shrunk."""
        from jvmti.profile.formats.flame import difference_graph

        return difference_graph(self, title)

    @property
    def unit(self) -> str:
        """The unit of the amounts, in words."""
        if self.per == "share":
            return "what methods use themselves, as shares of the whole"
        unit = {"ns": "ms", "bytes": "KB", "count": "numbers"}[self.kind.unit]
        return f"what methods use themselves, in {unit} per second"

    def amount(self, value: float, sign: str = "") -> str:
        """An amount as text, in the `unit`.

        Args:
            value: the amount.
            sign: ``"+"`` shows the sign of all amounts, as of changes.
        """
        if self.per == "share":
            return f"{value:{sign}.1%}"
        scaled = value * {"ns": 1e3, "bytes": 1 / 1024, "count": 1}[self.kind.unit]
        return f"{scaled:{sign},.1f}"

    @escaped_lines
    def __str__(self) -> str:
        return f"{self!r}\n{self.top()}"

    @escaped
    def __repr__(self) -> str:
        return f"<Difference of {self.kind.name.lower()} profiles, amounts per {self.per}>"

    _repr_html_ = display.html
