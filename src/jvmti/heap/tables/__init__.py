"""Answers of a snapshot as tables: columns, Arrow and Parquet, and queries as expressions.

What does not live here: tables on a terminal or a page (`jvmti.report`).
"""
