"""Answers of a snapshot as tables: columns, Arrow and Parquet, and questions as expressions.

What does not live here: tables on a terminal or a page (`jvmti.report`).
"""
