"""Analyses of a snapshot, a module for each: leaks, duplicates, collections, differences.

What lives here reads `jvmti.heap.snapshot.Snapshot` and needs no JVM.  What does not: the basis of
all analyses (objects, dominators, paths), which is in `jvmti.heap`, and the looks of answers.
"""
