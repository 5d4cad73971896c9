"""Faults of others: memory runs out, the VM answers nonsense, class files and dumps are damaged."""
