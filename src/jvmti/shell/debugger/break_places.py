"""Places and conditions as the user writes them after ``%break``."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import ClassNotPrepared
from jvmti.interface.frozen import frozen
from jvmti.model.debug.conditions import ConditionError
from jvmti.shell.registry import UsageError, unquoted
from jvmti.tracing.places import KINDS, is_kind

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class
    from jvmti.model.debug.breakpoints import Breakpoint
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM

_USAGE = (
    "a place is CLASS.METHOD, CLASS.METHOD:LINE, CLASS:LINE, FILE.java:LINE, METHOD or :LINE, as "
    "in %break com.acme.Order.add:42 if n > 1000"
)
_FURTHER = ("thread", "every", "after", "hit")
"""Words that may follow a place."""
_FILE = re.compile(r"[\w$-]+\.(?:java|kts?|scala|groovy|cljc?|rb)\Z")
_PLACE = re.compile(r"(?P<name>[^:@]*)(?::(?P<line>\d+)|@(?P<location>\d+))?\Z")
_WORD_IF = re.compile(r"(?:\A|\s)if\s+")
_WORD_LOG = re.compile(r"(?:\A|\s)log\s+")


@frozen
class Wanted:
    """A request as the user wrote it.

    Attributes:
        place: where.
        condition: the text behind ``if``.
        hits: for ``hits=``.
        thread: the name or number of a thread.
        log: the text behind ``log``: a logpoint, which stops nothing.
    """

    place: str
    condition: str | None = None
    hits: int | str | None = None
    thread: str | None = None
    log: str | None = None


def wanted(text: str) -> Wanted:
    """Split the text after a command into its parts.

    Raises:
        UsageError: it does not follow the usage.
    """
    head, condition = _behind(_WORD_IF, text)
    head, log = _behind(_WORD_LOG, head)
    try:
        words = shlex.split(head)
    except ValueError as error:
        raise UsageError(f"{error} in {head!r}") from None
    place, *rest = words or [""]
    if place in _FURTHER:
        place, rest = "", words
    elif place in KINDS and rest and rest[0] not in _FURTHER:
        # Such a place is of several words.
        first = next((at for at, word in enumerate(words) if word in _FURTHER), len(words))
        place, rest = " ".join(words[:first]), words[first:]
    hits: int | str | None = None
    thread = None
    while rest:
        word, *rest = rest
        if word not in _FURTHER or not rest:
            raise UsageError(f"{word!r} is not understood; {_USAGE}")
        value, *rest = rest
        if word == "thread":
            thread = value
        elif not value.isdecimal():
            raise UsageError(f"{word} takes a number, not {value!r}")
        else:
            hits = int(value) if word == "hit" else f"{word} {value}"
    return Wanted(place, condition, hits, thread, None if log is None else unquoted(log))


def _behind(word: re.Pattern[str], text: str) -> tuple[str, str | None]:
    """The text before a word that stands outside of quotes, and the text behind it."""
    for found in word.finditer(text):
        before = text[: found.start()]
        if before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            return before.strip(), text[found.end() :].strip()
    return text.strip(), None


def place_text(vm: VM, text: str, frame: Frame | None) -> str:
    """A place with its class: ``com.acme.Order:42`` for ``:42`` and ``Order.java:42``.

    Raises:
        UsageError: it needs a frame, and there is none.
    """
    if is_kind(text):
        return text
    name, line, at = _parts(text)
    behind = f":{line}" if line is not None else "" if at is None else f"@{at}"
    if _FILE.match(name):
        return f"{_class_of_file(vm, name, line)}{behind}"
    if name and "." in name:
        return f"{name}{behind}"
    if frame is None:
        if name and line is not None:
            return f"{name}{behind}"
        raise UsageError(f"no thread has stopped, so the place needs its class: {_USAGE}")
    owner = frame.method.class_name
    if not name:
        return f"{owner}{behind}"
    if not vm.classes(name) and name in {one.name for one in frame.method.declaring_class.methods}:
        return f"{owner}.{name}{behind}"
    return f"{name}{behind}"


def _parts(text: str) -> tuple[str, int | None, int | None]:
    found = _PLACE.match(text.strip())
    if found is None or not text.strip():
        raise UsageError(_USAGE)
    name, line, at = found["name"], found["line"], found["location"]
    if name.isdecimal() and line is None and at is None:
        return "", int(name), None
    return name, None if line is None else int(line), None if at is None else int(at)


def _class_of_file(vm: VM, file: str, line: int | None) -> str:
    """The class of a file: the one that is named after it, or another in it that has the line.

    It is a pattern if none is loaded.
    """
    stem = file.rpartition(".")[0]
    found = {
        name
        for name in (*vm.classes.complete(f"{stem}", 1 << 30), stem)
        if name.rpartition(".")[2] == stem
    }
    loaded = sorted(name for name in found if vm.classes(name))
    if len(loaded) > 1:
        raise UsageError(f"several classes are named {stem}: {', '.join(loaded)}")
    if not vm.held and not (loaded and (line is None or _has_line(vm, loaded[0], line))):
        loaded = _classes_from(vm, file, line) or loaded
    return loaded[0] if loaded else f"*.{stem}"


def _classes_from(vm: VM, file: str, line: int | None) -> list[str]:
    """The loaded classes that were compiled from a file, and have the line, if one is given."""
    every = vm.classes()
    files = vm.lookup_env.map.get_source_file_name(every).value
    inside = [cls for cls, name in zip(every, files, strict=True) if name == file]
    return sorted((cls.name for cls in inside if line is None or _has(line)(cls)), key=len)


def placed(vm: VM, text: str, **how: Any) -> Breakpoint:
    """A breakpoint at a place that names its class.

    Args:
        vm: the JVM.
        text: the place.
        **how: as for `VM.breakpoint`.

    Raises:
        UsageError: it is no place.
        LookupError, ValueError, NotAvailable: as for `VM.breakpoint`.
    """
    name, line, at = _parts(text)
    name, _, parameters = name.partition("(")
    if line is not None and _is_class(vm, name):
        name = _with_line(vm, name, line)
        try:
            return vm.breakpoint(name, None, line, **how)
        except ConditionError:
            raise
        except ValueError as error:
            if vm.held or line > _last_line(vm, name):
                raise
            # It may be in a class within this one that is not loaded yet.
            made = vm.breakpoint(f"{name}$*", None, line, **how)
            made.pending_reason = f"{error}; it waits for a class {name}$… with that line"
            return made
    owner, _, method = name.rpartition(".")
    if not owner or not method:
        raise UsageError(_USAGE)
    if parameters:
        overload = vm.find_class(owner).methods[f"{method}({parameters}"]
        return vm.breakpoint(owner, method, line, location=at, signature=overload.signature, **how)
    return vm.breakpoint(owner, method, line, location=at, **how)


def _is_class(vm: VM, name: str) -> bool:
    """Whether a name is that of a class, and not of a class with a method."""
    if vm.held:
        loaded, owner = False, False
    else:
        loaded = bool(vm.classes(name))
        owner = bool(vm.classes(name.rpartition(".")[0]))
    if loaded or owner:
        return loaded
    # Neither is loaded yet: classes begin with a capital letter.
    return name.rpartition(".")[2].lstrip("*?")[:1].isupper() or "." not in name


def _with_line(vm: VM, name: str, line: int) -> str:
    """The class, or a pattern for the classes within it, that have code at a line."""
    if vm.held or any(one in name for one in "*?["):
        return name
    loaded = vm.classes(name)
    if not loaded or any(map(_has(line), loaded)):
        return name
    within = [one for one in vm.classes(f"{name}$*") if _has(line)(one)]
    return within[0].name if within else name


def _has_line(vm: VM, name: str, line: int) -> bool:
    """Whether a class, or one within it, has code at a line."""
    return any(map(_has(line), vm.classes(_with_line(vm, name, line))))


def _last_line(vm: VM, name: str) -> int:
    return max((line for cls in vm.classes(name) for line in _lines(cls)), default=0)


def _has(line: int) -> Any:
    return lambda cls: line in _lines(cls)


def _lines(cls: Class) -> set[int]:
    """The lines with code of a class; none before it is linked."""
    try:
        return {entry.line_number for one in cls.methods for entry in one.lines}
    except ClassNotPrepared:
        return set()


__all__ = ["Wanted", "place_text", "placed", "wanted"]
