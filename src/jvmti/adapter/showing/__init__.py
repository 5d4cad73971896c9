"""Requests that show the program: threads, stacks, variables, values, modules, memory.

They only look, except where a client sets a variable or evaluates an expression that calls
something.
"""
