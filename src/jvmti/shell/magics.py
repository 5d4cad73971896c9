"""The commands that show what there is in a JVM: ``%threads``, ``%class``, ``%heap``."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jvmti.model.classes.java_class import Class, Method
from jvmti.model.threads.frames import Frame
from jvmti.model.threads.java_thread import Thread
from jvmti.shell.debugger import frames, requests, steps  # noqa: F401 - their commands, too
from jvmti.shell.expressions import NotEvaluated, evaluate
from jvmti.shell.registry import MAGICS, Magic, UsageError, magic, missing, run, unquoted
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.model.vm import VM

TOP = 25
"""Rows of a histogram."""


@magic("threads")
def threads(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the live threads: number, name, state, processor time, top frame.

        %threads              all of them
        %threads http         those with this in their names
        %threads 'http-*'     those whose names match a shell pattern
        %threads -v           virtual threads as well: runs a few lines of the JDK's code there

    `vm.threads.snapshot()` gives the same as objects.
    """
    from jvmti.report.tables import print_table
    from jvmti.text.quantities import processor_time

    virtual = text == "-v" or text.startswith("-v ")
    pattern = unquoted(text.removeprefix("-v") if virtual else text)
    found = vm.threads.snapshot(1, virtual=virtual)
    chosen = [one for one in found if _matches(one.name, pattern)]
    if not chosen:
        raise UsageError(
            f"none of the {len(found)} live threads has {pattern!r} in its name; %threads lists all"
        )
    print_table(
        [">ID", "THREAD", "STATE", ">CPU", "TOP FRAME"],
        [
            [
                one.id,
                one.name,
                one.java_state,
                processor_time(one.cpu_time),
                str(one.frames[0]) if one.frames else "",
            ]
            for one in chosen
        ],
        styles=["red" if one.java_state == "BLOCKED" else None for one in chosen],
    )


