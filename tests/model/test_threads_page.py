"""The examples of docs/threads.md run, on a server as the page describes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.target.agent_library import library_for_executable

if TYPE_CHECKING:
    import pytest

    from jvms import Jvm
    from programs import JavaPrograms

pytestmark = pytest.mark.oldest_and_newest

PAGE = Path(__file__).parent.parent.parent / "docs" / "threads.md"


def test_every_example_of_the_page_runs(
    java_program: JavaPrograms, jvm: Jvm, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"-agentpath:{library_for_executable(jvm.java)}=reserve"]
    program = java_program("Served", jvm_args=options)
    program.expect("ready")
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(examples) == 8
    with jvmti.attach(program.pid, timeout=30) as vm:
        names: dict[str, Any] = {"vm": vm}
        shown = []
        for example in examples:
            exec(example, names)
            shown.append(capsys.readouterr().out)
    assert shown[0].startswith("http-1 ")
    assert "at Served$Server.serve(Served.java:" in shown[0]
    assert int(shown[1]) > 5
    assert shown[2].splitlines()[0].endswith("True")
    assert "example.org" in shown[3].splitlines()
    assert "java.lang.String path = '/index.html'" in shown[3]
    assert "long size = 1099511627776" in shown[4]
    assert shown[5] == ""
    assert "    main (RUNNABLE)" in shown[6]
    assert "Served" in shown[7]
    while not program.ask("last").startswith("/other "):
        pass


def test_the_example_of_late_attach_shows_what_the_page_says(
    java_program: JavaPrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    program = java_program("Served")
    program.expect("ready")
    found = re.search(
        r"^### In a JVM that was attached to late$.*?```python\n(.*?)```\s+```text\n(.*?)```",
        PAGE.read_text(),
        re.S | re.M,
    )
    assert found is not None
    example, text = found.groups()
    with jvmti.attach(program.pid, timeout=30) as vm:
        exec(example, {"vm": vm})
    shown = [re.sub(r"@[0-9a-f]+>", ">", line) for line in capsys.readouterr().out.splitlines()]
    # What the thread does at the moment, as any other.
    assert shown[:8] == [re.sub(r"@[0-9a-f]+>", ">", line) for line in text.splitlines()]
