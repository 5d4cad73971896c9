"""Chapters about threads: pending exceptions, references, virtual threads."""
