"""Names of classes in files of profiles, made those of Java."""

from __future__ import annotations

import re

from jvmti.interface.signatures import java_name

__all__ = ["class_name", "java_class_name"]

_HIDDEN = re.compile(r"[./+](0x[0-9a-f]+)(?:[./]\d+)?$")


def class_name(name: str) -> str:
    """The name as ``Class.getName`` has it; of an array as source code has it.

    Writers do not agree on what separates the address of a hidden class from its name, nor on what
    follows it.

    Args:
        name: the name with dots or slashes, or the signature of an array.
    """
    if name.startswith("["):
        return java_name(name)
    found = _HIDDEN.search(name)
    if found is None:
        return name.replace("/", ".")
    return f"{name[: found.start()].replace('/', '.')}/{found[1]}"


def java_class_name(name: str) -> str:
    """The same of a name that may be of another language, whose packages have dots and slashes."""
    plain = _HIDDEN.sub("", name)
    return name if "." in plain and "/" in plain else class_name(name)
