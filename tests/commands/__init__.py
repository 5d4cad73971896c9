"""The command line and the prompt."""
