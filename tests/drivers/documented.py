"""The examples of docs/python_programs.md, by the heading that they stand under."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "python_programs.md"


def examples(heading: str) -> list[str]:
    """The Python of one section and of those below it, block by block."""
    _, level, rest = re.split(rf"^(#+) {re.escape(heading)}$", PAGE.read_text(), flags=re.M)
    section = re.split(rf"^#{{1,{len(level)}}} ", rest, flags=re.M)[0]
    return re.findall(r"^```python\n(.*?)^```$", section, flags=re.M | re.S)
