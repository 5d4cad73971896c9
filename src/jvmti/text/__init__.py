"""Text that people read.

What lives here: text of a target made printable, names that are near to a wrong one, numbers in
words, and modified UTF-8, in which the VM spells strings.  What does not: HTML, whose elements
`jvmti.report` escapes, and tables.
"""
