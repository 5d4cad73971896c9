"""The Debug Adapter Protocol: what editors speak to a debugger, for any JVM.

What lives here: the session with a client, and the threads that are stopped for it. Below it,
messages (`protocol`) and requests by subject (`stopping`, `showing`, `code`).
What does not: breakpoints, steps and stops themselves (`jvmti.model.debug`), Java expressions
(`jvmti.expressions`) and sources (`jvmti.sources`).

The adapter reads requests in one thread and answers them in another, each once and in order. A Java
thread that has stopped waits in a Python thread of the session (`stopped_threads`), which runs what
the requests ask of it, so that the Java thread itself reads its variables and evaluates
expressions.
"""
