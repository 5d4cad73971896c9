"""Functions of JVM TI that call Python back: walks, agent threads, interception, extensions.

One module for each; `jvmti.callbacks.calling` says which function is whose.  Events are in
`jvmti.events`.
"""
