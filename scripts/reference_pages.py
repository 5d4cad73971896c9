"""Writes docs/reference from the declarations: one page for each chapter of the interface.

Usage: ``python scripts/reference_pages.py [--check]``.  With ``--check`` nothing is written, and
the exit status says whether the pages are current.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from pathlib import Path

from jvmti.env.events import EVENTS, JvmtiEvent, OwnWork
from jvmti.env.interface import FUNCTIONS
from jvmti.jni.interface import EXCLUDED
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.spec.declaration import Declaration

PAGES = Path(__file__).parent.parent / "docs" / "reference"


def signature(declaration: Declaration) -> str:
    """The method's signature as a user writes it."""
    shown = inspect.signature(declaration.method)
    parameters = [
        parameter.replace(annotation=parameter.annotation)
        for name, parameter in shown.parameters.items()
        if name != "self"
    ]
    text = str(shown.replace(parameters=parameters)).replace("'", "")
    return f"{declaration.name}{text}"


def entry(declaration: Declaration, interface: str) -> list[str]:
    """The section of one function."""
    facts = [f"slot {declaration.slot}", f"since {declaration.since}"]
    if interface == "JVM TI":
        facts.insert(0, f"phase: {declaration.phase.value}")
        if declaration.callback_safe:
            facts.append("may be called from heap and GC callbacks")
    lines = [
        f"## {declaration.name}",
        "",
        f"`{signature(declaration)}`",
        "",
        f"{interface} {declaration.c_name}; {', '.join(facts)}.",
    ]
    if declaration.capabilities:
        lines.append(f"Needs {', '.join(f'`{name}`' for name in declaration.capabilities)}.")
    if declaration.callback:
        lines.append("Takes a Python function that is called back.")
    lines += ["", "```text", inspect.getdoc(declaration.method) or "", "```", ""]
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
        facts.append("can be had for single threads")
    lines = [f"## {declaration.name}", "", f"{inspect.getdoc(event)}", "", f"{', '.join(facts)}."]
    if declaration.capabilities:
        lines.append(f"Needs {', '.join(f'`{name}`' for name in declaration.capabilities)}.")
    if declaration.vm_stopped:
        lines.append("For streams only: the VM is stopped while it is sent.")
    else:
        lines.append(f"Its thread waits {limit} for a handler that does not say otherwise.")
    own = {
        OwnWork.NEVER: "Not told where this controller's own calls or handlers cause it",
        OwnWork.IN_CALLS: "Not told where this controller's own handlers cause it",
    }.get(declaration.own_work)
    if own and declaration.told_with:
        own += f", unless it has a `{declaration.told_with}`"
    lines += [f"{own}."] if own else []
    rows = attributes(event)
    if rows:
        lines += ["", "| attribute | type | what |", "| --- | --- | --- |"]
        for name, type_, text in rows:
            lines.append(f"| {name} | `{type_.replace('|', chr(92) + '|')}` | {text} |")
    return [*lines, ""]


def chapter_of(declaration: Declaration) -> str:
    """The chapter is the module that declares the function."""
    return declaration.method.__module__.rpartition(".")[2].rstrip("_")


def pages() -> dict[str, str]:
    """Every page by its path below docs/reference."""
    chapters: dict[tuple[str, str], list[Declaration]] = {}
    for interface, functions in (("jvmti", FUNCTIONS), ("jni", JNI_FUNCTIONS)):
        for declaration in functions.values():
            chapters.setdefault((interface, chapter_of(declaration)), []).append(declaration)
    made: dict[str, str] = {}
    index = ["# Reference", "", "Made from the declarations by `scripts/reference_pages.py`.", ""]
    titles = {"jvmti": "JVM TI", "jni": "JNI"}
    for interface, title in titles.items():
        index += [f"## {title}", "", "| chapter | functions |", "| --- | --- |"]
        for (owner, chapter), members in sorted(chapters.items()):
            if owner != interface:
                continue
            path = f"{interface}/{chapter}.md"
            name = chapter.replace("_", " ")
            links = ", ".join(f"[{one.name}]({path}#{one.name})" for one in members)
            index.append(f"| [{name}]({path}) | {links} |")
            lines = [f"# {title}: {name}", ""]
            for declaration in members:
                lines += entry(declaration, title)
            made[path] = "\n".join(lines).rstrip() + "\n"
        index.append("")
    lines = ["# JVM TI: events", ""]
    for event in EVENTS.values():
        lines += event_entry(event)
    made["jvmti/events.md"] = "\n".join(lines).rstrip() + "\n"
    links = ", ".join(f"[{e.__name__}](jvmti/events.md#{e.__name__})" for e in EVENTS.values())
    index += ["## Events", "", links, ""]
    index += ["## Not offered of JNI", "", "| function | reason |", "| --- | --- |"]
    index += [f"| {name} | {reason} |" for name, reason in EXCLUDED.items()]
    made["README.md"] = "\n".join(index) + "\n"
    return made


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
    if check and stale:
        print("out of date, run scripts/reference_pages.py:", *stale, sep="\n  ")
        return 1
    for path in present - set(wanted):
        (PAGES / path).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
