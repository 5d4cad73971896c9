"""The configurations on the editors' pages, which are what their users copy."""

from __future__ import annotations

import re

from jvms import ROOT


def configuration(editor: str, title: str) -> str:
    """A block of an editor's page."""
    page = (ROOT / "docs" / "editors" / f"{editor}.md").read_text()
    found = re.search(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', page, re.S)
    assert found, f"{editor}.md has no {title}"
    return found[1]
