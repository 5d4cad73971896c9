"""The numbers both sides of a channel share; the agent's build generates ``protocol.h`` from them.

A frame is a header and a payload.  Header: payload size (u32), kind (u8), flags (u8), function
(u16; the status in a reply), sequence number (u32), environment (u32), conversation (u32).
Little-endian, packed.

A conversation within the channel's own begins with a frame of the agent's (EVENT, CALLBACK) and
ends with the controller's ANSWER; the frames between them carry its number.  What carries the
number of one that is over is refused: its thread has gone on.  All CALLBACK frames of one heap walk
have the same number; nobody waits for a walk any more after ABANDON with the sequence number of its
request.
"""

from __future__ import annotations

import enum

VERSION = 2
MAGIC = 0x49544D564A  # "JVMTI", little-endian
MAXIMUM_REQUEST = 64 << 20
MAXIMUM_REPLY = 1 << 30
OWN_WORK = 0x800
"""In the number of an event: the controller's own work has caused it."""
HEADER = "<IBBHIII"
HEADER_SIZE = 20


class Kind(enum.IntEnum):
    """What a frame is."""

    CALL = 1
    BATCH = 2
    MAP = 3
    RELEASE = 4
    OPEN = 5
    GOODBYE = 6
    HELLO = 7
    ANSWER = 8
    ABANDON = 9
    RETURN = 32
    GREETING = 33
    MALFORMED = 34
    EVENT = 35
    LIVE = 36
    CALLBACK = 37


class Flag(enum.IntFlag):
    """Flags of a frame."""

    EXCEPTION = 1
    DETAIL = 2
    SHARED = 4
    EVENTS = 8
    LIMITED = 16
    """Of a call: its arguments come behind its time limit in milliseconds (i64)."""


class Status(enum.IntEnum):
    """Statuses beyond ``jvmtiError``: what the agent itself has to say."""

    JAVA_EXCEPTION = 1000
    MALFORMED_REQUEST = 1001
    NOT_IN_THIS_VERSION = 1002
    SESSION_ENDING = 1003
    REPLY_TOO_LARGE = 1004
    UNKNOWN_FUNCTION = 1005
    HANDLER_OVERRAN = 1006
    IN_HEAP_CALLBACK = 1007
    WALK_ENDED = 1008
    LEAVING_FRAME = 1009
