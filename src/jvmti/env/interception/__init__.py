"""Chapters about what the VM reports: events, watched places and fields, calls of JNI functions."""
