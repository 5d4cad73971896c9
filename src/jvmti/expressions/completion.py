"""Completion of Java expressions in a frame.

It reads variables and fields and calls nothing: the members behind a call are those of its declared
type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jvmti.expressions.errors import ExpressionError
from jvmti.expressions.evaluator import Evaluator
from jvmti.expressions.names import TypeName
from jvmti.expressions.parsing import parsed
from jvmti.expressions.values.typed import Value, is_array
from jvmti.interface.errors import ClassNotPrepared, JavaException
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import java_name, parameters_of
from jvmti.model.objects.layouts import layout_of
from jvmti.model.values.overloads import overloads_of

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class
    from jvmti.model.threads.frames import Frame

_TIME_LIMIT = 2.0
_MOST = 500
"""Completions at most."""

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_$][\w$]*|\d[\w.]*|\s+|.',
    re.S,
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*\Z")
_BRACKETS = {")": "(", "]": "["}
_KEYWORDS = ("this", "super", "new", "null", "true", "false", "instanceof")
_GENERATED = re.compile(r"(?:this|val|access|lambda|\$)\$|\$assertionsDisabled|<")


@frozen
class Completion:
    """One way to go on.

    Attributes:
        text: the name that takes the place of the one that was begun.
        label: the name as it is shown: of a method with the types of its parameters.
        kind: ``variable``, ``field``, ``method``, ``class``, ``package`` or ``keyword``.
        type: its type, or that of a method's result, as Java writes it; empty where it has none.
        start: the column where the begun name begins, in characters from 0.
    """

    text: str
    label: str
    kind: str
    type: str
    start: int


def completions(
    frame: Frame,
    text: str,
    column: int | None = None,
    names: Mapping[str, tuple[Any, str]] | None = None,
) -> list[Completion]:
    """The names that may stand at a column of an expression; see `Completion`.

    It runs no code of the program and loads no classes.

    Args:
        frame: the frame.
        text: the expression as far as it is written.
        column: the cursor, in characters from 0; by default at the end.
        names: further values and their signatures, as `Stop.names` has them.

    Returns:
        The nearest first, 500 at most; empty inside a text.

    Raises:
        FrameGone: the thread has moved on.
        ImportError: ``tree-sitter`` is not installed; ``pip install 'jvmti[debug]'`` does.
    """
    before = text if column is None else text[: max(column, 0)]
    if any(one in ('"', "'") for one in _TOKEN.findall(before)):
        return []  # in a text that is not closed
    begun = _WORD.search(before)
    word = begun[0] if begun else ""
    start = len(before) - len(word)
    rest = before[:start].rstrip()
    completer = _Completer(frame, start, names or {})
    if rest.endswith("."):
        return _begun_with(word, completer.members(_last_primary(rest[:-1])))
    return [] if rest.endswith("::") else _begun_with(word, completer.names(word))


def _begun_with(word: str, found: Iterable[Completion]) -> list[Completion]:
    lower = word.lower()
    seen: dict[tuple[str, str], Completion] = {}
    for one in found:
        if one.text.lower().startswith(lower):
            seen.setdefault((one.label, one.kind), one)
    exact = [one for one in seen.values() if one.text.startswith(word)]
    others = [one for one in seen.values() if not one.text.startswith(word)]
    return [*exact, *others][:_MOST]


def _last_primary(text: str) -> str:
    """The longest operand at the end of a text: ``a.b(c)[0]``, ``new A(1)``."""
    tokens = [one for one in _TOKEN.findall(text) if not one.isspace()]
    at = len(tokens)
    while at > 0:
        token = tokens[at - 1]
        if token in _BRACKETS:
            opening = _opening(tokens, at - 1)
            if opening is None:
                break
            at = opening
            before = tokens[at - 1] if at else ""
            if _WORD.match(before) or before in _BRACKETS:
                continue
        elif _WORD.match(token) or token[0] in "\"'":
            at -= 1
        else:
            break
        if at and tokens[at - 1] == ".":
            at -= 1
            continue
        break
    if at and tokens[at - 1] == "new":
        at -= 1
    return " ".join(tokens[at:]).replace(" . ", ".") if at < len(tokens) else ""


def _opening(tokens: list[str], at: int) -> int | None:
    depth = 0
    for place in range(at, -1, -1):
        if tokens[place] in _BRACKETS:
            depth += 1
        elif tokens[place] in _BRACKETS.values():
            depth -= 1
            if not depth:
                return place
    return None


class _Completer:
    def __init__(self, frame: Frame, start: int, names: Mapping[str, tuple[Any, str]]) -> None:
        self._frame = frame
        self._start = start
        self._names = names

    def _evaluator(self, text: str) -> Evaluator:
        made = Evaluator(self._frame, parsed(text), _TIME_LIMIT, pure=True)
        made.bind(self._names)
        return made

    def _one(self, text: str, kind: str, type_: str = "", label: str = "") -> Completion:
        return Completion(text, label or text, kind, type_, self._start)

    # ---- behind a dot ----------------------------------------------------------------------

    def members(self, owner: str) -> list[Completion]:
        """The members of an operand before a dot."""
        if not owner:
            return []
        if owner == "super":
            above = self._frame.method.declaring_class.superclass
            return [] if above is None else list(self._of_class(above, static=False))
        try:
            evaluator = self._evaluator(owner)
        except ExpressionError:
            return []
        found: Value | TypeName | None
        try:
            found = evaluator.anything(evaluator.expression.root)
        except (ExpressionError, JavaException):
            evaluator.running.is_dry = True
            try:
                found = evaluator.anything(evaluator.expression.root)
            except (ExpressionError, JavaException):
                return list(self._of_package(evaluator, owner))
        if isinstance(found, TypeName):
            return [
                *self._of_class(found.cls, static=True),
                *self._nested(evaluator, found.cls),
                self._one("class", "keyword", "java.lang.Class"),
                self._one("this", "keyword", found.cls.name),
            ]
        if found.is_primitive:
            return []
        own = evaluator.running.class_of(found) if found.is_known else None
        cls = own or evaluator.types.of(found.type)
        made = [] if cls is None else list(self._of_class(cls, static=False))
        if is_array(found.type) or (cls is not None and cls.is_array):
            made.insert(0, self._one("length", "field", "int"))
        return made

    def _of_class(self, cls: Class, *, static: bool) -> Iterator[Completion]:
        try:
            places = layout_of(cls).places
            methods = overloads_of(cls)
        except ClassNotPrepared:
            return
        for place in places:
            if (place.is_static or not static) and not _GENERATED.match(place.name):
                yield self._one(place.name, "field", java_name(place.signature))
        for name, overloads in methods.items():
            if _GENERATED.match(name):
                continue
            for one in overloads:
                if one.is_static or not static:
                    types = ", ".join(_simple(java) for java in parameters_of(one.signature))
                    result = java_name(one.result)
                    yield self._one(name, "method", result, f"{name}({types})")

    def _nested(self, evaluator: Evaluator, cls: Class) -> Iterator[Completion]:
        start = f"{cls.name}$"
        for name in sorted(evaluator.scope.imports.loaded):
            rest = name[len(start) :]
            if name.startswith(start) and re.fullmatch(r"[A-Za-z_]\w*", rest):
                yield self._one(rest, "class", name)

    def _of_package(self, evaluator: Evaluator, owner: str) -> Iterator[Completion]:
        start = f"{owner}."
        seen = set()
        for name in sorted(evaluator.scope.imports.loaded):
            if name.startswith(start):
                part, dot, _ = name[len(start) :].partition(".")
                if part not in seen and re.fullmatch(r"\w+", part):
                    seen.add(part)
                    yield self._one(part, "package" if dot else "class", "" if dot else name)

    # ---- by itself -------------------------------------------------------------------------

    def names(self, word: str) -> Iterator[Completion]:
        """Names that stand by themselves: of variables, members of the classes around, types."""
        evaluator = self._evaluator("null")
        for variable in self._frame.locals.variables:
            name = variable.name if variable.name is not None else f"slot{variable.slot}"
            if name != "this" and not _GENERATED.match(name):
                yield self._one(name, "variable", variable.type)
        for name, (_, signature) in self._names.items():
            yield self._one(name, "variable", java_name(signature))
        for level in evaluator.scope.levels():
            yield from self._of_class(level.cls, static=level.object is None)
            yield from self._captured(level.cls)
            yield from self._nested(evaluator, level.cls)
        for keyword in _KEYWORDS:
            if evaluator.scope.this is not None or keyword not in ("this", "super"):
                yield self._one(keyword, "keyword")
        if len(word) > 1:
            yield from self._types(evaluator, word)

    def _captured(self, cls: Class) -> Iterator[Completion]:
        for place in layout_of(cls).places:
            if place.name.startswith("val$"):
                yield self._one(place.name[4:], "variable", java_name(place.signature))

    def _types(self, evaluator: Evaluator, word: str) -> Iterator[Completion]:
        package = evaluator.types.home.package or ""
        found = []
        for name in evaluator.scope.imports.loaded:
            before, _, simple = name.rpartition(".")
            if simple.startswith(word) and re.fullmatch(r"\w+", simple):
                found.append((before not in (package, "java.lang"), simple, before, name))
        for _, simple, _, name in sorted(found):
            yield self._one(simple, "class", name)
        for part in sorted({name.partition(".")[0] for name in evaluator.scope.imports.loaded}):
            if part.startswith(word) and part.islower():
                yield self._one(part, "package")


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


__all__ = ["Completion", "completions"]
