"""Text that people read.

What lives here: text of a target made printable, suggestions of similar names, numbers in words,
and modified UTF-8, the VM's encoding of strings.  What does not: HTML, whose elements
`jvmti.report` escapes, and tables.
"""
