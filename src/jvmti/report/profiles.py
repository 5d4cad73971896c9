"""Profiles in a notebook: what used most, as a table and as flames; live while they run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import Any, Protocol

from jvmti.heap.html.elements import Content, and_more, element, paragraph, table
from jvmti.interface.errors import Error
from jvmti.profile.difference import Changes, Difference
from jvmti.profile.parts import Parts, part_name
from jvmti.profile.profile import Profile
from jvmti.profile.uses import Top
from jvmti.report.flames import flames

__all__ = [
    "LiveView",
    "change_table",
    "difference_view",
    "part_table",
    "profile_view",
    "use_table",
]

log = logging.getLogger("jvmti")

_ROWS = 10
_MOST = 50
"""Rows of a table that stands alone."""
_EVERY = 2.0
"""Seconds between two looks at a profile that runs."""


def profile_view(profile: Profile) -> list[Content]:
    """The elements for a profile: of each kind of samples the largest users, and flames."""
    content: list[Content] = [element("p", element("code", repr(profile)))]
    for kind in profile.kinds if len(profile) else ():
        part = profile[kind]
        content.append(use_table(part.top(_ROWS), kind.name.lower()))
        content += flames(part.tree())
    content += [paragraph(text) for one in profile.limits for text in one.complaints()]
    return content


def use_table(top: Top, what: str = "") -> Content:
    """The largest users.

    Args:
        top: the rows.
        what: the heading of their names.
    """
    rows = [
        (one.name, top.amount(one.own), one.own_share, top.amount(one.total), one.share)
        for one in top[:_MOST]
    ]
    heads = [what, "self", "%", "total", "%"]
    return table(heads, rows, and_more(len(top), _MOST, "rows"))


def change_table(changes: Changes) -> Content:
    """The methods that changed most between two profiles."""
    amount = changes.difference.amount
    rows = [
        (
            *(one.name, amount(one.own_change, "+"), amount(one.own_before)),
            *(amount(one.own_after), amount(one.before), amount(one.after)),
        )
        for one in changes[:_MOST]
    ]
    heads = ["", "change", "before", "after", "total before", "total after"]
    return table(heads, rows, and_more(len(changes), _MOST, "rows"))


def difference_view(difference: Difference) -> list[Content]:
    """The elements for two profiles: the methods that changed most."""
    return [paragraph(difference.unit), change_table(difference.top())]


def part_table(parts: Parts) -> Content:
    """The largest parts of a profile."""
    profile, shares = parts.profile, parts.shares
    of_one_kind = len(profile.kinds) <= 1
    rows = [
        (
            part_name(parts.by, name),
            profile.amount(parts.weights[name]) if of_one_kind else f"{parts.counts[name]:,}",
            shares[name],
        )
        for name in islice(parts, _MOST)
    ]
    what = profile.kind.name.lower() if of_one_kind else "samples"
    return table([parts.by, what, "%"], rows, and_more(len(parts), _MOST, "parts"))


class Running(Protocol):
    """A profile that grows."""

    @property
    def running(self) -> bool:
        """Whether it still does."""

    def now(self) -> Profile:
        """A copy of its samples so far."""


class LiveView:
    """A profile in a notebook, shown again every two seconds while it runs.

    Args:
        profile: the profile.
        html: makes the HTML of a profile.
    """

    def __init__(self, profile: Running, html: Callable[[object], str | None]) -> None:
        from IPython import display as notebook  # it has no types

        self._profile = profile
        self._html = html
        self._lock = threading.Lock()
        ipython: Any = notebook
        self._cell = _cell()
        self._handle = ipython.display(self._shown(), raw=True, display_id=True)
        if profile.running and self._handle is not None:
            threading.Thread(
                target=self._show_again, name="profile in a notebook", daemon=True
            ).start()

    def _shown(self) -> dict[str, str | None]:
        """The text is for what shows no HTML, such as a terminal."""
        profile = self._profile.now()
        return {"text/plain": repr(profile), "text/html": self._html(profile)}

    def in_this_cell(self) -> bool:
        """Whether it is part of the cell that runs."""
        return self._cell == _cell()

    def refresh(self) -> None:
        """Show the profile as it is now."""
        with self._lock:
            if self._handle is not None:
                self._handle.update(self._shown(), raw=True)

    def _show_again(self) -> None:
        pause = _EVERY
        while self._profile.running:
            time.sleep(pause)
            began = time.monotonic()
            try:
                self.refresh()
            except Error as error:
                # It is being stopped, which shows all of it.
                log.debug("a profile is shown later: %s", error)
            # A long one takes its time, which the cells need.
            pause = max(_EVERY, 20 * (time.monotonic() - began))


def _cell() -> object:
    from IPython import get_ipython

    shell: Any = get_ipython()
    return getattr(shell, "execution_count", None)
