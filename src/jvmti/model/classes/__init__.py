"""Classes, their members, modules and class loaders, with class files and source code.

What does not live here: reading the bytes of a class file, which needs no JVM (`jvmti.classfile`).
"""
