"""Passes messages on between an editor and its adapter, and writes each down as a line.

python recorder.py LOG COMMAND...
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import IO


def passed(source: IO[bytes], sink: IO[bytes], log: IO[bytes], lock: threading.Lock) -> None:
    """Pass on messages until there are no more."""
    while header := source.readline():
        length = None
        head = [header]
        while header.strip():
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            header = source.readline()
            head.append(header)
        assert length is not None
        body = source.read(length)
        with lock:
            log.write(body.replace(b"\n", b" ") + b"\n")
            log.flush()
        sink.write(b"".join(head) + body)
        sink.flush()
    sink.close()


def main() -> int:
    """Start the command, and pass on what goes in and comes out."""
    lock = threading.Lock()
    command = sys.argv[2:]
    if command[1:2] != ["debug"]:
        return subprocess.run(command, check=False).returncode
    with open(sys.argv[1], "ab") as log:
        adapter = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert adapter.stdin is not None
        assert adapter.stdout is not None
        arguments = (sys.stdin.buffer, adapter.stdin, log, lock)
        threading.Thread(target=passed, args=arguments, daemon=True).start()
        passed(adapter.stdout, sys.stdout.buffer, log, lock)
        return adapter.wait()


if __name__ == "__main__":
    status = main()
    # Not by the interpreter's own end, which wants the buffer that the other thread reads into.
    os._exit(status)
