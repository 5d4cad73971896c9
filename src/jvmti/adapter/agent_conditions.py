"""Conditions in Java that the agent can decide, in the words that it takes.

The agent compares variables with constants (`jvmti.debug.conditions`), and probes also what fields
of variables refer to. A condition of that kind costs a hit nothing but the comparison; any other is
evaluated here, while the thread waits.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"(?:[^"\\]|\\["\\nrt])*")
      | (?P<char>'(?:[^'\\]|\\['\\nrt])')
      | (?P<number>(?:\d+\.\d+|\d+)[lLfFdD]?)(?![\w.])
      | (?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
      | (?P<operator>==|!=|<=|>=|&&|\|\||[<>!()-])
    )""",
    re.VERBOSE,
)
_EQUALS = re.compile(
    r"""\s*(?:(?P<name>[A-Za-z_][\w.]*)\.equals\(\s*(?P<text>"(?:[^"\\]|\\["\\nrt])*")\s*\)
      | (?P<text2>"(?:[^"\\]|\\["\\nrt])*")\.equals\(\s*(?P<name2>[A-Za-z_][\w.]*)\s*\))""",
    re.VERBOSE,
)
_WORDS = {"&&": "and", "||": "or", "!": "not", "true": "True", "false": "False", "null": "None"}
_OTHER_MEANING = re.compile(
    r"(?:thread|caller|took|value|exception|target|member|arg\d+|passed\d+|slot\d+|and|or|not|in|is)"
    r"(?:\.|\Z)|.*\blength\Z|instanceof\Z|new\Z"
)
"""Names that mean something else to the agent."""


def agent_text(condition: str) -> str | None:
    """A condition in the agent's words; ``None`` if it is none that the agent can decide.

    The agent may still refuse it, as for a name that is no variable at the place.

    Args:
        condition: an expression in Java.
    """
    found: list[str] = []
    at = 0
    condition = condition.rstrip()
    while at < len(condition):
        equals = _EQUALS.match(condition, at)
        if equals is not None:
            name = equals["name"] or equals["name2"]
            if _OTHER_MEANING.match(name):
                return None
            found += ["(", name, "==", equals["text"] or equals["text2"], ")"]
            at = equals.end()
            continue
        token = _TOKEN.match(condition, at)
        if token is None or token["text"] is not None:
            return None  # Java compares texts by identity
        if token["name"] is not None and _OTHER_MEANING.match(token["name"]):
            return None
        part = token[0].strip()
        if token["number"] is not None:
            part = part.rstrip("lLfFdD")
            if len(part) > 1 and part.isdigit() and part.startswith("0"):
                return None  # an octal number
        found.append(_WORDS.get(part, part))
        at = token.end()
    return " ".join(found) if found else None


__all__ = ["agent_text"]
