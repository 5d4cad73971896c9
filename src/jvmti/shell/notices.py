"""Messages that appear while the prompt waits for the user."""

from __future__ import annotations

import sys


def notice(text: str) -> None:
    """Print a message above the prompt.

    Args:
        text: its lines, which may have our colours; names from the target must be escaped.
    """
    # IPython draws its prompt again; Python's own must be printed again.
    prompt = getattr(sys, "ps1", "") if "IPython" not in sys.modules else ""
    print(f"\n{text}\n{prompt}", end="", flush=True)


__all__ = ["notice"]
