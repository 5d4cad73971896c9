"""What comes to the agent's socket: damaged frames, and processes that have no business there."""
