"""Streams: events as columns, from the first thread of a program to its last."""
