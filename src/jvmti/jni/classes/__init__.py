"""Chapters about classes: definitions, modules, native methods, reflection, static members."""
