"""Lies of the VM: an agent of the test's answers in its stead (`tests/native/false_answers.cpp`).

What each function gives is read from the declarations, so that a function of a later version is
lied about as well.  Only the agent's library gets a lie, and for one function at a time.
"""

from __future__ import annotations

import mmap
import re
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from jvmti.env.interface import FUNCTIONS
from jvmti.interface import shapes
from jvmti.interface.declaration import Declaration
from jvmti.interface.types import ArrayBeforeCount, CallerBuffer, CountIs, ResultPerItem, SameCount
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[2] / "native" / "false_answers.cpp"

LIES = {
    1: "says nothing",
    2: "nulls and zeros",
    3: "counts without arrays",
    4: "negative counts",
    5: "arrays of zeros and empty texts",
    6: "structures that count what they have not",
    7: "counts beyond everything",
}

_RANGE = struct.Struct("<QQ")
_JNI, _PLACES = 512, 1024
_LIES = _RANGE.size
_REACHED = struct.Struct(f"<{_PLACES}I")
_SIZE = _LIES + _PLACES + _REACHED.size

NOT_LIED_ABOUT = {
    "GetVersion": "it is what tells how long the table is",
    "PushLocalFrame": "a frame that is not there would be popped by the VM's own function",
    "MonitorEnter": "gives nothing",
    "MonitorExit": "gives nothing",
    "ExceptionCheck": "an exception is pending all the same, and the VM believes that none is",
    "ExceptionOccurred": "the same",
    "RegisterNatives": "gives nothing",
    "UnregisterNatives": "gives nothing",
    "GetJavaVM": "gives what has been known since the library was loaded",
    "Throw": "gives nothing",
    "ThrowNew": "gives nothing",
    "EnsureLocalCapacity": "gives nothing",
}
"""Functions of JNI that tell the truth, and why."""


def lied_about() -> list[Declaration]:
    """The functions of JVM TI that give something."""
    # The last is a table of functions and not a list to the VM.
    return [
        one
        for one in FUNCTIONS.values()
        if shapes.results_of(one) and one.name != "get_jni_function_table"
    ]


def jni_lied_about() -> list[Declaration]:
    return [
        one
        for one in JNI_FUNCTIONS.values()
        if shapes.results_of(one) and one.c_name not in NOT_LIED_ABOUT
    ]


def _function(declaration: Declaration) -> str:
    name = declaration.c_name
    count = 0
    lies = []
    places: dict[str, str] = {}

    def next_one() -> str:
        nonlocal count
        count += 1
        return f"a{count - 1}"

    for parameter, shape in shapes.inputs_of(declaration):
        places[parameter] = next_one()
        if isinstance(shape, shapes.List | shapes.Bytes | shapes.Unicode | shapes.ElementBlock):
            next_one()
    for _, shape in shapes.results_of(declaration):
        layout = getattr(shape, "layout", None)
        if not isinstance(shape, shapes.List | shapes.Bytes):
            lies.append(f"single(reported, {next_one()})")
        elif isinstance(layout, CallerBuffer):
            next_one()
            lies.append(f"buffered(reported, {places[layout.capacity]}, {next_one()})")
        elif isinstance(layout, ResultPerItem):
            next_one()
        elif isinstance(layout, CountIs | SameCount):
            lies.append(f"items(reported, {next_one()})")
        elif isinstance(layout, ArrayBeforeCount):
            lies += [f"items(reported, {next_one()})", f"count(reported, {next_one()})"]
        else:
            lies += [f"count(reported, {next_one()})", f"items(reported, {next_one()})"]
    arguments = [f"a{place}" for place in range(count)]
    parameters = [f"P({name}, {place}) {one}" for place, one in enumerate(arguments)]
    slot = declaration.slot
    return (
        f"FUNCTION({name}, {slot}, ({', '.join(['jvmtiEnv* env', *parameters])}), "
        f"({', '.join(['env', *arguments])}), {'; '.join(lies)})"
    )


def _jni_functions() -> list[str]:
    lines = []
    for one in jni_lied_about():
        numbers = [int(part) for part in one.since.split(".")]
        since = numbers[0] if numbers[0] > 1 else 1
        for slot, name in _forms(one):
            lines.append(f"FUNCTION({name}, {slot}, {since})")
    return lines


def _forms(declaration: Declaration) -> list[tuple[int, str]]:
    """The entries of a function: with an array and, what C++ uses, with a `va_list`."""
    forms = [(declaration.slot, declaration.c_name)]
    if declaration.folds:
        forms.append((declaration.slot - 1, f"{declaration.c_name[:-1]}V"))
    return forms


def build(directory: Path, headers: list[Path]) -> Path:
    """Compile the lying agent."""
    names = "\n".join(_function(one) for one in lied_about())
    (directory / "false_functions.inc").write_text(names + "\n")
    (directory / "false_jni.inc").write_text("\n".join(_jni_functions()) + "\n")
    library = directory / "libfalse.so"
    command = ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-fno-threadsafe-statics"]
    command += [f"-I{directory}", *(f"-I{header}" for header in headers)]
    subprocess.run([*command, "-o", library, SOURCE], check=True)
    return library


def places(declaration: Declaration, *, jni: bool) -> list[int]:
    """Where a function of the VM stands in the page."""
    if jni:
        return [_JNI + slot for slot, _ in _forms(declaration)]
    return [declaration.slot]


class Liar:
    """The page that says which lie is due, and counts what was asked."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(_SIZE))
        with path.open("r+b") as file:
            self.page = mmap.mmap(file.fileno(), _SIZE)

    def lie_to(self, pid: int, library: str) -> None:
        """Name the library that is lied to, where it lies in a process."""
        found = re.findall(
            rf"^([0-9a-f]+)-([0-9a-f]+) .*{re.escape(library)}$",
            Path(f"/proc/{pid}/maps").read_text(),
            re.M,
        )
        assert found, library
        begin = min(int(one, 16) for one, _ in found)
        self.page[:_LIES] = _RANGE.pack(begin, max(int(one, 16) for _, one in found))

    @property
    def reached(self) -> tuple[int, ...]:
        """How often the library has called each of the VM's functions, by their places."""
        return _REACHED.unpack_from(self.page, _LIES + _PLACES)

    @contextmanager
    def lying(self, declaration: Declaration, lie: int, *, jni: bool = False) -> Iterator[None]:
        for place in places(declaration, jni=jni):
            self.page[_LIES + place] = lie
        try:
            yield
        finally:
            for place in places(declaration, jni=jni):
                self.page[_LIES + place] = 0


__all__ = ["LIES", "Liar", "build", "jni_lied_about", "lied_about", "places"]
