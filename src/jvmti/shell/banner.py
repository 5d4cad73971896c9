"""The banner: which JVM this is, which capabilities it has, and what to try."""

from __future__ import annotations

import shutil
import textwrap
import time
from typing import TYPE_CHECKING

from jvmti.interface.capabilities import Capabilities
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_WORDS = {
    Capabilities.can_generate_breakpoint_events: "breakpoints",
    Capabilities.can_generate_single_step_events: "single steps",
    Capabilities.can_access_local_variables: "local variables in full",
    Capabilities.can_generate_field_modification_events: "watchpoints",
    Capabilities.can_generate_exception_events: "exceptions as they are thrown",
    Capabilities.can_pop_frame: "popping frames",
    Capabilities.can_force_early_return: "early returns",
    Capabilities.can_generate_method_entry_events: "method entries",
    Capabilities.can_get_owned_monitor_info: "monitors that a thread owns",
    Capabilities.can_suspend: "suspending threads",
    Capabilities.can_signal_thread: "interrupting threads",
    Capabilities.can_redefine_classes: "redefining classes",
    Capabilities.can_get_bytecodes: "bytecodes",
    Capabilities.can_tag_objects: "tags",
    Capabilities.can_generate_monitor_events: "lock contention",
    Capabilities.can_generate_sampled_object_alloc_events: "allocation samples",
    Capabilities.can_support_virtual_threads: "virtual threads",
}
"""Plain words for the capabilities that users want most."""

_TRY = (
    ("%threads", "the live threads; then %stack NAME, %heap, %class NAME"),
    ('vm.find_class("java.util.Ha<Tab>', "Tab completes Java names"),
    ("env.get_thread_state?", "shows the specification; %threads? explains a %command"),
)
_TRY_HELD = (
    ("%go", "lets it start; until then few functions work"),
    ("%break com.acme.Main.main", "stops it there, once it runs"),
    ("env.add_capabilities?", "shows the specification; %go? explains a %command"),
)

_WIDEST = 100


def banner(vm: VM, *, bold: bool = False) -> str:
    """The text, wrapped to the terminal.

    Args:
        vm: the JVM, live or held in its OnLoad phase.
        bold: mark the headings for a terminal.
    """
    process, properties = vm.process, vm.properties
    width = min(shutil.get_terminal_size().columns, _WIDEST)

    def marked(text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if bold else text

    def entry(head: str, text: str) -> str:
        indent = " " * 11
        lines = textwrap.wrap(text, max(width - len(indent), 20), break_long_words=False)
        return marked(f"{head:<11}") + f"\n{indent}".join(lines or [""])

    version = process.java_version or properties.get("java.version") or ""
    name = f"{properties.get('java.vm.name', '')} {properties.get('java.vm.version', '')}"
    allows = vm.capabilities.status()
    held = sorted(allows.held.names())
    lines = [
        marked(printable(process.main or "?", width)) + f", pid {process.pid}: "
        f"Java {printable(version)}, {printable(name)}",
        _state(vm),
        "",
        entry("held", ", ".join(held) or "no capability: nothing is slower yet"),
        entry(
            "available",
            f"{_count(allows.available)}: {_in_words(allows.available)}; "
            'vm.env.add_capabilities({"can_…"}) takes one, %env lists them',
        ),
    ]
    if allows.emulated:
        listed = f"{_count(allows.emulated)}: {_in_words(allows.emulated)}"
        lines.append(entry("emulated", f"{listed}; the model does them without the VM's grant"))
    reasons: dict[tuple[str, str], Capabilities] = {}
    for one in allows.unavailable:
        reason = (one.why, one.how)
        reasons[reason] = reasons.get(reason, Capabilities(0)) | one.capability
    for (why, how), capabilities in reasons.items():
        listed = f"{_count(capabilities)}: {_in_words(capabilities)}; {why}"
        lines.append(entry("missing", f"{listed}; {how}" if how else listed))
    tries = _TRY_HELD if vm.held else _TRY
    lines.append("")
    for at, (what, meaning) in enumerate(tries):
        lines.append(marked(f"{'try' if not at else '':<11}") + f"{what:<34}{meaning}")
    return "\n".join(line.rstrip() for line in lines)


def _state(vm: VM) -> str:
    if vm.held:
        return "held at its start: none of its code has run yet"
    up = duration(max(0.0, time.time() - vm.process.started))
    how = "the agent was loaded at the start" if vm.loaded_at_startup else "attached now"
    return f"up for {up}, {quantity(len(vm.threads), 'thread')}; {how}"


def _count(capabilities: Capabilities) -> str:
    return f"{len(capabilities.names())}"


def _in_words(capabilities: Capabilities) -> str:
    known = [word for one, word in _WORDS.items() if one & capabilities]
    if not known:
        return ", ".join(sorted(capabilities.names()))
    more = len(capabilities.names()) > len(known)
    return ", ".join(known) + (" and others" if more else "")


__all__ = ["banner"]
