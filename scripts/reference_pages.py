"""Writes docs/reference from the declarations: one page for each chapter of the interface.

Usage: ``python scripts/reference_pages.py [--check]``.  With ``--check`` nothing is written, and
the exit status says whether the pages are current.
"""

from __future__ import annotations

import argparse
import html
import importlib
import inspect
import re
import sys
import textwrap
import typing
from pathlib import Path

from jvmti import errors
from jvmti.env.events import EVENTS, Frames, JvmtiEvent, OwnWork
from jvmti.env.interface import FUNCTIONS
from jvmti.interface import capabilities, constants, types
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.constants import Constant, Flags
from jvmti.interface.declaration import Declaration
from jvmti.interface.errors import ERRORS
from jvmti.jni.interface import EXCLUDED
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS

OTHERS = tuple(
    cls
    for name in re.findall(r"─ (\w+)", errors.__doc__ or "")
    if not issubclass(cls := getattr(errors, name), errors.JvmtiError)
)

INTRODUCTION = """\
Every function of JVM TI is a method of `vm.env`, and every function of JNI one of `vm.jni`, with a
page for each chapter. The pages are made from the declarations by `scripts/reference_pages.py`.

## The examples

Each function has an example, and a test runs all of them on every JVM that has the function. They
look into a small program, a shop (`tests/java/Shop.java`), and find these names:

| name | what it is |
| --- | --- |
| `vm` | the session: what `jvmti.attach` or `jvmti.launch` gives |
| `env`, `jni` | `vm.env`, with the capabilities that the function needs, and `vm.jni` |
| `shop`, `order_class` | the classes `Shop` and `Shop$Order` |
| `order`, `number` | an order, and its field: `int number = 7` |
| `price` | the method `static int price(int count) { int each = 5; return count * each; }` |
| `prices`, `wares` | an `int[]` of 5, 10 and 15, and a `String[]` of two |
| `door`, `keeper`, `customer` | an object, the thread that holds its monitor, one that waits |
| `jar`, `java` | a JAR file with a class `Till`; the command that starts the program |
| `thread_init` | the constructor `Thread()` |
| `twice` | the method `static int twice(int count) { return 2 * price(count); }` |
| `start_virtual` | from Java 21 on, the method `Thread.startVirtualThread` |
"""

PAGES = Path(__file__).parent.parent / "docs" / "reference"


ALIASES = {
    name: typing.get_args(alias)[0]
    for names in (types, capabilities)
    for name, alias in vars(names).items()
    if typing.get_origin(alias) is typing.Annotated
}
"""What stands for a plain type of Python and says how it travels."""


def readable(annotation: str) -> str:
    """A type as people read it: without what says how it travels."""
    text = annotation.strip("'\"")
    while (at := text.find("Annotated[")) >= 0:
        start = at + len("Annotated[")
        depth, end, comma = 1, start, -1
        while depth:
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(text[end], 0)
            if text[end] == "," and depth == 1 and comma < 0:
                comma = end
            end += 1
        text = text[:at] + text[start:comma] + text[end:]
    return re.sub(r"\b\w+\b", lambda name: plain(name[0]), text)


def plain(name: str) -> str:
    """The type that an alias stands for; any other name is itself."""
    if name not in ALIASES:
        return name
    found = ALIASES[name]
    text = found.__name__ if isinstance(found, type) else str(found)
    return re.sub(r"\b(\w+\.)+", "", text)


def signature(declaration: Declaration) -> str:
    """The method's signature as a user writes it; one parameter a line where it is long."""
    shown = inspect.signature(declaration.method)
    parameters = []
    for name, parameter in shown.parameters.items():
        if name != "self":
            default = "" if parameter.default is parameter.empty else f" = {parameter.default!s}"
            parameters.append(f"{name}: {readable(str(parameter.annotation))}{default}")
    result = readable(str(shown.return_annotation))
    line = f"{declaration.name}({', '.join(parameters)}) -> {result}"
    if len(line) <= 88:
        return line
    listed = "".join(f"    {one},\n" for one in parameters)
    return f"{declaration.name}(\n{listed}) -> {result}"


