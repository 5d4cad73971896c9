"""Functions about threads, their frames and variables, and raw monitors, as in ``env/threads``."""
