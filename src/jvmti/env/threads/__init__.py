"""Chapters about threads: their states, frames and variables, and raw monitors."""
