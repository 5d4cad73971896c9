"""Runs a program to which the kernel denies some system calls, as containers do.

``python denied_calls.py NAME[,NAME] COMMAND…``; x86-64 only.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

NUMBERS = {"perf_event_open": 298, "timer_create": 222}

_SET_SECCOMP, _SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_LOAD_NUMBER = (0x20, 0, 0, 0)
_ALLOW = (0x06, 0, 0, 0x7FFF0000)
_NOT_PERMITTED = (0x06, 0, 0, 0x00050001)


class Program(ctypes.Structure):
    """A filter, as the kernel takes it."""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def deny(names: list[str]) -> None:
    """Deny these calls to the process from now on, and to what it starts."""
    tests = [
        (0x15, len(names) - at, 0, NUMBERS[name])  # equal: jump to the end
        for at, name in enumerate(names)
    ]
    steps = [_LOAD_NUMBER, *tests, _ALLOW, _NOT_PERMITTED]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(steps), code)
    for arguments in (
        (_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
