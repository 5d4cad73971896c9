"""The conversation with an agent: frames, codecs, columns, channels and the session over them.

What lives here: everything between a socket and a call.  What does not: getting the socket
(`jvmti.target`), the functions that are called (`jvmti.env`, `jvmti.jni`, `jvmti.operations`), and
how records and shared memory lie (`jvmti.layouts`).
"""
