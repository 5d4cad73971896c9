"""``jvmti info``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jvmti.commands.options.targets import add_json, add_target, opened
from jvmti.interface.capabilities import Capabilities
from jvmti.model.usage import usage
from jvmti.report.tables import console, print_json
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity, size

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class Command:
    """Show a JVM: version, start, resources, capabilities.

    It shows the VM and its version, command line and system properties; its use of processors and
    memory, heap and code cache, garbage collections, and the VM's own threads; and the available
    JVM TI capabilities, and the others with a reason and a remedy.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        add_json(parser)
        parser.add_argument(
            "--properties", action="store_true", help="list all system properties too"
        )
        parser.add_argument(
            "--capabilities",
            action="store_true",
            help="list the functions and events behind each capability too",
        )

    def run(self, given: argparse.Namespace) -> None:
        """Print the results."""
        with opened(given) as vm:
            found = _found(vm)
        if given.json:
            print_json(found)
        else:
            _print(found, given.properties)
            if given.capabilities:
                _print_capabilities(found["capabilities"]["all"])


def _found(vm: VM) -> dict[str, Any]:
    process = vm.process
    properties = vm.properties
    allows = vm.capabilities.status()
    threads = len(vm.threads)
    return {
        "pid": process.pid,
        "main": process.main,
        "arguments": list(process.arguments),
        "jvm_arguments": list(process.jvm_arguments),
        "java_version": process.java_version or properties.get("java.version"),
        "vm": properties.get("java.vm.name"),
        "vm_version": properties.get("java.vm.version"),
        "vm_info": properties.get("java.vm.info"),
        "jvmti_version": ".".join(map(str, vm.version)),
        "phase": vm.phase.name,
        "loaded_at_startup": vm.loaded_at_startup,
        "uptime": max(0.0, time.time() - process.started),
        "processors": vm.env.get_available_processors(),
        "threads": threads,
        "classes": len(vm.classes()),
        "usage": usage(vm),
        "properties": properties,
        "capabilities": {
            "held": _names(allows.held),
            "available": _names(allows.available),
            "emulated": _names(allows.emulated),
            "unavailable": [
                {"name": str(one.capability.name), "why": one.why, "how": one.how}
                for one in allows.unavailable
            ],
            "all": [
                {
                    "name": str(one.capability),
                    "source": one.source.value,
                    "why": one.why,
                    "functions": list(one.functions),
                    "events": list(one.events),
                }
                for one in vm.capabilities.supports()
            ],
        },
    }


def _names(capabilities: Capabilities) -> list[str]:
    return [str(one.name) for one in capabilities]


def _print(found: dict[str, Any], properties: bool) -> None:
    out = console()

    def line(name: str, value: object) -> None:
        out.print(f"{name + ':':<22}{printable(str(value))}")

    line("process", f"{found['pid']} {found['main']}")
    if found["arguments"]:
        line("arguments", " ".join(found["arguments"]))
    line("JVM", f"{found['vm']} {found['vm_version']} ({found['vm_info']})")
    line("Java", found["java_version"])
    line("JVM arguments", " ".join(found["jvm_arguments"]) or "none")
    line("JVM TI", found["jvmti_version"])
    line("phase", found["phase"])
    line("up for", duration(found["uptime"]))
    line("agent", "loaded at the start" if found["loaded_at_startup"] else "attached later")
    line("processors", found["processors"])
    line("threads", found["threads"])
    line("classes", found["classes"])
    _print_usage(line, found["usage"])
    capabilities = found["capabilities"]
    out.print(f"\ncapabilities available now ({len(capabilities['available'])}):")
    for name in capabilities["available"]:
        out.print(f"  {name}")
    if capabilities["emulated"]:
        out.print(
            f"\nemulated, see docs/emulation.md ({len(capabilities['emulated'])}); environments "
            "get them by attach(…, emulate=True):"
        )
        for name in capabilities["emulated"]:
            out.print(f"  {name}")
    groups: dict[tuple[str, str], list[str]] = {}
    for one in capabilities["unavailable"]:
        groups.setdefault((one["why"], one["how"]), []).append(one["name"])
    for (why, how), names in groups.items():
        out.print(f"\nnot available ({len(names)}): {why}")
        if how:
            out.print(f"  to get them: {how}")
        for name in names:
            out.print(f"  {name}")
    if properties:
        out.print("\nsystem properties of the VM:")
        for name, value in sorted(found["properties"].items()):
            out.print(f"  {printable(name)} = {printable(value)}")
    else:
        out.print(f"\n{len(found['properties'])} system properties; --properties lists them")


def _print_capabilities(found: list[dict[str, Any]]) -> None:
    out = console()
    out.print("\nbehind each capability:")
    for one in found:
        why = f": {one['why']}" if one["why"] else ""
        out.print(f"  {one['name']} ({one['source']}{why})")
        for what in ("functions", "events"):
            if one[what]:
                out.print(f"    {what}: {', '.join(one[what])}")


def _print_usage(line: Callable[[str, object], None], found: dict[str, Any]) -> None:
    load = " ".join(f"{one:.2f}" for one in found["load_average"])
    line("uses", f"{found['processors_used']:.0%} of a processor; load of the machine {load}")
    for kind, one in found["threads_by_kind"].items():
        line(
            f"  {kind}",
            f"{quantity(one['threads'], 'thread')}, {one['processors']:.0%} now, "
            f"{one['cpu_seconds']} s in all",
        )
    if found["resident"] is not None:
        line("memory", f"{size(found['resident'])} resident, {size(found['swapped'] or 0)} swapped")
    heap, code = found["heap"], found["code_cache"]
    if heap is not None:
        line(
            "heap",
            f"{size(heap['used'])} used of {size(heap['committed'])}, at most "
            f"{size(heap['maximum'])}",
        )
    if found["metaspace"] is not None:
        line("metaspace", f"{size(found['metaspace'])} used")
    if code is not None:
        line("code cache", f"{size(code['used'])} used of {size(code['size'])}")
    for one in found["collections"]:
        line("collections", f"{one['count']} in {duration(one['seconds'])}, {one['name']}")
