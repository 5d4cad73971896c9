"""Python programs that drive a JVM themselves, and inspect it.

`spark` finds the JVMs of a PySpark session. `own` is for a JVM inside the calling process, which a
second process, `controller`, inspects. What does not live here: attaching (`jvmti.target`).
"""