def sections(documentation: str) -> tuple[str, dict[str, str]]:
    """A docstring as its text and its sections: ``Args``, ``Returns``, ``Raises``, ``Example``."""
    text, *rest = re.split(r"^(Args|Returns|Raises|Example):\n", documentation, flags=re.M)
    found = {}
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        # What is no longer indented is the line that names the function in the specification.
        lines = body.splitlines()
        end = next((at for at, line in enumerate(lines) if line[:1].strip()), len(lines))
        found[name] = textwrap.dedent("\n".join(lines[:end])).strip()
    return re.sub(r"^(JVM TI|JNI): \w+\.$", "", text, flags=re.M).strip(), found


def items(section: str) -> list[tuple[str, str]]:
    """What a section of ``name: what it is`` lists, lines joined."""
    joined = re.sub(r"\n +", " ", section)
    return [(name, what) for name, _, what in (one.partition(": ") for one in joined.splitlines())]


def code(text: str) -> str:
    """Markup of docstrings as Markdown: one kind of backticks for all that is code."""
    return re.sub(r"``(.+?)``", r"`\1`", text)


def type_in_table(text: str) -> str:
    """A type as code that does not end a cell of a table, neither here nor elsewhere."""
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"


def entry(declaration: Declaration, interface: str) -> list[str]:
    """The section of one function."""
    text, parts = sections(inspect.getdoc(declaration.method) or "")
    parameters = inspect.signature(declaration.method).parameters
    lines = [f"## {declaration.name}", "", code(text), ""]
    lines += ["```python", signature(declaration), "```", ""]
    if "Args" in parts:
        lines += ["| parameter | type | what |", "| --- | --- | --- |"]
        for name, what in items(parts["Args"]):
            shown = type_in_table(readable(str(parameters[name].annotation)))
            lines.append(f"| `{name}` | {shown} | {code(what)} |")
        lines.append("")
    if "Returns" in parts:
        lines += [f"**Gives** {code(' '.join(parts['Returns'].split()))}", ""]
    if "Raises" in parts:
        lines += ["| error | when |", "| --- | --- |"]
        lines += [f"| `{name}` | {code(what)} |" for name, what in items(parts["Raises"])]
        lines.append("")
    if "Example" in parts:
        lines += ["```pycon", parts["Example"], "```", ""]
    facts = [f"slot {declaration.slot}", f"since {declaration.since}"]
    if interface == "JVM TI":
        facts.insert(0, f"phase: {declaration.phase.value}")
        if declaration.callback_safe:
            facts.append("may be called from heap and GC callbacks")
    lines.append(f"{interface} {declaration.c_name}; {', '.join(facts)}.")
    if declaration.capabilities:
        needed = (f"[`{name}`](capabilities.md#{name})" for name in declaration.capabilities)
        lines.append(f"Needs {', '.join(needed)}.")
    if declaration.callback:
        lines.append("Takes a Python function that is called back.")
    lines.append("")
    return lines


def attributes(event: type[JvmtiEvent]) -> list[tuple[str, str, str]]:
    """Name, type and description of what an event brings: the comments above its fields."""
    found = []
    said: list[str] = []
    for line in map(str.strip, inspect.getsource(event).splitlines()):
        field = re.fullmatch(r"(\w+): (.+?)( = None)?", line)
        if line.startswith("#:"):
            said.append(line.removeprefix("#:").strip())
        elif field and said:
            found.append((field[1], field[2], " ".join(said)))
            said = []
    return found


