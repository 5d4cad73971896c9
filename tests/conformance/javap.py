"""What ``javap -v`` says of a class file: an independent reading of it."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import jvms


@dataclass
class Method:
    """One method as javap prints it."""

    name: str
    descriptor: str
    flags: int
    locals: int | None = None
    #: Each instruction: its location and its mnemonic.
    instructions: list[tuple[int, str]] = field(default_factory=list)
    #: Location and line.
    lines: list[tuple[int, int]] = field(default_factory=list)
    #: Start, length, slot, name and signature of each variable.
    variables: list[tuple[int, int, int, str, str]] = field(default_factory=list)
    generic: str | None = None

    @property
    def arguments(self) -> int:
        """The slots of the arguments; what javap calls args_size counts a long as one."""
        parameters = re.findall(r"\[*(?:L[^;]+;|[A-Z])", self.descriptor[1:].split(")")[0])
        wide = sum(1 for one in parameters if one in "JD")
        return len(parameters) + wide + (0 if self.flags & 0x0008 else 1)


@dataclass
class Class:
    """One class as javap prints it."""

    flags: int
    version: tuple[int, int]
    source_file: str | None
    generic: str | None
    constants: int
    fields: list[str]
    methods: list[Method]

    def method(self, name: str) -> Method:
        """The first method of that name."""
        return next(method for method in self.methods if method.name == name)


KEPT = jvms.ROOT / "build" / "javap"


def printed(jdk: Path, path: Path) -> str:
    """What javap prints of a class file.

    The tests on each JVM ask about the same files, and javap takes as long as many a test: so what
    it has printed is kept under the hash of the file.
    """
    release = (jdk / "release").read_bytes()
    kept = KEPT / hashlib.sha256(release + path.read_bytes()).hexdigest()
    if not kept.exists():
        quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
        command = [str(jdk / "bin" / "javap"), *quick, "-v", "-p", str(path)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        KEPT.mkdir(parents=True, exist_ok=True)
        # Several workers of a run may want it at once.
        with tempfile.NamedTemporaryFile("w", dir=KEPT, delete=False) as file:
            file.write(text)
        Path(file.name).replace(kept)
    return kept.read_text()


def read(jdk: Path, path: Path) -> Class:
    """A class file as javap prints it."""
    text = printed(jdk, path)
    head, _, body = text.partition("\n{\n")
    body, _, tail = body.rpartition("\n}\n")
    name = re.search(r"this_class: #\d+ +// +\"?([^\s\"]+)", head)
    assert name
    simple = name.group(1).replace("/", ".")
    fields: list[str] = []
    methods: list[Method] = []
    for block in re.split(r"\n\n(?=  \S)", "\n" + body.lstrip("\n")):
        descriptor = re.search(r"^    descriptor: (\S+)$", block, re.M)
        flags = re.search(r"^    flags: \((0x[0-9a-f]+)\)", block, re.M)
        assert descriptor, block
        assert flags, block
        declared = block.strip().splitlines()[0].rstrip(";")
        if not descriptor.group(1).startswith("("):
            fields.append(declared.split(" = ")[0].split()[-1])
            continue
        called = declared.split("(")[0].split()[-1] if "(" in declared else "<clinit>"
        methods.append(
            _method("<init>" if called == simple else called, descriptor.group(1), flags, block)
        )
    constants = re.findall(r"^ +#(\d+) = (\S+)", head, re.M)
    last, kind = constants[-1]
    return Class(
        int(_found(r"flags: \((0x[0-9a-f]+)\)", head) or "0", 16),
        (
            int(_found(r"minor version: (\d+)", head) or 0),
            int(_found(r"major version: (\d+)", head) or 0),
        ),
        _found(r'^SourceFile: "(.*)"$', tail),
        _found(r"^Signature: #\d+ +// (\S+)$", tail),
        int(last) + (2 if kind in ("Long", "Double") else 1),
        fields,
        methods,
    )


def _found(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.M)
    return match.group(1) if match else None


def _method(name: str, descriptor: str, flags: re.Match[str], block: str) -> Method:
    made = Method(name, descriptor, int(flags.group(1), 16))
    sizes = re.search(r"stack=\d+, locals=(\d+), args_size=", block)
    if sizes:
        made.locals = int(sizes.group(1))
    code = block.partition("    Code:\n")[2].partition("LineNumberTable:")[0]
    made.instructions = [
        (int(at), mnemonic) for at, mnemonic in re.findall(r"^ +(\d+): ([a-z]\w+)", code, re.M)
    ]
    made.lines = [(int(at), int(line)) for line, at in re.findall(r"line (\d+): (\d+)", block)]
    table = block.partition("LocalVariableTable:\n")[2]
    for row in table.splitlines()[1:]:
        columns = row.split()
        if len(columns) != 5 or not columns[0].isdigit():
            break
        start, length, slot, variable, signature = columns
        made.variables.append((int(start), int(length), int(slot), variable, signature))
    made.generic = _found(r"^    Signature: #\d+ +// (\S+)$", block)
    return made
