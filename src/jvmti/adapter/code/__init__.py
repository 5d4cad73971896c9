"""Requests about code: sources, bytecode, the addresses of both, and classes that are replaced."""
