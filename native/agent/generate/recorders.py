"""``recorders.h`` and ``recorders.cpp``: what records an event in the streams that want it."""

from __future__ import annotations

from cpp import HEAD
from trampolines import Trampoline

from jvmti.env.events import EVENTS, EventDeclaration, Frames
from jvmti.events.streams.layout import Holds, RecordField, record_fields, record_size
from jvmti.interface import shapes

BEGUN = {event.declaration.ends for event in EVENTS.values()}
"""The names of the events that another one ends."""


class Recorder(Trampoline):
    """The text of what records one event in the streams that want it."""

    def __init__(self, declaration: EventDeclaration) -> None:
        super().__init__(declaration)
        self.symbol = f"record_{declaration.name}"
        self.fields = record_fields(declaration)
        self.shapes = dict(self.parameters)

    def of(self, *kinds: Holds) -> list[RecordField]:
        """The fields that hold one of these."""
        return [field for field in self.fields if field.holds in kinds]

    def subject(self) -> RecordField | None:
        """What the patterns for classes and methods are about."""
        for kind in (Holds.METHOD, Holds.CLASS, Holds.OBJECT):
            for field in self.of(kind):
                if not (kind is Holds.CLASS and self.declaration.reported_with == field.name):
                    return field
        return None

    def number(self, field: RecordField) -> str:
        """The expression for the number of what a field holds."""
        often = str(self.declaration.frequent).lower()
        match field.holds:
            case Holds.METHOD:
                return f"it.method({field.name})"
            case Holds.CLASS:
                return f"it.klass({field.name})"
        return f"it.object({field.name}, {often})"

    def filters(self) -> list[str]:
        """The lines that leave out what the stream does not want."""
        lines = []
        if self.thread:
            lines.append(f"if (!it.thread({self.thread})) continue;")
        subject = self.subject()
        if self.declaration.reported_with:
            lines.append("if (!it.wants_name(name)) continue;")
        elif subject is not None:
            lines.append(f"const uint64_t subject = {self.number(subject)};")
            fields = self.of(Holds.FIELD)
            if fields:
                lines += [
                    "if (!it.wants(subject)) {",
                    f"  it.leave_out({fields[0].name}, subject, method, location);",
                    "  continue;",
                    "}",
                ]
            else:
                lines.append("if (!it.wants(subject)) continue;")
        if self.declaration.thrown:
            lines.append(f"const uint64_t thrown = it.object({self.declaration.thrown}, false);")
            lines.append("if (!it.wants_exception(thrown)) continue;")
        if self.declaration.name in BEGUN:
            lines.append(f"if (it.begins({self.pair(self.declaration.name)})) continue;")
        if self.declaration.ends:
            lines.append(f"if (!it.ends({self.pair(self.declaration.ends)})) continue;")
        return lines

    def pair(self, name: str) -> str:
        """What a beginning and its end have in common: the method, or the event that begins."""
        methods = self.of(Holds.METHOD)
        return methods[0].name if methods else f"&record_{name}_pair"

    def values(self) -> dict[str, str]:
        """For each field the expression that it gets, all that is asked of the VM before."""
        found = {}
        subject = self.subject()
        for field in self.fields:
            name = field.name
            match field.holds:
                case Holds.METHOD if field is not subject:
                    value = f"it.method_number({name})"
                case Holds.METHOD | Holds.CLASS | Holds.OBJECT:
                    value = "subject" if field is subject else self.number(field)
                    if self.declaration.reported_with:
                        value = self.number(field)
                    if name == self.declaration.thrown:
                        value = "thrown"
                    value = f"static_cast<uint32_t>({value})"
                case Holds.FIELD:
                    klass = f"{name}_klass"
                    value = f"it.field({klass}, {name}, subject, method, location)"
                case Holds.TEXT:
                    value = f"it.text({name})"
                case Holds.LENGTH:
                    shape = self.shapes[name]
                    count = shape.layout.member if isinstance(shape, shapes.List) else f"{name}_len"
                    value = count
                case Holds.HASH:
                    value = f"it.hash({field.given_by})"
                case Holds.LETTER if field.given_by:
                    value = f"static_cast<uint8_t>({self.returned('subject')})"
                case Holds.LETTER:
                    value = f"static_cast<uint8_t>({name})"
                case Holds.VALUE:
                    type_ = field.given_by
                    if type_ not in self.shapes:
                        type_ = self.returned("subject")
                    value = f"it.value({type_}, {name})"
                case Holds.BOOLEAN:
                    value = f"static_cast<uint8_t>({name} != 0)"
                case Holds.NUMBER if field.c == "uint64_t":
                    value = f"reinterpret_cast<uint64_t>({name})"
                case _:
                    value = f"static_cast<{field.c}>({name})"
            found[name] = value
        return found

    def record_text(self) -> str:
        """The C++ structure of the fields."""
        if not self.fields:
            return ""
        members = "".join(f"  {field.c} {field.name};\n" for field in self.fields)
        name = f"{self.declaration.name}Record"
        return (
            f"struct alignas(8) {name} {{\n{members}}};\n"
            f"static_assert(sizeof({name}) == {record_size(self.declaration)}, "
            '"as the controller reads it");\n\n'
        )

    def text(self) -> str:
        parameters = self.c_parameters()
        names = self.arguments().split(", ")
        values = self.values()
        jni = "jni" if self.declaration.jni_env else "nullptr"
        quick = self.declaration.frequent and self.thread and self.of(Holds.METHOD)
        symbol = f"{self.symbol}_with_care" if quick else self.symbol
        linkage = "[[gnu::noinline]] static " if quick else ""
        lines = [f"{linkage}void JNICALL {symbol}({', '.join(parameters)}) {{"]
        lines += [f"  static_cast<void>({one});" for one in names]
        careful = self.declaration.frames is not Frames.LEAVABLE
        careful = careful or self.declaration.expects_no_exception
        if not self.declaration.vm_stopped and careful:
            lines += [f"  {self.frames()[0]}"]
        lines += self.service_threads("  ")
        event = self.declaration.number
        lines.append(f"  for (Recording it(env, {jni}, {event}, {self.own_work()}); it.next();) {{")
        lines += [f"    {line}" for line in self.filters()]
        lines += [f"    {line}" for line in self.report(values)]
        lines.append(f"    auto* record = {self.reserved()};")
        lines.append("    if (record == nullptr) continue;")
        lines += [f"    record->{field.name} = got_{field.name};" for field in self.fields]
        lines += ["    it.commit();", "  }", "}"]
        if quick:
            lines += ["", f"void JNICALL {self.symbol}({', '.join(parameters)}) {{"]
            lines += [f"  {line}" for line in self.quick(values)]
            lines += [f"  {symbol}({self.arguments()});", "}"]
        return "\n".join(lines)

    def report(self, values: dict[str, str]) -> list[str]:
        """The lines that find out what the record gets."""
        return [
            f"const {field.c} got_{field.name} = {values[field.name]};" for field in self.fields
        ]

    def reserved(self) -> str:
        """The expression for the record."""
        if not self.fields:
            return "it.reserve()"
        return f"reinterpret_cast<{self.declaration.name}Record*>(it.reserve())"

    def quick(self, values: dict[str, str]) -> list[str]:
        """The lines for the usual case of a frequent event."""
        fields = self.of(Holds.FIELD)
        if fields:
            name = fields[0].name
            found = f"const uint64_t site = it.site(method, location, {name});"
            wanted, known = "it.wants_site(site)", "site"
            values = values | {
                "method": "static_cast<uint32_t>(site)",
                name: "static_cast<uint32_t>(site >> 32)",
            }
        else:
            found = "const uint64_t subject = it.method(method);"
            wanted, known = "it.wants(subject)", "subject"
        return [
            "{",
            f"  QuickRecording it(env, jni, {self.declaration.number});",
            "  if (it.usual()) {",
            f"    {found}",
            f"    if (__builtin_expect({wanted}, true)) {{",
            f"      auto* record = {self.reserved()};",
            "      if (record != nullptr) {",
            *(f"        record->{field.name} = {values[field.name]};" for field in self.fields),
            "        it.commit();",
            "        return;",
            "      }",
            f"    }} else if ({known} != 0) {{",
            "      return;",
            "    }",
            "  }",
            "}",
        ]


