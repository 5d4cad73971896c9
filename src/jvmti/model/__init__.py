"""The JVM as Python objects: VM, threads, frames, classes, methods, fields.

A folder for each: objects, values, classes, threads.  Beside them lie the VM itself, its
capabilities and its diagnostic commands.

Their classes are those of the handles in `jvmti.refs` with attributes added, so what a function of
`Env` or `JNI` returns is one of them, and each of them is good as an argument.  What is looked up
for many at once goes through columns; the model knows nothing of terminals or commands.
"""
