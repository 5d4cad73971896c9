"""Heap passes: the page that controls one, the columns of a scan, and edges between objects."""

from __future__ import annotations

from jvmti.layouts.declare import Columns, Constants, Row

CONTROL = Constants("PassControlPage", SIZE=4096, CANCELLED=0, VISITED=1)
"""The page's bytes, and its 64-bit words: the controller sets ``CANCELLED`` to end the pass, the
agent counts in ``VISITED``."""

SCAN = Columns(
    "ScanColumns",
    start=CONTROL.SIZE,
    counts=("rows", "strings", "text", "values", "elements"),
    columns={
        "class_number": ("rows", "uint32_t"),
        "size": ("rows", "uint32_t"),
        "length": ("rows", "int32_t"),
        "string": ("strings", "uint32_t"),
        "text": ("text", "uint8_t"),
        "value": ("values", "uint8_t"),
        "element": ("elements", "uint8_t"),
    },
)
"""The columns of a scan.  Of each object its class's number, its size in `UNITS` and an array's
length; of each string twice its length, plus 1 where its characters have two bytes each; then the
characters, primitive fields and elements themselves."""

UNITS = Constants("ScanUnits", SIZE=8, NO_TEXT=0xFFFFFFFF)
"""The bytes that sizes are counted in; the length of a string without its text."""

FIELD = Row("ScannedField", "klass", "index", "type")
"""A primitive field whose values a scan writes: its class's number, its index, its type."""

EDGE = Row("Edge", "referrer", "kind", "index", "thread", "depth", "method", "weak")
"""A reference: the mark of the object that refers, 0 for a root; the ``jvmtiHeapReferenceKind``;
the index of the field, element, constant or slot, -1 without one; of a frame its thread, depth and
method; whether a weak or phantom reference is on the path."""

__all__ = ["CONTROL", "EDGE", "FIELD", "SCAN", "UNITS"]
