"""The owner of an object: the first class of the program on the path to the root, and its field."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jvmti.heap.classes import Class
    from jvmti.heap.objects import Object
    from jvmti.heap.snapshot import Snapshot

__all__ = ["LINK", "OF_THE_PLATFORM", "is_container", "is_of_program", "owner_of"]

OF_THE_PLATFORM = re.compile(r"(?:java|javax|jdk|sun|com\.sun)\.")
"""Names of the JDK's own classes begin like this."""
_CONTAINER = re.compile(
    r"java\.util\.(?!UUID|Locale|Date|jar\.|zip\.|regex\.)|java\.lang\.ref\.|java\.lang\.ThreadLocal"
    r"|.*\[\]$"
)
LINK = re.compile(r".*(?:Entry|Node|Reference|Holder)$")
"""Names of classes that may hold one item each for a collection outside the JDK."""
_PRIMITIVE = re.compile(r"(?:boolean|byte|char|short|int|long|float|double)\[\]$")
_ENTRY = "java.lang.ThreadLocal$ThreadLocalMap$Entry"


def is_of_program(cls: Class) -> bool:
    """Whether a class is of the program or one of its libraries, not of the JDK."""
    name = cls.name
    return cls.loader is not None and not OF_THE_PLATFORM.match(name) and not _PRIMITIVE.match(name)


def is_container(name: str) -> bool:
    """Whether objects of a class are containers: collections, their nodes, arrays."""
    return bool(_CONTAINER.match(name)) and not _PRIMITIVE.match(name)


def owner_of(snapshot: Snapshot, path: list[tuple[str, Object]]) -> tuple[str, Class | None]:
    """The owner of the object at the end of a path, in words, and the owner's class.

    Nearest to the object first, it is ``static com.acme.CartStore.abandoned``, ``com.acme.Catalog
    .pages`` with the static field that leads there, ``thread-local static com.acme.Context.NOW``,
    the same of the JDK's classes, or the kind of the root.
    """
    if not path:
        return "weak references only", None
    fallback: tuple[str, Class | None] | None = None
    for at in range(len(path) - 1, 0, -1):
        reference, source = path[at][0], path[at - 1][1]
        cls = source.as_class
        if cls is not None:
            if reference.startswith("static "):
                owner = f"static {cls.name}.{reference.removeprefix('static ')}"
                if is_of_program(cls):
                    return owner, cls
                fallback = fallback or (owner, cls)
        elif source.cls.name == _ENTRY and reference == "value":
            return _thread_local(snapshot, source)
        elif reference.startswith(("<", "?")) or is_container(source.cls.name):
            continue
        elif is_of_program(source.cls):
            return f"{source.cls.name}.{reference}{_further(snapshot, path[:at])}", source.cls
        else:
            fallback = fallback or (f"{source.cls.name}.{reference}", source.cls)
    if fallback is not None:
        return fallback
    cls = path[-1][1].as_class
    if cls is not None:
        return f"class {cls.name}", cls
    return f"a {path[0][0].strip('<>')}", None


def _further(snapshot: Snapshot, path: list[tuple[str, Object]]) -> str:
    """The static field of the program that leads to an owner, if there is one."""
    for at in range(len(path) - 1, 0, -1):
        reference, source = path[at][0], path[at - 1][1]
        if source.cls.name == _ENTRY and reference == "value":
            return f" of {_thread_local(snapshot, source)[0]}"
        cls = source.as_class
        if cls is not None and reference.startswith("static "):
            if not is_of_program(cls):
                return ""
            return f" of static {cls.name}.{reference.removeprefix('static ')}"
    return ""


def _thread_local(snapshot: Snapshot, entry: Object) -> tuple[str, Class | None]:
    """A thread-local variable by the static field that it is in."""
    variable = entry["referent"]
    if variable is None:
        return "a thread-local variable that is gone", None
    for referrer in snapshot.referrers(variable):
        assert referrer is not None
        cls = referrer.as_class
        if cls is None:
            continue
        for name in snapshot.reference_name(referrer, variable).split(", "):
            if name.startswith("static "):
                return f"thread-local static {cls.name}.{name.removeprefix('static ')}", cls
    return f"a thread-local variable, {variable.cls.name}", variable.cls
