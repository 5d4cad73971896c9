"""Heaps: dumps as graphs of objects that answer questions.

::

    snapshot = jvmti.heap.open("dump.hprof")
    for row in snapshot.histogram(retained=True).top(10):
        print(row.name, row.count, row.bytes, row.retained)

    orders = snapshot.objects("com.acme.Order")
    names = orders["customer"]["name"].strings()
    print(snapshot.paths_to_roots(orders).lines())

This package reads dump files itself, without a JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.reexports import reexports

if TYPE_CHECKING:
    from jvmti.heap.analyses.containers import Collections, collections
    from jvmti.heap.analyses.deployments import LoaderSuspect, class_loader_leaks, deployments
    from jvmti.heap.analyses.differences import Growth, grown, growth, path_growth
    from jvmti.heap.analyses.duplicates import Duplicates, duplicate_arrays, duplicate_strings
    from jvmti.heap.analyses.leaks import Leaks, Suspect, leak_suspects
    from jvmti.heap.analyses.suspects import (
        DirectBuffers,
        ThreadLocalValue,
        direct_buffers,
        finalizer_queue,
        reference_queues,
        thread_locals,
    )
    from jvmti.heap.classes import Class, Classes, Field
    from jvmti.heap.dominators import AccumulationPoint, DominatorTree
    from jvmti.heap.errors import (
        Cancelled,
        HeapError,
        NoSuchClass,
        NoSuchField,
        NotADump,
        NotEnoughMemory,
        TooManyObjects,
    )
    from jvmti.heap.groups import Groups
    from jvmti.heap.histogram import Histogram, HistogramRow
    from jvmti.heap.library import NONE
    from jvmti.heap.objects import Object, Objects
    from jvmti.heap.paths import Node, PathTree
    from jvmti.heap.redaction import redact
    from jvmti.heap.roots import Frame, Root, Roots, Thread
    from jvmti.heap.snapshot import Fault, Loader, Snapshot
    from jvmti.heap.snapshot import open_snapshot as open
else:
    __getattr__, __dir__ = reexports(
        __name__,
        {
            "AccumulationPoint": "jvmti.heap.dominators",
            "Cancelled": "jvmti.heap.errors",
            "Class": "jvmti.heap.classes",
            "Classes": "jvmti.heap.classes",
            "Collections": "jvmti.heap.analyses.containers",
            "DirectBuffers": "jvmti.heap.analyses.suspects",
            "DominatorTree": "jvmti.heap.dominators",
            "Duplicates": "jvmti.heap.analyses.duplicates",
            "Fault": "jvmti.heap.snapshot",
            "Field": "jvmti.heap.classes",
            "Frame": "jvmti.heap.roots",
            "Groups": "jvmti.heap.groups",
            "Growth": "jvmti.heap.analyses.differences",
            "HeapError": "jvmti.heap.errors",
            "Histogram": "jvmti.heap.histogram",
            "HistogramRow": "jvmti.heap.histogram",
            "Leaks": "jvmti.heap.analyses.leaks",
            "Loader": "jvmti.heap.snapshot",
            "LoaderSuspect": "jvmti.heap.analyses.deployments",
            "NONE": "jvmti.heap.library",
            "NoSuchClass": "jvmti.heap.errors",
            "NoSuchField": "jvmti.heap.errors",
            "Node": "jvmti.heap.paths",
            "NotADump": "jvmti.heap.errors",
            "NotEnoughMemory": "jvmti.heap.errors",
            "Object": "jvmti.heap.objects",
            "Objects": "jvmti.heap.objects",
            "PathTree": "jvmti.heap.paths",
            "Root": "jvmti.heap.roots",
            "Roots": "jvmti.heap.roots",
            "Snapshot": "jvmti.heap.snapshot",
            "Suspect": "jvmti.heap.analyses.leaks",
            "Thread": "jvmti.heap.roots",
            "ThreadLocalValue": "jvmti.heap.analyses.suspects",
            "TooManyObjects": "jvmti.heap.errors",
            "class_loader_leaks": "jvmti.heap.analyses.deployments",
            "collections": "jvmti.heap.analyses.containers",
            "deployments": "jvmti.heap.analyses.deployments",
            "direct_buffers": "jvmti.heap.analyses.suspects",
            "duplicate_arrays": "jvmti.heap.analyses.duplicates",
            "duplicate_strings": "jvmti.heap.analyses.duplicates",
            "finalizer_queue": "jvmti.heap.analyses.suspects",
            "grown": "jvmti.heap.analyses.differences",
            "growth": "jvmti.heap.analyses.differences",
            "leak_suspects": "jvmti.heap.analyses.leaks",
            "open": "jvmti.heap.snapshot:open_snapshot",
            "path_growth": "jvmti.heap.analyses.differences",
            "redact": "jvmti.heap.redaction",
            "reference_queues": "jvmti.heap.analyses.suspects",
            "thread_locals": "jvmti.heap.analyses.suspects",
        },
    )


__all__ = [
    "NONE",
    "Cancelled",
    "Class",
    "Collections",
    "Classes",
    "DirectBuffers",
    "DominatorTree",
    "AccumulationPoint",
    "Duplicates",
    "Fault",
    "Field",
    "Frame",
    "Groups",
    "Growth",
    "HeapError",
    "Histogram",
    "HistogramRow",
    "Leaks",
    "Loader",
    "LoaderSuspect",
    "NotEnoughMemory",
    "NoSuchClass",
    "NoSuchField",
    "Node",
    "NotADump",
    "Object",
    "Objects",
    "PathTree",
    "Root",
    "Roots",
    "Snapshot",
    "Suspect",
    "Thread",
    "ThreadLocalValue",
    "TooManyObjects",
    "class_loader_leaks",
    "collections",
    "deployments",
    "direct_buffers",
    "duplicate_arrays",
    "duplicate_strings",
    "finalizer_queue",
    "growth",
    "grown",
    "leak_suspects",
    "open",
    "path_growth",
    "redact",
    "reference_queues",
    "thread_locals",
]
