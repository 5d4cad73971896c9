"""A JVM whose stacks are walked in signal handlers: faults, other profilers, kills, and turmoil."""
