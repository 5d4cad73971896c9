"""Chapters about objects: fields, methods, monitors, arrays, strings, direct buffers."""
