"""Places in code, as logpoints and stops take them, and what is known at each kind of place."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jvmti.instrumentation.probes import (
    CONDITIONS,
    BadProbe,
    Operand,
    Probe,
    Step,
    conditions_of,
)
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site as Where
from jvmti.layouts.probes import Test
from jvmti.tracing.call_probes import HELPER, method_pattern, noting
from jvmti.tracing.conditions import STARTED, compiled, over_steps, parsed, since

_VALUE = {"value": Operand(Kind.VALUE, "X")}
_EXCEPTION = {"exception": Operand(Kind.VALUE, "X")}
_TARGET = {"target": Operand(Kind.TARGET, "X"), "member": Operand(Kind.MEMBER, "X")}
_PASSED = {"passed": Operand(Kind.ALL_PASSED, "X")}

WORDS: dict[Where, Mapping[str, Operand]] = {
    Where.ENTRY: {},
    Where.LINE: {},
    Where.INDEX: {},
    Where.RETURN: _VALUE,
    Where.UNWIND: _EXCEPTION,
    Where.THROW: _EXCEPTION,
    Where.CATCH: _EXCEPTION,
    Where.READ: {**_VALUE, **_TARGET},
    Where.WRITE: {**_VALUE, **_TARGET},
    Where.CALL: {**_TARGET, **_PASSED},
    Where.CALLED: {**_VALUE, **_TARGET, **_PASSED},
    Where.NEW: {**_VALUE, "member": _TARGET["member"]},
    Where.MONITOR_ENTER: {"target": _TARGET["target"]},
    Where.MONITOR_EXIT: {"target": _TARGET["target"]},
}
"""The names at a place, beside variables and names that every place has."""

ELSEWHERE = {"value", "exception", "target", "member", "passed"}
"""Names that only some kinds of places have."""
_TEXTS = {
    Where.RETURN: "= {value}",
    Where.UNWIND: "! {exception}",
    Where.THROW: "throws {exception}",
    Where.CATCH: "catches {exception}",
    Where.READ: "{member} is {value}",
    Where.WRITE: "{member} = {value}",
    Where.CALL: "calls {member}",
    Where.CALLED: "{member} = {value}",
    Where.NEW: "new {value}",
    Where.MONITOR_ENTER: "locks {target}",
    Where.MONITOR_EXIT: "unlocks {target}",
}
KINDS = {site.name.lower().replace("_", "-"): site for site in WORDS}
"""The words for kinds of places."""
_OF_CALLS = {Where.ENTRY, Where.RETURN, Where.UNWIND}
"""Kinds of places that calls of a method have; the others are in the code of methods."""
_OF_METHODS = ("descriptors", *CONDITIONS)
_OF_MEMBERS = ("owners", "members", "member_descriptors")
_FILE = re.compile(r"(?:[^/]*/)*([\w$-]+)\.(java|kt|scala|groovy)")


class Place(NamedTuple):
    """Where a logpoint is, or where threads stop."""

    site: Where
    """Its kind."""
    number: int
    """A line or a bytecode index; -1 for all."""
    owners: tuple[tuple[str | None, str | None], ...]
    """Patterns of classes and methods that it may mean."""
    more: Mapping[str, Any]
    """Further properties of its probes, such as patterns of descriptors and members."""

    @property
    def words(self) -> Mapping[str, Operand]:
        """The names there, beside variables and names that every place has."""
        return WORDS[self.site]

    @property
    def text(self) -> str:
        """A note about the place."""
        return _TEXTS.get(self.site, "")

    def probes(
        self, what: Mapping[str, Any], condition: Sequence[Step], *, times: bool
    ) -> list[Probe]:
        """The probes for it.

        Args:
            what: what each of them calls.
            condition: where it does.
            times: they ask how long a call took until then; others note when it began.
        """
        found = []
        for position, (classes, named) in enumerate(self.owners):
            methods = method_pattern(named) if self.site in _OF_CALLS else named
            began = f"{STARTED} {position}"
            of: dict[str, Any] = {"classes": classes, "methods": methods, "helper": HELPER}
            for name in _OF_METHODS:
                of[name] = self.more.get(name)
            if times:
                found.append(Probe(site=Where.ENTRY, **of, **noting(began)))
            operands = tuple(
                one._replace(text=began) if one.kind is Kind.TOOK else one
                for one in what["operands"]
            )
            found.append(
                Probe(
                    **{**of, **self.more, **what, "operands": operands},
                    site=self.site,
                    number=self.number,
                    condition=since(condition, began),
                    conditional=bool(condition),
                )
            )
        return found

    @staticmethod
    def of(text: str) -> Place:
        """The place behind a text.

        ``com.acme.Order:42``, ``com.acme.Order|com.acme.Order$*:42``, ``Order.java:42``,
        ``com.acme.Order.add:42``, ``com.acme.Order.add@7`` or ``com.acme.Order.add``; or a kind of
        place and what `Probe.parse` has behind it, such as ``write com.acme.Order.total in
        com.acme.*.*``.
        Conditions may follow: ``com.acme.*.* annotated *.Transactional``.

        Raises:
            BadProbe: it is none.
        """
        if is_kind(text):
            word, _, rest = text.strip().partition(" ")
            return _of_kind(word, rest)
        text, more = conditions_of(text)
        match = re.fullmatch(r"(?P<name>[^:@()\s]+)(?:(?P<mark>[:@])(?P<number>\d{1,9}))?", text)
        if match is None or match["name"].startswith(".") or match["name"].endswith("."):
            kinds = ", ".join(KINDS)
            raise BadProbe(
                f"{text!r} is not a place: CLASS:LINE, FILE.java:LINE, CLASS.METHOD:LINE, "
                "CLASS.METHOD@INDEX or CLASS.METHOD, such as com.acme.Order:42; or a kind of place "
                f"({kinds}), such as 'write com.acme.Order.total'"
            )
        file = _FILE.fullmatch(match["name"])
        if file is not None and match["mark"] == ":":
            return Place(Where.LINE, int(match["number"]), ((_classes_of(file), None),), more)
        if "|" in match["name"]:
            if match["mark"] != ":":
                raise BadProbe(f"{text!r}: of several classes there is only CLASS|CLASS:LINE")
            several = match["name"].replace("|", "\n")
            return Place(Where.LINE, int(match["number"]), ((several, None),), more)
        classes, _, method = match["name"].rpartition(".")
        both = ((classes, method),) if classes else ()
        if match["mark"] == ":":
            return Place(Where.LINE, int(match["number"]), ((match["name"], None), *both), more)
        if not classes:
            raise BadProbe(f"{text!r} has no method: {text}.METHOD, or {text}:LINE")
        if match["mark"] == "@":
            return Place(Where.INDEX, int(match["number"]), both, more)
        return Place(Where.ENTRY, -1, both, more)


def condition_at(text: str | None, over: float, words: Mapping[str, Operand]) -> list[Step]:
    """Compile a condition about the values at a place.

    Args:
        text: the condition.
        over: seconds that the call of the method must have taken until then.
        words: the names there, see `Place.words`.

    Raises:
        BadProbe: it is not a condition, or is about a value that such a place does not have.
    """
    found: list[Step] = []
    if text is not None:
        tree = parsed(text)
        names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)} if tree else set()
        if names & ELSEWHERE - set(words):
            raise BadProbe(
                f"{text!r}: what is returned or thrown is not known there; it is at places such as "
                "'return com.acme.Order.add', or for a trace"
            )
        found += [
            step if step.operand is None else step._replace(operand=at_place(step.operand))
            for step in compiled(text, words).steps
        ]
    if over:
        found += [*over_steps(over), *[Step(Test.AND)] * bool(found)]
    return found


def at_place(operand: Operand) -> Operand:
    """A value at a place itself, even of a parameter that was assigned to."""
    return operand._replace(kind=Kind.LOCAL) if operand.kind is Kind.NAMED else operand


def is_kind(text: str) -> bool:
    """Whether a place is of a kind that its first word names: ``return com.acme.Order.add``."""
    word, space, _ = text.strip().partition(" ")
    return bool(space) and word in KINDS


def at_line(place: str, line: int) -> str:
    """A place at a line of a class or a method, from the name of either.

    Raises:
        TypeError: the line is no number.
        BadProbe: the place says already where it is.
    """
    if type(line) is not int:
        raise TypeError(f"line= is a number, not {line!r}")
    name, _ = conditions_of(place)
    if re.search(r"[:@\s]", name.strip()):
        raise BadProbe(f"{place!r} with line={line}: a line is of a class or a method")
    return f"{name.rstrip()}:{line}{place[len(name) :]}"


def _classes_of(file: re.Match[str]) -> str:
    """Patterns for the classes that a source file is named after, in whatever package."""
    # Kotlin adds to the name of a file what its functions are in.
    names = [file[1], f"{file[1]}Kt"] if file[2] == "kt" else [file[1]]
    return "\n".join(
        f"{begin}{name}{end}" for name in names for begin in ("", "*.") for end in ("", "$*")
    )


def _of_kind(word: str, rest: str) -> Place:
    action = f" -> {HELPER}.start(int 0)"
    try:
        where = Probe.parse(f"{word} {rest}{action}")
    except BadProbe as error:
        raise BadProbe(str(error).replace(action, "")) from None
    more = {name: getattr(where, name) for name in (*_OF_METHODS, *_OF_MEMBERS)}
    return Place(where.site, where.number, ((where.classes, where.methods),), more)


__all__ = ["ELSEWHERE", "KINDS", "WORDS", "Place", "at_line", "at_place", "condition_at", "is_kind"]
