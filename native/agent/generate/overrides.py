"""``overrides.h``: the functions that the agent implements itself."""

from __future__ import annotations

from typing import Any

from cpp import HEAD, c_type, input_tag
from interface_text import functions
from thunks import Thunk

from jvmti.interface import shapes
from jvmti.interface.declaration import Declaration, Table
from jvmti.refs import handles


class Override(Thunk):
    """How a function is declared that the agent implements itself."""

    def text(self) -> str:
        given = [f"const In<{input_tag(shape)}>& {name[3:]}" for name, shape in self.inputs]
        parameters = ["Call& call", *given]
        if self.jni:
            returned = self.returned()
        else:
            returned = "jvmtiError"
            for name, shape in self.results:
                parameters += self.out_parameters(name, shape)
        return f"{returned} {self.declaration.c_name}({', '.join(parameters)});"

    def out_parameters(self, name: str, shape: Any) -> list[str]:
        declared, passed, _ = self.output(name, shape, "0", name)
        if isinstance(shape, shapes.Bytes):
            shape = shapes.List(shapes.Number("unsigned char", "B"))
        c = c_type(shape.item if isinstance(shape, shapes.List) else shape)
        written = (
            f"{c}*" if "OutBuffer" in declared or not isinstance(shape, shapes.List) else f"{c}**"
        )
        taken = {f"out{given[2:]}" for given, _ in self.inputs}
        argument = name if name in taken else name[4:]
        return [
            f"jint* {argument}_count" if one.endswith(".count()") else f"{written} {argument}"
            for one in passed
        ]

    def returned(self) -> str:
        if not self.results:
            return "void"
        match self.results[0][1]:
            case shapes.Unicode() | shapes.ElementBlock() | shapes.Bytes():
                return "Buffer"
            case shapes.Reference(handles.Field, _):
                return "ClassField"
            case shape:
                return c_type(shape)


def namespace(name: str, declared: list[Declaration]) -> list[str]:
    """The declarations, in a namespace."""
    texts = [Override(one).text() for one in declared]
    return [f"namespace {name} {{\n", *texts, f"\n}}  // namespace {name}\n"]


def overrides_header() -> str:
    """What the agent does itself: around or in place of the VM's entries, and its operations."""
    written = [one for one in functions() if one.overridden]
    operations = [one for one in written if one.table is Table.AGENT]
    overrides = [one for one in written if one.table is not Table.AGENT]
    lines = [
        HEAD,
        "#pragma once\n",
        '#include "agent/calls/call.h"\n',
        "namespace jvmti {",
        *namespace("overrides", overrides),
        *namespace("operations", operations),
        "}  // namespace jvmti",
        "",
    ]
    return "\n".join(lines)
