"""Output of results: tables, JSON, HTML, flame graphs, progress.

Only `jvmti.report.html` queries a JVM, through the model. Text from a JVM reaches a terminal only
through `jvmti.text.printable.printable`, and a page only escaped.
"""
