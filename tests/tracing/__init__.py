"""Traces of calls."""
