"""``structures.h``: how C structures are written, in results of functions and in events."""

from __future__ import annotations

from typing import Any

from cpp import HEAD, tag
from interface_text import functions

from jvmti.env.events import EVENTS
from jvmti.interface import shapes
from jvmti.interface.types import CountField


def structure_text(shape: shapes.Structure) -> str:
    """How one C structure is written as a result."""
    leaf = "0"
    writes, blanks, disposals = [], [], []
    for name, field in shape.fields:
        sink = f"sink.from({leaf})"
        if isinstance(field, shapes.List):
            layout = field.layout
            assert isinstance(layout, CountField), (shape.c, name)
            type_ = f"List<{tag(field.item)}>"
            owned = str(layout.owned).lower()
            pieces = f"value.{layout.member}, value.{name}, {owned}"
            writes.append(f"    Wire<{type_}>::write(call, {sink}, {pieces});")
        elif isinstance(field, shapes.Pointer):
            type_ = "void*"
            writes.append(
                f"    Wire<void*>::write(call, {sink}, const_cast<void*>("
                f"reinterpret_cast<const void*>(value.{name})));"
            )
        else:
            type_ = tag(field)
            writes.append(f"    Wire<{type_}>::write(call, {sink}, value.{name});")
            disposals.append(f"    Wire<{type_}>::dispose(call, value.{name});")
        blanks.append(f"    Wire<{type_}>::blank({sink});")
        leaf += f" + Wire<{type_}>::leaves"
    return "\n".join(
        [
            "template <>",
            f"struct Wire<{shape.c}> {{",
            f"  using C = {shape.c};",
            f"  static constexpr int leaves = {leaf};",
            "  static void write(Call& call, Sink sink, const C& value) {",
            *writes,
            "  }",
            "  static void blank(Sink sink) {",
            *blanks,
            "  }",
            "  static void dispose(Call& call, const C& value) {",
            "    (void)call;",
            "    (void)value;",
            *disposals,
            "  }",
            "};",
        ]
    )


def structures_in(shape: Any, found: dict[str, shapes.Structure]) -> None:
    """Collect the structures a result is made of, inner ones first."""
    if isinstance(shape, shapes.List):
        structures_in(shape.item, found)
    elif isinstance(shape, shapes.Structure) and shape.c not in found:
        for _, field in shape.fields:
            structures_in(field, found)
        found[shape.c] = shape


def structures_header() -> str:
    """How structures are written, in results of functions and in events."""
    structures: dict[str, shapes.Structure] = {}
    for declaration in functions():
        for _, shape in shapes.results_of(declaration):
            structures_in(shape, structures)
    for event in EVENTS.values():
        for item in event.declaration.parameters:
            structures_in(shapes.shape_of(item.annotation), structures)
    lines = [HEAD, '#pragma once\n\n#include "agent/calls/call.h"\n', "namespace jvmti {\n"]
    lines += [structure_text(shape) for shape in structures.values()]
    lines += ["", "}  // namespace jvmti", ""]
    return "\n".join(lines)
