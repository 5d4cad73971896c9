"""Ends a launched program when the adapter is killed, which could not do that any more."""

from __future__ import annotations

import contextlib

from jvmti.deferred import subprocess

_GUARD = 'read -r word || { kill -s TERM -- "-$1"; sleep 5; kill -s KILL -- "-$1"; } 2>/dev/null'
"""Its input ends without a word when the adapter has been killed."""


class ProgramGuard:
    """A process that waits for the end of this one, and ends a process group then.

    Args:
        group: the number of the group.
    """

    def __init__(self, group: int) -> None:
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "sh", str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """The program may go on, or has ended; further calls do nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"done\n")
            process.stdin.flush()
            process.stdin.close()
        process.wait()


__all__ = ["ProgramGuard"]
