"""Debugging: breakpoints, watchpoints, catchpoints and steps, and the stops that they make.

What lives here: the requests, their conditions, their table, and what a program does with a stopped
thread.  What does not: deciding whether a thread stops, which the agent does (`native/agent`), and
the threads, frames and classes themselves (`jvmti.model`).  README.md says what an engine provides.
"""
