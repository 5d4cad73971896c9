"""Programs that are found by name, in a container, or because another program has started them."""

from __future__ import annotations

import json
import os
import zipfile
from typing import TYPE_CHECKING

import pytest

import compiler
from adapter.client import SOON, SOURCE, Client, Failed, line
from places import CONTAINER, jvm_below

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from programs import JavaPrograms

pytestmark = pytest.mark.newest

SOURCES = [str(SOURCE.parent)]


def is_debugged(client: Client) -> None:
    """A thread stops in the program's source, shows what it has, steps and calls methods."""
    thread = client.stopped("breakpoint")
    top = client.top(thread)
    assert (top["line"], top["source"]["path"]) == (line("GROSS"), str(SOURCE))
    count = int(client.locals(thread)["count"]["value"])
    client.go("next", thread)
    assert client.locals(thread)["gross"]["value"] == str(120 * count)
    assert client.evaluate(thread, "square(count)")["result"] == str(count * count)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can")
def test_a_program_in_a_container_is_debugged(java_program: JavaPrograms, client: Client) -> None:
    """It runs as another user, in namespaces of its own and with a /tmp of its own."""
    program = java_program("Debugged", wrapper=CONTAINER)
    program.expect("ready")
    process = jvm_below(program.pid)
    assert {"mnt", "pid", "user"} <= process.foreign_namespaces
    client.attach(process.pid, line("GROSS"), sourcePaths=SOURCES)
    is_debugged(client)
    client.disconnect()
    seen = len(program.lines)
    while len(program.lines) < seen + 2:
        program.read_line()
    program.kill()


def test_a_program_is_found_by_its_name(
    java_program: JavaPrograms, client: Client, tmp_path: Path
) -> None:
    """A part of it will do, if only one JVM has it; the message lists them, if there is none."""
    name = f"orders-{os.getpid()}"
    place = tmp_path / f"{name}.jar"
    with zipfile.ZipFile(place, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Main-Class: Debugged\n")
        for file in compiler.classes("Debugged").glob("*.class"):
            jar.write(file, file.name)
    program = java_program.start(["-jar", str(place)], ends_with_input=False)
    program.expect("ready")
    client.initialize()
    with pytest.raises(Failed, match=f"no JVM has '{name}x' in its main class or jar; running are"):
        client.ask("attach", mainClass=f"{name}x")
    with pytest.raises(Failed, match="an empty name"):
        client.ask("attach", mainClass=" ")
    # The label of a configuration is its name, too.
    client.ask("attach", name="Attach", mainClass=name, sourcePaths=SOURCES)
    client.event("initialized")
    client.breakpoints(line("GROSS"))
    client.ask("configurationDone")
    is_debugged(client)
    client.disconnect()


def test_the_editor_begins_a_session_for_each_jvm_that_the_program_starts(
    client: Client, command: Sequence[str]
) -> None:
    """Such a JVM waits for its breakpoints; if the editor does not want it, it runs on."""
    client.launch(
        line("GROSS"),
        command=command,
        supports=["StartDebuggingRequest"],
        follow=True,
        sourcePaths=SOURCES,
        evaluateTimeout=60_000,
    )
    thread = client.stopped("breakpoint")
    words = ", ".join(json.dumps(word) for word in [*command, "3"])
    start = f"new ProcessBuilder(new String[] {{{words}}}).start()"
    client.post("evaluate", {"expression": start, "frameId": client.top(thread)["id"]})
    asked = client.asked.get(timeout=SOON)
    assert asked["command"] == "startDebugging"
    assert asked["arguments"]["request"] == "attach"
    configuration = asked["arguments"]["configuration"]
    assert configuration["name"] == "Debugged"
    assert configuration["sourcePaths"] == SOURCES
    assert client.response(timeout=SOON)["success"]
    child = Client()
    child.attach(configuration.pop("pid"), line("GROSS"), **configuration)
    client.answer(asked, True)
    assert child.locals(child.stopped("breakpoint"))["count"]["value"] == "1"
    child.breakpoints()
    child.disconnect()
    expression = {"expression": f"{start}.waitFor()", "frameId": client.top(thread)["id"]}
    client.post("evaluate", expression)
    client.answer(client.asked.get(timeout=SOON), False)
    assert client.response(timeout=SOON)["body"]["result"] == "3"
    client.disconnect()
