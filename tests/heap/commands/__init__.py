"""Heaps on the command line and in reports."""
