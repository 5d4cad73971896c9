"""The agent's functions beyond JVM TI and JNI, declared like those.

What lives here: operations.  What does not: the chapters of the specifications (`jvmti.env`,
`jvmti.jni`), and how bytes lie in messages (`jvmti.layouts`).
"""
