"""The report of a snapshot as one HTML file, and the elements that all pages are built of.

`jvmti.heap.analyses` finds the contents of the report; this package draws it.  Pages and notebooks
about a running VM are in `jvmti.report`.
"""
