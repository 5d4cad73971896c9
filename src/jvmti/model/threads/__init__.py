"""Threads: frames and their variables, locks, groups, suspension, samples of stacks.

What does not live here: stopping a thread at a place in the program (`jvmti.model.debug`), and
trees of stacks (`jvmti.stacks`).
"""
