"""Keeps the bytecode of this run, also where the environment says not to write any.

Without it each process of a run rewrites the assertions of all tests (15 s of processor time, with
it 5), and each of the hundreds of Pythons that tests start compiles the package (1 s).  It goes to
`build/pycache`, so that the sources stay as clean as the environment asks for.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None) and "PYTHONPYCACHEPREFIX" not in os.environ:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parent.parent / "build" / "pycache")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
