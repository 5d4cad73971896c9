"""The program `tests/java/Streamed.java`, which knows how many events it causes, and its VM."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import compiler
import jvmti

if TYPE_CHECKING:
    from jvms import Jvm

CAPABILITIES = {
    "can_generate_method_entry_events",
    "can_generate_method_exit_events",
    "can_generate_field_modification_events",
    "can_generate_field_access_events",
    "can_generate_exception_events",
    "can_generate_monitor_events",
    "can_generate_garbage_collection_events",
    "can_generate_object_free_events",
    "can_generate_single_step_events",
    "can_tag_objects",
}


class Streamed:
    """The program, or another that speaks like it, and this process's session on it."""

    def __init__(
        self,
        jvm: Jvm,
        *options: str,
        capabilities: set[str] = CAPABILITIES,
        program: str = "Streamed",
    ) -> None:
        classes = compiler.classes(program)
        self.vm = jvmti.launch(
            [jvm.java, *jvm.args, *options, "-cp", str(classes), program],
            hold=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.vm.popen is not None
        self.process = self.vm.popen
        try:
            self.vm.env.add_capabilities(capabilities)
            self.vm.proceed()
            assert self.read() == "ready"
        except BaseException:
            self.vm.detach()
            with self.process:
                self.process.kill()
            raise

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def ask(self, line: str) -> str:
        self.send(line)
        return self.read()

    def close(self) -> None:
        self.vm.detach()
        with self.process:
            try:
                self.process.communicate(timeout=20)
            finally:
                self.process.kill()
        assert self.process.returncode == 0


def rest_of(stream: Any) -> list[dict[str, Any]]:
    """Close a stream and give all that is left in it, row by row."""
    stream.close()
    rows = []
    while records := stream.read(0):
        rows += records.rows()
    return rows
