"""Class files, read without a JVM, beside `javap`."""
