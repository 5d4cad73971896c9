"""Profiles for profiler.firefox.com: JSON of its processed format, version 60.

Each thread has its samples with their times, so its time line works.  The page converts files of
earlier versions than its own.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.profile.tables import FrameKind
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["write"]

_VERSION = 60
_WEIGHTS = {"ns": "tracing-ms", "bytes": "bytes", "count": "samples"}
_JAVA = (FrameKind.JAVA, FrameKind.INTERPRETED, FrameKind.COMPILED, FrameKind.INLINED)
_CATEGORIES = (
    ("Other", "grey", ()),
    ("Java", "green", _JAVA),
    ("Native", "blue", (FrameKind.NATIVE,)),
    ("VM", "lightblue", (FrameKind.VM,)),
    ("Kernel", "orange", (FrameKind.KERNEL,)),
    ("Garbage collector", "yellow", (FrameKind.COLLECTOR,)),
    ("Compiler", "magenta", (FrameKind.COMPILER,)),
    ("Type", "purple", (FrameKind.TYPE,)),
)


def write(profile: Profile, path: str, name: str) -> None:
    """Write a profile of one kind."""
    text = json.dumps(_as_json(profile, name), separators=(",", ":"))
    data = text.encode("utf-8", "replace")
    with open(path, "wb") as file:
        file.write(gzip.compress(data, 1) if name.endswith(".gz") else data)


def _as_json(profile: Profile, name: str) -> dict[str, Any]:
    columns, frames, tree = profile._columns, profile.frames, profile._columns.tree
    methods = len(columns.names)
    category = numpy.zeros(len(FrameKind), numpy.int64)
    for number, (_, _, kinds) in enumerate(_CATEGORIES):
        category[list(kinds)] = number
    first = numpy.zeros(methods, numpy.int64)
    first[columns.method[::-1]] = numpy.arange(len(frames))[::-1]
    of_method = category[frames.kind[first]] if methods else first
    nodes = len(tree) - 1  # without the root
    is_java = (of_method == 1).tolist()
    return {
        "meta": {
            "interval": next((one.interval * 1e3 for one in profile.limits if one.interval), 1),
            "startTime": profile.began / 1e6,
            "endTime": profile.ended / 1e6,
            "profilingStartTime": 0,
            "profilingEndTime": (profile.ended - profile.began) / 1e6,
            "processType": 0,
            "product": printable(name),
            "importedFrom": "jvmti",
            "stackwalk": 1,
            "debug": False,
            "version": 32,
            "preprocessedProfileVersion": _VERSION,
            "symbolicated": True,
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
            "categories": [
                {"name": name, "color": color, "subcategories": ["Other"]}
                for name, color, _ in _CATEGORIES
            ],
            "markerSchema": [],
            "extra": [
                {
                    "label": "Limits",
                    "entries": [
                        {"label": str(number), "format": "string", "value": printable(text)}
                        for one in profile.limits
                        for number, text in enumerate(one.complaints(), 1)
                    ],
                }
            ],
        },
        "libs": [],
        "pages": [],
        "shared": {
            "stringArray": [printable(one) for one in columns.names],
            "sources": {"length": 0, "uuid": [], "filename": []},
            "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
            "nativeSymbols": {
                "length": 0,
                "libIndex": [],
                "address": [],
                "name": [],
                "functionSize": [],
            },
            "funcTable": {
                "length": methods,
                "name": list(range(methods)),
                "isJS": [False] * methods,
                "relevantForJS": is_java,
                "resource": [-1] * methods,
                "source": [None] * methods,
                "lineNumber": [None] * methods,
                "columnNumber": [None] * methods,
            },
            "frameTable": {
                "length": methods,
                "address": [-1] * methods,
                "inlineDepth": [0] * methods,
                "category": of_method.tolist(),
                "subcategory": [0] * methods,
                "func": list(range(methods)),
                "nativeSymbol": [None] * methods,
                "innerWindowID": [None] * methods,
                "line": [None] * methods,
                "column": [None] * methods,
            },
            "stackTable": {
                "length": nodes,
                "frame": tree.name[1:].tolist(),
                "prefix": [above - 1 if above else None for above in tree.parent[1:].tolist()],
            },
        },
        "threads": [
            _thread(profile, part, thread, number)
            for number, (thread, part) in enumerate(profile.by("thread").items())
        ],
    }


def _thread(profile: Profile, part: Profile, name: str, number: int) -> dict[str, Any]:
    samples = part.samples
    order = numpy.argsort(samples.time, kind="stable")
    end = profile._columns.tree.end[samples.stack[order]] - 1
    weight = samples.weight[order]
    in_ns = profile.kind.unit == "ns"
    thread = part.threads[int(samples.thread[0])]
    return {
        "name": printable(name),
        "isMainThread": number == 0,
        "processType": "default",
        "processName": printable(thread.process) or "JVM",
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "pid": "1",
        "tid": number + 1,
        "samples": {
            "length": len(order),
            "stack": [row if row >= 0 else None for row in end.tolist()],
            "time": ((samples.time[order] - profile.began) / 1e6).tolist(),
            "weight": (weight / 1e6).tolist() if in_ns else weight.tolist(),
            "weightType": _WEIGHTS[profile.kind.unit],
        },
        "markers": {
            "length": 0,
            "data": [],
            "name": [],
            "startTime": [],
            "endTime": [],
            "phase": [],
            "category": [],
        },
    }
