"""Records of probes: the memory that they write to, and calls read from it.

What lives here: lanes and tallies, the layout of a place's records, their reader, and calls as
objects and as columns.  What does not: the probes, and putting them into classes (`jvmti.tracing`).
"""
