"""Probes: their places and calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from jvmti.interface.errors import Error
from jvmti.interface.frozen import frozen
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Outcome, Outcomes, Site, Test
from jvmti.text.names import suggestion

_TYPES = {
    "int": "I",
    "long": "J",
    "float": "F",
    "double": "D",
    "Object": "L",
    "String": "S",
    "Throwable": "T",
    "Object[]": "A",
}
_PRIMITIVES = {
    "boolean": "Z",
    "byte": "B",
    "char": "C",
    "short": "S",
    "int": "I",
    "long": "J",
    "float": "F",
    "double": "D",
    "void": "V",
}
_SITES = {site.name.lower().replace("_", "-"): site for site in Site}
_MEMBERS = {Site.READ, Site.WRITE, Site.CALL, Site.CALLED}
_OWNERS = {Site.NEW, Site.CATCH}
_WORDS = {
    "site": (Kind.SITE, "I"),
    "line": (Kind.LINE, "I"),
    "class": (Kind.CLASS, "S"),
    "method": (Kind.METHOD, "S"),
    "descriptor": (Kind.DESCRIPTOR, "S"),
    "member": (Kind.MEMBER, "S"),
    "this": (Kind.THIS, "L"),
    "args": (Kind.ARGUMENTS, "A"),
    "passed": (Kind.ALL_PASSED, "A"),
    "target": (Kind.TARGET, "L"),
    "value": (Kind.VALUE, None),
}
_VALUES = {
    Site.RETURN,
    Site.UNWIND,
    Site.THROW,
    Site.CATCH,
    Site.READ,
    Site.WRITE,
    Site.CALLED,
    Site.NEW,
}
_TARGETS = {*_MEMBERS, Site.NEW, Site.MONITOR_ENTER, Site.MONITOR_EXIT}
_MOST_NUMBERED = 256
CONDITIONS = {
    "annotated": "annotated *.Transactional",
    "extends": "extends javax.servlet.Servlet",
    "loader": "loader *.WebappClassLoader",
}
"""The words of conditions behind a place, each with an example."""
_CONDITION = re.compile(rf"\s+({'|'.join(CONDITIONS)})(?=\s|$)")


class BadProbe(Error, ValueError):
    """An invalid probe: the message says where, and what is expected."""


class Operand(NamedTuple):
    """A value that a probe passes to the method that it calls."""

    kind: Kind
    type: str
    number: int = 0
    text: str | None = None
    path: str | None = None


class Step(NamedTuple):
    """A step of a condition, see `jvmti.layouts.probes.TEST`."""

    operation: Test
    operand: Operand | None = None
    holds: Outcomes = Outcomes(0)
    type: str = "\0"
    constant: int = 0
    text: str | None = None
    path: str | None = None


@frozen
class Probe:
    """A place in code, and the static method that is called there.

    Attributes:
        site: the kind of place.
        classes: a pattern for the classes to change: ``com.acme.*``; ``None`` for all.
        methods: a pattern for the names of their methods.
        descriptors: a pattern for the descriptors of these: ``(I*``.
        annotated: a pattern for an annotation that the class or the method has.
        extends: a pattern for a superclass or an interface of the class, however far up. In a
            class file alone, one that it names.
        loader: a pattern for the loader of the class: its name, its class, or this and its
            identity hash, ``com.acme.PluginLoader@1b2c3d``. Class files have none.
        owners: for fields, calls and objects a pattern for the class; for a catch, for the
            exception.
        members: a pattern for the name of the field or of the method called.
        member_descriptors: a pattern for its descriptor.
        number: the line, or the bytecode index; -1 for all.
        helper: the class of the called method: ``com.acme.Hook``.
        name: the method.
        operands: its arguments, in order.
        outcome: the use of its result.
        result: the type of its result, as in a descriptor; ``L`` for Object.
        keeps: the name of its result, for other probes of the same call.
        record_size: for a probe that records, the bytes of a record.
        text_size: and those of an object's text in it.
        condition: if it is false, the method does nothing.
        conditional: the method takes first whether the condition holds.
        event: the number of the event of JVM TI that a probe which stops reports; 0 for none.
        about: the number of the watched field, of an event about one.
    """

    site: Site
    helper: str
    name: str
    classes: str | None = None
    methods: str | None = None
    descriptors: str | None = None
    annotated: str | None = None
    extends: str | None = None
    loader: str | None = None
    owners: str | None = None
    members: str | None = None
    member_descriptors: str | None = None
    number: int = -1
    operands: Sequence[Operand] = ()
    outcome: Outcome = Outcome.NONE
    result: str = "V"
    keeps: str | None = None
    record_size: int = 0
    text_size: int = 0
    condition: Sequence[Step] = ()
    conditional: bool = False
    event: int = 0
    about: int = 0

    @staticmethod
    def parse(text: str) -> Probe:
        """Read a probe: ``WHERE -> [RESULT =] CLASS.METHOD(TYPE WHAT, …)``.

        ``entry com.acme.Order.* -> com.acme.Hook.entered(String method, Object[] args)`` calls a
        static method at the beginning of each method of ``com.acme.Order``.  WHERE is one of:

        - ``entry``, ``return``, ``unwind`` (an exception leaves the method), ``throw``,
          ``monitor-enter`` or ``monitor-exit``, and ``CLASS.METHOD``;
        - ``line CLASS.METHOD:42`` or ``index CLASS.METHOD@7``, or without a number all of them;
        - ``read`` or ``write CLASS.FIELD in CLASS.METHOD``; ``call`` (before it) or ``called``
          (after it) ``CLASS.METHOD in CLASS.METHOD``;
        - ``new CLASS in CLASS.METHOD``, also ``new int[]``; ``catch CLASS in CLASS.METHOD``.

        Classes and methods are patterns.  The types of the parameters may follow a method, as in
        ``add(int, String)``. Behind a place may be ``annotated PATTERN``, which takes methods with
        an annotation and all methods of classes with one; ``extends PATTERN``, which takes classes
        below others; and in a JVM ``loader PATTERN``.

        WHAT is one of ``site``, ``line``, ``class``, ``method``, ``descriptor``, ``this``,
        ``args``, ``arg0``, ``local.NAME``, a number or a text in quotes; the ``value`` that is
        returned, thrown, caught, read, written or made; of a field or call the ``member`` and its
        ``target``, of a call ``passed`` and ``passed0``.  TYPE is that of the method's parameter:
        int, long, float, double, Object, String, Throwable or Object[].  A primitive value is
        boxed where the method takes an Object.

        ``started = com.acme.Hook.now()`` at an entry keeps a long for the other probes of the same
        call, which take ``long started``.  ``value = Object com.acme.Hook.other(Object value)``
        replaces the value that is returned, read or written.

        Raises:
            BadProbe: the text is not a probe; the message says what is expected.
        """
        return _parse(text)

    def __str__(self) -> str:
        place = f"{self.classes or '*'}.{self.methods or '*'}"
        return f"{_site_name(self.site)} {place} -> {self.helper}.{self.name}"


def _site_name(site: Site) -> str:
    return site.name.lower().replace("_", "-")


def _parse(text: str) -> Probe:
    where, arrow, action = text.partition("->")
    if not arrow:
        raise BadProbe(f"{text!r} has no '->': write WHERE -> CLASS.METHOD(TYPE WHAT, …)")
    word, _, rest = where.strip().partition(" ")
    site = _SITES.get(word)
    if site is None:
        raise BadProbe(f"{word!r} is not a kind of place{suggestion(word, _SITES)}")
    rest, conditions = conditions_of(rest)
    owners = members = member_descriptors = None
    if site in _MEMBERS | _OWNERS:
        what, has_place, rest = f" {rest.strip()} ".partition(" in ")
        what = what.strip()
        if not has_place:
            rest = "*.*"
        if not what:
            raise BadProbe(f"{text!r} does not say which: {word} WHAT in CLASS.METHOD")
        if site in (Site.CALL, Site.CALLED):
            what, member_descriptors = parameters_of(what, text)
        if site in _MEMBERS:
            owners, members = _split("*.*" if what == "*" else what, text)
        else:
            owners = None if what == "*" else what
    rest, number = _number(rest.strip(), site, text)
    place, descriptors = parameters_of(rest, text)
    classes, methods = _split(place, text)
    probe = {
        "site": site,
        "classes": classes,
        "methods": methods,
        "descriptors": descriptors,
        **conditions,
        "owners": owners,
        "members": members,
        "member_descriptors": member_descriptors,
        "number": number,
    }
    return Probe(**probe, **_action(action.strip(), site, text))  # type: ignore[arg-type]


def conditions_of(text: str) -> tuple[str, dict[str, str]]:
    """A place without the conditions behind it, and the pattern of each, by its word.

    Raises:
        BadProbe: a word has no pattern behind it, several, or is there twice.
    """
    place, *rest = _CONDITION.split(text)
    found: dict[str, str] = {}
    for word, pattern in zip(rest[::2], rest[1::2], strict=True):
        what = pattern.split()
        if len(what) != 1:
            raise BadProbe(f"{text.strip()!r}: a pattern follows {word!r}: {CONDITIONS[word]}")
        if word in found:
            raise BadProbe(f"{text.strip()!r}: {word!r} is there twice")
        found[word] = what[0]
    return place, found


def _number(text: str, site: Site, whole: str) -> tuple[str, int]:
    mark = {Site.LINE: ":", Site.INDEX: "@"}.get(site)
    if mark is None or mark not in text:
        return text, -1
    place, _, number = text.rpartition(mark)
    if not number.isdecimal():
        raise BadProbe(f"{whole!r}: {number!r} after {mark!r} is not a number")
    return place, int(number)


def _split(place: str, whole: str) -> tuple[str | None, str | None]:
    classes, dot, member = place.rpartition(".")
    if not dot or not classes or not member:
        raise BadProbe(f"{whole!r}: {place!r} is not CLASS.MEMBER, such as com.acme.*.add")
    return (None if classes == "*" else classes), (None if member == "*" else member)


def parameters_of(place: str, whole: str) -> tuple[str, str | None]:
    """A method without the types of its parameters, and the descriptors that these mean.

    Args:
        place: the method: ``com.acme.Order.add(int, String)``.
        whole: the text that it is from.

    Raises:
        BadProbe: the parenthesis is not closed.
    """
    if "(" not in place:
        return place, None
    name, _, types = place.partition("(")
    if not types.endswith(")"):
        raise BadProbe(f"{whole!r}: {place!r} has no closing parenthesis")
    inside = types[:-1].strip()
    if inside == "..":
        return name, None
    names = [one.strip() for one in inside.split(",")] if inside else []
    return name, f"({''.join(map(_descriptor, names))})*"


def _descriptor(name: str) -> str:
    dimensions = 0
    while name.endswith("[]"):
        name = name[:-2].strip()
        dimensions += 1
    simple = _PRIMITIVES.get(name)
    if simple is None:
        if "." not in name and "*" not in name:
            name = f"*{name}" if name not in ("Object", "String") else f"java.lang.{name}"
        simple = f"L{name.replace('.', '/')};"
    return "[[]" * dimensions + simple


_CALL = re.compile(
    r"(?:(?P<result>\w+)\s*=\s*)?(?:(?P<type>\w+)\s+)?(?P<name>[\w$.]+)\s*\((?P<operands>.*)\)",
    re.DOTALL,
)
_OPERAND = re.compile(r'\s*(?P<type>\w+(?:\[\])?)\s+(?P<what>"(?:[^"\\]|\\.)*"|[^,\s]+)\s*(?:,|$)')


def _action(text: str, site: Site, whole: str) -> dict[str, object]:
    found = _CALL.fullmatch(text)
    if found is None:
        raise BadProbe(f"{text!r} is not a call: write CLASS.METHOD(TYPE WHAT, …)")
    helper, dot, name = found["name"].rpartition(".")
    if not dot:
        raise BadProbe(f"{found['name']!r} names no class: write com.acme.Hook.{name}(…)")
    operands = []
    rest = found["operands"].strip()
    while rest:
        one = _OPERAND.match(rest)
        if one is None:
            raise BadProbe(f"{rest!r} is not TYPE WHAT, such as 'Object this' or 'int site'")
        operands.append(_operand(one["type"], one["what"], site, whole))
        rest = rest[one.end() :].strip()
    made: dict[str, object] = {"helper": helper, "name": name, "operands": tuple(operands)}
    if found["result"] == "value":
        result = _TYPES.get(found["type"] or "")
        if result is None or result not in "IJFDL":
            raise BadProbe(
                f"{text!r}: write 'value = TYPE CLASS.METHOD(…)'; TYPE is a primitive one or Object"
            )
        if site not in (Site.RETURN, Site.READ, Site.WRITE, Site.CALLED):
            raise BadProbe(f"a {_site_name(site)} has no value to replace")
        made |= {"outcome": Outcome.REPLACE, "result": result}
    elif found["result"]:
        if site != Site.ENTRY:
            raise BadProbe(
                f"{whole!r}: only an entry can keep {found['result']!r} for the call's other probes"
            )
        made |= {"outcome": Outcome.KEEP, "result": "J", "keeps": found["result"]}
    return made


def _operand(type_name: str, what: str, site: Site, whole: str) -> Operand:
    letter = _TYPES.get(type_name)
    if letter is None:
        raise BadProbe(f"{type_name!r} is not a type of an argument{suggestion(type_name, _TYPES)}")
    if what.startswith('"'):
        operand = Operand(Kind.TEXT, "S", text=what[1:-1].replace('\\"', '"').replace("\\\\", "\\"))
    elif re.fullmatch(r"[-+]?\d+", what):
        operand = Operand(Kind.NUMBER, letter if letter in "IJ" else "I", int(what))
        if (
            not -(1 << (31 if letter == "I" else 63))
            <= operand.number
            < 1 << (31 if letter == "I" else 63)
        ):
            raise BadProbe(f"{what} does not fit {type_name}")
    elif numbered := re.fullmatch(r"(arg|passed)(\d+)", what):
        kind = Kind.ARGUMENT if numbered[1] == "arg" else Kind.PASSED
        if int(numbered[2]) >= _MOST_NUMBERED:
            raise BadProbe(f"{what}: a method has at most 255 parameters")
        operand = Operand(kind, letter, int(numbered[2]))
    elif what.startswith("local."):
        operand = Operand(Kind.LOCAL, letter, text=what.removeprefix("local."))
    elif what in _WORDS:
        kind, fixed = _WORDS[what]
        operand = Operand(kind, fixed or letter)
    else:
        operand = Operand(Kind.KEPT, "J", text=what)
    if operand.type != letter:
        wanted = next(name for name, one in _TYPES.items() if one == operand.type)
        raise BadProbe(f"{what!r} is passed as {wanted}, not as {type_name}")
    if operand.kind in (Kind.ARGUMENT, Kind.PASSED, Kind.LOCAL) and letter in "STA":
        raise BadProbe(f"{what!r} is passed as Object, or as a primitive type, not as {type_name}")
    _check_place(operand, what, site, whole)
    return operand


def _check_place(operand: Operand, what: str, site: Site, whole: str) -> None:
    allowed: set[Site] | None = None
    match operand.kind:
        case Kind.VALUE:
            allowed = {Site.UNWIND, Site.THROW, Site.CATCH} if operand.type == "T" else _VALUES
        case Kind.TARGET:
            allowed = _TARGETS
        case Kind.MEMBER:
            allowed = {*_MEMBERS, Site.NEW}
        case Kind.PASSED | Kind.ALL_PASSED:
            allowed = {Site.CALL, Site.CALLED}
    if allowed is not None and site not in allowed:
        places = ", ".join(_site_name(one) for one in sorted(allowed))
        raise BadProbe(
            f"{whole!r}: there is no {what!r} at a {_site_name(site)}; there is one at: {places}"
        )


__all__ = ["CONDITIONS", "BadProbe", "Operand", "Probe", "Step", "conditions_of"]
