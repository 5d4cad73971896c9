"""Make docs/conformance.md from what the conformance tests have shown.

    python -m pytest tests/conformance tests/events      # all of them, on all JVMs
    python scripts/conformance_page.py

The tests leave their evidence in build/conformance.json: function, JVM, and what was shown.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests")]

import jvms  # noqa: E402
from conformance.evidence import EVENT, LACKS, RESULT  # noqa: E402
from conformance.pairs import EVERY, UNIVERSAL, pairs  # noqa: E402
from conformance.unprovoked import UNPROVOKED  # noqa: E402
from jvmti.env.events import EVENTS  # noqa: E402
from jvmti.env.interface import FUNCTIONS, Functions  # noqa: E402
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS  # noqa: E402

if TYPE_CHECKING:
    from jvmti.env.events import EventDeclaration
    from jvmti.interface.declaration import Declaration

PAGE = ROOT / "docs" / "conformance.md"
EVIDENCE = ROOT / "build" / "conformance.json"
NOT_SHOWN = "**not shown**"
#: In a cell: the function came with a later release of Java.
TOO_NEW = "from {release}"
STREAM = "stream"

Shown = dict[str, dict[str, list[str]]]

INTRODUCTION = """\
# Conformance

What the tests in `tests/conformance` and `tests/events` have shown on each JVM, written by
`scripts/conformance_page.py` after a run of all of them. A *right* result is one that an
independent witness confirmed: Java reflection and `java.lang.management` inside the test program,
`jcmd`, `javap`, the class file, or the kernel. An error counts when a real JVM gave it.
An event is right where a handler was given it at the right moment, on the right thread, with all
that it brings, and an independent witness confirmed that.

| JVM | what it is |
|---|---|
| 11, 17, 21, 25 | Eclipse Temurin's HotSpot of that release, x86-64 Linux |
| zero | Debian's interpreter-only HotSpot of release 17 |

In a cell:

- `right, 5` — the right result and five errors were shown;
- `right` — the right result was shown, and there is no error that this JVM could give;
- `from 21` — the function came with that release, and calling it gives `NotInThisVersion`;
- `stream` — the event is sent while the VM is stopped: for streams, and for callbacks that are
  called late;
- `no can_pop_frame` — this JVM does not offer the capability, which `add_capabilities` says; the
  errors that it gives all the same are counted behind it;
- `no compiled code` — this JVM never has what the event tells of.

