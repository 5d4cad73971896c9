"""The vocabulary of the JVM TI specification: wire types, constants, errors and declarations.

Standard library only: the build of the native agent imports this package to generate its thunks.
"""
