"""The whole interface as one text, and the digest of it by which agent and controller agree.

It is made of the declarations only, so what is written otherwise but means the same has the same
digest.  The generator's ``__main__`` runs it, which has made ``jvmti`` importable.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import jvmti.layouts
from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.events.streams import layout as event_records
from jvmti.interface import shapes
from jvmti.interface.declaration import Declaration
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.layouts import declare, probes
from jvmti.operations.functions import OPERATIONS
from jvmti.refs import handles

DIGEST_SIZE = 16

# What declares layouts: the digest is of all, whatever else was imported.
for _module in pkgutil.iter_modules(jvmti.layouts.__path__):
    importlib.import_module(f"jvmti.layouts.{_module.name}")
importlib.import_module("jvmti.wire.protocol")


PROBES = {
    getattr(one, "name", None) or getattr(one, "__name__", "") for one in vars(probes).values()
} & set(declare.REGISTRY)
"""The layouts of plans of instrumentation, by name: a library reads them that knows no JVM TI."""


def header(head: str, includes: str, layouts: set[str]) -> str:
    """A header of some layouts."""
    lines = [
        head,
        "#pragma once\n",
        includes,
        "#include <cstddef>",
        "#include <cstdint>\n",
        "namespace jvmti {",
        "namespace layouts {\n",
        declare.cpp(layouts),
        "\n}  // namespace layouts",
        "}  // namespace jvmti",
        "",
    ]
    return "\n".join(lines)


def layouts_header(head: str) -> str:
    """``layouts.h``: what is in `jvmti.layouts` for the agent, in C++."""
    return header(head, "#include <jvmti.h>\n", set(declare.REGISTRY) - PROBES)


def probes_header(head: str) -> str:
    """``probes.h``: `jvmti.layouts.probes`, in C++."""
    return header(head, "", PROBES)


def canonical(thing: Any) -> str:
    """A value of a declaration as text, wherever its classes live."""
    if isinstance(thing, type):
        return thing.__name__
    if isinstance(thing, enum.Enum):
        return f"{type(thing).__name__}.{thing.name}"
    if dataclasses.is_dataclass(thing):
        values = [getattr(thing, field.name) for field in dataclasses.fields(thing)]
        return f"{type(thing).__name__}({', '.join(map(canonical, values))})"
    if isinstance(thing, (tuple, list)):
        return f"[{', '.join(map(canonical, thing))}]"
    if thing is None or isinstance(thing, (str, int, bool)):
        return repr(thing)
    raise TypeError(f"{thing!r} is in a declaration, and has no canonical text")


NOT_OF_THE_AGENT = {
    "method",
    "event",
    "codec",
    "phase",
    "capabilities",
    "related_capabilities",
    "errors",
    "thread_filtered",
    "limit",
}
"""What a declaration says to the controller only, or what stands in the text anyway."""


def facts_of(declaration: Any) -> str:
    """What else a declaration says, by name."""
    return ", ".join(
        f"{field.name}={canonical(getattr(declaration, field.name))}"
        for field in dataclasses.fields(declaration)
        if field.init and field.name not in NOT_OF_THE_AGENT
    )


def functions() -> list[Declaration]:
    """Every function with a thunk, in the order of its number."""
    all_of_them = [*FUNCTIONS.values(), *JNI_FUNCTIONS.values(), *OPERATIONS.values()]
    return sorted(
        (
            declaration
            for declaration in all_of_them
            if not declaration.callback or declaration.overridden
        ),
        key=lambda declaration: declaration.number,
    )


def interface_text() -> Iterator[str]:
    """The lines of the text."""
    for declaration in functions():
        inputs = canonical(list(shapes.inputs_of(declaration)))
        results = canonical(list(shapes.results_of(declaration)))
        facts = facts_of(declaration)
        yield f"{declaration.number} {declaration.c_name} {facts} {inputs} {results}"
    for event in EVENTS.values():
        one = event.declaration
        parameters = [(item.name, shapes.shape_of(item.annotation)) for item in one.parameters]
        yield f"event {one.number} {facts_of(one)} {canonical(parameters)}"
        yield f"record {canonical(event_records.record_fields(one))}"
    for kind in vars(handles).values():
        if isinstance(kind, type) and issubclass(kind, handles.Handle) and kind.C_TYPE:
            yield f"handle {kind.__name__} {kind.KIND} {kind.C_TYPE}"
    yield declare.cpp(set(declare.REGISTRY))


def interface_digest() -> bytes:
    """The digest that the agent greets with."""
    text = "\n".join(interface_text())
    return hashlib.sha256(text.encode()).digest()[:DIGEST_SIZE]
