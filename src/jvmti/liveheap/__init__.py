"""The heap of a running VM: ``vm.heap``.

What lives here: scans, referrers, retained sizes, and live objects behind the rows of a snapshot.
All of it is passes of the agent over the heap, which stop the program. What does not: analyses of a
dump (`jvmti.heap`), and the objects of the model, which lie above.
"""
