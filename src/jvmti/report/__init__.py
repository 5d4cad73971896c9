"""How what was found is shown: tables, JSON, HTML, flame graphs, progress.

Only `jvmti.report.html` asks a JVM anything, through the model.  Nothing from a JVM reaches a
terminal but through `jvmti.text.printable.printable`, nor a page but escaped.
"""
