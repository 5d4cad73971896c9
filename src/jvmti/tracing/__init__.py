"""Tracing: what calls of methods are handed, return and take, in a JVM that is running.

What lives here: sets of probes in a running VM, the memory that they write to, and the calls that
are read from it.  What does not: probes and class files (`jvmti.instrumentation`).
"""
