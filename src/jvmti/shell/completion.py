"""Tab completion of Java names: in strings, in keys, and after the shell's own commands.

``vm.find_class("java.util.Ha``, ``vm.threads["``, ``obj["``, ``obj.call("``, ``%stack ma``.  The
expression before the string is evaluated if it has no side effects (`jvmti.shell.expressions`), on
a thread of its own with a time limit, so that a JVM that hangs does not block the prompt.
"""

from __future__ import annotations

import logging
import queue
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from jvmti.interface.capabilities import Capabilities
from jvmti.model.classes.java_class import Class
from jvmti.model.debug.stops import Stop
from jvmti.model.threads.frames import Frame
from jvmti.model.vm import VM
from jvmti.shell.descriptions import event_names
from jvmti.shell.expressions import NotEvaluated, evaluate, last_primary, open_string
from jvmti.shell.magics import MAGICS

log = logging.getLogger("jvmti")

LIMIT = 1.0
"""Seconds that a Tab may take."""

MOST = 100
"""Most class names shown; if there are more, packages are shown."""

_ALL = 1 << 30
_ATTRIBUTE = re.compile(r"(?<=[\w\])])\.(\w*)\Z")
_KEYWORD = re.compile(r"\(\s*\w+\s*=\Z")
_DOTTED = re.compile(r"[.$/]")


class Found(NamedTuple):
    """The possible completions of the typed text."""

    typed: str
    """The end of the text before the cursor, which a name replaces."""
    names: list[str]
    """The names, sorted."""


