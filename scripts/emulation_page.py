"""Writes docs/emulation.md from what the emulating engines say of themselves.

Usage: ``python scripts/emulation_page.py [--check]``.  With ``--check`` nothing is written, and the
exit status says whether the page is current.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jvmti.emulation.declared import Emulated, Engine
from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import ALL, ONLOAD_ONLY, Capabilities
from jvmti.model.engines import ENGINES

PAGE = Path(__file__).parent.parent / "docs" / "emulation.md"
RELEASES = (11, 17, 21, 25)
EARLY = "it concerns what happens before the VM is live"
BEFORE_LIVE = Capabilities.of("can_generate_early_vmstart", "can_generate_early_class_hook_events")
NOBODY = "no engine does it yet"
INTRODUCTION = """\
# Emulated capabilities

HotSpot grants 18 of its capabilities only while it starts. To a JVM that was attached to late, this
package does what many of them allow by other means: it *emulates* them. This page says what, and
how it differs. It is made by `scripts/emulation_page.py` from the declarations beside the engines.

## Who uses it

The model does, without being asked: `thread.owned_monitors`, `thread.contended_monitor`,
`frame.monitors`, `frame.locals` and `vm.deadlocks()` work after a late attach. `vm.env` is the VM's
JVM TI as it is, and refuses, unless you ask for emulation:

```python
with jvmti.attach(4711, emulate=True) as vm:
    vm.env.add_capabilities({"can_get_owned_monitor_info"})
    for thread in vm.env.get_all_threads():
        print(thread.name, vm.env.get_owned_monitor_info(thread))
```

`jvmti shell MyServer --emulate` opens such a session, too, and `jvmti events` emulates without
being asked, unless `--native` is given. What the VM grants is never emulated.
`jvmti info`, `%env` and `vm.capabilities` say of each capability whether it is native, emulated or
unavailable.

## What it costs

Nothing is emulated, and nothing costs anything, until such a function is called.
"""

COSTS = {
    "owned monitors, the contended monitor": "the thread is suspended for the call; the VM stops "
    "once to look at the roots of all stacks, and briefly for each object that its frames refer "
    "to; from Java 25 on it does not stop, unless native methods of the program are on the stack",
    "variables of the thread of an event": "the thread walks its own stack, which runs Java code "
    "of the JDK's",
    "objects in variables of other threads": "the thread is suspended for the call; the VM stops "
    "once to look at the roots of all stacks",
    "names of variables": "the VM hands out the class file, which discards no code",
    "a breakpoint": "its class is retransformed; its method stays compiled",
    "a watched field": "the classes that name the field are retransformed",
    "`MethodEntry`, `MethodExit`, `ExceptionCatch`": "all classes that can be changed are "
    "retransformed, some 0.5 ms each; `env.stream` with `classes=` changes only those; calls that "
    "run already go on in the interpreter",
    "`SingleStep`": "the same, and each line of all threads costs an event",
    "`Exception`": "`Throwable` is retransformed",
    "`FramePop`": "methods of classes with breakpoints get probes at their ends",
    "source debug extension, order of methods": "the same, and the class loader reads its own "
    "file, which runs Java code",
}

MEASURED = """\
`vm.emulation.pauses` says how often and how long the VM was stopped in this session to look at its
stacks.

Events come from [probes](breakpoints.md#in-any-running-jvm) in the program's methods. Handlers,
callbacks and streams receive them as they receive the VM's own. Locations, line numbers and
variables of methods, and the frames of stacks, are those without the probes; `get_bytecodes`,
`get_constant_pool` and class files show them. Stacks in streams begin with two frames of the probe,
and streams compute lines of breakpoints and field accesses from code with probes. When the session
ends, or this process dies, the probes do nothing from that moment on, and the agent takes them out.
"""


def declared() -> dict[Capabilities, list[tuple[type[Engine], Emulated]]]:
    """What engines say of each capability."""
    found: dict[Capabilities, list[tuple[type[Engine], Emulated]]] = {}
    for engine in ENGINES:
        for one in engine.emulated:
            found.setdefault(one.capability, []).append((engine, one))
    return found


def state(one: Capabilities, release: int) -> str:
    """What an agent that was attached late has of a capability."""
    if one & Capabilities.can_support_virtual_threads and release < 21:
        return "unavailable"
    if one not in ONLOAD_ONLY:
        return "native"
    known = declared().get(one, [])
    return "emulated" if any(it.since <= release for _, it in known) else "unavailable"


def events_of(one: Capabilities) -> list[str]:
    """The events that need a capability."""
    events = (event.declaration for event in EVENTS.values())
    return [event.name for event in events if one.name in event.capabilities]


def functions_of(one: Capabilities) -> list[str]:
    """The functions that need a capability."""
    return [name for name, known in FUNCTIONS.items() if one.name in known.capabilities]


def overview() -> list[str]:
    """All capabilities, on each release."""
    lines = ["| capability | " + " | ".join(map(str, RELEASES)) + " |"]
    lines.append("| --- |" + " --- |" * len(RELEASES))
    for one in ALL:
        cells = " | ".join(state(one, release) for release in RELEASES)
        lines.append(f"| `{one}` | {cells} |")
    return lines


def details(one: Capabilities) -> list[str]:
    """The section of a capability that the VM does not grant late."""
    lines = ["", f"### {one}", ""]
    known = declared().get(one, [])
    if not known:
        why = EARLY if one in BEFORE_LIVE else NOBODY
        names = ", ".join(f"`{name}`" for name in [*functions_of(one), *events_of(one)])
        behind = f", and with it {names}" if names else ""
        lines.append(f"Unavailable on 11, 17, 21 and 25{behind}: {why}.")
        return lines
    names = "; ".join(engine.name for engine, _ in known)
    lines += [f"By: {names}.", "", "| function or event | | what differs |", "| --- | --- | --- |"]
    more = [name for _, it in known for name in (*it.functions, *it.events)]
    for name in dict.fromkeys([*functions_of(one), *events_of(one), *more]):
        done = [it for _, it in known if name in (*it.functions, *it.events)]
        differs = "; ".join(it.differs[name] for it in done if name in it.differs)
        lacks = "; ".join(it.lacks[name] for _, it in known if name in it.lacks)
        if any(name not in it.lacks for it in done):
            lines.append(f"| `{name}` | emulated | {differs} |")
        else:
            lines.append(f"| `{name}` | unavailable | {lacks or NOBODY} |")
    return lines


def native() -> list[str]:
    """What depends on the capabilities that the VM grants at any time."""
    lines = ["", "## Functions and events that need no emulation", ""]
    lines.append(
        "These depend on capabilities that the VM grants late, too: they are native on every JVM "
        "that has them."
    )
    lines += ["", "| capability | functions | events |", "| --- | --- | --- |"]
    for one in ALL & ~ONLOAD_ONLY:
        cells = [
            ", ".join(f"`{name}`" for name in names)
            for names in (functions_of(one), events_of(one))
        ]
        lines.append(f"| `{one}` | {cells[0]} | {cells[1]} |")
    return lines


def page() -> str:
    """The whole page."""
    lines = [INTRODUCTION, "| call | what happens to the program |", "| --- | --- |"]
    lines += [f"| {call} | {what} |" for call, what in COSTS.items()]
    lines += ["", MEASURED, "## Capabilities", "", *overview()]
    lines += ["", "## What differs"]
    for one in ALL & ONLOAD_ONLY:
        lines += details(one)
    return "\n".join([*lines, *native(), ""])


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    check = parser.parse_args().check
    text = page()
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    if check:
        print(f"out of date, run scripts/{Path(__file__).name}")
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
