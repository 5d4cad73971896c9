"""How what was found is shown: harmless text, tables, JSON.

Nothing here asks a JVM anything, and nothing from a JVM reaches a terminal but through
`jvmti.report.text.printable`.
"""
