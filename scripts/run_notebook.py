"""Executes a notebook where it stands and stores its outputs, without what changes each time.

Usage: ``python scripts/run_notebook.py examples/notebooks/leak_and_deadlock.ipynb [OUTPUT]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def run(path: Path, to: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=100,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": path.parent}},
    ).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, to)


if __name__ == "__main__":
    run(Path(sys.argv[1]).absolute(), Path(sys.argv[-1]).absolute())
