"""Profiles in a notebook: what used most, as a table and as flames; live while they run."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from jvmti.heap.html.elements import Content, element, paragraph, table
from jvmti.interface.errors import Error
from jvmti.profile.profile import Profile
from jvmti.report.flames import flames

__all__ = ["follow", "profile_view"]

log = logging.getLogger("jvmti")

_ROWS = 10
_EVERY = 2.0
"""Seconds between two looks at a profile that runs."""


class Running(Protocol):
    """A profile that grows."""

    @property
    def running(self) -> bool:
        """Whether it still does."""

    def now(self) -> Profile:
        """A copy of its samples so far."""


def profile_view(profile: Profile) -> list[Content]:
    """The elements for a profile: of each kind of samples the largest users, and flames."""
    content: list[Content] = [element("p", element("code", repr(profile)))]
    for kind in profile.kinds if len(profile) else ():
        part = profile[kind]
        amount = part.amount
        rows = [
            (one.name, amount(one.own), one.own_share, amount(one.total), one.share)
            for one in part.top(_ROWS)
        ]
        content.append(table([f"{kind.name.lower()}", "self", "%", "total", "%"], rows))
        content += flames(part.tree())
    content += [paragraph(text) for one in profile.limits for text in one.complaints()]
    return content


def follow(profile: Running, html: Callable[[object], str | None]) -> None:
    """Show a profile in a notebook and, while it runs, again every two seconds.

    Args:
        profile: the profile.
        html: makes the HTML of a profile.
    """
    from IPython import display as notebook  # it has no types

    ipython: Any = notebook
    handle = ipython.display(ipython.HTML(html(profile.now())), display_id=True)

    def again() -> None:
        while profile.running:
            time.sleep(_EVERY)
            try:
                shown = html(profile.now())
            except Error as error:
                # It is being stopped: the next look, the last one, shows all of it.
                log.debug("a profile is shown later: %s", error)
                continue
            handle.update(ipython.HTML(shown))

    if profile.running and handle is not None:
        threading.Thread(target=again, name="profile in a notebook", daemon=True).start()
