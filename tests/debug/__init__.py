"""Breakpoints, watchpoints, catchpoints and steps: threads that stop, and what is read there."""