class Completer:
    """Finds names for one prompt.

    Args:
        vm: the JVM.
        names: the variables of the prompt, as they are at each moment.
        limit: seconds that a Tab may take.
    """

    def __init__(self, vm: VM, names: Mapping[str, Any], limit: float = LIMIT) -> None:
        self._vm = vm
        self._names = names
        self._limit = limit
        self._questions: queue.SimpleQueue[tuple[str, queue.SimpleQueue[Found | None]]]
        self._questions = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._busy = False

    def complete(self, text: str) -> Found | None:
        """Completions for the end of a text; ``None`` if this package has none.

        Args:
            text: everything before the cursor.
        """
        if not self._concerns(text) or self._busy:
            return None
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="completion", daemon=True)
            self._thread.start()
        answer: queue.SimpleQueue[Found | None] = queue.SimpleQueue()
        self._busy = True
        self._questions.put((text, answer))
        try:
            return answer.get(timeout=self._limit)
        except queue.Empty:
            log.info("completion of %r took more than %s s and was abandoned", text, self._limit)
            return None

    def _work(self) -> None:
        while True:
            text, answer = self._questions.get()
            found = None
            try:
                found = self.find(text)
            except Exception as error:
                # Completion must not print a traceback.
                log.info("completion of %r failed: %s: %s", text, type(error).__name__, error)
            self._busy = False
            answer.put(found)

    @staticmethod
    def _concerns(text: str) -> bool:
        if text.lstrip().startswith("%") or open_string(text) is not None:
            return True
        return _ATTRIBUTE.search(text) is not None

    def find(self, text: str) -> Found | None:
        """The same on the caller's thread, without a limit; it raises errors."""
        magic = re.match(r"\s*%(\w+)\s+(.*)\Z", text, re.DOTALL)
        if magic and magic[1] in MAGICS:
            return self._found(MAGICS[magic[1]].completes, magic[2])
        start = open_string(text)
        if start is None:
            return self._attributes(text)
        typed, before = text[start:], text[: start - 1].rstrip()
        before = before.removesuffix("{").rstrip() if before.endswith("({") else before
        if before.endswith("["):
            owner = self._value(last_primary(before[:-1]))
            if owner is self._vm.classes:
                return self._found("types", typed)
            keys = getattr(owner, "_ipython_key_completions_", None)
            names = [one for one in keys() if isinstance(one, str)] if keys else None
            return None if names is None else _completions(typed, names)
        before = _KEYWORD.sub("(", before)
        if not before.endswith("("):
            return None
        called = last_primary(before[:-1])
        owner, _, function = called.rpartition(".")
        return self._argument(owner, function, typed)

    def _attributes(self, text: str) -> Found | None:
        """Attributes of objects that exist only in the JVM: ``vm.threads["main"].fra``."""
        at = _ATTRIBUTE.search(text)
        if at is None:
            return None
        value = self._value(last_primary(text[: at.start()]))
        if value is None:
            return None
        private = at[1][:1] == "_"
        return _completions(at[1], [name for name in dir(value) if private or name[0] != "_"])

    def _argument(self, owner: str, function: str, typed: str) -> Found | None:
        """Completions for a function's first argument."""
        if function in ("add_capabilities", "relinquish_capabilities"):
            return self._found("capabilities", typed)
        value = self._value(owner)
        if value is None:
            return None
        if function in ("on", "stream"):
            return _completions(typed, event_names())
        if function == "call":
            return _completions(typed, callable_names(value))
        if function == "find_class" and value is self._vm.jni:
            found = self._found("classes", typed.replace("/", "."))
            names = [] if found is None else found.names
            return Found(typed, [name.replace(".", "/") for name in names])
        if value is self._vm and function in ("breakpoint", "catch"):
            return self._found("classes", typed)
        if value is self._vm and function in ("classes", "find_class"):
            return self._found("types", typed)
        if value is self._vm.heap or value is self._vm.classes:
            return self._found("types", typed)
        return None

    def _found(self, kind: str, typed: str) -> Found | None:
        if kind in ("places", "requests", "stopped", "variables"):
            return self._debugged(kind, typed)
        if kind in ("classes", "types"):  # the latter with arrays
            names = self._vm.classes.complete(typed, _ALL, arrays=kind == "types")
            return Found(typed, grouped(typed, names))
        of: dict[str, Callable[[], Iterable[str]]] = {
            "capabilities": Capabilities.__members__.keys,
            "properties": lambda: self._vm.properties,
            "threads": self._vm.threads._ipython_key_completions_,
        }
        return _completions(typed, of[kind]()) if kind in of else None

    def _debugged(self, kind: str, typed: str) -> Found | None:
        """Completions for the commands of the debugger."""
        from jvmti.shell.debugger.debugging import debugging

        debugger = debugging(self._vm, self._names)
        if kind == "requests":
            typed = typed.rpartition(" ")[2]
            return _completions(typed, map(str, debugger.entries))
        if kind == "stopped":
            return _completions(typed, (stop.thread.name for stop in debugger.queue.stops))
        if kind == "variables":
            return self._in_expression(typed)
        owner, dot, method = typed.rpartition(".")
        if dot and (found := self._vm.classes(owner)):
            names = {one.name for one in found[0].methods if one.name[0] != "<"}
            return Found(typed, sorted(f"{owner}.{one}" for one in names if one.startswith(method)))
        return self._found("classes", typed)

    def _in_expression(self, typed: str) -> Found | None:
        """Completions for the end of a Java expression in the selected frame."""
        frame = self._names.get("frame")
        if not isinstance(frame, Frame):
            return None
        try:
            from jvmti.expressions import completions

            stop = self._names.get("stop")
            found = completions(frame, typed, names=stop.names if isinstance(stop, Stop) else None)
        except ImportError:
            return None  # without the grammar there are no expressions, either
        start = found[0].start if found else len(typed)
        return Found(typed[start:], sorted({one.text for one in found}))

    def _value(self, expression: str) -> Any:
        try:
            return evaluate(expression, self._names) if expression else None
        except NotEvaluated:
            return None


def callable_names(thing: Any) -> list[str]:
    """The names of the methods that can be called on an object, or on a class's statics."""
    if isinstance(thing, Class):
        return sorted({m.name for m in thing.methods if m.modifiers & 0x0008 and m.name[0] != "<"})
    found: set[str] = set()
    cls: Class | None = thing.cls
    while cls is not None:
        found.update(m.name for m in cls.methods if not m.modifiers & 0x0008 and m.name[0] != "<")
        cls = cls.superclass
    return sorted(found)


def _completions(typed: str, names: Iterable[str]) -> Found:
    """The names with this beginning."""
    return Found(typed, sorted({name for name in names if name.startswith(typed)}))


def grouped(typed: str, names: list[str]) -> list[str]:
    """The names; if there are too many, their common beginnings up to the next dot."""
    if len(names) <= MOST:
        return names
    parts = set()
    for name in names:
        dot = _DOTTED.search(name, len(typed) if name.startswith(typed) else 0)
        parts.add(name if dot is None else name[: dot.end()])
    return sorted(parts)


__all__ = ["LIMIT", "Completer", "Found", "callable_names", "grouped"]
