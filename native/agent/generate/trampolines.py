"""``trampolines.cpp``: what the VM calls for each event, and the table of callbacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from cpp import HEAD, camel, tag

from jvmti.env.events import EVENTS, EventDeclaration, Frames
from jvmti.interface import shapes
from jvmti.layouts.conversations import OwnWork
from jvmti.refs import handles


@dataclass(frozen=True)
class EventTap:
    """A part of the agent that sees events before their handlers, in the order of `TAPS`.

    For each event it has a function ``<prefix>_<event>``, which gets the scope and what the VM
    calls with.  ``of`` says which of an event's occurrences that our own work causes it sees; None
    that it does not see the event.
    """

    name: str
    prefix: str
    of: Callable[[EventDeclaration], OwnWork | None]

    def sees(self, declaration: EventDeclaration) -> bool:
        """Whether it has a function for the event."""
        return self.of(declaration) is not None and not declaration.vm_stopped

    def own_work(self, declaration: EventDeclaration) -> str:
        """The name of its member of `OwnWork`."""
        own = self.of(declaration)
        assert own is not None
        return own.name


TAPS = (EventTap("Stops", "stop", lambda one: one.stops),)


class Trampoline:
    """The text of what the VM calls for one event."""

    def __init__(self, declaration: EventDeclaration) -> None:
        self.declaration = declaration
        self.symbol = f"on_{declaration.name}"
        self.parameters = [
            (item.name, shapes.shape_of(item.annotation)) for item in declaration.parameters
        ]
        self.thread = next(
            (
                name
                for name, shape in self.parameters
                if isinstance(shape, shapes.Reference) and shape.python is handles.Thread
            ),
            None,
        )

    def c_parameters(self) -> list[str]:
        """As the type in ``jvmtiEventCallbacks`` has them."""
        found = ["jvmtiEnv* env"]
        if self.declaration.jni_env:
            found.append("JNIEnv* jni")
        for name, shape in self.parameters:
            answer = "*" if name in self.declaration.answers else ""
            match shape:
                case shapes.Reference(python, _):
                    found.append(f"{python.C_TYPE} {name}")
                case shapes.Number(c, _, python):
                    # The C callbacks take sets of flags as plain numbers.
                    found.append(f"{'jint' if python else c} {name}")
                case shapes.Text():
                    found.append(f"const char* {name}")
                case shapes.Bytes():
                    const = "" if answer else "const "
                    found.append(f"jint{answer} {name}_len")
                    found.append(f"{const}unsigned char*{answer} {name}")
                case shapes.Pointer(const):
                    const = const and not answer
                    found.append(f"{'const ' if const else ''}void*{answer} {name}")
                case shapes.Inlining():
                    found.append(f"const void* {name}")
                case shapes.Value():
                    found.append(f"jvalue {name}")
                case shapes.Letter():
                    found.append(f"char {name}")
                case shapes.List(item, layout):
                    found.append(f"jint {layout.member}")
                    found.append(f"const {tag(item)}* {name}")
                case _:
                    raise TypeError(shape)
        return found

    def writes(self) -> list[str]:
        """The lines that write what the event brings."""
        lines = []
        klass = ""
        for name, shape in self.parameters:
            if name in self.declaration.answers:
                continue
            match shape:
                case shapes.Reference(python, _) if python is handles.Method:
                    lines.append(f"it.method({name});")
                case shapes.Reference(python, _) if python is handles.Field:
                    lines.append(f"it.field({klass}, {name});")
                case shapes.Reference(python, _):
                    klass = name if python is handles.Class else klass
                    lines.append(f"it.object<kinds::{python.__name__}>({name});")
                case shapes.Number():
                    lines.append(f"it.number({name});")
                case shapes.Text():
                    lines.append(f"it.text({name});")
                case shapes.Bytes():
                    lines.append(f"it.bytes({name}_len, {name});")
                case shapes.Pointer():
                    lines.append(f"it.address({name});")
                case shapes.Inlining():
                    lines.append(f"it.inlining({name});")
                case shapes.Letter():
                    lines.append(f"it.letter({name});")
                case shapes.Value(given_by) if given_by == "method":
                    lines.append(f"it.value({self.returned(given_by)}, {name});")
                case shapes.Value(given_by):
                    lines.append(f"it.value({given_by}, {name});")
                case shapes.List(item, layout):
                    lines.append(f"it.list<{tag(item)}>({layout.member}, {name});")
        return lines

    def returned(self, method: str) -> str:
        """The letter of the type that a method returns; one that an exception ends has no value."""
        return f"{self.declaration.left_by_exception} ? 'V' : it.return_type({method})"

    def answers(self) -> list[str]:
        """The lines that read what the handler answers."""
        lines = []
        for name, shape in self.parameters:
            if name in self.declaration.answers:
                length = f"{name}_len, " if isinstance(shape, shapes.Bytes) else ""
                lines.append(f"it.answer({length}{name});")
        return lines

    def frames(self) -> list[str]:
        """The lines that keep away what the VM cannot carry out during the event."""
        declaration = self.declaration
        lines = []
        if declaration.expects_no_exception:
            lines.append("StopThreadLater later(jni);")
        if declaration.frames is not Frames.LEAVABLE:
            jni = "jni" if declaration.jni_env else "nullptr"
            thread = self.thread or "nullptr"
            lines.append(f"FixedFrames fixed({jni}, {thread}, {self.leaves_by_return()});")
        if declaration.left_by_exception:
            thrown = declaration.left_by_exception
            lines.append(f"if (!{thrown}) frame_ends(env, {declaration.number});")
        return lines

    def leaves_by_return(self) -> str:
        """Whether frames can be left by an early return at least."""
        return str(self.declaration.frames is Frames.RETURNABLE).lower()

    def own_work(self) -> str:
        """Whether the event is reported if our own work causes it."""
        own = f"OwnWork::k{camel(self.declaration.own_work.name)}"
        if self.declaration.reported_with:
            return f"{self.declaration.reported_with} != nullptr ? OwnWork::kReported : {own}"
        return own

    def arguments(self) -> str:
        """The callback's own arguments, to be passed on."""
        return ", ".join(re.findall(r"(\w+)(?:, |$)", ", ".join(self.c_parameters())))

    def both_text(self) -> str:
        """What records the event first and then has it answered."""
        return (
            f"void JNICALL both_{self.declaration.name}({', '.join(self.c_parameters())}) {{\n"
            f"  record_{self.declaration.name}({self.arguments()});\n"
            f"  {self.symbol}({self.arguments()});\n}}"
        )

    def service_threads(self, indent: str) -> list[str]:
        """The line that leaves out the agent's own threads, where the event is about a thread."""
        if not self.declaration.program_threads:
            return []
        return [f"{indent}if (of_service_thread(jni, {self.thread})) return;"]

    def text(self) -> str:
        declaration = self.declaration
        taps = [one for one in TAPS if one.sees(declaration)]
        wishes = [
            f"{{Tap::k{one.name}, OwnWork::k{camel(one.own_work(declaration))}}}" for one in taps
        ]
        wishes.append(f"{{Tap::kHandler, {self.own_work()}}}")
        jni = "jni" if declaration.jni_env else "nullptr"
        redefined = declaration.reported_with
        lines = [
            f"void JNICALL {self.symbol}({', '.join(self.c_parameters())}) {{",
            *(f"  {line}" for line in self.frames()),
            *self.service_threads("  "),
            *([f"  {redefined} = if_named(env, {redefined}, name);"] if redefined else []),
            f"  EventScope scope(env, {jni}, {declaration.number}, {{{', '.join(wishes)}}});",
            "  if (!scope) return;",
            *(
                f"  if (scope.wants(Tap::k{one.name})) "
                f"{one.prefix}_{declaration.name}(scope, {self.arguments()});"
                for one in taps
            ),
            *(["  if (!scope.wants(Tap::kHandler)) return;"] if taps else []),
            f"  Delivery it(scope, {jni});",
            "  if (!it.ready()) return;",
            *(f"  {line}" for line in self.writes()),
            "  it.ask();",
            *(f"  {line}" for line in self.answers()),
            "}",
        ]
        return "\n".join(lines)


