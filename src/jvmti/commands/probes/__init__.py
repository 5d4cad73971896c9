"""The verbs that put probes into classes: of a running JVM, or of a jar."""
