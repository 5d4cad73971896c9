"""Events as they reach Python: handlers, which the program waits for, and streams.

What an event is, and what it brings, is declared in `jvmti.env.events`.
"""