def taps_header() -> str:
    """What engines do with the events that they tap: trampolines call it."""
    made = [Trampoline(event.declaration) for event in EVENTS.values()]
    functions = [
        f"void {tap.prefix}_{one.declaration.name}"
        f"({', '.join(['EventScope& scope', *one.c_parameters()])});"
        for tap in TAPS
        for one in made
        if tap.sees(one.declaration)
    ]
    lines = [HEAD, "#pragma once\n", "#include <jvmti.h>\n", "namespace jvmti {\n"]
    lines += ["class EventScope;", *functions, "\n}  // namespace jvmti\n"]
    return "\n".join(lines)


def trampolines_source() -> str:
    """All trampolines, and what fills the VM's table of callbacks with them and the recorders."""
    made = [Trampoline(event.declaration) for event in EVENTS.values()]
    # Those sent while the VM is stopped are never answered.
    answered = [one for one in made if not one.declaration.vm_stopped]
    lines = [
        HEAD,
        '#include "agent/engines/interception/jni_interception.h"',
        '#include "agent/engines/threads/leave_frame.h"',
        '#include "agent/events/events.h"',
        '#include "generated/recorders.h"',
        '#include "generated/structures.h"',
        '#include "generated/taps.h"',
        "",
        "namespace jvmti {",
        "namespace {\n",
    ]
    lines.append("\n\n".join(f"{one.text()}\n\n{one.both_text()}" for one in answered))
    lines += [
        "\n}  // namespace\n",
        "void fill_callbacks(jvmtiEventCallbacks* callbacks, const EventTaps* taps) {",
    ]
    for one in made:
        name = one.declaration.name
        handled = f"taps[{one.declaration.number} - kFirstEvent]"
        slot = f"callbacks->{name}"
        streamed = f"taps == nullptr || {handled}.streams.load() != nullptr"
        lines.append(f"  if ({streamed}) {slot} = record_{name};")
        if one.declaration.vm_stopped:
            continue
        both = f"{slot} == nullptr ? {one.symbol} : both_{name}"
        lines.append(f"  if (taps == nullptr || {handled}.bits != 0) {slot} = {both};")
    lines += ["}\n", "bool is_event(int number) {", "  switch (number) {"]
    lines += [f"    case {one.declaration.number}:" for one in made]
    lines += ["      return true;", "  }", "  return false;", "}\n"]
    lines += ["bool carries_exceptions(int event) {", "  switch (event) {"]
    carrying = [one.declaration.number for one in answered if one.declaration.carries_exceptions]
    lines += [f"    case {number}:" for number in carrying]
    lines += [
        "      return true;",
        "  }",
        "  return event >= kJniCall && event < kJniCall + kJniSlots;",
        "}\n",
    ]
    lines += ["}  // namespace jvmti\n"]
    return "\n".join(lines)
