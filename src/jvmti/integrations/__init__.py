"""Python programs that drive a JVM themselves, and want to look into it.

`spark` finds the JVMs of a PySpark session. `own` is for a JVM inside of the calling process, which
a second process, `controller`, has to look at. Attaching itself is not here.
"""
