"""Functions about the VM as a whole, as in ``env/system``."""
