"""Profiles: the tables, what they say, and their files. Most of it needs no JVM."""
