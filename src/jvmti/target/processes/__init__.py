"""Processes of this machine: which are JVMs, and what the kernel and their files say of them.

What lives here: the search for JVMs, /proc, command lines of ``java``, performance data files, what
a process may still create.  What does not: speaking to one of them (`jvmti.target`).
"""
