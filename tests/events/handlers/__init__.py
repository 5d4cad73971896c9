"""Functions of Python that answer events, the first of them before `main` begins."""
