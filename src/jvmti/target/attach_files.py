"""The files of HotSpot's attach mechanism, as a process that shares them sees them."""

from __future__ import annotations

import os
import stat
from typing import Any

from jvmti.target.processes.procfs import ProcessHandle

__all__ = ["COPY_PARENTS", "attach_files"]

#: Where a copy of the agent library can go if the target cannot read the original.
COPY_PARENTS = ("/tmp", "/var/tmp", "/dev/shm")


def attach_files(handle: ProcessHandle, namespace_pid: int, uid: int) -> dict[str, Any]:
    """The files of the attach mechanism, seen by a process that shares them.

    ``socket``: ``none``, ``open``, ``foreign`` (another user's, or not a socket); ``removed``: the
    JVM listens on one whose file is gone; ``trigger``: there is a foreign trigger file;
    ``writable``: whether /tmp is; ``copies``: directories for a copy of the agent library.
    """
    path = f"/tmp/.java_pid{namespace_pid}"
    state = "none"
    try:
        about = os.lstat(path)
        belongs = stat.S_ISSOCK(about.st_mode) and about.st_uid == uid
        state = "open" if belongs else "foreign"
    except OSError:
        pass
    try:
        trigger = os.lstat(f"/tmp/.attach_pid{namespace_pid}")
        foreign = not stat.S_ISREG(trigger.st_mode) or trigger.st_uid not in (uid, 0)
    except OSError:
        foreign = False
    copies = []
    for parent in COPY_PARENTS:
        try:
            if not os.statvfs(parent).f_flag & (os.ST_NOEXEC | os.ST_RDONLY) and os.access(
                parent, os.W_OK | os.X_OK, effective_ids=True
            ):
                copies.append(parent)
        except OSError:
            continue
    return {
        "path": path,
        "socket": state,
        "removed": state == "none" and _listens(handle, path),
        "trigger": foreign,
        "writable": os.access("/tmp", os.W_OK | os.X_OK, effective_ids=True),
        "copies": copies,
    }


def _listens(handle: ProcessHandle, path: str) -> bool:
    """Whether the kernel has a socket bound to the path."""
    try:
        table = handle.read("net/unix").decode("utf-8", "replace")
    except OSError:
        return False
    # HotSpot binds it under a name that ends in .tmp and renames the file.
    names = (path, f"{path}.tmp")
    return any(row.split()[-1:] and row.split()[-1] in names for row in table.splitlines())
