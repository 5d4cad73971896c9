"""The heap of a running VM: ``vm.heap``.

What lives here: scans, referrers, retained sizes, and live objects behind the rows of a snapshot.
All of it is passes of the agent over the heap, during which the program stands still.  What does
not: what a dump alone can answer (`jvmti.heap`), and the objects of the model, which lie above.
"""
