"""Controllers that stand still while the program waits for them, and who has a lock meanwhile."""
