"""The vocabulary of the JVM TI specification: types, constants, capabilities, errors, declarations.

What lives here: how a function is declared, and the parts of a declaration. What does not: the
functions themselves (`jvmti.env`, `jvmti.jni`).  Standard library only, because the build of the
native agent imports this package to generate its thunks.
"""
