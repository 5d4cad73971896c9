"""The expression before the cursor, and its value.

Completion must have no side effects: it evaluates only names, attributes of this package's objects,
items, and calls of lookup functions.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Mapping
from typing import Any

from jvmti.interface.errors import Error

_LOOKUPS = frozenset({"classes", "find_class", "get_frames", "named"})
"""Functions that completion may call: lookups without side effects."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}


class NotEvaluated(Error):
    """Completion does not evaluate this kind of expression."""


def open_string(text: str) -> int | None:
    """The beginning of an unclosed string at the end: the index after its quote.

    ``None`` if every string is closed, or the last one is an f-string or has three quotes.
    """
    quote, start, at = "", 0, 0
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif text.startswith(quote, at):
                at += len(quote) - 1
                quote = ""
            elif char == "\n" and len(quote) == 1:
                quote = ""
        elif char in "\"'":
            quote = char * 3 if text.startswith(char * 3, at) else char
            at += len(quote) - 1
            start = at + 1
        elif char == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        at += 1
    if len(quote) != 1 or text[: start - 1][-1:] in ("f", "F", "b", "B"):
        return None
    return start


def last_primary(text: str) -> str:
    """The longest expression at the end of a text that needs no operator: ``vm.threads["a"]``."""
    tokens: list[tokenize.TokenInfo] = []
    try:
        tokens.extend(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        pass  # brackets are still open while the user types
    blank = (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)
    tokens = [token for token in tokens if token.type not in blank]
    at = len(tokens)
    while at > 0:
        before = tokens[at - 1]
        if before.string in _BRACKETS:
            opening = _opening(tokens, at - 1)
            if opening is None:
                break
            at = opening
            if tokens[at].string == "{":
                break
            continue  # what is called or indexed comes before it
        if before.type != tokenize.NAME:
            break
        at -= 1
        if not at or tokens[at - 1].string != ".":
            break
        at -= 1
    if at == len(tokens):
        return ""
    lines = text.splitlines(keepends=True)
    row, column = tokens[at].start
    return (lines[row - 1][column:] + "".join(lines[row:])).rstrip()


def _opening(tokens: list[tokenize.TokenInfo], at: int) -> int | None:
    depth = 0
    for place in range(at, -1, -1):
        if tokens[place].string in _BRACKETS:
            depth += 1
        elif tokens[place].string in _BRACKETS.values():
            depth -= 1
            if not depth:
                return place
    return None


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression without side effects.

    Raises:
        NotEvaluated: the expression has side effects, or contains an unknown name.
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, names)
    except SyntaxError:
        raise NotEvaluated(text) from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _value(node.operand, names)
        if isinstance(operand, int):
            return -operand
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, names)
        if _is_ours(owner):
            return getattr(owner, node.attr)
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        owner, key = _value(node.value, names), _value(node.slice, names)
        if _is_ours(owner) or isinstance(owner, dict | list | tuple):
            return owner[key]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _LOOKUPS
        and not node.keywords
    ):
        owner = _value(node.func.value, names)
        if _is_ours(owner):
            return getattr(owner, node.func.attr)(*(_value(one, names) for one in node.args))
    raise NotEvaluated(ast.dump(node)[:200])


def _is_ours(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return (kind.__module__ or "").partition(".")[0] == "jvmti"


__all__ = ["NotEvaluated", "evaluate", "last_primary", "open_string"]