def event_entry(event: type[JvmtiEvent]) -> list[str]:
    """The section of one event."""
    declaration = event.declaration
    limit = "for ever" if declaration.limit is None else f"{declaration.limit:g} seconds"
    facts = [f"phase: {declaration.phase.value}", f"number {declaration.number}"]
    facts.append(f"since {declaration.since}")
    if declaration.thread_filtered:
        facts.append("can be enabled for single threads")
    text, parts = sections(inspect.getdoc(event) or "")
    lines = [f"## {declaration.name}", "", code(text), "", f"{', '.join(facts)}."]
    if declaration.capabilities:
        needed = (f"[`{name}`](capabilities.md#{name})" for name in declaration.capabilities)
        lines.append(f"Needs {', '.join(needed)}.")
    if declaration.vm_stopped:
        lines.append("The VM is stopped while it is sent: for streams, and for")
        lines.append("[callbacks](event_management.md#set_event_callbacks) that are called late.")
    else:
        lines.append(f"Its thread waits {limit} for a handler that does not say otherwise.")
    own = {
        OwnWork.NEVER: "Not reported if this controller's own calls or handlers cause it",
        OwnWork.IN_CALLS: "Not reported if this controller's own handlers cause it",
    }.get(declaration.own_work)
    if own and declaration.reported_with:
        own += f", unless it has a `{declaration.reported_with}`"
    lines += [f"{own}."] if own else []
    if not declaration.vm_stopped:
        frames = declaration.frames.value
        lines.append(f"In its handlers [{frames}](#what-a-handler-may-ask-of-its-thread).")
    rows = attributes(event)
    if rows:
        lines += ["", "| attribute | type | what |", "| --- | --- | --- |"]
        for name, type_, what in rows:
            lines.append(f"| `{name}` | {type_in_table(readable(type_))} | {code(what)} |")
    if "Example" in parts:
        lines += ["", "```pycon", parts["Example"], "```"]
    return [*lines, ""]


REQUESTS = """\
What a handler may ask of the thread that its event is of. The same answers go to another thread
that has suspended this one in its handler. A request that is carried out is about the topmost
frame, and the program goes on with it when the last handler of the event has returned; until then
calls that run Java code on this thread raise `LeavingFrame`. The VM's own conditions come on top:
no native method is left, and none is popped to (OPAQUE_FRAME), nor is the first frame of a thread
(NO_MORE_FRAMES) or, of a virtual thread, one that is not mounted. An exception reaches the program
from the place that the event is about.

OPAQUE_FRAME in the table is this agent's answer, in HotSpot's words: such an event is sent from
the middle of the VM's own work, which may have other Java code to run before it comes back to the
frame. HotSpot itself accepts the request, and leaves whichever frame comes back first: crashes
were seen in SampledObjectAlloc, ClassLoad and ClassPrepare; the others are refused for the same
reason. After a pop in FramePop the frame that the event is about would be gone. The answers are
the same on 11, 17, 21 and 25; an interpreter-only VM lacks the capabilities. The calls of
[intercepted JNI functions](jni_function_interception.md#set_jni_function_table) are of native
frames, which cannot be left; what Python throws there native code gets.
"""
"""What stands above the table of events and requests."""


def requests_table() -> list[str]:
    """Which events' handlers may leave a frame of their thread, or throw into it."""
    lines = ["## What a handler may ask of its thread", "", REQUESTS]
    lines += ["| event | `pop_frame` | `force_early_return_…` | `throw`, `throw_new` |"]
    lines += ["| --- | --- | --- | --- |"]
    for event in EVENTS.values():
        declaration = event.declaration
        if declaration.vm_stopped:
            cells = ["of no thread"] * 3
        else:
            frames = declaration.frames
            cells = [
                "yes" if frames is Frames.LEAVABLE else "OPAQUE_FRAME",
                "yes" if frames is not Frames.FIXED else "OPAQUE_FRAME",
                "yes" if declaration.carries_exceptions else "UNSUPPORTED_OPERATION",
            ]
        name = declaration.name
        lines.append(f"| [{name}](#{name.lower()}) | {' | '.join(cells)} |")
    return [*lines, ""]


