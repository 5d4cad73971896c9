"""Debugging where the agent came late: probes do what the VM grants only while it starts.

What lives here: probes that stop and step threads and report events, and the frames of threads at
such places.  What does not: the requests that use them (`jvmti.model.debug`), and the making of
probes (`jvmti.tracing`, `jvmti.instrumentation`).
"""
