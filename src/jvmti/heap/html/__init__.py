"""The report of a snapshot as one HTML file, and the elements that all pages are built of.

What the report says is found by `jvmti.heap.analyses`; how it looks is here.  Pages and notebooks
about a running VM are in `jvmti.report`.
"""
