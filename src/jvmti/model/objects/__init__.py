"""Java objects: their fields, elements, monitors and tags.

What lives here: objects, arrays and class objects, and reading many fields in one message.  What
does not: how a value is converted on its way, and calls (`jvmti.model.values`).
"""
