"""Why a text is no expression of Python, for those who may have meant another language's."""

from __future__ import annotations

import re

_OTHERS = (
    (re.compile(r"&&|\|\||!(?!=)"), "write `and`, `or` and `not` in place of `&&`, `||` and `!`"),
    (re.compile(r"(?<![=!<>])=(?!=)"), "`==` compares"),
)
_TEXTS = re.compile(r"'[^']*'|\"[^\"]*\"")


def syntax_reason(text: str, error: SyntaxError | ValueError) -> str:
    """Return what the parser says, or what to write instead.

    Args:
        text: the text.
        error: what parsing it raised.
    """
    bare = _TEXTS.sub("''", text)
    for pattern, advice in _OTHERS:
        if pattern.search(bare):
            return advice
    return str(error.args[0])  # the rest is a place in a file, which there is not


__all__ = ["syntax_reason"]
