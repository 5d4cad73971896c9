"""Finding a JVM, attaching to it, and diagnosing failures.

What lives here: the search for JVMs, HotSpot's attach protocol, starting programs with the agent,
and the diagnosis of failures. What does not: the protocol on the resulting sockets (`jvmti.wire`).
"""