def capability_page() -> str:
    """What each capability allows and costs, and what needs it."""
    said = comments(inspect.getsource(Capabilities))
    lines = ["# JVM TI: capabilities", "", code(inspect.getdoc(Capabilities) or ""), ""]
    lines += ["`jvmti info TARGET` says which of them a JVM can give, and why not the others.", ""]
    for one in Capabilities:
        functions = [
            f"[{made.name}]({chapter_of(made)}.md#{made.name})"
            for made in FUNCTIONS.values()
            if one.name in made.capabilities
        ]
        events = [
            f"[{event.__name__}](events.md#{event.__name__.lower()})"
            for event in EVENTS.values()
            if one.name in event.declaration.capabilities
        ]
        lines += [f"## {one.name}", "", code(said[one.name or ""]), ""]
        if functions:
            lines.append(f"Functions: {', '.join(functions)}.")
        if events:
            lines.append(f"Events: {', '.join(events)}.")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def comments(source: str) -> dict[str, str]:
    """The comments that stand above the constants of a class."""
    found: dict[str, str] = {}
    said: list[str] = []
    for line in map(str.strip, source.splitlines()):
        if line.startswith("#:"):
            said.append(line.removeprefix("#:").strip())
        elif constant := re.match(r"(\w+) = ", line):
            found[constant[1]], said = " ".join(said), []
    return found


def error_page() -> str:
    """Each error code of JVM TI, its exception, and what to do about it."""
    lines = ["# JVM TI: errors", ""]
    lines += ["Each error code is an exception of its own in `jvmti.errors`, all of them"]
    lines += ["`jvmti.JvmtiError`. The message says what the error means where it occurred.", ""]
    lines += ["| code | exception | what it means, and what to do |", "| ---: | --- | --- |"]
    lines += [
        f"| {number} {error.CONSTANT} | `{error.__name__}` | {error.DETAIL} |"
        for number, error in sorted(ERRORS.items())
    ]
    lines += ["", "## Beside the error codes", ""]
    lines += ["Every exception of the package is a `jvmti.Error`; `help(jvmti.errors)` shows the"]
    lines += ["tree. Each is in `jvmti.errors`, and is also the builtin exception named beside it."]
    lines += [""]
    lines += ["| exception | also | when |", "| --- | --- | --- |"]
    for error in OTHERS:
        builtin = next(base for base in error.__mro__ if base.__module__ == "builtins")
        also = "" if builtin is Exception else f"`{builtin.__name__}`"
        what = (inspect.getdoc(error) or "").partition("\n\n")[0]
        lines.append(f"| `{error.__name__}` | {also} | {code(' '.join(what.split()))} |")
    return "\n".join(lines) + "\n"


