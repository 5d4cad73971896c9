"""Install Python packages with uv, which takes a tenth of pip's time.

    python scripts/install_packages.py [OPTION]... [PACKAGE]...

The options are those that both understand: `--quiet`, `--group`, `--python`, `--target` and so on.
Where only pip reaches the packages, by settings of its own, pip installs them.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
UV = "uv>=0.8"


def main() -> None:
    """Install what the command line names."""
    sys.exit(install(*sys.argv[1:]))


def install(*arguments: str) -> int:
    """Install packages for this Python, or where an option says; return the status."""
    uv = [sys.executable, "-m", "uv", "pip", "install"]
    if not any(one.startswith(("--python", "--target")) for one in arguments):
        uv += ["--python", sys.executable]
    # Certificates of this machine, as those of a proxy, which pip takes too.
    environment = {"UV_SYSTEM_CERTS": "1", "UV_NO_PROGRESS": "1", **os.environ}
    status = subprocess.call([*uv, *arguments], env=environment) if has_uv() else 1
    if status:
        print("uv could not install them; pip tries now", file=sys.stderr)
        subprocess.call([*PIP, "--quiet", "--upgrade", "pip>=25.1"])  # for dependency groups
        rest, place = list(arguments), {}
        if "--python" in rest:  # pip wants it before its subcommand
            at = rest.index("--python")
            place = {"PIP_PYTHON": rest[at + 1]}
            del rest[at : at + 2]
        status = subprocess.call([*PIP, "--no-compile", *rest], env={**os.environ, **place})
    return status


def has_uv() -> bool:
    """Whether uv is there, installed now if it was not."""
    # What begins at the same time would find half of it.
    with open(os.path.join(sys.prefix, ".uv-lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        there = subprocess.call([sys.executable, "-c", "import uv"], stderr=subprocess.DEVNULL) == 0
        return there or subprocess.call([*PIP, "--quiet", UV]) == 0


if __name__ == "__main__":
    main()
