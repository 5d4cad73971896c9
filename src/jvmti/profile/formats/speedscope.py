"""Profiles for speedscope.app: JSON.

One of its profiles for each kind and thread.  Samples of equal stacks are one, in the order of
their first: the format repeats the whole stack for each sample.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["write"]

_UNITS = {"ns": "nanoseconds", "bytes": "bytes", "count": "none"}
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write(profile: Profile, path: str, name: str) -> None:
    """Write a profile."""
    stacks, frames = profile.stacks, profile.frames
    code, rows = numpy.unique(
        numpy.stack([profile._columns.method, frames.line]), axis=1, return_inverse=True
    )
    names = profile._columns.names
    shared = [
        {"name": printable(names[method])} | ({"line": line} if line > 0 else {})
        for method, line in zip(*code.tolist(), strict=True)
    ]
    inside = rows.ravel()[stacks.frames] if len(frames) else stacks.frames
    texts: dict[int, str] = {}
    with open(path, "w", encoding="utf-8") as file:
        head: dict[str, Any] = {
            "$schema": _SCHEMA,
            "exporter": "jvmti",
            "name": name,
            "activeProfileIndex": 0,
            "shared": {"frames": shared},
        }
        file.write(json.dumps(head)[:-1] + ', "profiles": [')
        comma = ""
        for kind in profile.kinds:
            for thread, part in profile[kind].by("thread").items():
                stack, weights = _merged(part)
                for row in stack.tolist():
                    if row not in texts:
                        begin, end = stacks.offsets[row], stacks.offsets[row + 1]
                        texts[row] = json.dumps(inside[begin:end][::-1].tolist())
                about = {
                    "type": "sampled",
                    "name": printable(f"{thread} ({kind.name.lower()})"),
                    "unit": _UNITS[kind.unit],
                    "startValue": 0,
                    "endValue": int(weights.sum()),
                }
                rows_text = ",".join([texts[row] for row in stack.tolist()])
                file.write(
                    f"{comma}{json.dumps(about)[:-1]}, "
                    f'"samples": [{rows_text}], "weights": {json.dumps(weights.tolist())}}}'
                )
                comma = ","
        file.write("]}")


def _merged(part: Profile) -> tuple[Any, Any]:
    """The stacks of a profile in the order of their first samples, and their weights."""
    found, first = numpy.unique(part.samples.stack, return_index=True)
    stack = found[numpy.argsort(first)]
    return stack, part.stack_weights[stack]
