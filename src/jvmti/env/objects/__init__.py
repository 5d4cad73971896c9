"""Chapters about objects: one by one, by walks over the heap, and as they are allocated."""
