"""Writes the agent's generated sources from the declarations in ``src/jvmti``.

Usage: ``python native/agent/generate OUTPUT_DIRECTORY``.  Needs the standard library only, because
the package's build runs it.  Each module writes the files that its docstring names; ``layouts.h``
(how messages and shared memory lie) and the digest of the interface come from `interface_text`.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3] / "src"


def import_declarations() -> None:
    """Make ``jvmti`` importable without running its ``__init__``, which needs dependencies."""
    package = types.ModuleType("jvmti")
    package.__path__ = [str(SOURCE / "jvmti")]
    sys.modules["jvmti"] = package
    # An installation that links to other sources must not answer for these.
    sys.meta_path[:] = [one for one in sys.meta_path if one.__class__ is type]
    sys.path.insert(0, str(SOURCE))


import_declarations()

from answers import answers_source  # noqa: E402
from checked_calls import checked_calls_source  # noqa: E402
from cpp import HEAD  # noqa: E402
from interface_text import interface_digest, layouts_header, probes_header  # noqa: E402
from jni_wrappers import jni_wrappers_source  # noqa: E402
from kinds import kinds_header  # noqa: E402
from overrides import overrides_header  # noqa: E402
from probe_helper import probe_helper_header  # noqa: E402
from protocol_header import protocol_header  # noqa: E402
from recorders import recorders_header, recorders_source  # noqa: E402
from structures import structures_header  # noqa: E402
from thunks import thunks_source  # noqa: E402
from trampolines import taps_header, trampolines_source  # noqa: E402


def main(output: Path) -> None:
    """Write the files; those that did not change keep their time."""
    output.mkdir(parents=True, exist_ok=True)
    files = {
        "answers.cpp": answers_source(),
        "kinds.h": kinds_header(),
        "overrides.h": overrides_header(),
        "layouts.h": layouts_header(HEAD),
        "probes.h": probes_header(HEAD),
        "probe_helper.h": probe_helper_header(),
        "protocol.h": protocol_header(),
        "recorders.h": recorders_header(),
        "recorders.cpp": recorders_source(),
        "structures.h": structures_header(),
        "taps.h": taps_header(),
        "thunks.cpp": thunks_source(),
        "trampolines.cpp": trampolines_source(),
        "jni_wrappers.cpp": jni_wrappers_source(),
        "checked_calls.cpp": checked_calls_source(),
        "interface.digest": interface_digest().hex(),
    }
    for name, text in files.items():
        path = output / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
