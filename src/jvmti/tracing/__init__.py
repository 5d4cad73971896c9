"""Tracing: arguments, results and durations of method calls in a running JVM.

What lives here: sets of probes in a running VM, the memory that they write to, and the calls read
from it.  What does not: probes and class files (`jvmti.instrumentation`).
"""
