"""Functions about classes, their members and modules, as in ``env/classes``."""
