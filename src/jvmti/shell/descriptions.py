"""The answer to a question mark: data from the specification, or the Java declaration."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from jvmti.env.events import EVENTS
from jvmti.interface.declaration import Declaration, Table
from jvmti.interface.modifiers import ClassModifiers
from jvmti.model.classes.java_class import Class, Field, Method
from jvmti.text.printable import printable

_IMPLIED = ("java.lang.Object", "java.lang.Enum", "java.lang.Record")
_INTERFACES = {Table.JVMTI: "JVM TI", Table.JNI: "JNI"}


def describe(thing: Any) -> str | None:
    """The description of a function of JVM TI or JNI, or of a Java class, method or field.

    ``None`` for everything else, which Python itself describes.
    """
    declaration = getattr(thing, "declaration", None) if callable(thing) else None
    if isinstance(declaration, Declaration):
        return of_function(declaration)
    if isinstance(thing, Class):
        return _of_class(thing)
    if isinstance(thing, Method):
        return _of_method(thing)
    if isinstance(thing, Field):
        return printable(f"{thing}, of {thing.declaring_class.name}")
    return None


def of_function(declaration: Declaration) -> str:
    """Signature, description and specification data of one function."""
    method = inspect.signature(declaration.method)
    parameters = [one for name, one in method.parameters.items() if name != "self"]
    signature = str(method.replace(parameters=parameters)).replace("'", "")
    interface = _INTERFACES.get(declaration.table, "the agent")
    rows = [
        ("function", f"{interface} {declaration.c_name}"),
        ("slot", f"{declaration.slot}, since {declaration.since}"),
    ]
    if declaration.table is Table.JVMTI:
        safe = "; heap and GC callbacks may call it" if declaration.callback_safe else ""
        rows.append(("phase", f"{declaration.phase.value}{safe}"))
        rows.append(("capability", ", ".join(declaration.capabilities) or "none"))
        if declaration.errors:
            rows.append(("errors", ", ".join(declaration.errors) + ", and what its types imply"))
    return "\n".join(
        [
            f"{declaration.name}{signature}",
            "",
            inspect.getdoc(declaration.method) or "",
            "",
            *(_row(head, text) for head, text in rows),
        ]
    )


def _row(head: str, text: str) -> str:
    indent = " " * 12
    return textwrap.fill(
        text, 96, initial_indent=f"{head:<12}", subsequent_indent=indent, break_on_hyphens=False
    )


def class_declaration(cls: Class) -> str:
    """``public class java.util.HashMap extends java.util.AbstractMap implements java.util.Map``."""
    flags = cls.modifiers
    kind = "record" if cls.is_record else "enum" if cls.is_enum else "class"
    if cls.is_interface:
        kind = "@interface" if cls.is_annotation else "interface"
        flags &= ~ClassModifiers.ABSTRACT  # every interface is
    parts = [*str(flags).split(), kind, cls.name]
    above = cls.superclass
    if above is not None and above.name not in (
        "java.lang.Object",
        "java.lang.Enum",
        "java.lang.Record",
    ):
        parts += ["extends", above.name]
    names = [one.name for one in cls.interfaces]
    if names:
        parts += ["extends" if cls.is_interface else "implements", ", ".join(names)]
    return " ".join(parts)


def _of_class(cls: Class) -> str:
    loader = cls.loader
    lines = [class_declaration(cls)]
    lines.append(f"loader      {loader.cls.name if loader is not None else 'bootstrap'}")
    lines.append(f"source      {cls.source_file or 'not known'}")
    lines.append(f"status      {cls.status!s}")
    return "\n".join(map(printable, lines))


def _of_method(method: Method) -> str:
    lines = [str(method), f"class       {method.class_name}"]
    if method.generic_signature:
        lines.append(f"generic     {method.generic_signature}")
    lines.append(f"signature   {method.signature}")
    numbers = [entry.line_number for entry in method.lines]
    place = method.source_file or "not known"
    lines.append(f"source      {place}" + (f":{min(numbers)}-{max(numbers)}" if numbers else ""))
    return "\n".join(map(printable, lines))


def event_names() -> list[str]:
    """The names of the events, for completion."""
    return sorted(event.declaration.name for event in EVENTS.values())


__all__ = ["class_declaration", "event_names", "describe", "of_function"]
