"""How what was found is shown: harmless text, tables, JSON, HTML.

Only `jvmti.report.html` asks a JVM anything, through the model.  Nothing from a JVM reaches a
terminal but through `jvmti.spec.text.printable`, nor a page but escaped.
"""