Under each table stand the errors by name: those on every JVM that has the function, those on some,
and those that the specification lists or implies and that no test could provoke, which
[the last section](#not-provoked) explains.
"""


def feature(jvm: str) -> int:
    """The release of Java of a JVM by its name here."""
    return 17 if jvm == "zero" else int(jvm)


def release_of(declaration: Declaration) -> int:
    """The release of Java that brought a function; 0 for those of the beginning."""
    release = int(declaration.since.split(".")[0])
    return release if release > 1 else 0


def errors_in(what: list[str]) -> list[str]:
    """The errors among what was shown."""
    return sorted(one for one in what if one != RESULT and not one.startswith(LACKS))


def cell_of(declaration: Declaration, jvm: str, what: list[str]) -> str:
    """What a table says of one function on one JVM."""
    if release_of(declaration) > feature(jvm):
        return TOO_NEW.format(release=release_of(declaration))
    lacking = [one.removeprefix(LACKS) for one in what if one.startswith(LACKS)]
    errors = errors_in(what)
    if RESULT in what:
        return f"right, {len(errors)}" if errors else "right"
    if lacking:
        return f"no {', '.join(lacking)}" + (f", {len(errors)}" if errors else "")
    return NOT_SHOWN


def details_of(name: str, declaration: Declaration, shown: dict[str, list[str]]) -> list[str]:
    """The errors of one function by name, in a line of the list under a table."""
    having = [jvm for jvm in jvms.NAMES if release_of(declaration) <= feature(jvm)]
    by_error: dict[str, list[str]] = {}
    for jvm in having:
        for error in errors_in(shown.get(jvm, [])):
            by_error.setdefault(error, []).append(jvm)
    everywhere = [error for error, where in sorted(by_error.items()) if where == having]
    partly = [
        f"{error} ({', '.join(where)})"
        for error, where in sorted(by_error.items())
        if where != having
    ]
    never = sorted(error for function, error in UNPROVOKED if function == name)
    parts = [", ".join([*everywhere, *partly]) or "none"]
    if never:
        parts.append("not provoked: " + ", ".join(never))
    return [f"- `{name}`: {'; '.join(parts)}"]


def section(title: str, functions: dict[str, Declaration], shown: Shown) -> list[str]:
    """A chapter: its table, and the errors by name."""
    lines = [f"## {title}", "", f"| function | {' | '.join(jvms.NAMES)} |"]
    lines.append("|---" * (len(jvms.NAMES) + 1) + "|")
    for name, declaration in functions.items():
        what = shown.get(name, {})
        cells = [cell_of(declaration, jvm, what.get(jvm, [])) for jvm in jvms.NAMES]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    details = [
        line
        for name, declaration in functions.items()
        for line in details_of(name, declaration, shown.get(name, {}))
    ]
    if details:
        lines += ["", "Errors:", "", *details]
    return [*lines, ""]


def events_section(shown: Shown) -> list[str]:
    """The events, each by JVM."""
    lines = ["## Events", "", f"| event | {' | '.join(jvms.NAMES)} |"]
    lines.append("|---" * (len(jvms.NAMES) + 1) + "|")
    for event in EVENTS.values():
        declaration = event.declaration
        what = shown.get(EVENT + declaration.name, {})
        cells = [event_cell_of(declaration, jvm, what.get(jvm, [])) for jvm in jvms.NAMES]
        lines.append(f"| `{EVENT}{declaration.name}` | {' | '.join(cells)} |")
    return [*lines, ""]


def event_cell_of(declaration: EventDeclaration, jvm: str, what: list[str]) -> str:
    """What the table says of one event on one JVM."""
    release = int(declaration.since.split(".")[0])
    if release > feature(jvm):
        return TOO_NEW.format(release=release)
    if declaration.vm_stopped:
        return STREAM
    lacking = [one.removeprefix(LACKS) for one in what if one.startswith(LACKS)]
    return "right" if RESULT in what else f"no {', '.join(lacking)}" if lacking else NOT_SHOWN


def chapters() -> dict[str, dict[str, Declaration]]:
    """The functions of JVM TI by chapter, in the order of the specification."""
    found: dict[str, dict[str, Declaration]] = {}
    for chapter in Functions.__bases__:
        assert chapter.__doc__
        title = re.search(r'"(.+)"', chapter.__doc__)
        assert title, chapter
        found[title.group(1)] = {
            name: declaration for name, declaration in FUNCTIONS.items() if name in vars(chapter)
        }
    return found


def figures(shown: Shown) -> list[str]:
    """How much was shown, in numbers."""
    every = pairs()
    provoked = {
        (name, error)
        for name, by_jvm in shown.items()
        for what in by_jvm.values()
        for error in errors_in(what)
    }
    count = len(every - set(UNPROVOKED))
    beyond = {pair for pair in provoked - every if not pair[0].startswith(("jni.", EVENT))}
    text = (
        f"The specification lists or implies {len(every)} pairs of a function and an error. "
        f"{count} were provoked, {len(UNPROVOKED)} were not "
        f"({100 * len(UNPROVOKED) / len(every):.1f} %). {len(beyond)} more were shown beyond "
        "these, most of them checks of the agent's own."
    )
    left_out = (
        "Three things are not among the pairs. NULL_POINTER for a pointer that a result is written "
        "to: the agent owns all of these, and a method in Python has no parameter for them. "
        "NOT_AVAILABLE for a capability, which `add_capabilities` gives. And the universal errors "
        f"({', '.join(UNIVERSAL)}), which are counted once and not for every function."
    )
    lines = [text, "", left_out]
    if missing := every - provoked - set(UNPROVOKED):
        lines += ["", f"{NOT_SHOWN}: {', '.join(' '.join(pair) for pair in sorted(missing))}"]
    return [*lines, ""]


def not_provoked() -> list[str]:
    """The reasons, each with its pairs."""
    by_reason: dict[str, list[str]] = {}
    for (function, error), reason in UNPROVOKED.items():
        where = function if function == EVERY else f"`{function}`"
        by_reason.setdefault(reason, []).append(f"{where} {error}")
    lines = ["## Not provoked", ""]
    lines += [
        f"The errors {', '.join(UNIVERSAL)} may come from every function and count once.",
        "",
    ]
    for reason, group in by_reason.items():
        lines += [f"- {', '.join(group)}: {reason}"]
    return [*lines, ""]


def text_of(shown: Shown) -> str:
    """The whole page."""
    lines = [INTRODUCTION, *figures(shown)]
    for title, functions in chapters().items():
        lines += section(title, functions, shown)
    jni = {f"jni.{name}": declaration for name, declaration in JNI_FUNCTIONS.items()}
    lines += section("JNI", jni, shown)
    lines += events_section(shown)
    lines += not_provoked()
    return "\n".join(lines).rstrip() + "\n"


def rows_of(page: str) -> dict[str, list[str]]:
    """The rows of a page's tables: the cells of each function."""
    rows = {}
    for line in page.splitlines():
        match = re.fullmatch(r"\| `([\w.]+)` \| (.*) \|", line)
        if match:
            rows[match.group(1)] = [cell.strip() for cell in match.group(2).split("|")]
    return rows


def main() -> None:
    """Write the page."""
    if not EVIDENCE.exists():
        raise SystemExit(f"{EVIDENCE.relative_to(ROOT)} is not there; run the tests first")
    text = text_of(json.loads(EVIDENCE.read_text()))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text)
    gaps = text.count(NOT_SHOWN)
    print(f"{PAGE.relative_to(ROOT)}: {len(rows_of(text))} functions and events, {gaps} gaps")


if __name__ == "__main__":
    main()
