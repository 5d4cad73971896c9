"""Replaces the code of the running program when a source of it is saved, in whatever editor."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from jvmti.adapter.protocol.arguments import RequestFailed
from jvmti.adapter.protocol.conversation import explained
from jvmti.interface.errors import Error
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.code.class_replacement import ReplacementRequests
    from jvmti.adapter.code.source_places import SourcePlaces
    from jvmti.adapter.debug_session import DebugSession

log = logging.getLogger("jvmti")

MODES = ("manual", "auto")
"""The values of ``hotCodeReplace`` in a configuration; the first is the default."""
_EVERY = 0.5
"""Seconds between two glances at the files."""


class SavedSources:
    """Notices that sources are saved: those with breakpoints, and those that frames have shown.

    Args:
        session: what requests share.
        sources: knows these files.
        replacement: replaces the code.
    """

    def __init__(
        self, session: DebugSession, sources: SourcePlaces, replacement: ReplacementRequests
    ) -> None:
        self._session = session
        self._sources = sources
        self._replacement = replacement
        self._known: dict[str, int] = {}

    def begin(self) -> None:
        """Begin, if the configuration wants it.

        Raises:
            RequestFailed: the configuration wants what there is not.
        """
        mode = self._session.configuration.text("hotCodeReplace", MODES[0])
        if mode not in MODES:
            raise RequestFailed(
                f"hotCodeReplace is {' or '.join(MODES)}, not {printable(mode, 40)!r}"
            )
        if mode == "auto":
            threading.Thread(target=self._run, name="jvmti saved sources", daemon=True).start()

    def _run(self) -> None:
        over = self._session.conversation.is_over
        while not over.wait(_EVERY):
            saved = [path for path in self._sources.files() if self._is_saved(path)]
            if not saved or self._session.vm.held or self._session.vm.closed:
                continue
            try:
                text = "".join(
                    f"{one['name']} keeps its code: {one['message']}\n"
                    for one in self._replacement.replace(saved)
                    if "message" in one
                )
            except (Error, LookupError, OSError, ValueError) as error:
                log.debug("%s", error)
                text = f"{explained(error)}\n"
            if text:
                self._session.conversation.output(text, "important")

    def _is_saved(self, path: str) -> bool:
        try:
            now = os.stat(path).st_mtime_ns
        except OSError:
            return False  # an editor may write it anew
        before = self._known.get(path)
        self._known[path] = now
        return before is not None and before != now


__all__ = ["MODES", "SavedSources"]
