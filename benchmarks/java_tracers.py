"""Arthas and Byteman, from Maven Central: attached to a program, and given what to trace."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

import maven  # noqa: E402
from jvmti.target.hotspot import command  # noqa: E402
from jvmti.target.processes.search import inspect  # noqa: E402

ARTHAS = "com.taobao.arthas:arthas-packaging:3.7.2:zip:bin"
BYTEMAN = "org.jboss.byteman:byteman:4.0.25"
PATIENCE = 120
"""Seconds to wait for either of them."""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Arthas:
    """Arthas in one program; its own client gives the commands.

    Args:
        java: the JVM for its clients.
        pid: the program.
        folder: where it may be unpacked.
    """

    def __init__(self, java: Path, pid: int, folder: Path) -> None:
        home = folder / "arthas"
        (packed,) = maven.fetched([ARTHAS], ROOT / "build" / "maven")
        with zipfile.ZipFile(packed) as archive:
            archive.extractall(home)
        port = free_port()
        boot = ["-jar", home / "arthas-boot.jar", "--attach-only", "--arthas-home", home]
        where = ["--target-ip", "127.0.0.1", "--telnet-port", port, "--http-port", -1]
        done = subprocess.run(
            [*map(str, [java, *boot, *where, pid])],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"Arthas does not attach: {done.stdout}{done.stderr}")
        self._client = [*map(str, [java, "-jar", home / "arthas-client.jar", "127.0.0.1", port])]

    @contextlib.contextmanager
    def armed(self, *commands: str) -> Iterator[float]:
        """Give commands, and take what they print: the seconds that arming took, as Arthas says."""
        clients = [
            subprocess.Popen(
                [*self._client, "-c", one],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for one in commands
        ]
        try:
            yield sum(map(self._cost, clients))
        finally:
            for one in clients:
                one.kill()
                one.wait()
            subprocess.run(
                [*self._client, "-c", "reset"],
                stdout=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
            )

    def _cost(self, client: subprocess.Popen[bytes]) -> float:
        assert client.stdout is not None
        said = b""
        while (found := re.search(rb"Affect\(.*cost in (\d+) ms", said)) is None:
            more = client.stdout.read1()  # type: ignore[attr-defined]
            if not more:
                raise SystemExit(f"Arthas traces nothing: {said.decode(errors='replace')}")
            said += more
        threading.Thread(target=drain, args=(client.stdout,), daemon=True).start()
        return int(found[1]) / 1e3


def drain(stream: object) -> None:
    """Take what a client prints, so that Arthas need not wait for anybody."""
    while stream.read1():  # type: ignore[attr-defined]
        pass


def load(pid: int, options: str) -> None:
    """Load an agent of `java.lang.instrument`: its jar, and what it is given behind ``=``."""
    answer = command(inspect(pid), "load", "instrument", "false", options, timeout=PATIENCE)
    if not answer.strip().endswith("0"):
        raise SystemExit(f"{options} is not loaded: {answer}")


class Byteman:
    """Byteman in one program, which takes rules by a socket.

    Args:
        pid: the program.
    """

    def __init__(self, pid: int) -> None:
        (jar,) = maven.fetched([BYTEMAN], ROOT / "build" / "maven")
        self._port = free_port()
        options = f"{jar}=listener:true,port:{self._port},boot:{jar}"
        load(pid, options)

    @contextlib.contextmanager
    def armed(self, *rules: str) -> Iterator[float]:
        """Give rules: the seconds until Byteman has answered that they are in the classes."""
        script = "SCRIPT rules\n" + "".join(rules) + "ENDSCRIPT\n"
        began = time.monotonic()
        said = self._ask(f"LOAD\n{script}ENDLOAD\n")
        took = time.monotonic() - began
        # Without an error, there is one line for each script, and one for what it was put into.
        if "exception" in said.lower() or "error" in said.lower():
            raise SystemExit(f"Byteman refuses: {said}")
        try:
            yield took
        finally:
            self._ask("DELETEALL\n")

    def rules(self) -> str:
        """Its rules, and where they have been put."""
        return self._ask("LIST\n")

    def _ask(self, what: str) -> str:
        with socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE) as connection:
            connection.sendall(what.encode())
            said = ""
            with connection.makefile() as lines:
                for line in lines:
                    if line == "OK\n":
                        return said
                    said += line
        raise SystemExit(f"Byteman ends without an answer: {said}")


def rule(
    name: str, where: str, method: str, at: str, condition: str, action: str, compiled: bool = True
) -> str:
    """A rule, which Byteman compiles to bytecodes if asked to."""
    how = "COMPILE" if compiled else "NOCOMPILE"
    return (
        f"RULE {name}\n{where}\nMETHOD {method}\nAT {at}\n{how}\n"
        f"IF {condition}\nDO {action}\nENDRULE\n"
    )
