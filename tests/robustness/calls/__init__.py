"""Calls with arguments of every quality: random ones, nulls, and each that once crashed a JVM."""
