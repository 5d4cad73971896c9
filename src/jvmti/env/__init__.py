"""JVM TI itself, one to one: each module declares one chapter of the specification.

What lives here beside the chapters: their structures, callbacks and events, and `Env`, an
environment that has them all.  What does not: the agent's own operations (`jvmti.operations`).
"""
