"""Finding a JVM, getting into it, and saying why it does not work.

Here live the search for JVMs, HotSpot's attach protocol, starting programs with the agent, and
the diagnosis of failures. What is spoken over the sockets that come out of it does not.
"""
