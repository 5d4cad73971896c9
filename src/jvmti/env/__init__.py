"""JVM TI itself, one to one: each module declares one chapter of the specification."""
