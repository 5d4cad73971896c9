"""Questions to a snapshot, a module for each: leaks, duplicates, collections, differences.

What lives here reads `jvmti.heap.snapshot.Snapshot` and needs no JVM.  What does not: what every
question builds on (objects, dominators, paths), which is in `jvmti.heap`, and how answers look.
"""
