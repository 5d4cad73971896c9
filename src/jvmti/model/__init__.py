"""The JVM as Python objects: VM, threads, frames, classes, methods, fields.

A folder for each: objects, values, classes, threads, and the debugger's requests, whose stops have
threads, frames and objects.  Beside them lie the VM itself, its capabilities and its diagnostic
commands.

Their classes are those of the handles in `jvmti.refs` with attributes added, so a function of `Env`
or `JNI` returns one of them and accepts each as an argument. Lookups for many objects at once go
through columns; the model knows nothing of terminals or commands.
"""
