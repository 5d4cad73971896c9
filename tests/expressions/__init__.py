"""Expressions in the language of the program; the compiler is the witness of what they mean."""
