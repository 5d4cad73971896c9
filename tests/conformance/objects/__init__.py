"""Functions about objects and the heap, as in ``env/objects``."""
