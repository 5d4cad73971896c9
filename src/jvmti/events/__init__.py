"""Events and other calls of the VM as they reach Python.

What lives here: handlers, for which the program waits, and callbacks: heap walks, agent threads,
intercepted JNI functions, extensions.  `jvmti.events.callbacks` lists the modules of the functions.
What does not: the events and their parameters, which `jvmti.env.events` declares, and events for
which the program does not wait (`jvmti.events.streams`).
"""
