"""Java expressions as syntax trees, by ``tree-sitter`` and its grammar of Java."""

from __future__ import annotations

import functools
import re
import threading
from typing import TYPE_CHECKING, Any

from jvmti.expressions.errors import ExpressionError
from jvmti.expressions.python_expression import PYTHON, PythonExpression

if TYPE_CHECKING:
    from tree_sitter import Node

_BEFORE, _BEHIND = "(", "\n);"
"""Put around an expression, so that the grammar takes it for one and not for a declaration; a
comment at its end ends with the line."""

COMMENTS = frozenset(("line_comment", "block_comment"))


class ParsedExpression:
    """An expression and its syntax tree.

    Attributes:
        text: the expression.
        root: its node.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._bytes = f"{_BEFORE}{text}{_BEHIND}".encode("utf-8", "surrogatepass")
        self._tree = parser_of_java().parse(self._bytes)
        self.root = self._expression()

    def _expression(self) -> Node:
        program = self._tree.root_node
        if not self.text.strip():
            raise ExpressionError("there is no expression", self.text, 0)
        if program.has_error:
            raise self._syntax_error(program)
        inner = children(program)
        if len(inner) == 1 and inner[0].type == "expression_statement":
            statement = children(inner[0])
            if len(statement) == 1 and statement[0].type == "parenthesized_expression":
                found = children(statement[0])
                whole = statement[0].end_byte == len(self._bytes) - 1
                if len(found) == 1 and whole:
                    return found[0]
        raise ExpressionError("this is not one expression of Java", self.text, 0)

    def _syntax_error(self, program: Node) -> ExpressionError:
        node = _first_error(program)
        column = min(self.column(node), len(self.text))
        end = len(self.text.rstrip())
        if opened := _unclosed(self.text):
            column, what = end, f"{opened!r} is not closed"
        elif column >= end:
            column, what = end, "the expression is not complete"
        elif node.is_missing:
            what = f"{node.type!r} is missing"
        else:
            part = self.text[column:].split()[0]
            what = f"this is not Java at {part[:40]!r}"
            if word := _PYTHON_WORDS.search(self.text):
                what += f"; Java writes {_IN_JAVA[word[0]]!r} for Python's {word[0]!r}"
        return ExpressionError(what, self.text, column)

    def source(self, node: Node) -> str:
        """The text of a node."""
        return self._bytes[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def column(self, node: Node) -> int:
        """The place of a node, in characters of the expression."""
        before = self._bytes[len(_BEFORE) : max(node.start_byte, len(_BEFORE))]
        return len(before.decode("utf-8", "replace"))

    def error(self, node: Node, reason: str) -> ExpressionError:
        """An error about a node."""
        return ExpressionError(reason, self.text, self.column(node))


def text_parts(text: str) -> list[tuple[str, str | None]]:
    """A text to log: literal text, and the expression in braces behind it, or ``None``.

    Doubled braces stand for themselves.

    Args:
        text: the text, with expressions of Java, or of Python behind ``=py``.

    Raises:
        ExpressionError: a brace is not closed, or what it has is no expression.
        ImportError: ``tree-sitter`` is not installed.
    """
    found: list[tuple[str, str | None]] = []
    literal, at = "", 0
    while at < len(text):
        if text[at : at + 2] in ("{{", "}}"):
            literal, at = literal + text[at], at + 2
        elif text[at] == "{":
            end = _closing(text, at)
            expression = text[at + 1 : end].strip()
            (PythonExpression if expression.startswith(PYTHON) else parsed)(expression)
            found.append((literal, expression))
            literal, at = "", end + 1
        else:
            literal, at = literal + text[at], at + 1
    return [*found, (literal, None)]


def _closing(text: str, opening: int) -> int:
    """Where the brace is that closes another."""
    depth, quote, at = 0, "", opening
    while at < len(text):
        one = text[at]
        if quote:
            if one == "\\":
                at += 1
            elif one == quote:
                quote = ""
        elif one in "\"'":
            quote = one
        elif one in "{}":
            depth += 1 if one == "{" else -1
            if not depth:
                return at
        at += 1
    raise ExpressionError("'{' is not closed: an expression stands in braces", text, opening)


def children(node: Node) -> list[Node]:
    """The named parts of a node, without comments."""
    return [one for one in node.named_children if one.type not in COMMENTS]


def field(node: Node, name: str) -> Node:
    """A part of a node that the grammar always has."""
    found = node.child_by_field_name(name)
    assert found is not None, (node.type, name)
    return found


_OUTSIDE_TEXTS = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')


def _unclosed(text: str) -> str | None:
    """The last bracket that is opened and not closed."""
    opened: list[str] = []
    for one in _OUTSIDE_TEXTS.sub("", text):
        if one in "([{":
            opened.append(one)
        elif one in ")]}" and opened:
            opened.pop()
    return opened[-1] if opened else None


_IN_JAVA = {"and": "&&", "or": "||", "not": "!", "None": "null", "is": "=="}
_PYTHON_WORDS = re.compile(rf"(?<![\w.\"'])(?:{'|'.join(_IN_JAVA)})(?![\w.\"'])")


def _first_error(node: Node) -> Node:
    if node.is_missing or node.type == "ERROR":
        return node
    for one in node.children:
        if one.has_error or one.is_missing:
            return _first_error(one)
    return node


@functools.lru_cache(1024)
def parsed(text: str) -> ParsedExpression:
    """The syntax tree of an expression.

    Args:
        text: the expression.

    Raises:
        TypeError: it is no text.
        ExpressionError: it is not an expression of Java; the message says where.
        ImportError: ``tree-sitter`` or its grammar of Java is not installed.
    """
    return ParsedExpression(checked_text(text))


def checked_text(text: str) -> str:
    """The text of an expression.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(text, str):
        raise TypeError(f"an expression is text, not {type(text).__name__}: {text!r}")
    return text


class _Parsers(threading.local):
    """A parser for each thread."""

    parser: Any = None


_parsers = _Parsers()


def parser_of_java() -> Any:
    """The calling thread's parser.

    Raises:
        ImportError: ``tree-sitter`` or its grammar of Java is not installed.
    """
    if _parsers.parser is None:
        try:
            import tree_sitter
            import tree_sitter_java
        except ImportError as error:
            raise ImportError(
                "expressions in Java need tree-sitter and tree-sitter-java: "
                "pip install 'jvmti[debug]'"
            ) from error
        language = tree_sitter.Language(tree_sitter_java.language())
        _parsers.parser = tree_sitter.Parser(language)
    return _parsers.parser


__all__ = [
    "COMMENTS",
    "ParsedExpression",
    "checked_text",
    "children",
    "field",
    "parsed",
    "parser_of_java",
]