@magic("threads")
def stack(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the stacks of threads, the most recent frame first.

        %stack main           the thread of that name, or of that number
        %stack 'http-*'       all that match
        %stack t              the thread in a variable
        %stack                all threads

    The threads are not suspended.  `thread.frames` gives the frames as objects.
    """
    given = _given(names, text)
    found = vm.threads.snapshot(virtual=False)
    name = unquoted(text)
    if isinstance(given, Thread):
        chosen = [one for one in found if one.thread == given]
    elif name:
        chosen = [one for one in found if one.name == name or str(one.id) == name.lstrip("#")]
        chosen = chosen or [one for one in found if _matches(one.name, name)]
    else:
        chosen = found
    if not chosen:
        if isinstance(given, Thread):
            raise UsageError(f"the thread {text} has ended")
        vm.threads[name]  # whose error suggests similar ones
    for at, one in enumerate(chosen):
        if at:
            print()
        print(f'"{printable(one.name)}" #{one.id} {one.java_state}')
        for frame in one.frames:
            print(f"  {frame.depth:>3}  {printable(str(frame))}")
        if not one.frames:
            print("       no Java frames")


@magic("types")
def class_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show a class: its declaration, loader, fields and methods.

        %class java.util.HashMap      the loaded class of that name
        %class cls                    the class in a variable
        %class 'com.acme.*'           the names of the loaded classes that match

    `vm.find_class(name)` gives the class, `cls.fields` and `cls.methods` what is in it.
    """
    from jvmti.report.tables import print_table
    from jvmti.shell.descriptions import describe

    if not text:
        raise UsageError("%class needs a name, as in %class java.util.HashMap")
    found = _classes(vm, names, text)
    if len(found) > 1:
        rows = sorted((one.name, _loader(one)) for one in found)
        print_table(["CLASS", "LOADER"], rows)
        return
    cls = found[0]
    print(describe(cls))
    for head, members in (
        ("fields", [str(field) for field in cls.fields]),
        ("methods", [str(one) for one in cls.methods]),
    ):
        print(f"\n{head} ({len(members)})")
        for member in members:
            print(f"  {printable(member)}")


@magic("classes")
def source(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the source of a class, a method or a frame.

        %source -p src/main/java               look there, a directory or a jar, from now on
        %source com.acme.Order                 the file
        %source com.acme.Order.total           the method
        %source vm.threads["main"].frames[3]   the lines around a frame's

    It searches `vm.source_path`; `cls.source` and `method.source` give the lines.
    """
    if text.startswith("-p "):
        vm.source_path.append(unquoted(text[3:]))
        return
    given = _given(names, text)
    if isinstance(given, Frame) and given.line is not None:
        method = given.method
        found = vm.source_path.around(method.class_name, method.source_file, given.line, 10)
    elif isinstance(given, Frame):
        found = given.method.source
    else:
        found = (_class_or_none(vm, names, text) or _methods(vm, names, text)[0]).source
    print(printable(found.path))
    for line in str(found).split("\n"):
        print(printable(line.expandtabs()))


@magic("classes")
def dis(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the code of a method, as `javap -c` writes it.

        %dis java.util.HashMap.get                  all of that name
        %dis java.util.HashMap.put(Object,Object)   the one with these parameters
        %dis m                                      the method, or frame, in a variable

    `method.disassemble(verbose=True)` shows more, `method.instructions` returns them as objects.
    """
    for at, method in enumerate(_methods(vm, names, text)):
        if at:
            print()
        for line in method.disassemble().split("\n"):
            print(printable(line))


@magic("types")
def heap(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the objects and bytes of each class.

        %heap                         the largest classes
        %heap java.util.*             of these only
        %heap 'byte[]'

    This stops the program for about 13 ms per million objects, and includes unreachable objects
    that have not been collected yet.  `vm.heap.histogram()` gives the same as columns.
    """
    from jvmti.report.tables import print_table

    pattern = unquoted(text)
    histogram = vm.heap.histogram(classes=pattern or None)
    rows = [[f"{row.count:,}", f"{row.bytes:,}", row.name] for row in histogram[:TOP]]
    print_table([">OBJECTS", ">BYTES", "CLASS"], rows)
    print(
        f"{quantity(histogram.total_count, 'object')} of {quantity(len(histogram), 'class')}, "
        f"{quantity(histogram.total_bytes, 'byte')}; stopped for "
        f"{histogram.pause * 1000:.0f} ms at most"
    )


@magic("properties")
def props(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the VM's system properties.

        %props                all of them
        %props java.vm        those with this in their names
        %props 'user.*'       those whose names match a shell pattern

    Changes by Java code do not show. `vm.properties` returns them as a `dict`.
    """
    from jvmti.report.tables import print_table

    pattern = unquoted(text)
    found = vm.properties
    rows = sorted((name, value) for name, value in found.items() if _matches(name, pattern))
    if not rows:
        raise UsageError(
            f"none of the {len(found)} properties has {pattern!r} in its name; %props lists them"
        )
    print_table(["PROPERTY", "VALUE"], rows)


@magic("capabilities")
def env(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the capabilities of `vm.env`: held, available, and unavailable with the reason.

        %env                                  list them
        %env can_tag_objects can_suspend      take these

    `jvmti.Capabilities?` documents what each capability costs the program.
    """
    from jvmti.report.tables import print_table

    wanted = text.replace(",", " ").split()
    if wanted:
        vm.env.add_capabilities(wanted)
    allows = vm.capabilities.status()
    if wanted:
        print("vm.env holds " + ", ".join(sorted(allows.held.names())))
        return
    rows = [[one.name, "held", ""] for one in allows.held]
    rows += [[one.name, "available", ""] for one in allows.available]
    beyond = allows.emulated & ~allows.held & ~allows.available
    rows += [[one.name, "emulated", "by the model; for vm.env, with --emulate"] for one in beyond]
    rows += [[one.capability.name, "unavailable", one.why] for one in allows.unavailable]
    for row in rows:
        if row[0] in allows.emulated.names() and row[1] != "emulated":
            row[2] = "emulated"
    styles = ["green"] * len(allows.held) + [None] * (len(allows.available) + len(beyond))
    styles += ["dim"] * len(allows.unavailable)
    print_table(["CAPABILITY", "STATE", "REASON"], rows, styles=styles)
    for how in dict.fromkeys(one.how for one in allows.unavailable if one.how):
        print(f"To get these: {how}.")


def _given(names: Mapping[str, Any], text: str) -> Any:
    """The value if the text is an expression without side effects; otherwise ``None``."""
    try:
        return evaluate(text, names) if text else None
    except NotEvaluated:
        return None


def _classes(vm: VM, names: Mapping[str, Any], text: str) -> list[Class]:
    given = _given(names, text)
    if isinstance(given, Class):
        return [given]
    if isinstance(given, Method):
        return [given.declaring_class]
    if isinstance(given, Frame):
        return [given.method.declaring_class]
    name = unquoted(text)
    found = vm.classes(name)
    if not found:
        vm.find_class(name)  # whose error says what to do
    return found


def _class_or_none(vm: VM, names: Mapping[str, Any], text: str) -> Class | None:
    given = _given(names, text)
    if isinstance(given, Class):
        return given
    found = vm.classes(unquoted(text)) if given is None and text else []
    return found[0] if found else None


def _methods(vm: VM, names: Mapping[str, Any], text: str) -> list[Method]:
    """The methods for a text: a variable's value, or those of a name such as ``a.B.run(int)``."""
    given = _given(names, text)
    if isinstance(given, Method):
        return [given]
    if isinstance(given, Frame):
        return [given.method]
    name = unquoted(text)
    owner, _, method = name.partition("(")[0].rpartition(".")
    if not owner:
        raise UsageError("a method needs its class, as in java.util.HashMap.get")
    methods = vm.find_class(owner).methods
    found = [] if "(" in name else methods.named(method)
    return found or [methods[name[len(owner) + 1 :]]]


def _loader(cls: Class) -> str:
    loader = cls.loader
    return "bootstrap" if loader is None else loader.cls.name


def _matches(name: str, pattern: str) -> bool:
    if not pattern:
        return True
    if set(pattern) & set("*?["):
        return fnmatch.fnmatchcase(name, pattern)
    return pattern.lower() in name.lower()


__all__ = ["MAGICS", "Magic", "UsageError", "missing", "run"]
