"""Commands that start a JVM in an unusual place: as another user, in namespaces of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jvmti.target.errors import AttachError
from jvmti.target.processes.procfs import ProcessHandle
from jvmti.target.processes.search import Process, processes

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).absolute().parents[1]
NOBODY = 65534
"""A user and group that own nothing."""

AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
UNSHARE = ["unshare", "--fork", "--pid", "--mount", "--kill-child"]
USER = ["--user", "--map-root-user"]


def emptied(place: str, options: str) -> str:
    """A shell's command that mounts an empty file system on a directory, where this tree stays."""
    mount = f"mount -t tmpfs -o mode=1777,{options} tmpfs {place}"
    if not ROOT.is_relative_to(place):
        return mount
    return f"{{ {mount} && mkdir -p {ROOT} && mount -c --bind /proc/self/fd/9 {ROOT}; }} 9<{ROOT}"


def own_tmp(options: str = "size=64m") -> Sequence[str]:
    """The JVM keeps its home and classes in view, and gets a /tmp of its own."""
    script = f"""home=${{1%/bin/java}}; shift; mount --bind "$home" /mnt &&
    {emptied("/tmp", options)} && exec /mnt/bin/java "$@" """
    return ["sh", "-c", script, "sh"]


CONTAINER = [*AS_NOBODY, *UNSHARE, *USER, *own_tmp()]
"""Another user, with a namespace of each kind, and a /tmp of its own."""


def skip_below_closed_folders(user: int = NOBODY) -> None:
    """Skip the test if a user without root's rights may not enter a folder that this tree is in."""
    for above in ROOT.parents:
        found = above.stat()
        if not found.st_mode & (0o101 if found.st_uid == user else 0o001):
            pytest.skip(f"only its owner may enter {above}, so others can run nothing in this tree")


def jvm_below(ancestor: int) -> Process:
    """The JVM that a wrapper started: `jvm_below(program.pid)`."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for process in processes():
            if process.libjvm is not None and _descends(process.pid, ancestor):
                return process
        time.sleep(0.05)
    pytest.fail(f"no JVM below process {ancestor}")


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            with ProcessHandle(pid) as handle:
                pid = handle.status().parent
        except AttachError:
            return False
    return False