def recorders_source() -> str:
    """All recorders, and the sizes of their records."""
    made = [Recorder(event.declaration) for event in EVENTS.values()]
    pairs = [
        one.declaration.name
        for one in made
        if one.declaration.name in BEGUN and not one.of(Holds.METHOD)
    ]
    lines = [
        HEAD,
        '#include "agent/engines/threads/leave_frame.h"\n#include "generated/recorders.h"\n',
        "namespace jvmti {",
        "namespace {\n",
        *(f"const char record_{name}_pair = 0;" for name in sorted(pairs)),
        "",
        *(one.record_text() for one in made if one.fields),
        "}  // namespace\n",
        "\n\n".join(one.text() for one in made),
        "\nuint32_t record_size(int event) {",
        "  switch (event) {",
        *(
            f"    case {one.declaration.number}:\n      return {record_size(one.declaration)};"
            for one in made
        ),
        "  }",
        "  return 0;",
        "}\n",
        "}  // namespace jvmti\n",
    ]
    return "\n".join(lines)


def recorders_header() -> str:
    """The recorders' declarations."""
    made = [Recorder(event.declaration) for event in EVENTS.values()]
    lines = [
        HEAD,
        '#pragma once\n\n#include "agent/engines/streams/recording.h"\n',
        "namespace jvmti {\n",
    ]
    lines += [f"void JNICALL {one.symbol}({', '.join(one.c_parameters())});" for one in made]
    lines += ["", "}  // namespace jvmti", ""]
    return "\n".join(lines)
