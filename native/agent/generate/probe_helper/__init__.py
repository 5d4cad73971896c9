"""``probe_helper.h``: the class that probes call, as a class file, assembled here.

Its methods write to memory of the agent's by ``jdk.internal.misc.Unsafe``, so a probe costs no call
out of Java. It lives in ``java.lang``, where every class finds it. The class file is of version 49,
which needs no table of frames. Its name has a digest of its content, because it cannot be unloaded.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

from cpp import HEAD

from jvmti.layouts.probe_memory import CONTROL, COUNTERS, LANES, MEMORY, TALLIES, WAITS
from jvmti.layouts.probes import RECORDED
from probe_helper.assembler import UNSAFE, Constants, assemble, class_file
from probe_helper.changes import CHANGES
from probe_helper.conditions import CONDITIONS
from probe_helper.parking import PARKING
from probe_helper.records import RECORDS, VALUES
from probe_helper.stops import STOPS
from probe_helper.tallies import TALLIES_OF_CALLS

_AT = CONTROL.offsets
_IN = RECORDED.offsets
_EXPONENT_BIAS = 1023 * TALLIES.PER_OCTAVE
_PUBLIC, _PRIVATE, _STATIC, _NATIVE, _FINAL, _SUPER = 1, 2, 8, 0x100, 0x10, 0x20

# Where the control line of the set in local 0 is.
_CONTROL = """
getstatic THIS.control J
iload_0
sipush {last_set}
iand
bipush 6
ishl
i2l
ladd
"""
# Whether that set is the one whose line it is; behind the address.
_IS_GONE = """
getstatic THIS.unsafe L{unsafe};
{control}
ldc2_w {number}
ladd
invokevirtual {unsafe}.getLong (J)J
iload_0
i2l
lcmp
ifne off
"""

_METHODS = CONDITIONS | RECORDS | TALLIES_OF_CALLS | VALUES | CHANGES | STOPS | PARKING

_NATIVES = (
    "control ()J",
    "halt ([Ljava/lang/Object;II)V",
    "key (ILjava/lang/Object;I)I",
    "object (JLjava/lang/Object;II)V",
    "parked (ILjava/lang/Object;JJJJ)V",
    "pause (IJ)V",
    "raise (ILjava/lang/String;Ljava/lang/String;)V",
    "test (IILjava/lang/Object;)I",
)
_FIELDS = (f"unsafe L{UNSAFE};", "tid J", "owner J", "control J", "paths [[[Ljava/lang/Object;")
LEAVING = "java/lang/JvmtiProbesLeft"
"""The class of what leaves a method early; its field has the array of the thread that stopped.

