"""Events that the agent records without waiting for an answer, read here as columns.

What lives here: the layout of the records, opening a stream, and its events as rows, columns and
Arrow batches.  What does not: handlers, and files and tables of events (`jvmti.report`).
"""
