"""Requests about where threads stop, and how they go on.

Breakpoints of all kinds with their conditions, steps, and frames that are left early. What shows a
stopped thread is beside it, in `jvmti.adapter.showing`.
"""