The helper itself is no Throwable: C2 inlines no method of one into other code.
"""
RESTARTING = "java/lang/JvmtiProbesRestarted"
"""The class of what begins a method again."""
WALKED = "java/lang/JvmtiWalkedFrames"
"""The class of what a `StackWalker` calls with frames: it makes an array of the topmost."""
_CURRENT = """
getstatic THIS.unsafe L{unsafe};
invokestatic java/lang/Thread.currentThread ()Ljava/lang/Thread;
getstatic THIS.tid J
invokevirtual {unsafe}.getLong (Ljava/lang/Object;J)J
"""


def _bits(size: int) -> int:
    if size & (size - 1):
        raise ValueError(f"{size} is no power of two")
    return size.bit_length() - 1


_NUMBERS = {
    "unsafe": UNSAFE,
    "leaving": LEAVING,
    "shortest": _AT["shortest"],
    "size": _AT["size"],
    "records": _AT["records"],
    "tallies": _AT["tallies"],
    "number": _AT["number"],
    "last_set": MEMORY.SETS - 1,
    "sets": MEMORY.SETS,
    "get_reference": "getReference",
    "last_owned_lane": LANES.OWNED - 1,
    "shared_lanes": LANES.OWNED * LANES.LINE,
    "line_bits": _bits(LANES.LINE),
    "lane_per_line_bits": _bits(LANES.SIZE) - _bits(LANES.LINE),
    "owner": LANES.OWNER,
    "dropped": LANES.DROPPED,
    "tails": LANES.TAILS,
    "reached": LANES.REACHED,
    "every": LANES.TAILS + LANES.EVERY,
    "most": LANES.TAILS + LANES.MOST,
    "lane_size": LANES.SIZE,
    "lane_end": LANES.SIZE - 1,
    **{name: _IN[name] for name in ("claimed", "time", "started", "thread", "site", "probes")},
    "mantissa": 52 - (TALLIES.PER_OCTAVE.bit_length() - 1),
    "bias": _EXPONENT_BIAS,
    "buckets": TALLIES.BUCKETS,
    "last_bucket": TALLIES.BUCKETS - 1,
    "last_owned_stripe": TALLIES.OWNED - 1,
    "shared_stripes": TALLIES.OWNED * TALLIES.COUNT * TALLIES.SIZE,
    "shared_stripe_line": TALLIES.OWNED * LANES.LINE + TALLIES.OWNER,
    "stripe_owner": TALLIES.OWNER,
    "stripe_bits": _bits(TALLIES.COUNT * TALLIES.SIZE),
    "last_tally": TALLIES.COUNT - 1,
    "tally_bits": _bits(TALLIES.SIZE),
    "sum": TALLIES.SUM,
    "counters": COUNTERS.START - TALLIES.START,
    "counter_line_bits": _bits(COUNTERS.LINE),
    "block_bits": _bits(COUNTERS.LINE // 8),
    "block_size_bits": _bits(COUNTERS.LINE * COUNTERS.LINES),
    "last_of_block": COUNTERS.LINE // 8 - 1,
    "counting_threads": COUNTERS.OWNED,
    "last_counting_thread": COUNTERS.OWNED - 1,
    "longest": TALLIES.LONGEST,
    "waits": _AT["waits"],
    "last_wait_line": WAITS.LINES - 1,
    "wait_line_bits": _bits(WAITS.LINE),
}
_NUMBERS["control"] = _CONTROL.format(**_NUMBERS)
_NUMBERS["current"] = _CURRENT.format(**_NUMBERS)
_NUMBERS["is_gone"] = _IS_GONE.format(**_NUMBERS)
_NUMBERS["is_gone_1"] = _NUMBERS["is_gone"].replace("iload_0", "iload_1")


def helper_class(name: str, get_reference: str = "getReference") -> bytes:
    """The class file of the helper.

    Args:
        name: its internal name.
        get_reference: the name of the method of ``Unsafe``; Java 11 has another.
    """
    numbers = _NUMBERS | {"get_reference": get_reference}
    constants = Constants(name)
    body = bytearray(struct.pack(">HHHH", _PUBLIC | _FINAL | _SUPER, constants.klass("THIS"), 0, 0))
    struct.pack_into(">H", body, 4, constants.klass("java/lang/Object"))
    body += struct.pack(">H", len(_FIELDS))
    for field in _FIELDS:
        of, descriptor = field.split()
        access = _PRIVATE | _STATIC | _FINAL
        body += struct.pack(">HHHH", access, constants.text(of), constants.text(descriptor), 0)
    body += struct.pack(">H", len(_METHODS) + len(_NATIVES))
    for method in _NATIVES:
        of, descriptor = method.split()
        access = _PRIVATE | _STATIC | _NATIVE
        body += struct.pack(">HHHH", access, constants.text(of), constants.text(descriptor), 0)
    for method, (stack, most_locals, text) in _METHODS.items():
        of, descriptor = method.split()
        code, handlers = assemble(text.format(**numbers), constants)
        access = _STATIC | (0 if of == "<clinit>" else _PUBLIC)
        body += struct.pack(">HHHH", access, constants.text(of), constants.text(descriptor), 1)
        body += struct.pack(">HI", constants.text("Code"), 10 + len(code) + len(handlers))
        body += struct.pack(">HHI", stack, most_locals, len(code)) + code + handlers + b"\0\0"
    body += b"\0\0"
    return class_file(constants, bytes(body))


def restarting_class() -> bytes:
    """The class file of what begins a method again."""
    constants = Constants(RESTARTING)
    klass, above = constants.klass("THIS"), constants.klass("java/lang/Error")
    body = struct.pack(">HHHHHHH", _PUBLIC | _FINAL | _SUPER, klass, above, 0, 0, 0, 0)
    return class_file(constants, body)


def leaving_class() -> bytes:
    """The class file of what leaves a method early."""
    constants = Constants(LEAVING)
    klass, above = constants.klass("THIS"), constants.klass("java/lang/Error")
    body = struct.pack(">HHHHH", _PUBLIC | _FINAL | _SUPER, klass, above, 0, 1)
    field = constants.text("values"), constants.text("[Ljava/lang/Object;")
    body += struct.pack(">HHHHHH", 0, *field, 0, 0, 0)
    return class_file(constants, body)


def walked_class() -> bytes:
    """The class file of what makes an array of the frames of a stack that is being walked."""
    constants = Constants(WALKED)
    stream = "java/util/stream/Stream"
    text = f"""
        aload_1
        checkcast {stream}
        aload_0
        getfield THIS.most J
        invokeinterface {stream}.limit (J)L{stream}; 3
        invokeinterface {stream}.toArray ()[Ljava/lang/Object; 1
        areturn
        """
    code, handlers = assemble(text, constants)
    klass, above = constants.klass("THIS"), constants.klass("java/lang/Object")
    implemented = constants.klass("java/util/function/Function")
    body = struct.pack(">HHHHH", _PUBLIC | _FINAL | _SUPER, klass, above, 1, implemented)
    body += struct.pack(">HHHHH", 1, 0, constants.text("most"), constants.text("J"), 0)
    texts = constants.text("apply"), constants.text("(Ljava/lang/Object;)Ljava/lang/Object;")
    body += struct.pack(">HHHHH", 1, _PUBLIC, *texts, 1)
    body += struct.pack(">HI", constants.text("Code"), 10 + len(code) + len(handlers))
    body += struct.pack(">HHI", 3, 2, len(code)) + code + handlers + b"\0\0\0\0"
    return class_file(constants, body)


_STOP = "stop (III)[Ljava/lang/Object;"


def gate_class(name: str, helper: str, is_open: bool) -> bytes:
    """The class file of what probes call first by which threads are stepped.

    While it is closed it has nothing to say, which costs compiled code nothing at all: the VM
    inlines it, and discards that code when the class is opened.

    Args:
        name: its internal name.
        helper: that of the helper.
        is_open: whether it calls the helper.
    """
    constants = Constants(name)
    of, descriptor = _STOP.split()
    calls = f"iload_0\niload_1\niload_2\ninvokestatic {helper}.{_STOP}\nareturn"
    code, handlers = assemble(calls if is_open else "aconst_null\nareturn", constants)
    klass, above = constants.klass("THIS"), constants.klass("java/lang/Object")
    body = struct.pack(">HHHHHH", _PUBLIC | _FINAL | _SUPER, klass, above, 0, 0, 1)
    texts = constants.text(of), constants.text(descriptor)
    body += struct.pack(">HHHH", _PUBLIC | _STATIC, *texts, 1)
    body += struct.pack(">HI", constants.text("Code"), 10 + len(code) + len(handlers))
    body += struct.pack(">HHI", 3, 3, len(code)) + code + handlers + b"\0\0\0\0"
    return class_file(constants, body)


def helper_name() -> str:
    """Its internal name, with a digest of what it does."""
    digest = hashlib.sha256(helper_class("java/lang/JvmtiProbes")).hexdigest()[:8]
    return f"java/lang/JvmtiProbes{digest}"


def _rows(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), 20):
        yield "    " + ", ".join(str(byte) for byte in data[at : at + 20]) + ","


def probe_helper_header() -> str:
    """The header."""
    name = helper_name()
    gate = f"{name}Gate"
    native = name.replace("/", "_")
    return "\n".join(
        [
            HEAD,
            "#pragma once\n",
            "#include <cstdint>\n",
            "namespace jvmti {\n",
            f'constexpr const char* kProbeHelper = "{name}";',
            "constexpr uint8_t kProbeHelperClass[] = {",
            *_rows(helper_class(name)),
            "};",
            "constexpr uint8_t kProbeHelperClass11[] = {",
            *_rows(helper_class(name, "getObject")),
            "};\n",
            f'constexpr const char* kProbeGate = "{gate}";',
            "constexpr uint8_t kProbeGateClosed[] = {",
            *_rows(gate_class(gate, name, is_open=False)),
            "};\n",
            "constexpr uint8_t kProbeGateOpen[] = {",
            *_rows(gate_class(gate, name, is_open=True)),
            "};\n",
            f'constexpr const char* kProbeLeaving = "{LEAVING}";',
            "constexpr uint8_t kProbeLeavingClass[] = {",
            *_rows(leaving_class()),
            "};\n",
            f'constexpr const char* kProbeRestarting = "{RESTARTING}";',
            "constexpr uint8_t kProbeRestartingClass[] = {",
            *_rows(restarting_class()),
            "};\n",
            f'constexpr const char* kWalkedFrames = "{WALKED}";',
            "constexpr uint8_t kWalkedFramesClass[] = {",
            *_rows(walked_class()),
            "};\n",
            "}  // namespace jvmti\n",
            f"#define JVMTI_PROBE_HELPER(method) Java_{native}_##method",
            "",
        ]
    )


__all__ = [
    "LEAVING",
    "RESTARTING",
    "WALKED",
    "helper_class",
    "helper_name",
    "leaving_class",
    "probe_helper_header",
    "restarting_class",
    "walked_class",
]
