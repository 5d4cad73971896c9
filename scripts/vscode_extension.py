"""Pack the extension for VS Code, `editors/vscode`, into a file that VS Code installs.

    make vscode
    code --install-extension build/vscode/jvmti-0.1.0.vsix

The packer is Microsoft's `@vscode/vsce`, brought by npm into build/vscode at the first time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTENSION = ROOT / "editors" / "vscode"
PACKER = "@vscode/vsce@^3.9.0"


def node_tool(name: str) -> str | None:
    """The path of `node` or `npm`: of this environment, or the machine's; ``None`` without one."""
    beside = Path(sys.executable).parent
    return shutil.which(name, path=os.pathsep.join([str(beside), os.environ.get("PATH", "")]))


def packed(to: Path) -> Path:
    """Pack the extension.

    Args:
        to: the folder for the file, and for what packs it.

    Returns:
        The file.
    """
    node, npm = node_tool("node"), node_tool("npm")
    if node is None or npm is None:
        raise SystemExit("there is no node and npm; `make vscode` installs them")
    environment = {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}
    to.mkdir(parents=True, exist_ok=True)
    packer = to / "node_modules" / ".bin" / "vsce"
    if not packer.exists():
        quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--omit=optional"]
        command = [npm, "install", *quiet, "--prefix", str(to), PACKER]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    # Packed in a copy, which has the licence of all this.
    copy = to / "extension"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(EXTENSION, copy)
    shutil.copy(ROOT / "LICENSE", copy / "LICENSE.txt")
    about = json.loads((EXTENSION / "package.json").read_text())
    file = to / f"{about['name']}-{about['version']}.vsix"
    command = [str(packer), "package", "--no-dependencies", "--allow-missing-repository"]
    subprocess.run(
        [*command, "-o", str(file)],
        check=True,
        cwd=copy,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    return file


def main() -> int:
    """Pack it, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", nargs="?", type=Path, default=ROOT / "build" / "vscode")
    print(packed(parser.parse_args().to))
    return 0


if __name__ == "__main__":
    sys.exit(main())
