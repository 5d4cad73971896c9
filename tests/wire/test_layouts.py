"""The declared protocol: what is declared is in the digest, and sides that differ say so."""

from __future__ import annotations

import dataclasses
import enum
import socket
import struct
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from jvmti.env.events import EventDeclaration, MethodExit
from jvmti.env.interface import FUNCTIONS
from jvmti.events.streams import layout as event_records
from jvmti.events.streams.names import Names
from jvmti.interface.declaration import Declaration, declared
from jvmti.interface.errors import ProtocolError
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.layouts import declare
from jvmti.layouts.heap_passes import EDGE, SCAN
from jvmti.layouts.streams import ANNOUNCEMENT, FRAME, STACK, Announced
from jvmti.operations.functions import Operations
from jvmti.refs.handles import CLASSES, Thread
from jvmti.target.agent_library import interface_digest
from jvmti.wire import protocol
from jvmti.wire.session import Session

sys.path.append(str(Path(__file__).parents[2] / "native" / "agent" / "generate"))

import interface_text

INTERFACE = (4, "df5415ef8b661c5a69a5ac7c92e02ba5")
"""The version of the interface, and its digest.

Where a test says that the digest is another one, something that travels has changed: raise
`jvmti.wire.protocol.VERSION`, if no release has this one yet leave it, and write both here.
"""


def test_a_change_of_the_interface_has_a_version_of_its_own() -> None:
    assert (protocol.VERSION, interface_text.interface_digest().hex()) == INTERFACE


def test_the_agent_was_built_from_these_declarations() -> None:
    assert interface_digest() in (None, interface_text.interface_digest())


@pytest.fixture(scope="module")
def before() -> bytes:
    """The digest without any change."""
    return interface_text.interface_digest()


def changed(layout: Any) -> Any:
    """A layout like this one with one difference."""
    other = object.__new__(type(layout))
    other.__dict__.update(layout.__dict__)
    match layout:
        case declare.Columns():
            name, (of, c) = next(iter(layout.columns.items()))
            other.columns = {
                **layout.columns,
                name: (of, "uint64_t" if c != "uint64_t" else "jint"),
            }
        case declare.Record():
            first, *rest = layout.fields.items()
            other.fields = dict([*rest, first]) if rest else {f"{first[0]}_2": first[1]}
            if list(layout.fields.values()) == list(other.fields.values()):
                assert list(other.fields) != list(layout.fields)
        case declare.Constants():
            name = next(iter(layout.values))
            other.values = {**layout.values, name: layout.values[name] + 1}
        case _:
            members = [(one.name, int(one)) for one in layout.members]
            kind = enum.IntFlag if issubclass(layout.members, enum.IntFlag) else enum.IntEnum
            members[-1] = (members[-1][0], members[-1][1] + 64)
            other.members = kind(layout.name, members)  # type: ignore[call-arg]
    return other


