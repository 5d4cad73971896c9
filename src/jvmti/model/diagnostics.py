"""Flags, diagnostic commands and arguments, over HotSpot's attach mechanism.

This runs no Java code of the program and loads no management classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.interface.frozen import frozen
from jvmti.target.errors import AttachRefused
from jvmti.target.hotspot import command
from jvmti.text.names import suggestion
from jvmti.text.printable import escaped, escaped_lines

if TYPE_CHECKING:
    from jvmti.model.vm import VM
    from jvmti.target.processes.search import Process

_FLAG = re.compile(r"\s*(?P<type>\w+) (?P<name>\w+)\s+(?::?=) (?P<value>.*?)\s+(?P<kind>\{.*\})\s*")
_WORDS = re.compile(r"\{(.*?)\}")


class Arguments(NamedTuple):
    """The command line of a Java program."""

    jvm: tuple[str, ...]
    """The arguments of the VM, those of ``JAVA_TOOL_OPTIONS`` included where known."""
    main: str
    """The main class, ``module/class``, or the path of the jar."""
    program: tuple[str, ...]
    """The arguments of the program itself."""


@frozen
class Flag:
    """A flag of the VM, as ``java -XX:+PrintFlagsFinal`` prints it."""

    #: Its name: ``MaxHeapSize``.
    name: str
    #: Its value: a ``bool``, ``int``, ``float`` or ``str``.
    value: Any
    #: Its type in the VM: ``bool``, ``intx``, ``size_t``, ``ccstr``, …
    type: str
    #: Whether it can be set while the program runs.
    is_manageable: bool
    #: Where the value comes from: ``default``, ``command line``, ``ergonomic``, ``management``, …
    origin: str

    @escaped
    def __str__(self) -> str:
        return f"{self.name} = {self.value!r}"


class Flags(Mapping[str, Any]):
    """The flags of the VM by name, with their values: ``vm.flags["MaxHeapSize"]``.

    Setting one that is manageable changes it: ``vm.flags["HeapDumpOnOutOfMemoryError"] = True``.
    Diagnostic and experimental flags appear only if the VM was started with them unlocked. Values
    are current.

    The attach mechanism's ``VM.flags -all`` and ``setflag``.
    """

    def __init__(self, vm: VM) -> None:
        self._vm = vm

    def all(self) -> list[Flag]:
        """All flags with types and origins, sorted by name.

        Raises:
            AttachError: the VM cannot be reached in this way.
        """
        text = command(self._vm.process, "jcmd", "VM.flags -all", timeout=self._vm._patience)
        found = []
        for line in text.splitlines():
            match = _FLAG.fullmatch(line)
            if match:
                words = _WORDS.findall(match["kind"])
                found.append(
                    Flag(
                        match["name"],
                        _value(match["type"], match["value"].strip()),
                        match["type"],
                        "manageable" in words[0].split(),
                        words[-1].split(",")[0],
                    )
                )
        return sorted(found, key=lambda flag: flag.name)

    def flag(self, name: str) -> Flag:
        """One flag, with its type and origin.

        Raises:
            KeyError: there is none of that name; the message suggests similar ones.
        """
        flags = {flag.name: flag for flag in self.all()}
        if name not in flags:
            raise KeyError(_missing(f"no flag {name!r}", name, list(flags)))
        return flags[name]

    def __getitem__(self, name: str) -> Any:
        return self.flag(name).value

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a flag that is manageable.

        Raises:
            KeyError: there is none of that name.
            ValueError: it cannot be set while the program runs, or not to this value.
            TypeError: the value is of another type.
        """
        flag = self.flag(name)
        if not flag.is_manageable:
            others = ", ".join(one.name for one in self.all() if one.is_manageable)
            raise ValueError(f"{name} cannot be set while the program runs; these can: {others}")
        expected = type(flag.value)
        if type(value) is not expected and not (expected is float and isinstance(value, int)):
            raise TypeError(f"{name} takes {_NAMED[expected]} ({flag.type}), not {value!r}")
        text = str(int(value)) if isinstance(value, bool) else str(value)
        try:
            command(self._vm.process, "setflag", name, text, timeout=self._vm._patience)
        except AttachRefused as refused:
            raise ValueError(f"{name} cannot be {value!r}: {refused}") from None

    def __iter__(self) -> Iterator[str]:
        return iter([flag.name for flag in self.all()])

    def __len__(self) -> int:
        return len(self.all())

    def items(self) -> Any:
        """Names and values, all read at one moment."""
        return {flag.name: flag.value for flag in self.all()}.items()

    def values(self) -> Any:
        """The values, all read at one moment."""
        return {flag.name: flag.value for flag in self.all()}.values()

    def __repr__(self) -> str:
        return "<Flags of the VM, by name>"

    @escaped_lines
    def __str__(self) -> str:
        return "\n".join(str(flag) for flag in self.all())


_NAMED = {bool: "a bool", int: "an int", float: "a float", str: "a str"}


def _value(kind: str, text: str) -> Any:
    if kind == "bool":
        return text == "true"
    if kind == "double":
        return float(text)
    if kind.startswith("ccstr"):
        return text
    return int(text)


class DiagnosticCommands(Mapping[str, str]):
    """The diagnostic commands of the VM, by name, with their help texts.

    ``jcmd PID help`` lists the same ones.  No agent is needed for them.

    Args:
        process: the JVM.
        timeout: seconds that an answer may take.
    """

    def __init__(self, process: Process, timeout: float) -> None:
        self._process = process
        self._timeout = timeout
        self._names: list[str] = []

    def run(self, line: str) -> str:
        """Run one and return its text.

        Args:
            line: the command with its arguments, as ``jcmd`` takes them.

        Raises:
            KeyError: there is none of that name; the message suggests similar ones.
            ValueError: the VM refuses the arguments.
            AttachError: the VM cannot be reached in this way.
        """
        try:
            return command(self._process, "jcmd", line, timeout=self._timeout)
        except AttachRefused as refused:
            name = line.split()[0] if line.split() else ""
            if name not in self.names():
                raise KeyError(self._missing(name)) from None
            raise ValueError(f"{line}: {refused}") from None

    def names(self) -> list[str]:
        """Their names."""
        if not self._names:
            text = command(self._process, "jcmd", "help", timeout=self._timeout)
            lines = text.splitlines()[1:]
            found = _until_empty(lines)
            self._names = [name for name in found if name != "help"]
        return self._names

    def __getitem__(self, name: str) -> str:
        if name not in self.names():
            raise KeyError(self._missing(name))
        return self.run(f"help {name}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def _missing(self, name: str) -> str:
        return _missing(f"no diagnostic command {name!r}", name, self.names())

    def __repr__(self) -> str:
        return "<DiagnosticCommands of the VM, by name>"

    @escaped_lines
    def __str__(self) -> str:
        return "\n".join(self.names())


def _until_empty(lines: list[str]) -> list[str]:
    """The names in a list that ends with an empty line."""
    found = []
    for line in lines:
        if not line.strip():
            break
        found.append(line.strip())
    return found


def _missing(what: str, name: str, names: list[str]) -> str:
    return f"this VM has {what}{suggestion(name, names)}"


__all__ = ["Arguments", "DiagnosticCommands", "Flag", "Flags"]
