"""Which tests run side by side when pytest-xdist has several workers: whole files.

Tests of one file share programs. What the tests of conformance and events have shown is counted at
their end, so these run on one worker, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling

from conformance.evidence import FOLDERS
from jvms import ROOT

if TYPE_CHECKING:
    import pytest

COUNTED = tuple(f"{folder.relative_to(ROOT)}/" for folder in FOLDERS)


class ByFile(LoadScopeScheduling):
    """Gives each worker one file after the other, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return COUNTED[0] if file.startswith(COUNTED) else file
