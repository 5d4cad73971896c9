"""The numbers both sides of a channel share; the agent's build generates ``protocol.h`` from them.

A frame is a `HEADER` and a payload.

A conversation within the channel's own begins with a frame of the agent's (EVENT, CALLBACK) and
ends with the controller's ANSWER; the frames between them carry its number.  The agent refuses
frames with the number of a finished conversation: its thread has resumed.  All CALLBACK frames of
one heap walk have the same number; ABANDON with the sequence number of its request ends the answers
to a walk.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Constants, Record, shared

VERSION = 4
"""The protocol's version: every change increases it, so that the sides detect a mismatch."""
MAGIC = 0x49544D564A  # "JVMTI", little-endian

LIMITS = Constants("FrameLimits", REQUEST=64 << 20, REPLY=1 << 30)
"""The most bytes that the payloads of frames have, from the controller and from the agent."""

HEADER = Record(
    "Header",
    size="uint32_t",
    kind="uint8_t",
    flags="uint8_t",
    function="uint16_t",
    sequence="uint32_t",
    environment="uint32_t",
    conversation="uint32_t",
)
"""The beginning of every frame. The size is that of its payload; in a reply the function field has
the status; conversation 0 is the channel's own."""

GREETING = Record(
    "Greeting",
    magic="uint64_t",
    version="uint32_t",
    digest="uint8_t[16]",
    vm="int32_t",
    pid="int32_t",
    held="uint8_t",
    token_length="uint32_t",
)
"""The agent's first message, followed by its token: `MAGIC`, `VERSION` and the digest of its
interface; the VM's JVM TI version, its process id, and whether it waits in the OnLoad phase."""

SALUTE = Record("Salute", magic="uint64_t", version="uint32_t")
"""How a greeting begins in every version."""

BATCHED = Record("Batched", function="uint16_t", environment="uint32_t", size="uint32_t")
"""A call of a batch; its arguments follow."""

BATCH_RESULT = Record("BatchResult", status="uint16_t", flags="uint8_t", size="uint32_t")

MAP = Record("MapHead", rows="uint32_t", columns="uint8_t")
"""The beginning of a map request and of its reply. Parameters follow in a request; in a reply the
statuses of the rows and the columns of the results, each after its length (32 bits). In shared
memory the total length (64 bits) comes first."""

MAP_PARAMETER = Record("MapParameter", each="uint8_t", size="uint32_t")
"""Whether there is a value for each row or one for all, and the length of the data in bytes."""

RELEASED = Record("Released", handle="uint64_t", count="uint32_t")
"""A handle, and how many times the controller received it."""


@shared("uint8_t", loose=True)
class Kind(enum.IntEnum):
    """The kinds of frames."""

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


@shared("uint8_t")
class Flag(enum.IntFlag):
    """Flags of a frame."""

    EXCEPTION = 1
    DETAIL = 2
    SHARED = 4
    EVENTS = 8
    LIMITED = 16
    """In a call: a time limit in milliseconds (i64) precedes the arguments."""
    ENDS = 32
    """In a call of a conversation that the agent began: it ends the conversation, unless it fails;
    an empty answer."""


@shared("uint16_t", loose=True)
class Status(enum.IntEnum):
    """Statuses beyond ``jvmtiError``: the agent's own."""

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
