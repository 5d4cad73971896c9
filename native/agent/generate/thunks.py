"""``thunks.cpp``: one typed thunk per function of JVM TI and JNI, and the table of them.

The compiler checks each against the real ``jvmti.h`` and ``jni.h``."""

from __future__ import annotations

from typing import Any

from cpp import HEAD, c_arguments, camel, input_tag, leaf_tag, tag
from interface_text import functions, interface_digest

from jvmti.interface import shapes
from jvmti.interface.declaration import Declaration, Table
from jvmti.interface.types import ArrayBeforeCount, CallerBuffer, CountIs, ResultPerItem, SameCount
from jvmti.refs import handles


class Thunk:
    """The text of one thunk."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.inputs = [(f"in_{name}", shape) for name, shape in shapes.inputs_of(declaration)]
        self.results = [
            (f"out_{name or 'result'}", shape) for name, shape in shapes.results_of(declaration)
        ]
        self.jni = declaration.table is Table.JNI
        self.symbol = f"{declaration.table.name.capitalize()}{declaration.c_name}"

    def callee(self) -> str:
        """The expression up to the opening parenthesis and the first argument."""
        name = self.declaration.c_name
        if self.declaration.overridden:
            operation = self.declaration.table is Table.AGENT
            return f"{'operations' if operation else 'overrides'}::{name}(call"
        if self.jni:
            return f"call.jni->functions->{name}(call.jni"
        return f"call.table()->{name}(call.env"

    def input_lines(self) -> list[str]:
        return [
            f"  In<{input_tag(shape)}> {name}(call, {number});"
            for number, (name, shape) in enumerate(self.inputs)
        ]

    def guard_lines(self) -> list[str]:
        lines = ["  if (!call.ready()) return;"]
        if self.declaration.guard:
            names = ", ".join(["call", *(name for name, _ in self.inputs)])
            lines.append(f"  if (!guard::{self.declaration.guard}({names})) return;")
        return lines

    def in_arguments(self) -> list[str]:
        if self.declaration.overridden:
            return [name for name, _ in self.inputs]
        return [text for name, shape in self.inputs for text in c_arguments(name, shape)]

    def record_line(self) -> list[str]:
        if not self.declaration.record:
            return []
        names = ", ".join(["call", *(name for name, _ in self.inputs)])
        return [f"  undo::{self.declaration.record}({names});"]

    def jni_body(self) -> list[str]:
        callee = ", ".join([self.callee(), *self.in_arguments()]) + ")"
        if not self.results:
            return [f"  {callee};", "  call.settled();"]
        shape = self.results[0][1]
        if not self.declaration.overridden and isinstance(shape, shapes.Reference):
            if shape.python is handles.Field:
                callee = f"ClassField{{{self.in_arguments()[0]}, {callee}}}"
        return [
            f"  auto result = {callee};",
            "  if (!call.settled()) return;",
            f"  write_result<{tag(shape)}>(call, 0, result);",
        ]

    def jvmti_body(self) -> list[str]:
        lines: list[str] = []
        arguments = self.in_arguments()
        writes: list[str] = []
        leaf = "0"
        previous = ""
        for name, shape in self.results:
            declared, passed, write = self.output(name, shape, leaf, previous)
            lines.append(declared)
            arguments += passed
            writes.append(write)
            leaf += f" + Wire<{leaf_tag(shape, False)}>::leaves"
            previous = name
        if any("OutBuffer" in line for line in lines):
            lines.append("  if (call.refused()) return;")
        callee = ", ".join([self.callee(), *arguments]) + ")"
        lines.append(f"  if (!call.returned({callee})) return;")
        return lines + self.record_line() + writes

    def output(self, name: str, shape: Any, leaf: str, previous: str) -> tuple[str, list[str], str]:
        """Declaration, C arguments and write of one result."""
        write = f"  {name}.write(call, {leaf});"
        if isinstance(shape, shapes.Bytes):
            shape = shapes.List(shapes.Number("unsigned char", "B"))
        if not isinstance(shape, shapes.List):
            return f"  Out<{tag(shape)}> {name};", [f"{name}.argument()"], write
        item = tag(shape.item)
        if shape.declared_by and item == "kinds::Field":
            write = f"  {name}.write(call, {leaf}, in_{shape.declared_by}.c());"
            return f"  OutFields {name};", [f"{name}.count()", f"{name}.items()"], write
        count, items = f"{name}.count()", f"{name}.items()"
        match shape.layout:
            case None:
                return f"  OutList<{item}> {name};", [count, items], write
            case ArrayBeforeCount():
                return f"  OutList<{item}> {name};", [items, count], write
            case CountIs(parameter):
                write = f"  {name}.write_counted(call, {leaf}, in_{parameter}.count());"
                return f"  OutList<{item}> {name};", [items], write
            case SameCount():
                write = f"  {name}.write_counted(call, {leaf}, {previous}.counted());"
                return f"  OutList<{item}> {name};", [items], write
            case CallerBuffer(capacity):
                declared = f"  OutBuffer<{item}> {name}(call, in_{capacity}.c());"
                return declared, [items, count], write
            case ResultPerItem(parameter):
                declared = f"  OutBuffer<{item}> {name}(call, in_{parameter}.count());"
                write = f"  {name}.write_counted(call, {leaf}, in_{parameter}.count());"
                return declared, [items], write
        raise TypeError(shape.layout)

    def text(self) -> str:
        body = self.jni_body() if self.jni else self.jvmti_body()
        method = self.declaration.method
        lines = [
            f"// {method.__qualname__} in src/{method.__module__.replace('.', '/')}.py",
            f"void {self.symbol}(Call& call) {{",
            *self.input_lines(),
            *self.guard_lines(),
            *body,
            "}",
        ]
        return "\n".join(lines)

    def entry(self) -> str:
        tags = ", ".join(leaf_tag(shape, self.jni) for _, shape in self.results)
        since = self.declaration.since.split(".")[0]
        one = self.declaration
        flags = (one.overridden, one.callback_safe, one.runs_java, one.while_pending, one.early)
        return (
            f'    {{"{one.c_name}", {self.symbol}, Results<{tags}>::blank, {one.number}, '
            f"Table::k{camel(one.table.name)}, {one.slot}, "
            f"{len(self.inputs)}, Results<{tags}>::leaves, {since}, "
            f"{', '.join(str(flag).lower() for flag in flags)}}},"
        )


def thunks_source() -> str:
    """All thunks and the table of functions."""
    thunks = [Thunk(declaration) for declaration in functions()]
    parts = [
        HEAD,
        '#include "agent/guards/guards.h"\n#include "agent/sessions/undo_notes.h"',
        '#include "generated/overrides.h"\n#include "generated/structures.h"\n',
        "namespace jvmti {\n",
        """
template <class... T>
struct Results;
template <>
struct Results<> {
  static constexpr int leaves = 0;
  static void blank(Sink) {}
};
template <class First, class... Rest>
struct Results<First, Rest...> {
  static constexpr int leaves = Wire<First>::leaves + Results<Rest...>::leaves;
  static void blank(Sink sink) {
    Wire<First>::blank(sink);
    Results<Rest...>::blank(sink.from(Wire<First>::leaves));
  }
};

namespace {
""",
        "\n\n".join(thunk.text() for thunk in thunks),
        "\n}  // namespace\n",
        "const Function kFunctions[] = {",
        *(thunk.entry() for thunk in thunks),
        "};",
        "const unsigned kFunctionCount = sizeof kFunctions / sizeof kFunctions[0];",
    ]
    text = "\n".join(parts)
    escaped = "".join(f"\\x{byte:02x}" for byte in interface_digest())
    text += f'\nconst char kInterfaceDigest[] = "{escaped}";\n\n}}  // namespace jvmti\n'
    return text
