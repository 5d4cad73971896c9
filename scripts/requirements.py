"""Print what the package needs at run time, with the extras named as arguments.

For installing these before a wheel that is then installed without dependencies.
Reads the description with a few lines of its own where Python has no TOML reader.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path


def requirements(description: str, extras: list[str]) -> list[str]:
    """Return the requirements that a pyproject.toml lists."""
    found: list[str] = []
    for key in ("dependencies", *extras):
        match = re.search(rf"^{re.escape(key)} = (\[.*?\])$", description, re.MULTILINE | re.DOTALL)
        if match is None:
            raise SystemExit(f"pyproject.toml lists nothing under {key!r}")
        found += ast.literal_eval(match.group(1))
    return found


if __name__ == "__main__":
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    print(*requirements(text, sys.argv[1:]), sep="\n")
