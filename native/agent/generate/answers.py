"""``answers.cpp``: the table that checks what the VM answers (``answers.h``)."""

from __future__ import annotations

from typing import Any

from cpp import HEAD

from jvmti.env.interface import FUNCTIONS
from jvmti.interface import shapes
from jvmti.interface.declaration import Declaration
from jvmti.interface.types import ArrayBeforeCount, CallerBuffer, CountIs, ResultPerItem, SameCount


class Checked:
    """The text of one entry of the table that checks what the VM answers (``answers.h``)."""

    def __init__(self, declaration: Declaration) -> None:
        self.name = declaration.c_name
        self.arguments: list[str] = []
        self.clears: list[str] = []
        self.checks: list[str] = []
        self.places: dict[str, str] = {}
        for name, shape in shapes.inputs_of(declaration):
            self.places[name] = self.next()
            if isinstance(shape, shapes.List | shapes.Bytes | shapes.Unicode | shapes.ElementBlock):
                self.next()
        counted = ""
        for _, shape in shapes.results_of(declaration):
            counted = self.result(shape, counted)

    def next(self) -> str:
        self.arguments.append(f"a{len(self.arguments)}")
        return self.arguments[-1]

    def result(self, shape: Any, counted: str) -> str:
        """Look at one result; the argument with the count, for one that shares it."""
        if isinstance(shape, shapes.Bytes):
            shape = shapes.List(shapes.Number("unsigned char", "B"))
        if not isinstance(shape, shapes.List):
            place = self.next()
            self.clears.append(f"answers::clear({place});")
            if isinstance(shape, shapes.Reference | shapes.Text) and not shape.nullable:
                self.checks.append(f"if (answers::lacks({place})) return kNothingAnswered;")
            return ""
        match shape.layout:
            case CallerBuffer(capacity):
                limit, items, count = self.places[capacity], self.next(), self.next()
                self.clears.append(f"answers::clear_all({items}, {limit});")
                self.checks.append(f"answers::limit({count}, {limit});")
            case ResultPerItem():
                self.next()
                return ""
            case CountIs():
                items = self.next()
                self.clears.append(f"answers::clear({items});")
                return ""
            case SameCount():
                items, count = self.next(), counted
                self.clears.append(f"answers::clear({items});")
                self.checks.append(f"answers::make_whole({count}, {items});")
                return count
            case ArrayBeforeCount():
                items, count = self.next(), self.next()
                self.clears.append(f"answers::clear({items});")
                self.checks.append(f"answers::make_whole({count}, {items});")
            case _:
                count, items = self.next(), self.next()
                self.clears.append(f"answers::clear({items});")
                self.checks.append(f"answers::make_whole({count}, {items});")
        self.clears.append(f"answers::clear({count});")
        return count

    def text(self) -> str:
        type_ = f"answers::Signature<decltype(jvmtiInterface_1_::{self.name})>"
        parameters = [
            f"{type_}::Parameter<{place}> {name}" for place, name in enumerate(self.arguments)
        ]
        passed = ", ".join(["env", *self.arguments])
        return "\n".join(
            [
                f"jvmtiError JNICALL checked_{self.name}(",
                f"    {', '.join(['jvmtiEnv* env', *parameters])}) {{",
                *(f"  {line}" for line in self.clears),
                f"  jvmtiError error = of_the_vm->{self.name}({passed});",
                "  if (error != JVMTI_ERROR_NONE) return error;",
                *(f"  {line}" for line in self.checks),
                "  return JVMTI_ERROR_NONE;",
                "}",
            ]
        )


def gives_pointers(declaration: Declaration) -> bool:
    """Whether it gives a table of functions, which is no counted list to the VM."""
    return any(
        isinstance(shape, shapes.List) and isinstance(shape.item, shapes.Pointer)
        for _, shape in shapes.results_of(declaration)
    )


def answers_source() -> str:
    """The table that our environments call through, and what puts it there."""
    checked = [
        Checked(declaration)
        for declaration in FUNCTIONS.values()
        if shapes.results_of(declaration) and not gives_pointers(declaration)
    ]
    return "\n".join(
        [
            HEAD,
            '#include "agent/calls/answers.h"\n',
            "namespace jvmti {",
            "namespace {\n",
            "const jvmtiInterface_1_* of_the_vm;",
            "jvmtiInterface_1_ ours;\n",
            "\n\n".join(one.text() for one in checked),
            "\n}  // namespace\n",
            "void check_answers(jvmtiEnv* env) {",
            "  if (of_the_vm == nullptr) {",
            "    ours = *env->functions;",
            *(
                f"    if (ours.{one.name} != nullptr) ours.{one.name} = checked_{one.name};"
                for one in checked
            ),
            "    of_the_vm = env->functions;",
            "  }",
            "  // Where the VM has several tables, the functions of another are not ours to call.",
            "  if (env->functions == of_the_vm) env->functions = &ours;",
            "}\n",
            "}  // namespace jvmti",
            "",
        ]
    )