@pytest.mark.parametrize("name", declare.REGISTRY)
def test_changing_a_layout_changes_the_digest(
    name: str, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    monkeypatch.setitem(declare.REGISTRY, name, changed(declare.REGISTRY[name]))
    assert interface_text.interface_digest() != before


def another(value: Any) -> Any:
    """A value that a declaration could have instead of this one."""
    match value:
        case bool():
            return not value
        case enum.Enum():
            return next(one for one in type(value) if one is not value)
        case int():
            return value + 1
        case tuple():
            return (*value, 1)
        case None:
            return "other"
    return f"other_{value}"


def facts(kind: type) -> list[str]:
    """What declarations of a kind say to the agent."""
    names = [field.name for field in dataclasses.fields(kind) if field.init]
    return [name for name in names if name not in interface_text.NOT_OF_THE_AGENT]


@pytest.mark.parametrize("name", ["parameters", "result", *facts(Declaration)])
@pytest.mark.parametrize(
    "function",
    [
        FUNCTIONS["get_object_size"],
        JNI_FUNCTIONS["find_class"],
        declared(Operations.count_heap),
    ],
    ids=lambda function: function.name,
)
def test_changing_a_function_changes_the_digest(
    function: Declaration, name: str, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    value = getattr(function, name)
    if name == "parameters":
        value = value[:-1]
    elif name == "result":
        value = list[Thread]
    else:
        value = another(value)
    monkeypatch.setattr(function, name, value)
    assert interface_text.interface_digest() != before


@pytest.mark.parametrize("name", ["number", "parameters", *facts(EventDeclaration)])
def test_changing_an_event_changes_the_digest(
    name: str, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    event = MethodExit.declaration
    value = getattr(event, name)
    monkeypatch.setattr(event, name, value[:-1] if name == "parameters" else another(value))
    assert interface_text.interface_digest() != before


@pytest.mark.parametrize("name", ["KIND", "C_TYPE"])
def test_changing_a_kind_of_handles_changes_the_digest(
    name: str, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    monkeypatch.setattr(Thread, name, another(getattr(Thread, name)))
    assert interface_text.interface_digest() != before


def test_what_concerns_the_controller_only_is_not_in_the_digest(
    monkeypatch: pytest.MonkeyPatch,
    before: bytes,
) -> None:
    monkeypatch.setattr(FUNCTIONS["get_object_size"], "errors", ("NOT_FOUND",))
    monkeypatch.setattr(MethodExit.declaration, "limit", 1.0)
    assert interface_text.interface_digest() == before


def test_changing_the_record_of_an_event_changes_the_digest(
    monkeypatch: pytest.MonkeyPatch,
    before: bytes,
) -> None:
    fields = event_records.record_fields
    monkeypatch.setattr(event_records, "record_fields", lambda one: fields(one)[:-1])
    assert interface_text.interface_digest() != before


def test_two_layouts_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two layouts are called StopHead"):
        declare.Record("StopHead", event="jint")


def test_rows_that_are_not_whole_are_refused() -> None:
    with pytest.raises(ValueError, match="8 numbers are not rows of 7"):
        EDGE.rows([0] * 8)


def test_columns_begin_where_the_ones_before_end() -> None:
    room = {"rows": 100, "strings": 3, "text": 65, "values": 1, "elements": 0}
    offsets = SCAN.offsets(room)
    assert offsets["class_number"] == 4096
    assert offsets["size"] == 4096 + 448
    assert offsets["value"] - offsets["text"] == 128
    memory = numpy.arange(offsets["end"], dtype=numpy.uint8)
    columns = SCAN.views(memory, room, {**room, "rows": 2, "text": 5})
    assert columns["size"].dtype == numpy.uint32
    assert len(columns["size"]) == 2
    assert columns["text"].tobytes() == bytes(memory[offsets["text"] :][:5])


def test_a_stack_of_methods_that_were_not_announced_is_refused() -> None:
    payload = STACK.struct.pack(1) + FRAME.struct.pack(5, 0)
    size = -(-(ANNOUNCEMENT.size + len(payload)) // 8) * 8
    head = ANNOUNCEMENT.struct.pack(size, Announced.STACK, 1, len(payload))
    with pytest.raises(ProtocolError, match="names a method that was not announced"):
        Names().announce(memoryview((head + payload).ljust(size, b"\0")))


def greeted_by(greeting: bytes) -> Session:
    """A session with an agent that says this."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    head = protocol.HEADER.struct.pack(len(greeting), protocol.Kind.GREETING, 0, 0, 0, 0, 0)
    with its:
        its.sendall(head + greeting)
        return Session(ours, CLASSES, timeout=5, digest=interface_text.interface_digest())


def greeting_of(version: int, digest: bytes) -> bytes:
    return protocol.GREETING.struct.pack(protocol.MAGIC, version, digest, 0x30150000, 1, 0, 0)


@pytest.mark.parametrize(("difference", "age"), [(-1, "an older"), (1, "a newer")])
def test_an_agent_of_another_version_says_which_side_is_older(difference: int, age: str) -> None:
    version = protocol.VERSION + difference
    with pytest.raises(ProtocolError) as caught:
        greeted_by(greeting_of(version, bytes(16)))
    assert f"from {age} version of jvmti than this package" in str(caught.value)
    assert f"(interface {version}, and {protocol.VERSION} here)" in str(caught.value)
    assert "restart the target" in str(caught.value)


def test_an_agent_of_the_version_before_is_refused_whatever_its_greeting_had_behind() -> None:
    short = struct.pack("<QI", protocol.MAGIC, protocol.VERSION - 1)
    with pytest.raises(ProtocolError, match="an older version"):
        greeted_by(short)


def test_an_agent_of_a_build_between_releases_is_refused() -> None:
    with pytest.raises(ProtocolError, match="a build between releases"):
        greeted_by(greeting_of(protocol.VERSION, bytes(16)))


def test_what_is_no_agent_is_not_mistaken_for_one() -> None:
    with pytest.raises(ProtocolError, match="not an agent of this package"):
        greeted_by(struct.pack("<QI", 0x1234, protocol.VERSION) + bytes(40))
