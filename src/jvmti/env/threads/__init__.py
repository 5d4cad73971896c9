"""Chapters about threads: what they are at, their frames and variables, and raw monitors."""