def constant_page() -> str:
    """Every constant by its group, with its number and what it means."""
    classes = [
        cls
        for cls in vars(constants).values()
        if isinstance(cls, type) and issubclass(cls, Constant | Flags) and cls.__members__
    ]
    lines = ["# JVM TI and JNI: constants", ""]
    lines += [
        "All are in `jvmti.interface.constants`, under the specification's names without the prefix"
    ]
    lines += ['of their group. Where a function takes one it takes its name, too: `"ENABLE"`, or']
    lines += ['`"Breakpoint"` as well as `"BREAKPOINT"`. Bits of a set are joined by `|`.', ""]
    lines += [", ".join(f"[{cls.__name__}](#{cls.__name__.lower()})" for cls in classes), ""]
    for cls in classes:
        said = comments(inspect.getsource(cls))
        text = code((inspect.getdoc(cls) or "").replace("\n", " "))
        kind = "bits" if issubclass(cls, Flags) else "one of"
        lines += [f"## {cls.__name__}", "", f"{text} ({kind}; prefix `{cls.__prefix__}`)", ""]
        lines += ["| name | value | what |", "| --- | ---: | --- |"]
        for name, member in cls.__members__.items():
            value = f"{int(member):#x}" if issubclass(cls, Flags) else str(int(member))
            lines.append(f"| `{name}` | {value} | {code(said.get(name, ''))} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def chapter_of(declaration: Declaration) -> str:
    """The chapter is the module that declares the function."""
    return declaration.method.__module__.rpartition(".")[2].rstrip("_")


def title_of(chapter: str) -> str:
    """The chapter's title from the module's name."""
    return chapter.replace("_1_0", " 1.0").replace("_", " ")


def pages() -> dict[str, str]:
    """Every page by its path below docs/reference."""
    chapters: dict[tuple[str, str], list[Declaration]] = {}
    for interface, functions in (("jvmti", FUNCTIONS), ("jni", JNI_FUNCTIONS)):
        for declaration in functions.values():
            chapters.setdefault((interface, chapter_of(declaration)), []).append(declaration)
    made: dict[str, str] = {}
    index = ["# Reference", "", INTRODUCTION]
    titles = {"jvmti": "JVM TI", "jni": "JNI"}
    for interface, title in titles.items():
        index += [f"## {title}", "", "| chapter | functions |", "| --- | --- |"]
        for (owner, chapter), members in sorted(chapters.items()):
            if owner != interface:
                continue
            path = f"{interface}/{chapter}.md"
            name = title_of(chapter)
            links = ", ".join(f"[{one.name}]({path}#{one.name})" for one in members)
            index.append(f"| [{name}]({path}) | {links} |")
            lines = [f"# {title}: {name}", ""]
            for declaration in members:
                lines += entry(declaration, title)
            made[path] = "\n".join(lines).rstrip() + "\n"
        index.append("")
    lines = ["# JVM TI: events", "", *requests_table()]
    for event in EVENTS.values():
        lines += event_entry(event)
    made["jvmti/events.md"] = "\n".join(lines).rstrip() + "\n"
    made["jvmti/capabilities.md"] = capability_page()
    made["jvmti/errors.md"] = error_page()
    made["jvmti/constants.md"] = constant_page()
    links = ", ".join(
        f"[{e.__name__}](jvmti/events.md#{e.__name__.lower()})" for e in EVENTS.values()
    )
    index += ["## Events", "", links, ""]
    index += ["## Capabilities, errors and constants", ""]
    index += ["[What each capability allows and costs](jvmti/capabilities.md),"]
    index += ["[what each error means](jvmti/errors.md),"]
    index += ["[every constant](jvmti/constants.md).", ""]
    index += ["## Not offered of JNI", "", "| function | reason |", "| --- | --- |"]
    index += [f"| {name} | {one.reason} |" for name, one in EXCLUDED.items()]
    made["README.md"] = "\n".join(index) + "\n"
    return made


OVERVIEW = re.compile(r"(<!-- api ([\w.]+) -->\n).*?(<!-- api end -->)", re.S)
"""Where a page says what a module has; in the site, its whole interface stands there instead."""


def overviews(text: str) -> str:
    """A page with what the modules that it names have, as tables."""
    return OVERVIEW.sub(lambda found: f"{found[1]}{overview(found[2])}{found[3]}", text)


def overview(path: str) -> str:
    """The classes and functions of a module, or one function, with what they are for."""
    module, _, name = path.rpartition(".")
    owner = importlib.import_module(module)
    if callable(getattr(owner, name, None)):
        named = [(name, getattr(owner, name))]
    else:
        owner = importlib.import_module(path)
        named = [
            (one, what)
            for one, what in vars(owner).items()
            if not one.startswith("_")
            and (inspect.isclass(what) or inspect.isfunction(what))
            and what.__module__ == path
        ]
    lines = ["", "| | |", "| --- | --- |"]
    for one, what in named:
        said = " ".join((inspect.getdoc(what) or "").partition("\n\n")[0].split())
        if inspect.isclass(what):
            offered = [f"`{member}`" for member in vars(what) if not member.startswith("_")]
            said += f"<br>{', '.join(offered)}" if offered else ""
        lines.append(f"| `{one}` | {code(said).replace('|', '&#124;')} |")
    return "\n".join([*lines, "", ""])


def main() -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether they are current")
    check = parser.parse_args().check
    wanted = pages()
    present = {str(path.relative_to(PAGES)) for path in PAGES.rglob("*.md")}
    stale = sorted(present - set(wanted))
    for path, text in wanted.items():
        file = PAGES / path
        if not file.exists() or file.read_text() != text:
            stale.append(path)
            if not check:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
    model = PAGES.parent / "model.md"
    if model.read_text() != (text := overviews(model.read_text())):
        stale.append("../model.md")
        if not check:
            model.write_text(text)
    if check and stale:
        print("out of date, run scripts/reference_pages.py:", *stale, sep="\n  ")
        return 1
    for path in present - set(wanted):
        (PAGES / path).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
