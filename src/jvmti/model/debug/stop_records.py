"""The hits that breakpoints of the VM record in the agent in place of stops: those of logpoints.

The agent writes to memory that both share, so nothing of it is lost with the JVM.
`jvmti.layouts.conditions` describes it. This does not trust what the target writes.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from jvmti.interface.errors import ProtocolError
from jvmti.layouts.conditions import RECORDED, RECORDS
from jvmti.operations.agent import AgentOperations
from jvmti.wire.session import Session

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_COUNT = struct.Struct("<Q")


class RecordedStop(NamedTuple):
    """A hit that was recorded."""

    time: int
    """When, in nanoseconds of ``CLOCK_MONOTONIC``."""
    form: Any
    """The request for the record, as the breakpoint has it."""
    values: list[Any]
    """Its values."""


class StopRecords:
    """The recorded hits of a session, in the order of all its breakpoints.

    Args:
        session: the session.
    """

    def __init__(self, session: Session) -> None:
        self._forms: list[tuple[Hashable, Sequence[str]]] = []
        self._numbers: dict[tuple[Hashable, Sequence[str]], int] = {}
        self._read = 0
        self._reported = 0
        self._lock = threading.Lock()
        descriptor = os.memfd_create("jvmti", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(descriptor, RECORDS.ALL)
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
            self._memory = mmap.mmap(descriptor, RECORDS.ALL)
            AgentOperations(session, descriptor=descriptor).open_stop_records()
        finally:
            os.close(descriptor)

    def number_of(self, form: Hashable, signatures: Sequence[str]) -> int:
        """The number of what is recorded at a place.

        Args:
            form: what `RecordedStop.form` is to be.
            signatures: the types of its values.
        """
        with self._lock:
            one = form, tuple(signatures)
            number = self._numbers.setdefault(one, len(self._forms))
            if number == len(self._forms):
                self._forms.append(one)
            return number

    def take(self) -> list[RecordedStop]:
        """The hits since the last call.

        Raises:
            ProtocolError: the target wrote invalid data.
        """
        with self._lock:
            data = self._take()
            found = []
            at = 0
            while at < len(data):
                if len(data) - at < RECORDED.size:
                    raise ProtocolError("a recorded hit is cut off")
                time, size, number = RECORDED.struct.unpack_from(data, at)
                if not RECORDED.size <= size <= len(data) - at or number >= len(self._forms):
                    raise ProtocolError("a recorded hit has an impossible size or form")
                form, signatures = self._forms[number]
                record = data[at + RECORDED.size : at + size]
                found.append(RecordedStop(time, form, _values(record, signatures)))
                at += size
            return found

    def take_dropped(self) -> int:
        """How many hits since the last call came too fast, or found no space."""
        with self._lock:
            dropped: int = _COUNT.unpack_from(self._memory, RECORDS.DROPPED)[0]
            before, self._reported = self._reported, dropped
            return max(dropped - before, 0)

    def _take(self) -> bytes:
        (head,) = _COUNT.unpack_from(self._memory, RECORDS.HEAD)
        size = head - self._read
        if not 0 <= size <= RECORDS.SIZE:
            raise ProtocolError("recorded hits have an impossible end")
        begin = RECORDS.RECORDS + self._read % RECORDS.SIZE
        data = self._memory[begin : min(begin + size, RECORDS.ALL)]
        data += self._memory[RECORDS.RECORDS : RECORDS.RECORDS + size - len(data)]
        self._read = head
        _COUNT.pack_into(self._memory, RECORDS.TAIL, head)
        return data


def _values(record: bytes, signatures: Sequence[str]) -> list[Any]:
    """The values of a recorded hit, behind its head.

    Raises:
        ProtocolError: it has others.
    """
    found: list[Any] = []
    at = 0
    try:
        for signature in signatures:
            kind = chr(record[at])
            at += 1
            if kind == "N":
                found.append(None)
                continue
            (number,) = struct.unpack_from("<d" if kind == "D" else "<q", record, at)
            at += 8
            if kind == "T":
                found.append(record[at : at + 2 * number].decode("utf-16-le", "surrogatepass"))
                at += 2 * number
            elif signature == "Z":
                found.append(bool(number))
            else:
                found.append(chr(number) if signature == "C" else number)
    except (IndexError, ValueError, TypeError, OverflowError, struct.error) as error:
        raise ProtocolError(f"a recorded hit has invalid values: {error}") from None
    return found


__all__ = ["RecordedStop", "StopRecords"]
